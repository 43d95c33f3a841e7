"""Checks that the core takes its locks from runtime/lock.hpp only: fork must be able to take every one of them, and no
thread may meet a lock that static destruction has ended. Kernels are included: they need none.
usage: check_locks.py LIBMX"""

import re
import sys
from pathlib import Path

FORBIDDEN = re.compile(
    r"\bstd::(?:\w*mutex|condition_variable\w*|call_once|once_flag|\w*semaphore|latch|barrier|async|j?thread)\b"
    r"|\bpthread_(?:mutex|rwlock|spin|once|cond)_?\w*"
)
# The lock table itself.
ALLOWED = {"runtime/lock.cpp"}

root = Path(sys.argv[1])
problems = []
for path in sorted(p for p in root.rglob("*") if p.suffix in (".hpp", ".cpp", ".h")):
    name = path.relative_to(root).as_posix()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = FORBIDDEN.search(line.split("//")[0])
        if found and name not in ALLOWED:
            problems.append(f"libmx/{name}:{number}: {found[0]}: use mx::Lock (runtime/lock.hpp)")
sys.exit("\n".join(problems) or 0)
