"""One framework in a process of its own. run.py sends a request per line on stdin and gets an answer per line; both are
JSON. Requests: prepare a workload (build it, compare its result with the reference, warm up), measure it, quit.

usage: worker.py FRAMEWORK"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import frameworks
import numpy as np
from frameworks import Framework, Host, Unsupported
from sampling import sample, sample_shared, spinning
from workloads import Workload, all_workloads

WRONG = 1e30  # JSON has no infinity
PART = 1_000_000  # elements compared at once
Answer = dict[str, Any]


class Worker:
    def __init__(self, name: str) -> None:
        self.name = name
        self.framework: Framework = frameworks.load(name)
        self.workloads = {workload.name: workload for workload in all_workloads()}
        self.workload: Workload | None = None
        self.run: Callable[[], Any] = lambda: None
        # Another start of the bench makes other variants: caches on disk must not know them.
        self.variants = itertools.count(time.time_ns() // 1_000_000 % 5000 + 1)

    def prepare(self, name: str, folder: str) -> Answer:
        """Reads the arguments and the reference from `folder`. Answers the error of the result, and the seconds of the
        first call."""
        workload = self.workload = self.workloads[name]
        self.run = lambda: None
        f = self.framework
        if workload.how in ("eager", "build") and not f.has_arrays:
            raise Unsupported("no ops of its own")
        if workload.how == "first" and not f.compiles:
            raise Unsupported("does not compile")
        files = sorted(Path(folder).glob("in*.npy"))
        to_array = f.bfloat16 if workload.is_bfloat16 else f.array
        args = [to_array(np.load(file)) for file in files]
        function = workload.function(f, 0)
        start = time.perf_counter()
        if workload.how in ("call", "first"):
            function = f.compile(function, *args)
        result = f.wait(function(*args))
        first = time.perf_counter() - start
        error = error_of(f.host_of_all(result), np.load(Path(folder) / "reference.npy"))
        del result
        self.run = self._runner(workload, function, args)
        if first < 1 or workload.how != "first":
            self.run()
        return {"error": error, "first": first}

    def _runner(self, workload: Workload, function: Callable[..., Any], args: list[Any]) -> Callable[[], Any]:
        """What a sample calls. Results are dropped, as users drop them, so that memory can be used again."""
        f, wait = self.framework, self.framework.wait
        if workload.how == "first":
            fresh = self.variants
            return lambda: wait(f.compile(workload.function(f, next(fresh)), *args)(*args))
        if workload.how == "build":
            return lambda: function(*args)
        if len(args) == 1:  # no unpacking in the smallest calls
            x = args[0]
            return lambda: wait(function(x))
        return lambda: wait(function(*args))

    def measure(self, seconds: float) -> Answer:
        assert self.workload
        if not self.workload.is_busy:
            return {"times": sample(self.run, seconds)}
        with spinning():
            return {"times": sample_shared(self.run, seconds)}


def error_of(x: Host, reference: Host) -> float:
    """The largest difference, relative to the size of the reference there and on average; WRONG if they
    cannot be compared."""
    if x.shape != reference.shape:
        return WRONG
    x, reference = np.atleast_1d(x), np.atleast_1d(reference)
    scale = np.abs(reference).mean()
    step = max(1, PART * len(reference) // reference.size)
    worst = [0.0]
    for i in range(0, len(reference), step):  # in parts: float64 temporaries are large
        part = reference[i : i + step]
        worst.append(float((np.abs(x[i : i + step] - part) / (np.abs(part) + scale)).max()))
    error = float(np.max(worst))
    return error if error < WRONG else WRONG  # also for NaN


def serve(answers: Any) -> None:
    def answer(value: Answer) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        worker = Worker(sys.argv[1])
    except ImportError as error:
        return answer({"unsupported": f"cannot be imported: {error}"})
    answer({"version": worker.framework.version})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "prepare":
                answer(worker.prepare(request["workload"], request["folder"]))
            else:
                answer(worker.measure(request["seconds"]))
        except Unsupported as reason:
            answer({"unsupported": str(reason)})
        except Exception as error:  # of a peer: its row says so, the others go on
            answer({"failed": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    private = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print does not disturb the answers
    serve(private)
