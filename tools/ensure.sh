#!/bin/sh
# Makes sure that what is not on PyPI is there: installs it through apt where that is allowed, else says what goes
# without it. Fails only if nothing can go on. usage: ensure.sh xbyak|zlib|asan|tsan|clang|abidiff|venv...
set -u
CXX=${CXX:-c++}

have() {
  case $1 in
    xbyak) echo '#include <xbyak/xbyak.h>' | $CXX -std=c++20 -fsyntax-only -x c++ - 2>/dev/null ;;
    zlib) echo '#include <zlib.h>' | $CXX -fsyntax-only -x c++ - 2>/dev/null ;;
    asan) echo 'int main() {}' | $CXX -fsanitize=address,undefined -x c++ - -o /dev/null 2>/dev/null ;;
    tsan) echo 'int main() {}' | $CXX -fsanitize=thread -x c++ - -o /dev/null 2>/dev/null ;;
    clang) command -v clang++ >/dev/null ;;
    abidiff) command -v abidiff >/dev/null ;;
    venv) false ;;
  esac
}

package() {
  case $1 in
    xbyak) echo libxbyak-dev ;;
    zlib) echo zlib1g-dev ;;
    asan | tsan) echo "libgcc-$($CXX -dumpversion | cut -d. -f1)-dev" ;;
    clang) echo clang ;;
    abidiff) echo abigail-tools ;;
    venv) echo python3-venv ;;
  esac
}

without() {
  case $1 in
    xbyak) echo "no libxbyak-dev: fused loops run in the threaded VM, without machine code made at run time" ;;
    zlib) echo "no zlib1g-dev: compressed npz files are not supported" ;;
    abidiff) echo "no abigail-tools: the ABI is not compared" ;;
    *) echo "$1 is missing and could not be installed" >&2 ;;
  esac
}

install() {
  command -v apt-get >/dev/null || return 1
  if [ "$(id -u)" = 0 ]; then as_root=; elif sudo -n true 2>/dev/null; then as_root="sudo -n"; else return 1; fi
  echo "installing $1"
  log=$(DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends "$1" 2>&1) ||
    log=$($as_root apt-get update -q 2>&1 && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends "$1" 2>&1)
}

for what in "$@"; do
  have "$what" && continue
  install "$(package "$what")" && { [ "$what" = venv ] || have "$what"; } && continue
  without "$what"
  case $what in xbyak | zlib | abidiff) ;; *) exit 1 ;; esac
done
