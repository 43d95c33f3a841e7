"""Runs a teardown program many times: 5, or 200 with MX_TEST_LONG=1. Each time it must exit with the status that it
announced, print nothing on stderr, and end within 1.2 s (MX_TEST_EXIT_LIMIT) of the announcement.

usage: run.py PROGRAM [ARGUMENT...]"""

import os
import subprocess
import sys
import time

repeat = 200 if os.environ.get("MX_TEST_LONG") else 5
limit = float(os.environ.get("MX_TEST_EXIT_LIMIT", "1.2"))
slowest = 0.0
for i in range(repeat):
    with subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        try:
            out, err = p.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            sys.exit(f"run {i + 1}: hangs; stdout {out!r}, stderr {err!r}")
        end = time.monotonic()
    last = out.decode().split("\n")[-2:][0].split()
    if len(last) != 3 or last[0] != "leaving":
        sys.exit(f"run {i + 1}: status {p.returncode} before it was leaving; stdout {out!r}, stderr {err!r}")
    status, took = int(last[1]), end - float(last[2])
    if p.returncode != status or err or took > limit:
        sys.exit(f"run {i + 1}: status {p.returncode} for {status}, {took:.2f} s; stderr {err!r}")
    slowest = max(slowest, took)
print(f"{repeat} runs, the slowest exit took {slowest * 1000:.0f} ms")
