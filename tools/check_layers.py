"""Checks that a layer of libmx includes only the layers below it, as docs/architecture.md lists them.
usage: check_layers.py LIBMX"""

import re
import sys
from pathlib import Path

# From the bottom up.
LAYERS = ["base", "runtime", "core", "ops", "backends", "io", "lower", "eval", "compile", "transforms", "capi"]
# Tables that name what other layers implement.
ALLOWED = {("core", "ops/ops.def"), ("core/op.cpp", "ops/rules.hpp"), ("backends/cpu/kernels.cpp", "io/load.hpp")}

root = Path(sys.argv[1])
problems = []
for path in sorted(p for p in root.rglob("*") if p.suffix in (".hpp", ".cpp", ".h", ".def")):
    name = path.relative_to(root).as_posix()
    layer = name.split("/")[0]
    for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        other = included.split("/")[0]
        if other not in LAYERS or layer not in LAYERS or (layer, included) in ALLOWED or (name, included) in ALLOWED:
            continue
        if LAYERS.index(other) > LAYERS.index(layer):
            problems.append(f"libmx/{name} includes {included}: {layer} lies below {other}")
sys.exit("\n".join(problems) or 0)
