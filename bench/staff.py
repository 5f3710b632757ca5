"""What the limit and the usual stack share with the service: its pool, its keyring, its catalog in memory.

None of it is machinery of HTTP, so whoever would build the service otherwise would have it too.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from builders.catalog.service import CatalogCache
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import Keyring, keyring_of
from builders.kit.process.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Staff:
    """Opened once for a process."""

    database: Database
    keyring: Keyring
    shelf: CatalogCache


@asynccontextmanager
async def staff(settings: Settings) -> AsyncIterator[Staff]:
    """Opens the pool and what stands on it."""
    assert settings.database_url is not None
    database = Database(settings.database_url.get_secret_value(), settings)
    await database.open()
    try:
        yield Staff(
            database=database,
            keyring=keyring_of(settings),
            shelf=CatalogCache(database, assets=settings.data_dir / "assets"),
        )
    finally:
        await database.close()
