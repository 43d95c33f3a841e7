"""The teardown matrix (tests/teardown/matrix.py), each cell once, or often with MX_TEST_LONG=1."""

import os
import subprocess
import sys
from pathlib import Path


def test_every_cell():
    script = Path(__file__).parent.parent / "teardown" / "matrix.py"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    out = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env)
    assert out.returncode == 0, out.stdout + out.stderr
