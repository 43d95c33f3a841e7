"""The end of the process, fork, and the life of the runtime: small programs, each a process of its own.

A program passes when it ends with its status within 1.2 s of its last line, says what it should and nothing on stderr.
"""

import os
import subprocess
import sys
import time

import pytest
from helpers import run_python

LIMIT = 1.2

# name -> (program, expected output before the time stamp, exit status)
EXITS = {
    "import only": ("", "", 0),
    "lazy work is left": ("a = mx.ones((10,)) + 1", "", 0),
    "started work is left": (
        "a = mx.ones((1200, 1200))\nfor _ in range(50): a = a @ a * 1e-3\nmx.async_eval(a)",
        "",
        0,
    ),
    "module globals and cycles": (
        "class C: pass\nc = C(); c.c = c; c.a = mx.ones((3,)) + 1; mx.eval(c.a); keep = [c, mx.compile(lambda x: x)]",
        "",
        0,
    ),
    "status is kept": ("mx.async_eval(mx.ones((1500, 1500)) @ mx.ones((1500, 1500)))\nstamp(); sys.exit(5)", "", 5),
    "os._exit": ("mx.async_eval(mx.ones((1500, 1500)) @ mx.ones((1500, 1500)))\nstamp(); os._exit(6)", "", 6),
    "thread that never stops": (
        "def loop():\n"
        "    while True:\n"
        "        try: mx.eval(mx.exp(mx.ones((3000,))), f(mx.ones((20,))))\n"
        "        except RuntimeError: return\n"
        "f = mx.compile(lambda x: (x * 2, {'y': x}))\n"
        "for _ in range(3): threading.Thread(target=loop, daemon=True).start()\n"
        "time.sleep(0.1)",
        "",
        0,
    ),
    "thread inside a trace": (
        "def body(x):\n"
        "    while True: time.sleep(0.01)\n"
        "f = mx.compile(body)\n"
        "threading.Thread(target=lambda: f(mx.array(1)), daemon=True).start()\n"
        "time.sleep(0.1)",
        "",
        0,
    ),
    "thread that waits for captured state": (
        "state = {'n': mx.array(1.0)}\n"
        "def body(x):\n"
        "    while True: time.sleep(0.01)\n"
        "f = mx.compile(body, inputs=state)\n"
        "def work():\n"
        "    try: f(mx.array(1))\n"
        "    except RuntimeError: pass  # who waits is told that the runtime closes\n"
        "for _ in range(2): threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.1)",
        "",
        0,
    ),
    "borrowed memory in use": (
        "import numpy as np\n"
        "a = mx.asarray(np.ones((1500, 1500), np.float32), copy=False)\n"
        "mx.async_eval(a @ a); view = np.array(mx.ones((3,)), copy=False); capsule = mx.ones((3,)).__dlpack__()",
        "",
        0,
    ),
    "pending await": (
        "import asyncio\n"
        "async def main():\n"
        "    a = mx.ones((1500, 1500)) @ mx.ones((1500, 1500))\n"
        "    task = asyncio.ensure_future(wait(a)); await asyncio.sleep(0)\n"
        "async def wait(a): await a\n"
        "asyncio.run(main())",
        "",
        0,
    ),
    "use in atexit hooks": (
        "import atexit\natexit.register(lambda: print((mx.ones((2,)) + 1).tolist(), flush=True))",
        None,
        0,
    ),
    "closed by hand": (
        "a = mx.ones((3,)) + 1; mx.eval(a); mx.shutdown()\n"
        "print(a.tolist(), memoryview(a).tolist())\n"
        "try: mx.eval(mx.ones((2,)) + 1)\n"
        "except mx.RuntimeClosedError as e: print('closed', isinstance(e, RuntimeError))\n"
        "mx.shutdown()",
        "[2.0, 2.0, 2.0] [2.0, 2.0, 2.0]\nclosed True\n",
        0,
    ),
    "finish policy": (
        "mx.set_exit_policy('finish', 5)\na = mx.ones((300, 300))\n"
        "for _ in range(5): a = a @ a * 1e-3\nmx.async_eval(a)",
        "",
        0,
    ),
    "cancelled by hand": (
        "a = mx.ones((1000, 1000))\n"
        "for _ in range(300): a = a @ a * 1e-3\n"
        "mx.async_eval(a); mx.request_cancel()\n"
        "try: mx.eval(a); print('ran')\n"
        "except mx.CancelledWork: print('cancelled')\n"
        "print((mx.ones((2,)) + 1).tolist())",
        "cancelled\n[2.0, 2.0]\n",
        0,
    ),
}

