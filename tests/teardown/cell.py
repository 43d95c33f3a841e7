"""One cell of the matrix: takes an exit path while a state is live.

usage: cell.py MODULE PATH STATE"""

import os
import signal
import sys
import time

import exits
from libraries import CLASSES
from states import STATES


class Cell:
    """What an exit path works with."""

    def __init__(self, module, state):
        self.module, self.state, self.kept = module, state, []
        self.library = CLASSES[module](module)
        self.use = self.library.use

    def enter(self):
        """Brings about the state, until the end of the process."""
        self.kept.append(STATES[self.state](self.library))

    def leaving(self, status):
        """Announces the end of this process with a status; process.py takes the time from here."""
        sys.stdout.flush()
        os.write(1, f"leaving {status} {time.monotonic()}\n".encode())
        return status


def take(path, cell):
    """Calls path(cell), for the state X while an exception is being handled."""
    if cell.state != "X":
        return path(cell)
    try:
        raise KeyError("in flight", STATES["X"](cell.library))
    except KeyError:
        return path(cell)


def main():
    module, name, state = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell started in the background
    path = exits.EXITS[name]
    if path.before_import:
        path.before_import()
    return take(path.function, Cell(module, state))


if __name__ == "__main__":
    sys.exit(main())
