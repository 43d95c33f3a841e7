"""Calls all functions of the C ABI with random arguments, good and bad: whatever a host gives them, they return a
status, and leave outputs alone unless it is MX_OK. Handles may be freed ones, of another type or made up, pointers
NULL, numbers extreme; only counts always fit the memory that they go with. What comes out goes in again, so graphs grow
and are evaluated, and are cancelled when that takes long.

    calls.py [--seed 1] [--calls 20000] [--processes 4] [--threads 1]

Every process and thread draws from a seed of its own. The threads of a process have their handles in common and do not
wait for each other: what one closes another may be using. A process that dies is a fault: its last calls are said."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from header import Argument, Function, Header, Kind, parse  # noqa: E402

# Not called: they change what all other calls can do, or need of the host what random numbers are not.
LEFT_OUT = {
    "shutdown": "ends it all",
    "test_fail_allocation": "makes allocations fail",
    "test_delay": "slows everything down",
    "set_num_threads": "takes what it is given",
    "set_memory_limit": "is what keeps this process small",
    "array_new_strided": "reads where its numbers say",
    "array_borrow": "lends memory for longer than a call",
    "array_borrow_with": "lends memory for longer than a call",
    "compile": "needs a function of the host",
}
LIMIT = 4 << 20  # bytes of arrays
PATIENCE = 0.3  # seconds until a call is cancelled
CANARY = 0xA5
LINE = 4000  # bytes of a thread's last call, in the file of descriptor 3

SMALL = [0, 1, 2, 3, 4, -1, -2, -3]
EXTREME = [-(2**63), 2**63 - 1, 2**31, -(2**31) - 1, 2**62, 1000, -1000, 2**33]
DOUBLES = [0.0, 1.0, -1.0, 0.5, 1e-5, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324, 2.0**63]
TEXTS = b"|x|a.npy|a.npz|a.safetensors|ij,jk->ik|->|i,,|\xff\xfe|/|%s%n".split(b"|")


def load_header() -> Header:
    import pymx

    with tempfile.NamedTemporaryFile(suffix=".h") as flat:
        include = pymx.get_include()
        cc = ["cc", "-E", "-P", "-DMX_CFFI", f"-I{include}", "-x", "c", f"{include}/mx/mx.h", "-o", flat.name]
        subprocess.run(cc, check=True)
        return parse(flat.name)


class Fault(Exception):
    """What a call did that it must not."""


class Handles:
    """What is open of each type, and what was closed last; of all threads."""

    def __init__(self, types: Iterable[str]) -> None:
        self.live: dict[str, list[int]] = {type: [] for type in types}
        self.closed: dict[str, list[int]] = {type: [] for type in types}
        self.lock = threading.Lock()

    def some(self, type: str) -> list[int]:
        with self.lock:
            return [*self.live[type]]

    def opened(self, type: str, handle: int) -> None:
        with self.lock:
            if handle in self.live[type]:
                raise Fault(f"gives out the handle {handle:#x}, which is open")
            self.live[type].append(handle)

    def take(self, type: str, most: int, choose: Callable[[list[int]], int]) -> int:
        """One to close, if there are more than `most`; else 0."""
        with self.lock:
            if len(self.live[type]) <= most:
                return 0
            handle = choose(self.live[type])
            self._close(type, handle)
            return handle

    def is_closed(self, handle: int) -> None:
        with self.lock:
            for type, handles in self.live.items():
                if handle in handles:
                    self._close(type, handle)

    def _close(self, type: str, handle: int) -> None:
        self.live[type].remove(handle)
        self.closed[type] = [*self.closed[type][-20:], handle]


class Caller:
    """What one thread calls."""

    def __init__(self, header: Header, handles: Handles, seed: int, thread: int) -> None:
        from pymx._ffi import ffi, lib

        self.ffi, self.lib, self.header, self.handles, self.thread = ffi, lib, header, handles, thread
        self.random = random.Random(seed * 1000 + thread)
        self.statuses = {value for _, value in header.constants["mx_status"]}
        self.functions = [f for f in header.functions if f.name not in LEFT_OUT]
        self.worked = self.refused = 0
        self.problem = ""
        self.similar: list[int] = []
        self.rank = 2

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # ---- arguments

    def handle(self, type: str, optional: bool) -> int:
        if optional and self.chance(0.7):
            return 0
        if self.chance(0.06):
            other = self.random.choice([h for h in self.header.handles if h != type])
            closed = self.handles.closed[type][-3:]
            return self.random.choice([0, 1, self.random.getrandbits(64), *self.handles.some(other)[-1:], *closed])
        if type == "mx_array" and self.chance(0.5):
            return self.random.choice(self.similar or [0])
        return self.random.choice(self.handles.some(type) or [0])

    def number(self, type: str) -> Any:
        if type in self.header.enums:
            values = [value for _, value in self.header.constants[type]]
            return self.random.choice(values) if self.chance(0.95) else self.random.choice([99, 2**31 - 1, 2**32 - 1])
        if type == "bool":
            return self.chance(0.5)
        if type in ("double", "float"):
            return self.random.choice(DOUBLES)
        whole = self.random.choice(SMALL if self.chance(0.9) else EXTREME)
        if type == "mx_scalar":
            kind = self.random.choice([0, 1, 2, 3, 4, 77])
            fields = {"kind": kind, "i": whole, "re": self.random.choice(DOUBLES), "im": self.random.choice(DOUBLES)}
            return self.ffi.new("mx_scalar *", fields)[0]
        bits = self.ffi.sizeof(type) * 8
        if type.startswith("int"):
            return (whole + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
        return whole % 2**bits if self.chance(0.2) else abs(whole) % 16

    def length(self) -> int:
        if self.chance(0.5):
            return self.rank
        return self.random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if self.chance(0.97) else self.lib.MX_MAX_DIMS + 8

    def keep(self, x: Any) -> Any:
        self.kept.append(x)
        return x

    def counted(self, type: str, items: list[Any], optional: bool) -> list[Any]:
        """A pointer and its count; rarely NULL with a count."""
        if self.chance(0.02) or (optional and self.chance(0.3)):
            return [self.ffi.NULL, len(items)]
        return [self.keep(self.ffi.new(f"{type}[]", items or 1)), len(items)]

    def output(self, size: int) -> Any:
        """Memory with a known pattern."""
        memory = self.ffi.new("char[]", max(size, 1))
        self.ffi.memmove(memory, bytes([CANARY]) * max(size, 1), max(size, 1))
        return self.keep(memory)

    def arguments(self, a: Argument) -> list[Any]:
        """The C arguments for one of the header's."""
        kind, none = a.kind, self.ffi.NULL
        if kind is Kind.HANDLE:
            return [self.handle(a.type, a.optional)]
        if kind is Kind.HANDLES:
            return self.counted(a.type, [self.handle(a.type, False) for _ in range(self.length())], a.optional)
        if kind is Kind.VALUES:
            return self.counted(a.type, [self.number(a.type) for _ in range(self.length())], a.optional)
        if kind is Kind.SCALAR:
            return [self.number(a.type)]
        if kind is Kind.STRING:
            text = self.random.choice(TEXTS)
            return [none if self.chance(0.05) else self.keep(self.ffi.new("char[]", text))]
        if kind is Kind.STRINGS:
            texts = [self.keep(self.ffi.new("char[]", self.random.choice(TEXTS))) for _ in range(self.length())]
            return self.counted("const char *", texts, a.optional)
        if kind in (Kind.BYTES, Kind.OUT_BYTES):
            n = self.random.choice([0, 1, 4, 8, 24, 100, 1000])
            return [none if self.chance(0.03) else self.output(n), n]
        if kind in (Kind.OUT, Kind.OUT_HANDLE):
            if self.chance(0.01):
                return [none]
            size = self.ffi.sizeof(a.type)
            memory = self.output(size)
            self.outputs.append((a, memory, size))
            return [self.ffi.cast(f"{a.type} *", memory)]
        if kind in (Kind.OUT_HANDLES, Kind.OUT_VALUES, Kind.OUT_TEXT):
            cap = self.random.choice([0, 1, 2, 3, 8, 64])
            memory, count = self.output(cap * self.ffi.sizeof(a.type)), self.keep(self.ffi.new("size_t *"))
            self.lists.append((a, memory, cap, count))
            given = none if self.chance(0.01) else self.ffi.cast(f"{a.type} *", memory)
            return [given, cap, none if self.chance(0.01) else count]
        return [none]  # pointers and callbacks

    # ---- calls

    def run(self, calls: int) -> None:
        try:
            for _ in range(calls):
                self.step()
        except Exception as problem:
            self.problem = f"{last_call(self.thread)}\n  {type(problem).__name__}: {problem}"

    def step(self) -> None:
        for type in self.header.handles:
            while handle := self.handles.take(type, 80 if type == "mx_array" else 6, self.random.choice):
                getattr(self.lib, f"{type}_free")(handle)
        while len(self.handles.live["mx_array"]) < 20:
            self.make_array()
        f = self.random.choice(self.functions)
        for a in f.arguments:
            if a.kind is Kind.HANDLE and not self.handles.live[a.type]:
                self.make(a.type)
        if self.chance(0.2):
            self.look_for_similar()
        self.call(f)

    def make(self, type: str) -> None:
        """Tries to open a handle of a type, with functions that give one out."""
        gives = [f for f in self.header.functions for a in f.arguments if a.kind is Kind.OUT_HANDLE and a.type == type]
        for _ in range(3):
            self.call(self.random.choice([f for f in gives if f.name not in LEFT_OUT]))

    def make_array(self) -> None:
        out = self.ffi.new("mx_array *")
        shape = [self.random.choice([1, 2, 3, 4, 5, 0, 8]) for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 4]))]
        dtype = self.random.choice([self.number("mx_dtype"), self.lib.MX_FLOAT32, self.lib.MX_INT32])
        n = self.lib.mx_dtype_size(dtype)
        for size in shape:
            n *= size
        data = bytes(n) if self.chance(0.3) else self.random.randbytes(n)
        if self.lib.mx_array_new(out, data, n, shape, len(shape), dtype) == self.lib.MX_OK:
            self.handles.opened("mx_array", out[0])

    def look_for_similar(self) -> None:
        """Many ops want arrays that fit each other, and a number for each axis: half of all arguments are such."""
        most = self.lib.MX_MAX_DIMS
        rank, shape, dtype = self.ffi.new("size_t *"), self.ffi.new("int64_t[]", most), self.ffi.new("mx_dtype *")
        found: dict[Any, list[int]] = {}
        for x in self.handles.some("mx_array"):
            if not self.lib.mx_array_shape(shape, most, rank, x) and not self.lib.mx_array_dtype(dtype, x):
                found.setdefault((int(dtype[0]), *shape[0 : rank[0]]), []).append(x)
        if found:
            (_, *dims), self.similar = self.random.choice([*found.items()])
            self.rank = len(dims)

    def call(self, f: Function) -> None:
        self.kept: list[Any] = []
        self.outputs: list[tuple[Argument, Any, int]] = []
        self.lists: list[tuple[Argument, Any, int, Any]] = []
        arguments = [x for a in f.arguments for x in self.arguments(a)]
        self.say(f, arguments)
        status = getattr(self.lib, f"mx_{f.name}")(*arguments)
        if f.name.endswith(("_free", "_end")):
            self.handles.is_closed(arguments[0])
        if f.result != "mx_status":
            return
        if status == self.lib.MX_OK:
            self.worked += 1
            self.adopt()
            return
        self.refused += 1
        text = self.ffi.string(self.lib.mx_error_message()).decode(errors="replace")
        if status == self.lib.MX_ERROR_INTERNAL or status not in self.statuses or not text:
            raise Fault(f"status {status}: {text!r}")
        for a, memory, size in self.outputs:
            if self.ffi.buffer(memory, size)[:] != bytes([CANARY]) * size:
                raise Fault(f"status {status} ({text}), but {a.name} was written")

    def adopt(self) -> None:
        """Takes over the handles that a call gave out."""
        given = [(a, memory, 1) for a, memory, _ in self.outputs if a.kind is Kind.OUT_HANDLE]
        given += [(a, memory, min(cap, n[0])) for a, memory, cap, n in self.lists if a.kind is Kind.OUT_HANDLES]
        for a, memory, n in given:
            for handle in self.ffi.cast(f"{a.type} *", memory)[0:n]:
                if handle != 0:  # else an output that there is none of
                    self.handles.opened(a.type, handle)

    def say(self, f: Function, arguments: list[Any]) -> None:
        """What is called now, for whoever finds this process dead."""
        text = f"mx_{f.name}({', '.join(map(self.show, arguments))})".encode()
        os.pwrite(3, text[:LINE].ljust(LINE), self.thread * LINE)

    def show(self, x: Any) -> str:
        return repr(x) if not isinstance(x, int) or isinstance(x, bool) or abs(x) < 1 << 40 else hex(x)