# Programs that fork; each prints what its child found.
FORKS = {
    "use in the child": (
        "a = mx.arange(5); mx.eval(a); f = mx.compile(lambda x: x * 2); f(a).tolist()\n"
        "child(lambda: (a.tolist(), (a + 1).tolist(), f(a).tolist(), mx.compile(lambda x: x - 1)(a).tolist()))",
        "([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [0, 2, 4, 6, 8], [-1, 0, 1, 2, 3])\n",
    ),
    "lazy graphs survive": (
        "a = mx.ones((3,)) + 1\nchild(lambda: a.tolist())\nprint(a.tolist())",
        "[2.0, 2.0, 2.0]\n" * 2,
    ),
    "pending work is lost, clearly": (
        "a = mx.ones((1500, 1500))\n"
        "for _ in range(20): a = a @ a * 1e-3\n"
        "mx.async_eval(a)\n"
        "def look():\n"
        "    try: mx.eval(a); return 'computed'\n"
        "    except mx.ForkedWorkLost: return 'lost'\n"
        "child(look)",
        "lost\n",
    ),
    "random numbers differ": (
        "mx.eval(mx.random.uniform(shape=(2,)))\n"
        "def draw(): return mx.random.uniform(shape=(4,)).tolist()\n"
        "out = {answer(draw) for _ in range(3)}; print(len(out))",
        "3\n",
    ),
    "from another thread, under load": (
        "def loop():\n"
        "    while True:\n"
        "        try: mx.eval(mx.ones((200, 200)) @ mx.ones((200, 200)))\n"
        "        except RuntimeError: return\n"
        "threading.Thread(target=loop, daemon=True).start(); time.sleep(0.05)\n"
        "t = threading.Thread(target=lambda: child(lambda: (mx.ones((2,)) + 1).tolist())); t.start(); t.join()",
        "[2.0, 2.0]\n",
    ),
    "while another thread traces with captured state": (
        "state = {'n': mx.array(1.0)}; inside, go = threading.Event(), threading.Event()\n"
        "def body(x):\n"
        "    inside.set(); go.wait(10); state['n'] = state['n'] + x; return x\n"
        "f = mx.compile(body, inputs=state, outputs=state)\n"
        "t = threading.Thread(target=lambda: f(mx.array(1.0))); t.start(); inside.wait(10)\n"
        "def look():\n"
        "    go.set(); before = state['n'].item(); f(mx.array(2.0)); return before, state['n'].item()\n"
        "child(look); go.set(); t.join(); print(state['n'].item())",
        "(1.0, 3.0)\n2.0\n",
    ),
    "prefork server": (
        "w = mx.random.normal((64, 64)); mx.eval(w); x = mx.ones((8, 64))\n"
        "def serve():\n"
        "    from concurrent.futures import ThreadPoolExecutor\n"
        "    with ThreadPoolExecutor(2) as pool:\n"
        "        return len(list(pool.map(lambda i: (x @ w).sum().item(), range(20))))\n"
        "for _ in range(3): child(serve)",
        "20\n" * 3,
    ),
    "a child that only exits": (
        "mx.eval(mx.ones((3,)) + 1)\npid = os.fork()\nif pid == 0: sys.exit(0)\nprint(os.waitpid(pid, 0)[1])",
        "0\n",
    ),
}

HEAD = """
import os, sys, threading, time
import pymx as mx
def stamp(): print('STAMP', time.time(), flush=True)
def answer(f):
    r, w = os.pipe(); pid = os.fork()
    if pid == 0:
        try: text = str(f())
        except BaseException as e: text = repr(e)
        os.write(w, text.encode()); os._exit(0)
    os.close(w); deadline = time.time() + 10
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.time() > deadline: os.kill(pid, 9); os.waitpid(pid, 0); return 'hangs'
        time.sleep(0.005)
    text = os.read(r, 10000).decode(); os.close(r); return text
def child(f): print(answer(f), flush=True)
"""


def run(body, expected, status):
    code = HEAD + body + ("" if "stamp()" in body else "\nstamp()\n")
    out = run_python(code)
    end = time.time()
    assert out.stderr == "" and out.returncode == status
    text, _, rest = out.stdout.partition("STAMP")
    assert end - float(rest.split()[0]) < LIMIT
    if expected is not None:
        assert text == expected


@pytest.mark.parametrize("name", EXITS)
def test_exit(name):
    run(*EXITS[name])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", FORKS)
def test_fork(name):
    run(*FORKS[name], 0)


def test_interpreter_with_warnings_as_errors():
    code = "import pymx as mx\nf = mx.compile(lambda x: x + 1)\nassert f(mx.array(1)).item() == 2"
    out = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", code], capture_output=True, text=True)
    assert (out.returncode, out.stderr) == (0, "")


def test_import_is_light():
    """Neither NumPy nor threads come with the import."""
    code = (
        "import sys, threading, os\nimport pymx\n"
        "heavy = ('numpy', 'asyncio', 'pickle', 'inspect')\n"
        "print([m for m in heavy if m in sys.modules], len(os.listdir('/proc/self/task')))"
    )
    out = run_python(code)
    assert out.stdout == "[] 1\n", out.stderr


def test_released_memory_comes_back_without_calls():
    import gc
    import weakref

    import numpy as np

    import pymx as mx
    from pymx import lifecycle

    x = np.zeros(10, np.float32)
    alive = weakref.ref(x)
    a = mx.asarray(x, copy=False)
    del x, a
    gc.collect()
    gc.collect()
    assert alive() is None and not lifecycle._tokens
    with pytest.raises(ValueError):
        mx.set_exit_policy("now")
    with pytest.raises(ValueError):
        mx.shutdown("now")


def test_environment_of_the_exit():
    code = "import pymx as mx\nmx.async_eval(mx.ones((1500, 1500)) @ mx.ones((1500, 1500)))"
    env = os.environ | {"MX_EXIT_DRAIN_MS": "0"}
    out = run_python(code, timeout=30, env=env)
    assert (out.returncode, out.stderr) == (0, "")
