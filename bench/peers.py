"""The workers as run.py sees them: one process per framework, of which one runs at a time. The others are stopped by
signal, so that no thread pool of theirs can spin while somebody else is measured."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

import environment

WORKER = Path(__file__).with_name("worker.py")
PR_SET_PDEATHSIG = 1
Answer = dict[str, Any]


class Peer:
    """A worker process; started again after it died or took too long."""

    def __init__(self, name: str, n_threads: int) -> None:
        self.name, self.n_threads = name, n_threads
        self.version = ""
        self.why_not = ""  # why this framework takes no part
        self.process: subprocess.Popen[str] | None = None
        self._start()

    def _start(self) -> None:
        cpus = environment.bound_to(self.n_threads)
        prctl = ctypes.CDLL(None).prctl

        def before() -> None:
            os.sched_setaffinity(0, cpus)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a stopped process would outlive a killed run.py

        self.process = subprocess.Popen(
            [environment.interpreter(self.name), str(WORKER), self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment.threads_environment(self.n_threads),
            preexec_fn=before,
        )
        hello = self._answer(120)
        self.version = hello.get("version", "")
        self.why_not = hello.get("unsupported") or hello.get("failed") or ""
        self._pause()

    def ask(self, limit: float, **request: Any) -> Answer:
        """Lets the worker run, and returns its answer; {"failed": why} when there is none in `limit` seconds."""
        if self.process is None:
            self._start()
        assert self.process and self.process.stdin
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it is dead: _answer finds out how
        answer = self._answer(limit)
        self._pause()
        return answer

    def _answer(self, limit: float) -> Answer:
        assert self.process and self.process.stdout
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.end()
            return {"failed": f"no answer in {limit:.0f} s"}
        line = self.process.stdout.readline()
        if line:
            answer: Answer = json.loads(line)
            return answer
        status = self.process.wait()
        self.process = None
        return {"failed": f"died, status {status}"}

    def _pause(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        if self.process:
            self.process.kill()
            self.process.communicate()
        self.process = None
