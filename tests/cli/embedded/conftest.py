import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.cli.embedded.server import EmbeddedServer
from tests.cli.embedded.servers import QUICK, kill, processes


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everyone may pass through, unlike pytest's."""
    yield from _open_folder()


@pytest.fixture(scope="session")
def made() -> Iterator[Path]:
    """A data directory with a database in it; making one takes longest of all."""
    for path in _open_folder():
        with EmbeddedServer(path / "data", durable=False):
            pass
        yield path / "data"


@pytest.fixture(scope="module")
def shared(made: Path) -> Iterator[EmbeddedServer]:
    """A running database, a copy, for tests that only look at it."""
    for path in _open_folder():
        subprocess.run(["cp", "-a", made, path / "data"], check=True)
        with EmbeddedServer(path / "data", durable=False) as running:
            yield running


@pytest.fixture
def data(made: Path) -> Iterator[Path]:
    """A data directory with a database, not running; a test mends what it breaks in it."""
    yield made
    kill(*processes(made))


@pytest.fixture
def embedded(data: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(data, durable=False, timing=QUICK) as running:
        yield running


def _open_folder() -> Iterator[Path]:
    """A folder for everyone; at the end whatever still runs there is killed."""
    path = Path(tempfile.mkdtemp(prefix="builders-test-"))
    path.chmod(0o755)
    yield path
    kill(*processes(path / "data"))
    shutil.rmtree(path)
