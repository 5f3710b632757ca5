"""Data of each release, and of this checkout, migrated by this checkout: what was stored is shown."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.cli.embedded.server import EmbeddedServer
from builders.kit.db import migrations
from soak.replicas import free_port
from soak.restarts import Machine
from tests.releases import make, walk

FOLDER = Path(__file__).parent
FIXTURES = sorted(each.parent for each in FOLDER.glob(f"*/{make.DUMP}"))


@pytest.fixture(params=[*FIXTURES, None], ids=lambda each: "this checkout" if each is None else each.name)
def fixture(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the folder of a release's data."""
    if request.param is not None:
        return Path(request.param)
    made = tmp_path / "made"
    make.make(made)
    return made


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a data folder that PostgreSQL's own user can enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.mark.system
def test_what_a_release_stored_is_shown_and_can_be_changed(fixture: Path, folder: Path) -> None:
    with EmbeddedServer(folder, durable=False) as embedded:
        make.load(fixture, embedded.conninfo, folder)
        migrations.migrate(embedded.conninfo)
        migrations.migrate(embedded.conninfo, after=True)
        environment = {
            **os.environ,
            "BUILDERS_DATABASE_URL": embedded.conninfo,
            "BUILDERS_DATA_DIR": str(folder),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        machine = Machine(free_port(), ["--http-only"], environment, folder / "log")
        try:
            machine.start()
            walk.walk(f"http://127.0.0.1:{machine.port}", make.read_state(fixture))
        finally:
            machine.stop()


def test_a_lost_item_and_a_changed_member_are_found() -> None:
    item = {"id": "1", "name": "Harbour"}
    assert walk._find_lost([item], [{**item, "colour": "grey"}]) == []
    assert walk._find_lost([item], []) == ["1 became 0"]
    assert walk._find_lost([item], [{**item, "name": "Meadow"}]) == [("name", "Harbour", "Meadow")]
