"""Checks libmx.so against the headers: exactly their functions are exported, each is documented and called by a C test,
and nothing is needed from beyond libc (and zlib, if built with it): no Python above all.

usage: check_surface.py NM LIBMX ZLIB TESTS HEADER...     ZLIB is true or false, TESTS the folder with C tests"""

import re
import sys
from pathlib import Path

from nm import nm

# Weak references of gcc's runtime that nobody needs to define.
HARMLESS = re.compile(r"_ITM_|_ZGT|__gmon_start__|__cxa_pure_virtual")
ZLIB = re.compile(r"(in|de)flate(Init2_|End|Reset|Bound|SetDictionary)?|crc32(_z)?|zlibVersion|zError")

command, library, zlib, tests, *headers = sys.argv[1:]
problems = []
declared: set[str] = set()
umbrella = next(Path(h) for h in headers if Path(h).name == "mx.h").read_text()
for header in map(Path, headers):
    text = header.read_text()
    if header.name != "mx.h" and f'"mx/{header.name}"' not in umbrella:
        problems.append(f"mx.h does not include {header.name}")
    declared.update(re.findall(r"^MX_API[^;(]*?(mx_\w+)\(", text, re.MULTILINE))
    for undocumented in re.findall(r"[^/]\n(MX_(?:API|HANDLE)[^;]*|typedef[^;{]*);", text):
        problems.append(f"{header}: no comment before: {undocumented}")

exported = {name.split("@")[0] for name in nm(command, "-D", "--defined-only", library)}
problems += [f"exported but not declared: {name}" for name in sorted(exported - declared)]
problems += [f"declared but not exported: {name}" for name in sorted(declared - exported)]
problems += [
    f"needs {name}"
    for name in nm(command, "-D", "--undefined-only", library)
    if "@GLIBC_" not in name
    and not HARMLESS.match(name)
    and not (zlib == "true" and ZLIB.fullmatch(name.split("@")[0]))
]
called = set(re.findall(r"\bmx_\w+", "".join(p.read_text() for p in Path(tests).rglob("*.c"))))
problems += [f"not called by any C test: {name}" for name in sorted(declared - called)]
sys.exit("\n".join(problems) or 0)
