"""Runs a teardown program many times: 5, or 200 with MX_TEST_LONG=1; process.py says what it must fulfil.

usage: run.py PROGRAM [ARGUMENT...]"""

import sys

from process import LONG, run

repeat, slowest = 200 if LONG else 5, 0.0
for i in range(repeat):
    outcome = run(sys.argv[1:])
    if outcome.reason:
        print(f"not applicable: {outcome.reason}")
        sys.exit(77)
    if outcome.failure:
        sys.exit(f"run {i + 1}: {outcome.failure}")
    slowest = max(slowest, outcome.seconds)
print(f"{repeat} runs, the slowest exit took {slowest * 1000:.0f} ms")
