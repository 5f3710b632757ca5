"""The rows of the measurement of growth fit the schema."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bench import growth
from builders.forwarding import lookup_checks
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.demo.make import demo_database


@pytest.fixture
async def own(server: str, settings: Settings, tmp_path: Path, demo_images: Path) -> AsyncIterator[str]:
    """A database with the catalog for this test alone."""
    async with demo_database(server, settings, images=demo_images, data_dir=tmp_path) as conninfo:
        yield conninfo


@pytest.mark.system
async def test_the_rows_are_written_and_mail_servers_are_told_the_truth(
    own: str, settings: Settings, tmp_path: Path
) -> None:
    await growth.prepare(tmp_path, own, rows=20)

    database = Database(own, settings)
    await database.open()
    wrong = await lookup_checks.list_wrong(database)
    async with database.connection() as conn:
        count = await (
            await conn.execute("SELECT count(*) FROM aliases_lookups WHERE alias_id IS NOT NULL")
        ).fetchone()
    await database.close()
    assert (wrong, count) == ([], (18,))
