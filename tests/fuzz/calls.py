"""Calls all functions of the C ABI with random arguments, good and bad: whatever a host gives them, they return a
status, and leave outputs alone unless it is MX_OK. Handles may be freed ones, of another type or made up, pointers
NULL, numbers extreme; only counts always fit the memory that they go with. What comes out goes in again, so graphs grow
and are evaluated, and are cancelled when that takes long.

    calls.py [--seed 1] [--calls 20000] [--processes 4]

Every process draws from a seed of its own. One that dies is a fault; its last call is printed."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
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
INTERNAL = 5
MAX_DIMS = 32
LIMIT = 4 << 20  # bytes of arrays
PATIENCE = 0.3  # seconds until a call is cancelled
CANARY = 0xA5
DTYPES = 15

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


class Caller:
    """Draws calls. Handles of every type are in `live` while they are open, and in `closed` afterwards."""

    def __init__(self, header: Header, seed: int) -> None:
        from pymx._ffi import ffi, lib

        self.ffi, self.lib, self.header = ffi, lib, header
        self.random = random.Random(seed)
        self.functions = [f for f in header.functions if f.name not in LEFT_OUT]
        self.live: dict[str, list[int]] = {h: [] for h in header.handles}
        self.closed: dict[str, list[int]] = {h: [] for h in header.handles}
        self.status = {"ok": 0, "refused": 0}
        self.similar: list[int] = []
        self.rank = 2

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # ---- arguments

    def handle(self, type: str, optional: bool) -> int:
        if optional and self.chance(0.7):
            return 0
        if self.chance(0.06):
            other = self.random.choice([h for h in self.live if h != type])
            bad = [0, 1, self.random.getrandbits(64), *self.live[other][-1:], *self.closed[type][-3:]]
            return self.random.choice(bad)
        if type == "mx_array" and self.chance(0.5):
            return self.random.choice(self.similar or [0])
        return self.random.choice(self.live[type] or [0])

    def make(self, type: str) -> None:
        """An open handle of a type, from a function that gives one out; none if it did not work."""
        if type == "mx_array":
            return self.make_array()
        makers = [f for f in self.header.functions for a in f.arguments if a.kind is Kind.OUT_HANDLE and a.type == type]
        for _ in range(3):
            self.call(self.random.choice([f for f in makers if f.name not in LEFT_OUT]))

    def make_array(self) -> None:
        out = self.ffi.new("mx_array *")
        shape = [self.random.choice([1, 2, 3, 4, 5, 0, 8]) for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 4]))]
        n = 1
        for size in shape:
            n *= size
        dtype = self.random.choice([self.random.randrange(DTYPES), 10, 10, 7])
        size = self.lib.mx_dtype_size(dtype)
        zeros = self.chance(0.3)
        data = bytes(n * size) if zeros else self.random.randbytes(n * size)
        if self.lib.mx_array_new(out, data, len(data), shape, len(shape), dtype) == 0:
            self.live["mx_array"].append(out[0])

    def number(self, type: str) -> Any:
        if type in self.header.enums:
            values = [value for _, value in self.header.constants[type]]
            return self.random.choice(values) if self.chance(0.95) else self.random.choice([99, 2**31 - 1, -1 % 2**32])
        if type == "bool":
            return self.chance(0.5)
        if type in ("double", "float"):
            return self.random.choice(DOUBLES)
        if type == "mx_scalar":
            kind = self.random.choice([0, 1, 2, 3, 4, 4, 3, 77])
            whole = self.random.choice(SMALL + EXTREME)
            fields = {"kind": kind, "i": whole, "re": self.random.choice(DOUBLES), "im": self.random.choice(DOUBLES)}
            return self.ffi.new("mx_scalar *", fields)[0]
        value = self.random.choice(SMALL if self.chance(0.9) else EXTREME)
        bits = self.ffi.sizeof(type) * 8
        if type.startswith("int"):
            return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
        return value % 2**bits if self.chance(0.2) else abs(value) % 16

    def counted(self, type: str, items: list[Any], optional: bool) -> list[Any]:
        """A pointer and its count; rarely NULL with a count."""
        if self.chance(0.02) or (optional and self.chance(0.3)):
            return [self.ffi.NULL, len(items)]
        return [self.keep(self.ffi.new(f"{type}[]", items or 1)), len(items)]

    def keep(self, x: Any) -> Any:
        self.kept.append(x)
        return x

    def length(self) -> int:
        if self.chance(0.5):
            return self.rank
        return self.random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if self.chance(0.97) else MAX_DIMS + 8

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

    def step(self) -> None:
        for type, handles in self.live.items():
            while len(handles) > (80 if type == "mx_array" else 6):
                self.free(type, handles.pop(self.random.randrange(len(handles))))
        while len(self.live["mx_array"]) < 20:
            self.make_array()
        f = self.random.choice(self.functions)
        for a in f.arguments:
            if a.kind is Kind.HANDLE and not self.live[a.type]:
                self.make(a.type)
        if self.chance(0.2):
            self.look_for_similar()
        self.call(f)

    def free(self, type: str, handle: int) -> None:
        getattr(self.lib, f"{type}_free")(handle)
        self.closed[type] = [*self.closed[type][-20:], handle]

    def look_for_similar(self) -> None:
        """Many ops want arrays that fit each other, and a number for each axis: half of all arguments are such."""
        ranks, shapes = self.ffi.new("size_t *"), self.ffi.new("int64_t[]", MAX_DIMS)
        dtype, found = self.ffi.new("mx_dtype *"), {}
        for x in self.live["mx_array"]:
            if not self.lib.mx_array_shape(shapes, MAX_DIMS, ranks, x) and not self.lib.mx_array_dtype(dtype, x):
                found.setdefault((int(dtype[0]), tuple(shapes[0 : ranks[0]])), []).append(x)
        (_, shape), self.similar = self.random.choice([*found.items()] or [((0, ()), [])])
        self.rank = len(shape)

    def call(self, f: Function) -> None:
        self.kept: list[Any] = []
        self.outputs: list[tuple[Argument, Any, int]] = []
        self.lists: list[tuple[Argument, Any, int, Any]] = []
        arguments = [x for a in f.arguments for x in self.arguments(a)]
        self.say(f, arguments)
        status = getattr(self.lib, f"mx_{f.name}")(*arguments)
        if f.result != "mx_status":
            return
        self.forget(f, arguments, status)
        self.status["refused" if status else "ok"] += 1
        if status == 0:
            for a, memory, _ in self.outputs:
                if a.kind is Kind.OUT_HANDLE:
                    self.adopt(a.type, self.ffi.cast(f"{a.type} *", memory)[0])
            for a, memory, cap, count in self.lists:
                if a.kind is Kind.OUT_HANDLES:
                    for i in range(min(cap, count[0])):
                        self.adopt(a.type, self.ffi.cast(f"{a.type} *", memory)[i])
            return
        text = self.ffi.string(self.lib.mx_error_message()).decode(errors="replace")
        if status == INTERNAL or not 0 < status <= 22 or not text:
            raise Fault(f"status {status}: {text!r}")
        for a, memory, size in self.outputs:
            if self.ffi.buffer(memory, size)[:] != bytes([CANARY]) * size:
                raise Fault(f"status {status} ({text}), but {a.name} was written")

    def adopt(self, type: str, handle: int) -> None:
        if handle == 0:  # an output that there is none of
            return
        if handle in self.live[type]:
            raise Fault(f"gives out the handle {handle:#x}, which is open")
        self.live[type].append(handle)

    def forget(self, f: Function, arguments: list[Any], status: int) -> None:
        """What a call closed is closed."""
        if f.name.endswith("_free") or f.name.endswith("_end"):
            for handles in self.live.values():
                if arguments[0] in handles and status == 0:
                    handles.remove(arguments[0])

    def say(self, f: Function, arguments: list[Any]) -> None:
        """What is called now, for whoever finds this process dead."""
        text = f"mx_{f.name}({', '.join(map(self.show, arguments))})\n".encode()
        os.pwrite(3, text[:4000].ljust(4000), 0)

    def show(self, x: Any) -> str:
        return repr(x) if not isinstance(x, int) or isinstance(x, bool) or abs(x) < 1 << 40 else hex(x)


def cancel_what_takes_long(lib: Any, caller: Caller) -> None:
    seen = -1
    while True:
        now = sum(caller.status.values())
        if now == seen:
            lib.mx_request_cancel()
        seen = now
        time.sleep(PATIENCE)


def prepare(caller: Caller) -> None:
    caller.lib.mx_set_memory_limit(LIMIT)


def child(seed: int, calls: int) -> int:
    """Descriptor 3 is the file for the last call."""
    caller = Caller(load_header(), seed)
    prepare(caller)
    threading.Thread(target=cancel_what_takes_long, args=(caller.lib, caller), daemon=True).start()
    for _ in range(calls):
        try:
            caller.step()
        except Fault as fault:
            print(f"seed {seed}: {os.pread(3, 4000, 0).decode().strip()}\n  {fault}", flush=True)
            return 1
    print(f"seed {seed}: {calls} steps, {caller.status['ok']} calls worked, {caller.status['refused']} were refused")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.seed, args.calls)
    failed = 0
    for seed in range(args.seed, args.seed + args.processes):
        with tempfile.TemporaryDirectory() as folder, open(f"{folder}/last", "w+b") as last:
            os.dup2(last.fileno(), 3)
            command = [
                sys.executable,
                Path(sys.argv[0]).resolve(),
                "--child",
                "--seed",
                str(seed),
                "--calls",
                str(args.calls),
            ]
            done = subprocess.run(command, pass_fds=(3,), cwd=folder)
            if done.returncode not in (0, 1):
                print(
                    f"seed {seed}: ended with {done.returncode} in {os.pread(3, 4000, 0).decode().strip()}", flush=True
                )
            failed += done.returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
