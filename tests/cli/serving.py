"""`builders serve` in a process with children and an embedded database."""

import http
import http.client
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess, Popen, run
from types import TracebackType
from typing import Self

import psutil

from tests import log_lines
from tests.cli.embedded.servers import kill, lives, processes, python_path, wait_until


@contextmanager
def data_folder() -> Iterator[Path]:
    """Create a data folder that PostgreSQL's user can enter, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="builders-serve-"))
    folder.chmod(0o755)
    (folder / "stripe.py").write_text("raise SystemExit('a module was taken from the current folder')")
    data = folder / "data"
    yield data
    for process in processes(data):  # of a database that was not stopped
        with suppress(psutil.NoSuchProcess):  # it ended with the first
            process.kill()
    wait_until(lambda: not processes(data))
    shutil.rmtree(folder)


def environment(data: Path, **settings: str) -> dict[str, str]:
    """Return an environment with the data folder and these settings only."""
    inherited = {name: value for name, value in python_path().items() if "DATABASE_URL" not in name}
    return inherited | {"BUILDERS_DATA_DIR": str(data)} | settings


def builders(data: Path, *words: str, **settings: str) -> CompletedProcess[str]:
    """Run a command to its end."""
    program = [sys.executable, "-m", "builders", *words]
    given = environment(data, **settings)
    done = run(program, env=given, capture_output=True, text=True, check=False, timeout=60)
    assert log_lines.find_wrong_printed(done.stderr) == []
    return done


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def refusing_port() -> Iterator[int]:
    """Yield a port that refuses connections, and that no other program takes meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # without `listen`
        yield int(bound.getsockname()[1])


class Serving:
    """A running service, until it is stopped or the block ends."""

    def __init__(self, data: Path, *words: str, port: int | None = None, **settings: str) -> None:
        self.data = data
        self.port = port or free_port()
        self.family: list[psutil.Process] = []  # all processes that were seen
        self._log = data.with_name(f"log-{self.port}").open("a+")
        program = [sys.executable, "-P", "-m", "builders", "serve", "--port", str(self.port), *words]
        self._parent = Popen(
            program,
            cwd=data.parent,
            env=environment(data, **settings),
            stdout=DEVNULL,
            stderr=self._log,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill all remaining processes; the database may be shared."""
        self.look()
        kill(*filter(lives, self.family))
        self._parent.wait()
        wrong = log_lines.find_wrong_printed(self.log())
        self._log.close()
        assert wrong == [] or kind is not None, wrong

    def wait(self) -> None:
        """Wait until it responds, which takes long on an empty folder."""
        deadline = time.monotonic() + 60
        while not self.is_ready():
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    @property
    def parent(self) -> psutil.Process:
        """Return the started process."""
        return psutil.Process(self._parent.pid)

    def is_ready(self) -> bool:
        """Return whether the service is ready; fail the test with the log when it has exited."""
        assert self._parent.poll() is None, self.log()
        return self.status("/readyz") == http.HTTPStatus.OK

    def status(
        self, path: str, key: str = "", *, within_s: float = 5, headers: Mapping[str, str] | None = None
    ) -> int:
        """Return the status of a request on a new connection; 0 without a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=within_s)
        try:
            connection.request("GET", path, headers={"X-API-Key": key} if key else headers or {})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def look(self) -> list[psutil.Process]:
        """Record the running processes; return the children."""
        try:
            parent, children = self.parent, self.parent.children()
        except psutil.NoSuchProcess:
            return []
        self.family = list({*self.family, parent, *children})
        return children

    def children(self, command: str) -> list[psutil.Process]:
        """Return the live children that run a command, such as `http`."""
        return running(command, self.look())

    def is_whole(self, *, workers: int) -> bool:
        """Return whether all children run."""
        children = self.look()  # once: it reads all processes of the machine
        return (len(running("http", children)), len(running("worker", children))) == (workers, 1)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the service and return its exit status."""
        self.look()
        self._parent.send_signal(number)
        return self._parent.wait(timeout=20)

    def remaining(self) -> Sequence[psutil.Process]:
        """Return the remaining processes of the service and its database."""
        return [*filter(lives, self.family), *processes(self.data)]

    def log(self) -> str:
        """Return the log."""
        self._log.flush()
        self._log.seek(0)
        return self._log.read()


def running(command: str, processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the live processes that run a command."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if lives(process) and f" {command}" in " ".join(process.cmdline()):
                found.append(process)
    return found
