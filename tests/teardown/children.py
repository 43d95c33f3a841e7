"""Child processes that exit paths (exits.py) start, and how these must end."""

import os
import signal
import time


def expect(pid, status, seconds=20):
    """Waits for a child, which must end with that status; one that hangs is killed. process.py knows the words."""
    deadline = time.monotonic() + seconds
    while (found := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("the child hangs")
        time.sleep(0.002)
    compare(os.waitstatus_to_exitcode(found[1]), status)


def compare(found, status):
    assert found >= 0, f"the child died of signal {-found}"
    assert found == status, f"the child ended with {found}"


def fork(body):
    """A child that runs body and ends with its result, past all hooks."""
    pid = os.fork()
    if pid == 0:
        status = 98
        try:
            status = body() or 0
        finally:
            os._exit(status)
    return pid