def last_call(thread: int) -> str:
    return os.pread(3, LINE, thread * LINE).decode(errors="replace").strip()


def cancel_what_takes_long(callers: list[Caller]) -> None:
    before: list[int] = []
    while True:
        now = [caller.worked + caller.refused for caller in callers]
        if any(a == b for a, b in zip(now, before, strict=False)):
            callers[0].lib.mx_request_cancel()
        before = now
        time.sleep(PATIENCE)


def prepare(caller: Caller) -> None:
    caller.lib.mx_set_memory_limit(LIMIT)


def child(seed: int, calls: int, n_threads: int) -> int:
    header = load_header()
    handles = Handles(header.handles)
    callers = [Caller(header, handles, seed, thread) for thread in range(n_threads)]
    for caller in callers:
        prepare(caller)
    threading.Thread(target=cancel_what_takes_long, args=(callers,), daemon=True).start()
    threads = [threading.Thread(target=caller.run, args=(calls // n_threads,)) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worked, refused = sum(c.worked for c in callers), sum(c.refused for c in callers)
    problems = [caller.problem for caller in callers if caller.problem]
    print("\n".join([f"seed {seed}: {worked} calls worked, {refused} were refused", *problems]), flush=True)
    return int(len(problems) > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.seed, args.calls, args.threads)
    failed = 0
    for seed in range(args.seed, args.seed + args.processes):
        with tempfile.TemporaryDirectory() as folder, open(f"{folder}/last", "w+b") as last:
            os.dup2(last.fileno(), 3)
            script, counts = Path(sys.argv[0]).resolve(), ["--calls", str(args.calls), "--threads", str(args.threads)]
            command = [sys.executable, script, "--child", "--seed", str(seed), *counts]
            done = subprocess.run(command, pass_fds=(3,), cwd=folder)
            if done.returncode not in (0, 1):
                calls = "\n  ".join(map(last_call, range(args.threads)))
                print(f"seed {seed}: ended with {done.returncode} in {calls}", flush=True)
            failed += done.returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
