"""Writes the pages of the documentation site: the articles in docs/, a page per C header, a page per Python
namespace and the surface against MLX. MkDocs makes the site of them (docs/mkdocs.yml) and checks every link.

The comments of the headers are plain sentences, one before each declaration, so this tool turns them into pages.
Doxygen is in no Python package, and would want its own markup in them.

usage: gen_docs.py FOLDER     looks at the installed package
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SPACES = ("", "fast", "linalg", "random", "tree", "distributed", "metal", "cuda", "array_api")


def escaped(text: str) -> str:
    """Plain text as Markdown: nothing in it is markup, except that `code` is code."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([\\*_<>\[\]|])", r"\\\1", p) for p in parts)


# ---- C


class Item(NamedTuple):
    comment: str
    code: str  # empty: a part begins, and `comment` is its title

    @property
    def name(self) -> str:
        """What is declared, with the look of a type or a function."""
        for pattern in (
            r"MX_HANDLE\((\w+)\)",
            r"\(\*(mx_\w+)\)",
            r"\} (mx_\w+);\s*$",
            r"\b(mx_\w+)\(",
            r"\b(MX_\w+) =",
        ):
            if m := re.search(pattern, self.code):
                return m[1]
        raise SystemExit(f"what does this declare?\n{self.code}")


def header_items(text: str) -> Iterator[Item]:
    """Each comment that begins a line, with the declaration that it stands before."""
    body = text[text.index("MX_EXTERN_C_BEGIN\n\n") :]
    for m in re.finditer(r"^/\*(.*?)\*/\n(?:\n|(.+?)\n\n)", body, re.MULTILINE | re.DOTALL):
        comment = "\n".join(re.sub(r"^ \* ?", "", line) for line in m[1].strip().splitlines())
        if comment.startswith("---- "):
            yield Item(comment.removeprefix("---- "), "")
        elif m[2]:
            yield Item(comment, m[2])


def introduction(text: str) -> str:
    m = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
    lines = m[1].strip().splitlines() if m else []
    return textwrap.dedent("\n".join(re.sub(r"^ \*", "", line) for line in lines)).strip()


def linked(text: str, homes: dict[str, str], here: str) -> str:
    """A comment as Markdown; names lead to where they are declared, what is indented by four is an example."""

    def link(name: str) -> str:
        home = homes.get(name)
        return f"[`{name}`]({'' if home == here else f'{home}.md'}#{name})" if home else f"`{name}`"

    lines: list[str] = []
    in_example, before = False, ""
    for line in text.splitlines():
        in_example = line.startswith("    ") and (in_example or not before.strip())
        before = line
        pieces = [line] if in_example else re.split(r"(\bmx_\w+\b)", line)
        lines.append(line if in_example else "".join(link(p) if i % 2 else escaped(p) for i, p in enumerate(pieces)))
    return "\n".join(lines)


def shown(code: str) -> str:
    """A declaration without what only the compiler wants."""
    code = re.sub(r"\b(MX_API|MX_NOWAIT|MX_CHECK)\s+", "", code)
    if "{" in code:
        return code
    return "\n".join(textwrap.wrap(" ".join(code.split()), 96, subsequent_indent="    "))


def c_page(name: str, text: str, homes: dict[str, str]) -> str:
    page = f"# mx/{name}.h\n\n{linked(introduction(text).removeprefix(f'mx/{name}.h: '), homes, name)}\n"
    for item in header_items(text):
        if not item.code:
            page += f"\n## {item.comment}\n"
            continue
        waits = "\nNever waits.\n" if "MX_NOWAIT" in item.code else ""
        page += f"\n### `{item.name}` {{#{item.name}}}\n\n```c\n{shown(item.code)}\n```\n\n"
        page += f"{linked(item.comment, homes, name)}\n{waits}"
    return page


def declared(text: str) -> set[str]:
    """Every function and type of a header, found in another way than by header_items."""
    kinds = (
        r"^MX_API[^;(]*?(mx_\w+)\(",
        r"^MX_HANDLE\((\w+)\)",
        r"^\} (mx_\w+);",
        r"^typedef enum (mx_\w+) \{.*\}",
        r"^typedef [^{]*\(\*(mx_\w+)\)",
    )
    return {name for kind in kinds for name in re.findall(kind, text, re.MULTILINE)}


