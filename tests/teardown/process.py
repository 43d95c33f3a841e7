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

# What can be wrong, and the letter that tables have for it.
KINDS = {
    "crash": "C",  # ended by a signal that nobody asked for
    "hang": "H",
    "error": "E",  # another status: an exception, a wrong result, an exit path that did not come about
    "noise": "N",  # the right status, but something on stderr
    "left": "P",  # a process is left
    "late": "L",  # nothing but the time was wrong
}


class Outcome:
    """How a run ended: the seconds that leaving took, and what was wrong with it, in words and as one of KINDS, or why
    it does not apply, if so."""

    def __init__(self, seconds: float = 0.0, kind: str = "", failure: str = "", reason: str = "") -> None:
        self.seconds, self.kind, self.failure, self.reason = seconds, kind, failure, reason


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
            return Outcome(kind="hang", failure=f"hangs; stdout {out[-300:]!r}, stderr {err[-600:]!r}")
        end = time.monotonic()
    lines = out.decode(errors="replace").splitlines()
    if process.returncode == NOT_APPLICABLE and lines and lines[-1].startswith("not applicable: "):
        return Outcome(reason=lines[-1].partition(": ")[2])
    last = next((line.split() for line in reversed(lines) if line.startswith("leaving ")), [])
    wrong = _kind(process.returncode, err)
    if len(last) != 3:
        text = f"status {process.returncode} before it was leaving; {out[-300:]!r}, {err[-600:]!r}"
        return Outcome(kind=wrong, failure=text)
    status, seconds = int(last[1]), end - float(last[2])
    if process.returncode != status or err:
        kind = "noise" if process.returncode == status else wrong
        return Outcome(seconds, kind, f"status {process.returncode} for {status}; stderr {err[-600:]!r}")
    if seconds > LIMIT:
        return Outcome(seconds, "late", f"took {seconds:.2f} s to end")
    return Outcome(seconds, "left", "a process is left") if _is_left(process.pid) else Outcome(seconds)


def _kind(status: int, err: bytes) -> str:
    """What a wrong status comes from; programs say on stderr what became of a child (children.py)."""
    if b"the child hangs" in err:
        return "hang"
    return "crash" if status < 0 or b"the child died of signal" in err else "error"


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
