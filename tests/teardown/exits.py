"""The ways in which a process, or what the library lives in, comes to an end: the rows of the matrix. Each is a
function of a cell (cell.py): it brings about the state, ends things its way, and where the process goes on shows that
the library still works. `row` is the row of the teardown matrix, `without` says which states make no sense and why."""

import asyncio
import atexit
import contextlib
import faulthandler
import gc
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from children import compare, expect, fork
from libraries import chain

EXITS = {}


def exit_path(row, hot="", before_import=None, only="", without=None):
    """hot -- the states whose cells are repeated most; only -- the states that make sense, where these are few."""

    def put(function):
        name = function.__name__
        fields = {"hot": hot, "before_import": before_import, "only": only, "without": without or {}}
        EXITS[name] = SimpleNamespace(row=row, name=name, function=function, **fields)
        return function

    return put


# ---- the end of the process


@exit_path(3)
def os_exit(cell):
    cell.enter()
    os._exit(cell.leaving(6))


@exit_path(3)
def killed(cell):
    cell.enter()
    cell.leaving(-signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


@exit_path(4)
def abort(cell):
    cell.enter()
    cell.leaving(-signal.SIGABRT)
    os.abort()


@exit_path(5)
def sigterm(cell):
    cell.enter()
    cell.leaving(-signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)


def _send(cell, number, status=None):
    """Has a signal sent to this process in 50 ms; then the thread that asked waits for what takes seconds."""

    def send():
        if status is not None:
            cell.leaving(status)
        os.kill(os.getpid(), number)

    threading.Timer(0.05, send).start()
    cell.library.finish(cell.library.begin(lambda: chain(cell.library, 500, 3000)))


@exit_path(6)
def sigterm_handler_exits(cell):
    """The main thread waits when the signal comes."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))
    cell.enter()
    _send(cell, signal.SIGTERM, 4)
    return 99


@exit_path(7)
def keyboard_interrupt(cell):
    """Ctrl-C ends a wait; the library goes on working."""
    cell.enter()
    start = time.monotonic()
    try:
        _send(cell, signal.SIGINT)
    except KeyboardInterrupt:
        took = time.monotonic() - start
        assert took < 1, took
        cell.use()
        return cell.leaving(0)
    return 99


@exit_path(8, hot="MOKPZ")
def end_of_script(cell):
    cell.enter()
    return cell.leaving(0)


@exit_path(8)
def sys_exit(cell):
    cell.enter()
    sys.exit(cell.leaving(3))


@exit_path(8)
def uncaught_exception(cell):
    cell.enter()
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (the traceback that Python prints goes there)
    cell.leaving(1)
    raise ValueError("mine")


@exit_path(8, hot="I", only="I")
def first_op_last(cell):
    """The first operation of all is the last statement."""
    cell.leaving(0)
    cell.kept.append(cell.library.begin(lambda: chain(cell.library, 300, 1)))


def _late_use():
    with contextlib.suppress(RuntimeError):  # closed
        _late_cell[0].use()


_late_cell = []


@exit_path(9, before_import=lambda: atexit.register(_late_use))
def hook_before_import(cell):
    """A hook that runs after the library's own."""
    _late_cell.append(cell)
    cell.enter()
    return cell.leaving(0)


@exit_path(9)
def hook_after_import(cell):
    """A hook that runs before the library's own, and computes."""
    cell.enter()

    def hook():
        cell.use()
        cell.leaving(0)

    atexit.register(hook)


@exit_path(25)
def with_faulthandler(cell):
    faulthandler.enable()
    faulthandler.dump_traceback_later(30, exit=True)
    cell.enter()
    return cell.leaving(0)


@exit_path(26, before_import=lambda: atexit.register(gc.collect))
def cycles_collected_late(cell):
    """Garbage that holds what is live, collected by a hook that runs after the library's own."""
    gc.disable()
    cell.enter()
    cycle = SimpleNamespace(kept=cell.kept[:])
    cycle.itself = cycle
    cell.kept.clear()
    return cell.leaving(0)


# ---- threads


@exit_path(20, hot="OT")
def thread_ends(cell):
    """The thread that brought the state about ends and is joined; another drops what it left."""
    for body in (cell.enter, cell.kept.clear):
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    gc.collect()
    cell.use()
    return cell.leaving(0)


@exit_path(20, hot="MO")
def dropped_elsewhere(cell):
    """Functions are called here, then called and dropped on another thread; later ones answer for themselves."""
    cell.enter()
    lib = cell.library
    for k in range(5):
        f = [lib.compile(lambda x, k=k: x + k)]
        lib.finish(f[0](lib.ones(2)))
        thread = threading.Thread(target=lambda f=f: lib.finish(f.pop()(lib.ones(2))))
        thread.start()
        thread.join()
        g = lib.compile(lambda x, k=k: x * 10 + k)
        assert g(lib.ones(2)).tolist() == [[10.0 + k] * 2] * 2
    return cell.leaving(0)


@exit_path(20, hot="T")
def erased_during_trace(cell):
    """Another thread drops the function while its body runs."""
    cell.enter()
    lib, inside, go, out = cell.library, threading.Event(), threading.Event(), []

    def body(x):
        inside.set()
        go.wait(30)
        return x + 1

    box = [lib.compile(body)]
    thread = threading.Thread(target=lambda: out.append(box[0](lib.ones(2)).tolist()))
    thread.start()
    assert inside.wait(30)
    box.clear()
    gc.collect()
    go.set()
    thread.join()
    assert out == [[[2.0] * 2] * 2], out
    return cell.leaving(0)


@exit_path(21, hot="IMOKTZ")
def daemon_threads_inside_calls(cell):
    cell.enter()
    lib, running = cell.library, threading.Semaphore(0)
    f = lib.compile(lambda x: (x * 2) + x)

    def body():
        x = lib.ones(64)
        with contextlib.suppress(RuntimeError):  # closed
            while True:
                lib.finish(f(x))
                lib.finish(x @ x)
                running.release()

    for _ in range(3):
        threading.Thread(target=body, daemon=True).start()
    for _ in range(3):
        assert running.acquire(timeout=30)
    return cell.leaving(0)


@exit_path(23, hot="IMOK")
def pool_never_shut_down(cell):
    pool = ThreadPoolExecutor(3)
    pool.submit(cell.enter).result()
    assert list(pool.map(lambda _: cell.use(), range(6))) == [None] * 6
    return cell.leaving(0)


@exit_path(23, hot="O")
def pool_joined(cell):
    with ThreadPoolExecutor(3) as pool:
        pool.submit(cell.enter).result()
        assert list(pool.map(lambda _: cell.use(), range(6))) == [None] * 6
    return cell.leaving(0)


@exit_path(24)
def asyncio_executor(cell):
    async def main():
        await asyncio.to_thread(cell.enter)
        await asyncio.gather(*(asyncio.to_thread(cell.use) for _ in range(3)))

    asyncio.run(main())
    return cell.leaving(0)


# ---- other interpreters, other copies of the module

_DAEMONS = dict.fromkeys("CPT", "Python aborts when a subinterpreter ends beside daemon threads of its own")


def _subinterpreter(cell):
    """A legacy subinterpreter in the state of the cell; the module that has it, and its id."""
    old = sys.version_info < (3, 13)
    interpreters = importlib.import_module("_xxsubinterpreters" if old else "_interpreters")
    other = interpreters.create(isolated=False) if old else interpreters.create("legacy")
    lines = (
        "import sys, warnings",
        "warnings.simplefilter('ignore')",
        f"sys.path.insert(0, {sys.path[0]!r})",
        "from exits import _enter_anew",
        f"_enter_anew({cell.module!r}, {cell.state!r})",
    )
    problem = interpreters.run_string(other, "\n".join(lines))
    assert problem is None, problem
    return interpreters, other


@exit_path(12, without=_DAEMONS)
def subinterpreter_ends(cell):
    """This interpreter goes on."""
    for _ in range(1 if cell.state == "Z" else 2):  # NumPy does not let itself be imported twice
        interpreters, other = _subinterpreter(cell)
        interpreters.destroy(other)
    cell.use()
    return cell.leaving(0)


@exit_path(12, without=_DAEMONS)
def subinterpreter_is_left(cell):
    """The subinterpreter is alive when the main one ends, which ends it while Python finalizes."""
    warnings.filterwarnings("ignore", "remaining subinterpreters")  # Python 3.14 says so itself
    cell.kept.append(_subinterpreter(cell))
    cell.use()
    return cell.leaving(3)


@exit_path(27)
def module_imported_twice(cell):
    """A reload, and then a second copy beside the first, whose arrays stay good."""
    cell.enter()
    importlib.reload(sys.modules[cell.module])
    package = cell.module.split(".")[0]
    first = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == package}
    second = type(cell.library)(cell.module)
    assert sys.modules[cell.module] is not first[cell.module]
    second.use()
    cell.use()
    cell.kept.append(first)
    return cell.leaving(0)


