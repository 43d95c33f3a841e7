"""Joins the objects of one component at one instruction set level into one in which only the component's tables,
<component>_[...]<level>, are global, so that the linker can merge nothing else.

usage: join_objects.py LD OBJCOPY COMPONENT LEVEL OUT OBJECT...
"""

import subprocess
import sys

ld, objcopy, component, level, out, *objects = sys.argv[1:]
# Without --force-group-allocation the COMDAT groups survive, and the final link drops all but one level's copy.
subprocess.run([ld, "-r", "--force-group-allocation", "-o", out, *objects], check=True)
subprocess.run([objcopy, "--wildcard", f"--keep-global-symbol={component}_*{level}", out], check=True)
