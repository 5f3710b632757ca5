"""`builders serve` as it is run: a process with children and a database of its own, seen from outside."""

import http
import http.client
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess, Popen, run
from types import TracebackType
from typing import Self

import psutil

from tests.kit.db.embedded.servers import kill, lives, processes, python_path, wait_until


@contextmanager
def data_folder() -> Iterator[Path]:
    """A data folder where PostgreSQL's user may pass, unlike pytest's; the service runs in the one around it."""
    folder = Path(tempfile.mkdtemp(prefix="builders-serve-"))
    folder.chmod(0o755)
    (folder / "redis.py").write_text("raise SystemExit('a module was taken from the current folder')")
    data = folder / "data"
    yield data
    for process in processes(data):  # of a database that nobody stopped
        with suppress(psutil.NoSuchProcess):  # it ended with the first
            process.kill()
    wait_until(lambda: not processes(data))
    shutil.rmtree(folder)


def environment(data: Path) -> dict[str, str]:
    """No settings but the data folder, whatever ours are."""
    ours = {name: value for name, value in python_path().items() if "DATABASE_URL" not in name}
    return ours | {"BUILDERS_DATA_DIR": str(data)}


def builders(data: Path, *words: str) -> CompletedProcess[str]:
    """A command from its start to its end."""
    program = [sys.executable, "-m", "builders", *words]
    return run(program, env=environment(data), capture_output=True, text=True, check=False, timeout=60)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Serving:
    """A service that was started, until it is stopped or the block ends."""

    def __init__(self, data: Path, *words: str, port: int | None = None) -> None:
        self.data = data
        self.port = port or free_port()
        self.family: list[psutil.Process] = []  # everyone who was seen
        self._log = data.with_name(f"log-{self.port}").open("a+")
        program = [sys.executable, "-P", "-m", "builders", "serve", "--port", str(self.port), *words]
        self._parent = Popen(
            program, cwd=data.parent, env=environment(data), stdout=DEVNULL, stderr=self._log, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves none of its processes behind, whatever the test did; the database may be another's too."""
        self.look()
        kill(*filter(lives, self.family))
        self._parent.wait()
        self._log.close()

    def wait(self) -> None:
        """Until it answers, which on an empty folder takes a while."""
        give_up = time.monotonic() + 60
        while not self.is_ready():
            assert time.monotonic() < give_up, self.log()
            time.sleep(0.02)

    @property
    def parent(self) -> psutil.Process:
        """The process that was started."""
        return psutil.Process(self._parent.pid)

    def is_ready(self) -> bool:
        """Whether requests are answered; a service that gave up fails the test with its last words."""
        assert self._parent.poll() is None, self.log()
        return self.status("/readyz") == http.HTTPStatus.OK

    def status(self, path: str, key: str = "", **headers: str) -> int:
        """How a request on a connection of its own is answered; 0 when it is not."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path, headers={"X-API-Key": key} if key else headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def look(self) -> None:
        """Keeps in mind who is there."""
        with suppress(psutil.NoSuchProcess):
            self.family += [self.parent, *self.parent.children()]

    def children(self, command: str) -> list[psutil.Process]:
        """The living children that run a command, such as `http`."""
        self.look()
        found = []
        for process in self.parent.children():
            with suppress(psutil.NoSuchProcess):
                if lives(process) and f" {command}" in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def is_whole(self, *, workers: int) -> bool:
        """Whether all the children are there."""
        return (len(self.children("http")), len(self.children("worker"))) == (workers, 1)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Tells it to stop and waits for it; its exit status."""
        self.look()
        self._parent.send_signal(number)
        return self._parent.wait(timeout=20)

    def remaining(self) -> Sequence[psutil.Process]:
        """Who of the service and its database is still there."""
        return [*filter(lives, self.family), *processes(self.data)]

    def log(self) -> str:
        """All that it said."""
        self._log.flush()
        self._log.seek(0)
        return self._log.read()