@exit_path(28)
def inside_pytest(cell):
    import pytest

    class Plugin:
        @pytest.fixture
        def cell(self):
            return cell

    test = os.path.join(os.path.dirname(__file__), "inner_test.py")
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
        options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--import-mode=importlib"]
        status = pytest.main([*options, test], plugins=[Plugin()])
    return cell.leaving(int(status))


# ---- other processes


@exit_path(15, hot="IMKO")
def forked_child_computes(cell):
    cell.enter()
    for _ in range(2):
        expect(fork(cell.use), 0)
    cell.use()
    return cell.leaving(0)


@exit_path(16)
def forked_child_exits(cell):
    """The child runs the hooks that it inherited."""
    cell.enter()
    pid = os.fork()
    if pid == 0:
        sys.exit(7)
    expect(pid, 7)
    return cell.leaving(0)


@exit_path(16, hot="IMK")
def forked_child_exits_while_busy(cell):
    """The child computes on a daemon thread when it exits."""
    cell.enter()
    pid = os.fork()
    if pid == 0:
        busy = threading.Event()

        def body():
            with contextlib.suppress(RuntimeError):  # closed
                while True:
                    cell.use()
                    busy.set()

        threading.Thread(target=body, daemon=True).start()
        assert busy.wait(30)
        sys.exit(7)
    expect(pid, 7)
    return cell.leaving(0)


