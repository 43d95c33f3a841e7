"""Checks that nothing in the Python package lets C call Python: the core never holds, calls or waits for its host.
usage: check_binding.py CDEF PYMX"""

import re
import sys
from pathlib import Path

FORBIDDEN = re.compile(r'extern\s+"Python|\bdef_extern\b|\bnew_handle\b|\bffi\.callback\b|\bCFUNCTYPE\b')

cdef, package = map(Path, sys.argv[1:])
problems = [
    f"{path}:{number}: {found[0]}"
    for path in [cdef, *sorted(package.rglob("*.py")), *sorted(package.rglob("*.h"))]
    for number, line in enumerate(path.read_text().splitlines(), 1)
    if (found := FORBIDDEN.search(line.split("#")[0] if path.suffix == ".py" else line))
]
sys.exit("\n".join(problems) or 0)
