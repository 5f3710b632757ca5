"""The processes of a service, and their memory."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from bench.fixtures import Fixtures

READY_WITHIN_S = 60
SAMPLE_S = 0.05


@dataclass(slots=True)
class Memory:
    """The resident bytes of a process over time, sampled in a thread."""

    process: psutil.Process
    peak: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def sampled(self) -> Iterator[None]:
        """Sample until the block ends."""
        self.peak = self.now()
        sampler = threading.Thread(target=self._sample)
        sampler.start()
        try:
            yield
        finally:
            self._over.set()
            sampler.join()

    def now(self) -> int:
        """Return the resident bytes."""
        return int(self.process.memory_info().rss)

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.peak = max(self.peak, self.now())


@contextmanager
def running(
    prepared: Fixtures, receiver_port: int, log_path: Path, *, limits: str = "off"
) -> Iterator[tuple[int, psutil.Process]]:
    """Run `builders http` and `builders worker` as `builders serve` does; yield the port and the first process.

    The rate limits are off by default, because the other account sends more than they allow; the operations keep
    to them.
    """
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": prepared.conninfo,
        "BUILDERS_DATA_DIR": str(prepared.data_dir),
        "BUILDERS_LIMITS": limits,
        "BUILDERS_LOG_LEVEL": "error",
        "BUILDERS_OUTBOUND_ALLOW": f"127.0.0.1:{receiver_port}",
    }
    program = [sys.executable, "-m", "builders"]
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2048))
        log = stack.enter_context(log_path.open("wb"))
        port = int(listener.getsockname()[1])
        start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
        http = start(
            [*program, "http", "--fd", str(listener.fileno())],
            env=environment,
            pass_fds=[listener.fileno()],
            stdout=log,
            stderr=log,
        )
        worker = start([*program, "worker"], env=environment, stdout=log, stderr=log)
        try:
            _wait_until_ready(port)
            yield port, psutil.Process(http.pid)
        finally:
            for process in (http, worker):
                process.kill()
                process.wait()


def _wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise RuntimeError("The service is not ready.")
        time.sleep(0.1)
