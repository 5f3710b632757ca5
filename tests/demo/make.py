"""Fixtures with the images of the demo, drawn once per run, because drawing them takes seconds."""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import as_file
from pathlib import Path

import pytest

from builders.catalog.catalog_file import loader
from builders.demo import images
from builders.demo.service import demo_csv, list_titles
from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.cli.databases import own_database


@pytest.fixture(scope="session")
def demo_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all images, drawn once for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, fresh = shared / "demo-images", shared / "draft" / "images"
    with (shared / "demo-images.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            images.write_images(fresh, list_titles())
            fresh.rename(folder)
    return folder


@asynccontextmanager
async def demo_database(server: str, settings: Settings, *, images: Path, data_dir: Path) -> AsyncIterator[str]:
    """Yield a separate database with the demo catalog; a demo that is set up in it draws no images."""
    with own_database(server) as conninfo:
        migrations.migrate(conninfo)
        database = Database(conninfo, settings)
        await database.open()
        with as_file(demo_csv()) as path:
            await loader.load(database, path=path, images=images, assets=data_dir / "assets")
        await database.close()
        yield conninfo
