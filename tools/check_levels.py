"""Checks that each joined object defines no global symbol but its tables, so that the linker cannot merge code of two
instruction set levels. usage: check_levels.py NM <component>_<level>.o..."""

import re
import sys
from pathlib import Path

from nm import nm

problems = []
for path in sys.argv[2:]:
    component, _, level = Path(path).stem.rpartition("_")
    found = nm(sys.argv[1], "--defined-only", "--extern-only", path)
    others = [name for name in found if not re.fullmatch(rf"{component}_(\w+_)?{level}", name)]
    if others or not found:
        problems.append(f"{path}: global symbols beyond the tables: {others}" if others else f"{path}: no table")
sys.exit("\n".join(problems) or 0)
