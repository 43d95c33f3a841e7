"""Writes what pymx makes of every name of mlx.core, and what it has beyond that. Looks at the installed package.

usage: gen_surface.py > build/docs/surface.md
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pymx

NAMES = Path(__file__).with_name("mlx_surface.txt")
SUBMODULES = ("linalg", "random", "fft", "fast", "distributed", "metal", "cuda")
HEAD = """# The surface against mlx.core

Written by `tools/gen_surface.py`. "same" means that a call of MLX's works: the same
parameters in the same places, with defaults where MLX has some. What comes in addition is listed.

"""
TITLES = {"": "pymx", "array": "class pymx.array"}


def wanted() -> list[tuple[str, str, str | None]]:
    """(namespace, name, parameters); None for what is no function."""
    found = []
    for line in NAMES.read_text().splitlines()[1:]:
        path, bracket, parameters = line.rstrip(")").partition("(")
        space, _, name = path.rpartition(".")
        found.append((space, name, parameters.removeprefix("self, ").removeprefix("self") if bracket else None))
    return found


def look_up(space: str, name: str) -> Any:
    x: Any = pymx
    for part in filter(None, (space, name)):
        x = getattr(x, part, None)
    return x


def _signature(x: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(x).parameters.values())
    except (TypeError, ValueError):
        return None


def compare(x: Any, parameters: str, bound: bool) -> str:
    """What a caller of MLX's function has to know."""
    ours = _signature(x)
    if ours is None:
        return "same name"
    ours = ours[bound:]
    by_name = {p.name: p for p in ours}
    places = [p for p in ours if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_place = any(p.kind is p.VAR_POSITIONAL for p in ours)
    any_name = any(p.kind is p.VAR_KEYWORD for p in ours)
    theirs = [p for p in parameters.split(", ") if p]
    only_places = theirs.index("/") if "/" in theirs else 0
    problems, seen, keyword_only = [], set(), False
    for i, text in enumerate(p for p in theirs if p != "/"):
        name = text.rstrip("=")
        if name == "*" or name.startswith("*"):
            keyword_only = True
            continue
        mine = by_name.get(name)
        if mine is not None and mine.kind is mine.POSITIONAL_ONLY and (keyword_only or i >= only_places):
            problems.append(f"`{name}` only by place")
        place = None if keyword_only or i >= len(places) else places[i]
        seen.add(name if mine else place.name if place else name)
        if (keyword_only or i >= only_places) and mine is None and not any_name:
            problems.append(f"no `{name}`")
            continue
        if not keyword_only and place is None and not any_place:
            problems.append(f"`{name}` only by name")
        elif not keyword_only and mine is not None and place is not None and place is not mine:
            if (place.kind, mine.kind) == (place.POSITIONAL_ONLY, mine.KEYWORD_ONLY):  # both ways, told apart
                seen.add(place.name)
                continue
            problems.append(f"`{name}` in another place")
        default = mine or place
        if text.endswith("=") and default is not None and default.default is inspect.Parameter.empty:
            problems.append(f"`{name}` has no default")
    more = [p.name for p in ours if p.name not in seen and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if problems:
        return "; ".join(problems)
    return f"same; also `{'`, `'.join(more)}`" if more else "same"


def row(space: str, name: str, parameters: str | None) -> str:
    x = look_up(space, name)
    shown = f"{name}({parameters})" if parameters is not None else name
    if x is None and not (name == "newaxis" or hasattr(pymx, name)):
        state = "**missing**"
    elif parameters is None:
        state = "same"
    else:
        state = compare(x, parameters, space == "array")
    return f"| `{shown}` | {state} |"


def beyond(space: str, names: set[str]) -> list[str]:
    owner = look_up(space, "")
    if owner is None:
        return []
    ours = {n for n in dir(owner) if not n.startswith("_") and not isinstance(getattr(owner, n), ModuleType)}
    hidden = {"annotations", "TYPE_CHECKING", "Any", "Sequence", "Callable", "Mapping", "Iterator", "array", "Dtype"}
    public = set(getattr(owner, "__all__", ours)) & ours
    return sorted(public - names - (hidden if space else set()))


def document() -> str:
    text = HEAD
    rows = wanted()
    missing = sum("**missing**" in row(*r) for r in rows)
    text += f"Of {len(rows)} names, {len(rows) - missing} exist.\n"
    for space in ("", *SUBMODULES, "array"):
        inside = [r for r in rows if r[0] == space]
        title = TITLES.get(space, f"pymx.{space}")
        text += f"\n## {title}\n\n| MLX | pymx |\n|---|---|\n"
        text += "".join(row(*r) + "\n" for r in sorted(inside, key=lambda r: re.sub("^_+", "~", r[1])))
        more = beyond(space, {r[1] for r in inside})
        if more:
            text += f"\nBeyond MLX: {', '.join(f'`{name}`' for name in more)}.\n"
    return text


if __name__ == "__main__":
    print(document(), end="")
