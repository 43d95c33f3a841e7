"""A prefork server under load: gunicorn loads the MiniLM model in its master, four workers answer from two threads
each. While clients ask, a worker is killed and the server reloaded (SIGHUP). Every request must be answered, and
rightly, but those that the killed worker was busy with.

    prefork.py [--seconds 4] [--clients 8]"""

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parent
N_WORKERS, N_THREADS = 4, 2
SENTENCES = [[101, *range(2000 + 7 * i, 2006 + 8 * i), 102] for i in range(6)]


class Client(threading.Thread):
    """Asks for one vector after the other, each on a connection of its own, until it is told to stop."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path, self.ends = path, threading.Event()
        self.answers: list[tuple[int, dict]] = []  # (which sentence, what was answered)
        self.lost: list[tuple[float, str]] = []  # (when it was asked, what went wrong)

    def ask(self, which: int) -> dict:
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(30)
        try:
            connection.sock.connect(self.path)
            connection.request("POST", "/", json.dumps(SENTENCES[which]))
            response = connection.getresponse()
            text = response.read()
            assert response.status == 200, text
            return json.loads(text)
        finally:
            connection.close()

    def run(self) -> None:
        for i in range(10**9):
            if self.ends.is_set():
                return
            which, asked = i % len(SENTENCES), time.monotonic()
            try:
                self.answers.append((which, self.ask(which)))
            except (OSError, http.client.HTTPException) as error:
                self.lost.append((asked, repr(error)))


def start(path: str, log: str) -> subprocess.Popen:
    options = ["--preload", "--workers", N_WORKERS, "--threads", N_THREADS, "--bind", f"unix:{path}"]
    options += ["--graceful-timeout", 10, "--error-logfile", log, "--worker-class", "gthread", "--no-control-socket"]
    command = [sys.executable, "-m", "gunicorn", *map(str, options), "app:application"]
    server = subprocess.Popen(command, cwd=FOLDER, start_new_session=True)
    probe, deadline = Client(path), time.monotonic() + 60
    while True:
        try:
            probe.ask(0)
            return server
        except OSError:
            assert server.poll() is None and time.monotonic() < deadline, Path(log).read_text()
            time.sleep(0.1)


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.01)


def workers(clients: list[Client]) -> set[int]:
    return {answer["worker"] for c in clients for _, answer in c.answers}


def run(seconds: float, n_clients: int, folder: str) -> str:
    path, log = f"{folder}/socket", f"{folder}/log"
    server = start(path, log)
    clients = [Client(path) for _ in range(n_clients)]
    try:
        for client in clients:
            client.start()
        wait_until(lambda: all(client.answers for client in clients))
        time.sleep(seconds / 3)
        victim = clients[0].answers[-1][1]["worker"]
        os.kill(victim, signal.SIGKILL)
        killed = time.monotonic()
        time.sleep(seconds / 3)
        before = workers(clients)
        os.kill(server.pid, signal.SIGHUP)
        wait_until(lambda: len(workers(clients) - before) >= 2)
        time.sleep(seconds / 3)
    finally:
        for client in clients:
            client.ends.set()
        for client in clients:
            if client.ident:
                client.join(60)
                assert not client.is_alive(), "a request hangs"
        server.send_signal(signal.SIGTERM)
        try:
            status = server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            raise AssertionError("the server hangs: " + Path(log).read_text()) from None
    return check(clients, victim, killed, status, log)


def check(clients: list[Client], victim: int, killed: float, status: int, log: str) -> str:
    answers = [a for c in clients for a in c.answers]
    lost = [request for c in clients for request in c.lost]
    assert status == 0, (status, Path(log).read_text())
    assert all(asked < killed for asked, _ in lost), (lost, killed, Path(log).read_text()[-3000:])
    known: dict[int, list[float]] = {}
    for which, answer in answers:
        assert known.setdefault(which, answer["vector"]) == answer["vector"], "the same question, another answer"
        assert answer["forked"], "the model was not loaded by the master"
        assert answer["traces"] == 1, "a worker traced again"
    assert all(abs(sum(v * v for v in vector) - 1) < 1e-5 for vector in known.values())
    pids = workers(clients)
    assert victim in pids, pids
    return f"{len(answers)} requests answered by {len(pids)} workers, {len(lost)} lost with the one that was killed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(run(options.seconds, options.clients, folder))


if __name__ == "__main__":
    main()
