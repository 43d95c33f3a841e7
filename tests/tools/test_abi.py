"""tools/check_abi.py reports what changed since the last tag, and says in words why it does not."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/check_abi.py"


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", root, *identity, *arguments], check=True, capture_output=True)


def report(root: Path, path: str | None = None) -> tuple[int, str]:
    command = [sys.executable, TOOL, "--root", root, "--work", root / "work"]
    env = os.environ | ({"PATH": path} if path else {})
    done = subprocess.run(command, env=env, text=True, capture_output=True)
    return done.returncode, done.stdout + done.stderr


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, old
    file.write_text(text.replace(old, new))


def check(root: Path) -> None:
    shutil.copytree(ROOT / "include", root / "include")
    (root / "meson.build").write_text("project('libmx', version: '0.1.0')\n")
    git(root, "init", "-q")
    git(root, "add", "include", "meson.build")
    git(root, "commit", "-q", "-m", "first")
    assert report(root) == (0, report(root)[1]) and "no tag yet" in report(root)[1]
    git(root, "tag", "v0.1.0")
    bare = root / "bin"
    bare.mkdir()
    (bare / "git").symlink_to(shutil.which("git") or "git")
    assert "abidiff is not installed" in report(root, str(bare))[1]
    if not shutil.which("abidiff"):
        print("the report itself was not tested: abidiff is not installed")
        return
    assert report(root) == (0, "the ABI is that of v0.1.0\n")

    edit(root / "include/mx/dtype.h", "mx_dtype_size(mx_dtype dtype)", "mx_dtype_size(mx_dtype dtype, uint32_t of)")
    edit(root / "include/mx/function.h", "MX_CALL_INLINE = 2", "MX_CALL_INLINE = 7")
    edit(root / "include/mx/memory.h", "MX_API MX_NOWAIT void mx_clear_cache(void);", "")
    code, text = report(root)
    assert code == 0, text  # before 1.0 a report, no failure
    for expected in ("mx_dtype_size(mx_dtype)", "'typedef uint32_t' was added", "MX_CALL_INLINE", "mx_clear_cache()"):
        assert expected in text, f"{expected} is not in:\n{text}"

    (root / "meson.build").write_text("project('libmx', version: '1.0.0')\n")
    assert report(root)[0] == 0  # another major version may
    git(root, "commit", "-q", "-a", "-m", "second")
    git(root, "tag", "v1.0.0")
    edit(root / "include/mx/memory.h", "MX_API MX_NOWAIT void mx_reset_peak_memory(void);", "")
    assert report(root)[0] == 1


if shutil.which("git"):
    with tempfile.TemporaryDirectory() as name:
        check(Path(name))
else:
    print("not tested: git is not installed")
