"""Checks that every source file is named in a meson.build: what is not built is not tested.
usage: check_sources.py ROOT"""

import sys
from pathlib import Path

root = Path(sys.argv[1])
missing = []
for folder, suffixes in {"libmx": {".cpp"}, "tests": {".c", ".cpp"}, "pymx": {".py", ".pyi"}}.items():
    for path in sorted(p for p in (root / folder).rglob("*") if p.suffix in suffixes):
        builds = [parent for parent in path.parents if (parent / "meson.build").exists()]
        if not any(f"'{path.relative_to(b).as_posix()}'" in (b / "meson.build").read_text() for b in builds):
            missing.append(f"not in any meson.build: {path.relative_to(root)}")
sys.exit("\n".join(missing) or 0)
