"""Checks that no function of the library has a static whose initialiser runs at its first call: base/settled.hpp says
why. Eigen's have run by then (linalg_dispatch.cpp); Xbyak's is of its own allocator, which the assembler does not use.
usage: check_guards.py NM LIBRARY"""

import subprocess
import sys

lines = subprocess.run([sys.argv[1], "-C", sys.argv[2]], check=True, capture_output=True, text=True).stdout.splitlines()
guards = [line.partition(" guard variable for ")[2] for line in lines]
problems = [f"a static in a function: {name}" for name in guards if name and not name.startswith(("Eigen_", "Xbyak::"))]
sys.exit("\n".join(problems) or (0 if lines else "no symbols"))
