"""Runs every cell of the teardown matrix, exit path x live state, as a process of its own; process.py says what each
must fulfil. Rows: exits.py. Columns: states.py. With --program the rows and columns of a C program (cell.c).

    matrix.py [--module pymx,mlx.core,torch,jax] [--python PYTHON] [--peer-python PYTHON] [--repeat N]
              [--hot-repeat N] [--timeout SECONDS] [--only PATH:STATES,...] [--hot] [--markdown] [--record FILE]
              [--jobs N] [--program PROGRAM]

Closes with "N passed, N failed" of the first module; the others, its peers, only fill their tables. --repeat is 1, or
with MX_TEST_LONG=1 20; --hot-repeat, for the cells that matter most, the same, or 1000; --hot runs only these.
--record adds the runs to a file; --markdown shows the tables of all that is in it. MX_TEST_DELAY (microseconds)
widens races."""

import argparse
import os
import subprocess
import sys
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import table
from exits import EXITS
from libraries import CLASSES
from process import LONG, run
from states import STATES

CELL = str(Path(__file__).with_name("cell.py"))
MAX_SHOWN = 20  # failing cells that are described

# What runs, as what, and how often; `reason` where it does not apply.
Cell = namedtuple("Cell", "module row path state command repeat reason")


class Result:
    """The runs of a cell: how many of them failed in which way, what the first failure was, the slowest end in
    seconds."""

    def __init__(self, cell: Cell, timeout: float) -> None:
        self.cell, self.timeout, self.reason = cell, timeout, cell.reason
        self.kinds, self.first, self.slowest = Counter(), "", 0.0
        self.run(0 if cell.reason else cell.repeat)

    def run(self, times: int) -> None:
        for _ in range(times):
            outcome = run(self.cell.command, self.timeout)
            self.slowest = max(self.slowest, outcome.seconds)
            self.reason = outcome.reason
            if outcome.failure:
                self.kinds[outcome.kind] += 1
                self.first = self.first or outcome.failure

    def run_late_again(self) -> None:
        """To be called while no other cell runs: what was late then is."""
        times = self.kinds.pop("late")
        self.first = self.first if self.kinds else ""
        self.run(times)

    def entry(self, version: str, python: str) -> dict:
        cell = self.cell
        runs = 0 if self.reason else cell.repeat
        where = {"module": cell.module, "version": version, "python": python, "row": cell.row, "path": cell.path}
        found = {"runs": runs, "kinds": dict(self.kinds), "reason": self.reason, "slowest": round(self.slowest, 3)}
        return where | {"state": cell.state} | found


def python_cells(module: str, python: str, repeat: int, hot_repeat: int) -> list[Cell]:
    cells, lacks = [], CLASSES[module].lacks
    for path in EXITS.values():
        for state in STATES:
            if path.only and state not in path.only:
                continue
            command = [python, CELL, module, path.name, state]
            n = hot_repeat if state in path.hot else repeat
            reason = lacks.get(state) or lacks.get(path.name) or path.without.get(state, "")
            cells.append(Cell(module, path.row, path.name, state, command, n, reason))
    return cells


def program_cells(program: str, repeat: int) -> list[Cell]:
    """The program lists its own cells, a line each: row, path, state."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return [Cell("libmx", int(row), path, state, [program, path, state], repeat, "") for row, path, state in words]


def wanted(cells: list[Cell], only: str, hot: bool) -> list[Cell]:
    """Those of "PATH:STATES,PATH,..."."""
    if hot:
        cells = [c for c in cells if c.state in EXITS[c.path].hot]
    if not only:
        return cells
    pairs = [item.partition(":")[::2] for item in only.split(",")]
    return [c for c in cells if any(c.path == p and (not states or c.state in states) for p, states in pairs)]


def versions(module: str, python: str) -> tuple[str, str]:
    """Of the module, and of Python; "" where it is not installed."""
    code = (
        "import importlib.metadata as m, platform, sys\n"
        "try: print(m.version(sys.argv[1]), platform.python_version())\n"
        "except m.PackageNotFoundError: print('', '')"
    )
    name = module.partition(".")[0]
    out = subprocess.run([python, "-P", "-c", code, name], capture_output=True, text=True, check=True).stdout
    version, _, python_version = out.rstrip("\n").partition(" ")
    return version, python_version


class Campaign:
    """The results of all cells of a module; describes the first that fail as they come."""

    def __init__(self, version: str, python: str, record: Path | None) -> None:
        self.version, self.python, self.record = version, python, record
        self.results: list[Result] = []
        self.entries: list[dict] = []

    def put(self, result: Result) -> None:
        self.results.append(result)
        self.entries.append(result.entry(self.version, self.python))
        if self.record:
            table.write(self.record, self.entries[-1])
        if result.kinds and sum(bool(r.kinds) for r in self.results) <= MAX_SHOWN:
            cell = result.cell
            n = result.kinds.total()
            print(f"{cell.module} {cell.path}:{cell.state}: {n} of {cell.repeat}: {result.first}", flush=True)

    def run(self, cells: list[Cell], timeout: float, jobs: int) -> None:
        late = []
        with ThreadPoolExecutor(jobs) as pool:
            for result in pool.map(lambda cell: Result(cell, timeout), cells):
                if "late" in result.kinds and jobs > 1:
                    late.append(result)
                else:
                    self.put(result)
        for result in late:
            result.run_late_again()
            self.put(result)

    def close(self) -> bool:
        """Says how it went; whether nothing failed."""
        ran = [r for r in self.results if not r.reason]
        failed = sum(bool(r.kinds) for r in ran)
        slowest = max((r.slowest for r in ran), default=0)
        print(f"{sum(r.cell.repeat for r in ran)} runs, the slowest end took {slowest:.2f} s")
        print(f"{len(ran) - failed} passed, {failed} failed, {len(self.results) - len(ran)} not applicable", flush=True)
        return not failed


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="pymx")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--peer-python", help="for all modules but pymx; --python, if it is not given")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--hot-repeat", type=int)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--hot", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--jobs", type=int, default=max(2, len(os.sched_getaffinity(0))))
    parser.add_argument("--program")
    options = parser.parse_args()
    options.modules = [] if options.program else options.module.split(",")
    if unknown := [module for module in options.modules if module not in CLASSES]:
        parser.error(f"--module {','.join(unknown)}: one of {', '.join(CLASSES)}")
    return options


def main() -> int:
    options = parse()
    repeat = options.repeat or (20 if LONG else 1)
    hot_repeat = options.hot_repeat or options.repeat or (1000 if LONG else 1)
    campaigns, good = [], []
    for module in options.modules or ["libmx"]:
        python = options.peer_python if module != "pymx" and options.peer_python else options.python
        if options.program:
            campaigns.append(Campaign("", "", options.record))
            cells = wanted(program_cells(options.program, repeat), options.only, False)
        else:
            version, python_version = versions(module, python)
            if not version:
                print(f"{module} is not installed for {python}")
                continue
            campaigns.append(Campaign(version, python_version, options.record))
            cells = wanted(python_cells(module, python, repeat, hot_repeat), options.only, options.hot)
        campaigns[-1].run(cells, options.timeout, options.jobs)
        good.append(campaigns[-1].close())
    if options.markdown:
        entries = table.read(options.record) if options.record else [e for c in campaigns for e in c.entries]
        print(table.markdown(entries))
    return 0 if good and good[0] else 1


if __name__ == "__main__":
    sys.exit(main())
