"""One process that ends while something is going on, and what must be true of its end.

The program prints "leaving STATUS TIME" (CLOCK_MONOTONIC, seconds) when it asks to end, and may print other lines
before."""

import os
import signal
import subprocess
import time
from pathlib import Path

LIMIT = float(os.environ.get("MX_TEST_EXIT_LIMIT", "1.2"))  # seconds from the announcement to the end
LONG = bool(os.environ.get("MX_TEST_LONG"))
NOT_APPLICABLE = 77  # the status of a program that says "not applicable: REASON" instead


class Outcome:
    """How a run ended: the seconds that leaving took, and what was wrong with it or why it does not apply, if so.
    `late` is set where nothing but the time was wrong."""

    def __init__(self, seconds: float = 0.0, failure: str = "", reason: str = "", late: bool = False) -> None:
        self.seconds, self.failure, self.reason, self.late = seconds, failure, reason, late


def run(command: list[str], timeout: float = 60.0) -> Outcome:
    """Runs a program once: it must end with the status that it announced, within LIMIT, print nothing on stderr, and
    leave no process behind."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}  # scripts import their folder
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=null, stdout=pipe, stderr=pipe, env=env, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return Outcome(failure=f"hangs; stdout {out[-300:]!r}, stderr {err[-600:]!r}")
        end = time.monotonic()
    lines = out.decode(errors="replace").splitlines()
    if process.returncode == NOT_APPLICABLE and lines and lines[-1].startswith("not applicable: "):
        return Outcome(reason=lines[-1].partition(": ")[2])
    last = next((line.split() for line in reversed(lines) if line.startswith("leaving ")), [])
    if len(last) != 3:
        return Outcome(failure=f"status {process.returncode} before it was leaving; {out[-300:]!r}, {err[-600:]!r}")
    status, seconds = int(last[1]), end - float(last[2])
    if process.returncode != status or err:
        return Outcome(seconds, f"status {process.returncode} for {status}; stderr {err[-600:]!r}")
    if seconds > LIMIT:
        return Outcome(seconds, f"took {seconds:.2f} s to end", late=True)
    return Outcome(seconds, "a process is left" if _is_left(process.pid) else "")


def _is_left(group: int) -> bool:
    """Whether processes of the group live on, past the moment that their own end may take; they are killed."""
    deadline = time.monotonic() + LIMIT
    while _members(group):
        if time.monotonic() > deadline:
            os.killpg(group, signal.SIGKILL)
            return True
        time.sleep(0.01)
    return False


def _members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, member_of = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(member_of) == group and state not in "ZX":  # nobody may be there to collect what has ended
            return True
    return False
