"""The documentation: every public name is on its pages, and the programs in the articles run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pymx as mx

ROOT = Path(__file__).parents[2]
ARTICLES = sorted((ROOT / "docs").glob("*.md"))
PROGRAMS = [
    (article.name, text)
    for article in [*ARTICLES, ROOT / "README.md"]
    for text in re.findall(r"^```c\n(.*?)^```", article.read_text(), re.MULTILINE | re.DOTALL)
    if "int main" in text
]


def generate(folder, tools=ROOT / "tools"):
    command = [sys.executable, tools / "gen_docs.py", folder]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": str(tools)}, text=True, capture_output=True)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    done = generate(folder)
    assert done.returncode == 0, done.stderr
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.md")}


def test_every_c_function_and_type_has_its_entry(pages):
    for header in Path(mx.get_include(), "mx").glob("*.h"):
        text = header.read_text()
        names = re.findall(r"^MX_API[^;(]*?(mx_\w+)\(|^MX_HANDLE\((\w+)\)|^\} (mx_\w+);", text, re.MULTILINE)
        for name in (next(filter(None, found)) for found in names):
            assert f"{{#{name}}}" in pages[f"c/{header.stem}.md"], name


def test_every_python_name_has_its_entry(pages):
    for space, owner in {"pymx": mx, "fast": mx.fast, "linalg": mx.linalg, "random": mx.random}.items():
        names = getattr(owner, "__all__", None) or [
            n for n in dir(owner) if callable(getattr(owner, n)) and n[0] != "_"
        ]
        page = pages[f"python/{space}.md"]
        for name in names:
            if callable(getattr(owner, name)):
                assert f"{{#{name}}}" in page, name
    for method in ("sum", "item", "shape", "astype"):
        assert f"{{#array.{method}}}" in pages["python/pymx.md"]


def test_every_page_is_in_the_menu(pages):
    menu = set(re.findall(r": (\S+\.md)$", (ROOT / "docs/mkdocs.yml").read_text(), re.MULTILINE))
    assert menu == set(pages)


def test_what_lacks_a_comment_is_told(tmp_path):
    for folder in ("tools", "include", "docs", "examples"):
        (tmp_path / folder).mkdir()
        subprocess.run(["cp", "-r", ROOT / folder, tmp_path], check=True)
    (tmp_path / "CONTRIBUTING.md").write_text("")
    header = tmp_path / "include/mx/memory.h"
    text = header.read_text()
    assert "/* Sets the peak to 0. */\n" in text
    header.write_text(text.replace("/* Sets the peak to 0. */\n", ""))
    done = generate(tmp_path / "pages", tmp_path / "tools")
    assert done.returncode != 0 and "memory.h: mx_reset_peak_memory" in done.stderr


@pytest.mark.parametrize(("article", "program"), PROGRAMS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(PROGRAMS)])
def test_programs(article, program, tmp_path):
    library = mx.get_library_dir()
    (tmp_path / "a.c").write_text(program)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{mx.get_include()}", f"-L{library}", "-lmx"]
    subprocess.check_call(["cc", tmp_path / "a.c", "-o", tmp_path / "a", *flags, f"-Wl,-rpath,{library}"])
    subprocess.check_call([tmp_path / "a"])


def test_articles_have_programs():
    assert {name for name, _ in PROGRAMS} >= {"ownership.md", "errors.md", "threads.md", "embedding.md"}
