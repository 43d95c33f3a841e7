"""The measured matrix as Markdown: one table for each module, of exit paths x live states; and the file in which the
runs of several campaigns add up.

usage: table.py RECORD"""

import json
import sys
from collections import Counter
from pathlib import Path

from exits import ELSEWHERE, EXITS
from process import KINDS
from states import STATES


class Tally:
    """The runs of a cell with one module: how many, and how many failed in which way."""

    def __init__(self) -> None:
        self.runs, self.kinds, self.reason = 0, Counter(), ""

    def add(self, entry: dict) -> None:
        self.runs += entry["runs"]
        self.kinds.update(entry["kinds"])
        self.reason = entry["reason"]

    def __str__(self) -> str:
        if self.reason:
            return "–"  # noqa: RUF001
        letters = "".join(KINDS[kind] for kind in KINDS if self.kinds[kind])
        return f"**{self.kinds.total()}{letters}**/{self.runs}" if letters else f"0/{self.runs}"


def write(record: Path, entry: dict) -> None:
    """Adds what was measured of a cell; processes that write at the same time do not mix lines."""
    with record.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def read(record: Path) -> list[dict]:
    return [json.loads(line) for line in record.read_text().splitlines()]


def markdown(entries: list[dict]) -> str:
    """A table for each module in the order in which they come, then the legend and what is not in the tables."""
    modules = dict.fromkeys(entry["module"] for entry in entries)
    lines = []
    for module in modules:
        lines += [*_table([e for e in entries if e["module"] == module]), ""]
    lines.append("; ".join(f"{letter}: {kind}" for kind, letter in KINDS.items()) + ".")
    if any(entry["path"] in EXITS for entry in entries):
        lines += ["", *(f"- row {row}, {name}: {where}" for row, (name, where) in ELSEWHERE.items())]
    return "\n".join(lines)


def _table(entries: list[dict]) -> list[str]:
    """One module: a row for each exit path, a column for each state, failures/runs."""
    columns = [state for state in STATES if any(e["state"] == state for e in entries)]
    cells: dict[tuple[int, str], dict[str, Tally]] = {}
    for entry in entries:
        row = cells.setdefault((entry["row"], entry["path"]), {})
        row.setdefault(entry["state"], Tally()).add(entry)
    tallies = [tally for row in cells.values() for tally in row.values()]
    failures = sum((tally.kinds for tally in tallies), Counter())
    versions = ", ".join(dict.fromkeys(f"{e['version']} on Python {e['python']}" for e in entries))
    lines = [
        f"{entries[0]['module']} {versions}: {sum(t.runs for t in tallies)} runs of "
        f"{sum(not t.reason for t in tallies)} cells, {failures.total()} failures in "
        f"{sum(bool(t.kinds.total()) for t in tallies)} cells",
        "",
        f"| row | exit path | {' | '.join(columns)} |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for (number, path), row in sorted(cells.items()):
        shown = " | ".join(str(row.get(state, "")) for state in columns)
        lines.append(f"| {number} | {path.replace('_', ' ')} | {shown} |")
    reasons: dict[str, dict[str, None]] = {}
    for (_, path), row in sorted(cells.items()):
        for state, tally in row.items():
            if tally.reason:
                reasons.setdefault(tally.reason, {})[f"{path.replace('_', ' ')} {state}"] = None
    return [*lines, "", *(f"- {', '.join(where)}: {reason}" for reason, where in reasons.items())]


if __name__ == "__main__":
    print(markdown(read(Path(sys.argv[1]))))