@exit_path(17)
def subprocess_under_load(cell):
    cell.enter()
    for _ in range(5):
        assert subprocess.run(["/bin/true"], preexec_fn=lambda: None).returncode == 0
        assert subprocess.run(["/bin/true"]).returncode == 0
    return cell.leaving(0)


def _enter_anew(module, state):
    """Brings the state about in another process or interpreter, which imports the library, or finds it."""
    import cell

    other = cell.Cell(module, state)
    cell.take(cell.Cell.enter, other)
    other.use()
    _others.append(other)


_others = []


def _process(cell, method):
    context = multiprocessing.get_context(method)
    process = context.Process(target=_enter_anew, args=(cell.module, cell.state))
    process.start()
    process.join(30)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError("the child hangs")
    compare(process.exitcode, 0)


@exit_path(14)
def spawned_process(cell):
    _process(cell, "spawn")
    return cell.leaving(0)


@exit_path(18)
def forkserver_process(cell):
    _process(cell, "forkserver")
    return cell.leaving(0)


@exit_path(15)
def forked_process(cell):
    """multiprocessing's own way to fork, while the parent is busy as well."""
    cell.enter()
    _process(cell, "fork")
    return cell.leaving(0)


@exit_path(29, hot="M")
def prefork_server(cell):
    """Four workers, each with threads, forked from a master that has computed."""
    cell.enter()

    def serve():
        with ThreadPoolExecutor(2) as pool:
            assert len(list(pool.map(lambda _: cell.use(), range(4)))) == 4

    for pid in [fork(serve) for _ in range(4)]:
        expect(pid, 0)
    return cell.leaving(0)


# Rows that have no cell here. Row -> (name, why, or where it is tested).
ELSEWHERE = {
    1: ("return from main", "a C program: cell.c"),
    2: ("exit on any thread", "a C program: cell.c"),
    10: ("Py_FinalizeEx, host goes on", "a C program: embedding_host.c"),
    11: ("Python again after it", "a C program: embedding_host.c"),
    13: ("own-GIL subinterpreter", "cffi refuses to be imported there: tests/python/test_interpreters.py"),
    19: ("dlclose", "a C program: dlclose_while_busy.c"),
    22: ("native thread calls in late", "a C program: embedding_host.c"),
    30: ("free-threaded Python", "no registry that this project reaches has an interpreter"),
    31: ("PyPy", "has no version with the features of Python 3.11"),
    32: ("Windows", "the library is for Linux"),
    33: ("macOS", "the library is for Linux"),
}
