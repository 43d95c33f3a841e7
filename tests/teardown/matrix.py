"""Runs every cell of the teardown matrix, exit path x live state, as a process of its own; process.py says what each
must fulfil. Rows: exits.py. Columns: states.py. With --program the rows and columns of a C program (cell.c).

    matrix.py [--module pymx|mlx.core|torch|jax] [--python PYTHON] [--repeat N] [--hot-repeat N] [--timeout SECONDS]
              [--only PATH:STATES,...] [--hot] [--markdown] [--jobs N] [--program PROGRAM]

Closes with "N passed, N failed". --repeat is 1, or with MX_TEST_LONG=1 20; --hot-repeat, for the cells that matter
most, the same, or 1000; --hot runs only these. MX_TEST_DELAY (microseconds) widens races."""

import argparse
import os
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from exits import ELSEWHERE, EXITS
from libraries import CLASSES
from process import LONG, run
from states import STATES

CELL = str(Path(__file__).with_name("cell.py"))
MAX_SHOWN = 20  # failing cells that are described

# What runs, as what, and how often; `reason` where it does not apply.
Cell = namedtuple("Cell", "row path state command repeat reason")


class Result:
    """The runs of a cell: how many, the failures, the slowest end in seconds."""

    def __init__(self, cell: Cell, timeout: float) -> None:
        self.cell, self.failures, self.slowest, self.reason, self.n_late = cell, [], 0.0, cell.reason, 0
        for _ in range(0 if cell.reason else cell.repeat):
            outcome = run(cell.command, timeout)
            self.slowest = max(self.slowest, outcome.seconds)
            self.reason = outcome.reason
            self.n_late += outcome.late
            if outcome.failure:
                self.failures.append(outcome.failure)


def python_cells(module: str, python: str, repeat: int, hot_repeat: int) -> list[Cell]:
    cells = []
    for path in EXITS.values():
        for state in STATES:
            if path.only and state not in path.only:
                continue
            command = [python, CELL, module, path.name, state]
            n = hot_repeat if state in path.hot else repeat
            reason = path.without.get(state) or CLASSES[module].lacks.get(state, "")
            cells.append(Cell(path.row, path.name, state, command, n, reason))
    return cells


def program_cells(program: str, repeat: int) -> list[Cell]:
    """The program lists its own cells, a line each: row, path, state."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return [Cell(int(row), path, state, [program, path, state], repeat, "") for row, path, state in words]


def wanted(cells: list[Cell], only: str) -> list[Cell]:
    """Those of "PATH:STATES,PATH,..."."""
    if not only:
        return cells
    pairs = [item.partition(":")[::2] for item in only.split(",")]
    return [c for c in cells if any(c.path == p and (not states or c.state in states) for p, states in pairs)]


def markdown(results: list[Result]) -> str:
    """A row for each exit path, a column for each state: failures/repetitions."""
    columns = [state for state in STATES if any(r.cell.state == state for r in results)]
    table: dict[tuple[int, str], dict[str, str]] = {}
    for r in results:
        text = f"{len(r.failures)}/{r.cell.repeat}"
        shown = "–" if r.reason else f"**{text}**" if r.failures else text  # noqa: RUF001
        table.setdefault((r.cell.row, r.cell.path), {})[r.cell.state] = shown
    lines = [f"| row | exit path | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for (row, path), found in sorted(table.items()):
        lines.append(f"| {row} | {path.replace('_', ' ')} | {' | '.join(found.get(c, '') for c in columns)} |")
    reasons: dict[str, dict[str, None]] = {}
    for r in results:
        if r.reason:
            reasons.setdefault(r.reason, {})[f"{r.cell.path.replace('_', ' ')} {r.cell.state}"] = None
    lines += ["", *(f"- {', '.join(where)}: {reason}" for reason, where in reasons.items())]
    return "\n".join(lines)


def show(results: list[Result]) -> None:
    """Describes the last result if it is one of the first that failed."""
    last = results[-1]
    if last.failures and sum(bool(r.failures) for r in results) <= MAX_SHOWN:
        cell = last.cell
        print(f"{cell.path}:{cell.state}: {len(last.failures)} of {cell.repeat}: {last.failures[0]}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="pymx", choices=CLASSES)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--hot-repeat", type=int)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--hot", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--jobs", type=int, default=max(2, len(os.sched_getaffinity(0))))
    parser.add_argument("--program")
    return parser.parse_args()


def main() -> int:
    options = parse()
    repeat = options.repeat or (20 if LONG else 1)
    hot_repeat = options.hot_repeat or options.repeat or (1000 if LONG else 1)
    if options.program:
        cells = program_cells(options.program, repeat)
    else:
        cells = python_cells(options.module, options.python, repeat, hot_repeat)
    cells = wanted(cells, options.only)
    if options.hot:
        cells = [c for c in cells if not options.program and c.state in EXITS[c.path].hot]
    results, late = [], []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda cell: Result(cell, options.timeout), cells):
            if result.n_late and result.n_late == len(result.failures) and options.jobs > 1:
                late.append(result)
            else:
                results.append(result)
                show(results)
    for result in late:  # nothing but the time was wrong: once more without other cells beside it
        results.append(Result(result.cell, options.timeout))
        show(results)
    if options.markdown:
        print(markdown(results))
        for row, (name, where) in ({} if options.program else ELSEWHERE).items():
            print(f"- row {row}, {name}: {where}")
    ran = [r for r in results if not r.reason]
    failed = sum(bool(r.failures) for r in ran)
    slowest = max((r.slowest for r in ran), default=0)
    print(f"{sum(r.cell.repeat for r in ran)} runs, the slowest end took {slowest:.2f} s")
    print(f"{len(ran) - failed} passed, {failed} failed, {len(results) - len(ran)} not applicable")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
