"""The measured matrix as Markdown: a table of the first module, exit paths x live states, and one of its peers; and the
file in which the runs of several campaigns add up.

usage: table.py RECORD"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from exits import ELSEWHERE, EXITS
from process import KINDS
from states import STATES

NOT_APPLICABLE = "\u2013"


class Tally:
    """The runs of a cell with one module: how many, and how many failed in which way."""

    def __init__(self) -> None:
        self.runs, self.kinds, self.reason = 0, Counter(), ""

    def add(self, entry: dict) -> None:
        self.runs += entry["runs"]
        self.kinds.update(entry["kinds"])
        self.reason = entry["reason"]

    def letters(self) -> str:
        return "".join(KINDS[kind] for kind in KINDS if self.kinds[kind])

    def count(self) -> str:
        """Failures/runs."""
        if self.reason:
            return NOT_APPLICABLE
        failed = f"**{self.kinds.total()}{self.letters()}**" if self.kinds.total() else "0"
        return f"{failed}/{self.runs}"

    def sign(self) -> str:
        """In one word: a dot for no failure, letters for failures, small ones where only some of the runs failed."""
        if self.reason:
            return NOT_APPLICABLE
        letters = self.letters() or "\u00b7"
        return letters.lower() if self.kinds.total() < self.runs else letters


Cells = dict[tuple[int, str], dict[str, Tally]]


def write(record: Path, entry: dict) -> None:
    """Adds what was measured of a cell; processes that write at the same time do not mix lines."""
    with record.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def read(record: Path) -> list[dict]:
    return [json.loads(line) for line in record.read_text().splitlines()]


def markdown(entries: list[dict]) -> str:
    """The first module's failures/runs, then its peers' signs, the legend and what is not in the tables."""
    modules = {
        name: [e for e in entries if e["module"] == name] for name in dict.fromkeys(e["module"] for e in entries)
    }
    (first, own), *peers = [(name, _tally(found)) for name, found in modules.items()]
    lines = [_summary(modules[first], own), "", *_table({"": own}, Tally.count), ""]
    if peers:
        order = ", ".join(_summary(modules[name], cells) for name, cells in peers)
        lines += [f"Peers, in this order: {order}.", "", *_table(dict(peers), Tally.sign), ""]
        lines.append("A dot: no failure; ?: not measured; small letters: only some of the runs.")
    lines.append("; ".join(f"{letter}: {kind}" for kind, letter in KINDS.items()) + ".")
    if any(entry["path"] in EXITS for entry in entries):
        lines += ["", *(f"- row {row}, {name}: {where}" for row, (name, where) in ELSEWHERE.items())]
    return "\n".join(lines)


def _tally(entries: list[dict]) -> Cells:
    cells: Cells = {}
    for entry in entries:
        row = cells.setdefault((entry["row"], entry["path"]), {})
        row.setdefault(entry["state"], Tally()).add(entry)
    return cells


def _summary(entries: list[dict], cells: Cells) -> str:
    tallies = [tally for row in cells.values() for tally in row.values()]
    versions = dict.fromkeys(f"{e['version']} on Python {e['python']}" for e in entries)
    failed = [tally for tally in tallies if tally.kinds.total()]
    return (
        f"{entries[0]['module']} {', '.join(versions)} ({sum(t.runs for t in tallies)} runs of "
        f"{sum(not t.reason for t in tallies)} cells, {sum(t.kinds.total() for t in failed)} failures in "
        f"{len(failed)} cells)"
    )


def _table(modules: dict[str, Cells], show: Callable[[Tally], str]) -> list[str]:
    """A row for each exit path, a column for each state; in each cell a word for each module."""
    rows = sorted({key for cells in modules.values() for key in cells})
    used = {state for cells in modules.values() for row in cells.values() for state in row}
    columns = [state for state in STATES if state in used]
    lines = [f"| row | exit path | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for number, path in rows:
        row = [cells.get((number, path), {}) for cells in modules.values()]
        words = (_words(row, state, show) for state in columns)
        lines.append(f"| {number} | {path.replace('_', ' ')} | {' | '.join(words)} |")
    return [*lines, "", *(line for module, cells in modules.items() for line in _reasons(module, cells))]


def _words(row: list[dict[str, Tally]], state: str, show: Callable[[Tally], str]) -> str:
    """A word for each module, a question mark where only others were measured."""
    if not any(state in found for found in row):
        return ""
    return " ".join(show(found[state]) if state in found else "?" for found in row)


def _reasons(module: str, cells: Cells) -> list[str]:
    """Why cells do not apply: a state that never does is named alone."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for (_, path), row in sorted(cells.items()):
        for state, tally in row.items():
            if tally.reason:
                reasons.setdefault(tally.reason, {}).setdefault(state, []).append(path.replace("_", " "))
    lines = []
    for reason, states in reasons.items():
        n_rows = {state: sum(state in row for row in cells.values()) for state in states}
        where: dict[str, list[str]] = {}
        for state, paths in states.items():
            where.setdefault("" if len(paths) == n_rows[state] else f" ({', '.join(paths)})", []).append(state)
        named = ", ".join(", ".join(letters) + paths for paths, letters in where.items())
        lines.append(f"- {module} {named}: {reason}".replace("-  ", "- "))
    return lines


if __name__ == "__main__":
    print(markdown(read(Path(sys.argv[1]))))