def c_pages(include: Path) -> dict[str, str]:
    texts = {path.stem: path.read_text() for path in sorted(include.glob("*.h")) if path.name != "mx.h"}
    homes = {item.name: stem for stem, text in texts.items() for item in header_items(text) if item.code}
    names = [(stem, name) for stem, text in texts.items() for name in declared(text)]
    missing = [f"{stem}.h: {name}" for stem, name in names if homes.get(name) != stem]
    if missing:
        raise SystemExit("not on the pages of the C API, for lack of a comment: " + ", ".join(sorted(missing)))
    return {f"c/{stem}.md": c_page(stem, text, homes) for stem, text in texts.items()}


# ---- Python


def public(space: ModuleType) -> dict[str, Any]:
    """What a namespace offers: its functions, classes and values, without what it imported for itself."""
    names = getattr(space, "__all__", None) or [n for n in dir(space) if not n.startswith("_")]
    found = {n: getattr(space, n) for n in names if not isinstance(getattr(space, n), ModuleType)}
    return {
        n: x for n, x in found.items() if not callable(x) or str(getattr(x, "__module__", "pymx")).startswith("pymx")
    }


def signature(x: Any) -> str:
    try:
        text = re.sub(r"<(?:object|builtin)[^>]*>", "...", str(inspect.signature(x)))
        return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are texts
    except (TypeError, ValueError):
        return "(...)"


def documented(x: Any, name: str, problems: list[str]) -> str:
    text = inspect.getdoc(x) or ""
    if not text.strip():
        problems.append(name)
    return "\n".join(line if line.startswith("    ") else escaped(line) for line in text.splitlines())


def members(cls: type) -> dict[str, Any]:
    """Methods and properties. (Fields are told in the class's docstring.)"""
    bases = [base for base in reversed(cls.__mro__) if base.__module__.startswith("pymx")]
    own = {n: x for base in bases for n, x in vars(base).items() if n[0] != "_"}
    kept = {n for n, x in own.items() if callable(x) or isinstance(x, property) or inspect.isgetsetdescriptor(x)}
    return {n: getattr(cls, n) for n in kept}


def python_page(title: str, space: ModuleType, problems: list[str]) -> str:
    page = f"# {title}\n\n{escaped(inspect.getdoc(space) or '')}\n"
    contents = public(space)
    values = sorted(n for n, x in contents.items() if not callable(x))
    if values:
        page += "\nValues: " + ", ".join(f"`{n}`" for n in values) + ".\n"
    for name, x in sorted((n, x) for n, x in contents.items() if callable(x)):
        if inspect.isclass(x):
            page += f"\n## class `{name}` {{#{name}}}\n\n{documented(x, f'{title}.{name}', problems)}\n"
            for member, y in sorted(members(x).items()):
                call = signature(y) if callable(y) else ""
                page += f"\n### `{name}.{member}` {{#{name}.{member}}}\n\n```python\n{member}{call}\n```\n\n"
                page += documented(y, f"{title}.{name}.{member}", problems) + "\n"
        else:
            page += f"\n### `{name}` {{#{name}}}\n\n```python\n{name}{signature(x)}\n```\n\n"
            page += documented(x, f"{title}.{name}", problems) + "\n"
    return page


def python_pages() -> dict[str, str]:
    problems: list[str] = []
    pages = {}
    for space in SPACES:
        title = f"pymx.{space}".rstrip(".")
        pages[f"python/{space or 'pymx'}.md"] = python_page(title, importlib.import_module(title), problems)
    if problems:
        raise SystemExit("without a docstring: " + ", ".join(problems))
    return pages


# ---- articles


def articles() -> dict[str, bytes]:
    """docs/, CONTRIBUTING.md and the examples that they show, with links as they are in the site."""
    files = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.png"), ROOT / "CONTRIBUTING.md"]
    pages = {path.name: path.read_bytes() for path in files}
    for name, text in list(pages.items()):
        for shown in re.findall(r"\]\(\.\./(examples/[^)]*)\)", text.decode() if name.endswith(".md") else ""):
            pages[shown] = (ROOT / shown).read_bytes()
    return {n: re.sub(rb"\]\((?:\.\./|docs/)", b"](", t) if n.endswith(".md") else t for n, t in pages.items()}


def main() -> None:
    import gen_surface

    folder = Path(sys.argv[1])
    made = c_pages(ROOT / "include/mx") | python_pages() | {"surface.md": gen_surface.document()}
    for name, content in (articles() | {name: text.encode() for name, text in made.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
