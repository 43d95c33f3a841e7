"""Reports how the ABI differs from that of the last tag, by abidiff (Debian: abigail-tools).

What is compared is what the headers declare: for both versions a library is built whose functions have their types
and empty bodies, which takes a second instead of two builds of libmx. (The test `surface` proves that libmx.so exports
exactly what the headers declare.) A difference is a report, no failure, before 1.0; from then on it fails unless the
major version differs too.

usage: check_abi.py [--since REVISION] [--root FOLDER] [--work FOLDER]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from header import Function, parse


def git(root: Path, *arguments: str) -> bytes | None:
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True)
    return done.stdout if done.returncode == 0 else None


def definition(f: Function) -> str:
    body = "" if f.result == "void" else f"return ({f.result})0;"
    return f"{f.declaration()} {{ {body} }}\n"


def stand_in(include: Path, work: Path) -> Path:
    """A library with the functions that the headers in `include` declare."""
    work.mkdir(parents=True, exist_ok=True)
    flat, source, library = work / "mx.i.h", work / "stand_in.c", work / "libmx.so"
    cc = ["cc", f"-I{include}"]
    subprocess.run([*cc, "-E", "-P", "-DMX_CFFI", "-x", "c", include / "mx/mx.h", "-o", flat], check=True)
    source.write_text("#include <mx/mx.h>\n" + "".join(map(definition, parse(str(flat)).functions)))
    options = ["-g", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-soname,libmx.so"]
    subprocess.run([*cc, *options, source, "-o", library], check=True)
    return library


def major(root: Path, revision: str | None) -> int:
    """The major version in meson.build, of a revision or as it lies there."""
    text = git(root, "show", f"{revision}:meson.build") if revision else (root / "meson.build").read_bytes()
    found = re.search(rb"version: '(\d+)\.", text or b"")
    return int(found[1]) if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", help="the revision to compare with; else the last tag")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--work", type=Path, default=Path("build/abi"))
    args = parser.parse_args()
    since = args.since or (git(args.root, "describe", "--tags", "--abbrev=0") or b"").decode().strip()
    if not since:
        print("ABI not compared: there is no tag yet (or this is no full clone); --since REVISION names another start")
        return 0
    if not shutil.which("abidiff"):
        print("ABI not compared: abidiff is not installed (Debian: apt-get install abigail-tools)")
        return 0
    archive = git(args.root, "archive", since, "include")
    if archive is None:
        sys.exit(f"no headers at {since}")
    before = args.work / "before"
    shutil.rmtree(before, ignore_errors=True)
    before.mkdir(parents=True)
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(before, filter="data")
    old, new = stand_in(before / "include", before), stand_in(args.root / "include", args.work / "now")
    done = subprocess.run(["abidiff", old, new], text=True, capture_output=True)
    if done.returncode & 3:  # abidiff's own failure; 4 is a change, 8 an incompatible one
        sys.exit(done.stdout + done.stderr)
    print(done.stdout or f"the ABI is that of {since}", end="" if done.stdout else "\n")
    stable = major(args.root, since) == major(args.root, None) >= 1
    return 1 if stable and done.returncode & 8 else 0


if __name__ == "__main__":
    sys.exit(main())
