"""The catalog cache of one process: the newest snapshot, updated by the serials of changed rows.

At most once a second, one request reads the version from the database, and concurrent requests share its result. A
small change is applied before the response. A large one is built off the event loop, while requests get the old
snapshot. Without the database the process cannot know whether the snapshot is current, so requests fail.
"""

import asyncio
from math import inf
from pathlib import Path

from builders.catalog import snapshot
from builders.catalog.records import CatalogDomain
from builders.catalog.snapshot import Snapshot
from builders.catalog.store import domains as store
from builders.kit.db.connections import Database
from builders.kit.process import log
from builders.kit.values import clock

CHECKED_EVERY_S = 1.0
WAIT_S = 0.25
_BATCH = 500  # domains read by one statement

_log = log.get_logger()


class CatalogCache:
    """The cached catalog that the requests of one process read.

    While there is an old snapshot, a request waits for a new one up to `wait_s` seconds.
    """

    def __init__(self, database: Database, *, assets: Path, wait_s: float = WAIT_S) -> None:
        self.assets = assets
        self._wait_s = wait_s
        self._database = database
        self._snapshot = snapshot.EMPTY
        self._checked = -inf  # on the monotonic clock
        self._checking: asyncio.Task[None] | None = None
        self._updating: asyncio.Task[None] | None = None

    def find_current(self) -> Snapshot | None:
        """Return the catalog of at most a second ago; None when the version must be read."""
        return None if self._is_due() else self._snapshot

    async def current(self) -> Snapshot:
        """Return the catalog of at most a second ago. Raise DatabaseUnavailable and DatabaseBusy."""
        while self._is_due():
            if self._checking is None or self._checking.done():
                self._checking = asyncio.create_task(self._check())
            # Shielded: a client that disconnects must not cancel the read of other requests.
            await asyncio.shield(self._checking)
        return self._snapshot

    def _is_due(self) -> bool:
        # A negative age means that the clock was set back: the snapshot may be older.
        return not 0 <= clock.monotonic() - self._checked < CHECKED_EVERY_S

    async def _check(self) -> None:
        old = self._snapshot
        longest = None if old is snapshot.EMPTY else self._wait_s
        async with self._database.connection() as conn:
            version = await store.get_version(conn)
        if longest is None and self._updating is not None:
            await asyncio.wait({self._updating})  # it may have started before the change
        is_newer = self._snapshot is not old and self._snapshot.version >= version
        if version != old.version and not is_newer:
            await self._wait(version, longest)
        self._checked = clock.monotonic()

    async def _wait(self, version: int, longest: float | None) -> None:
        """Start an update to a newer snapshot, and wait for it up to `longest` seconds."""
        if self._updating is None or self._updating.done():
            self._updating = asyncio.create_task(self._update(version))
            self._updating.add_done_callback(_log_failure)
        await asyncio.wait({self._updating}, timeout=longest)
        if self._updating.done():
            self._updating.result()

    async def _update(self, version: int) -> None:
        """Replace the snapshot by a newer one; read all when the database has an older version (a restore)."""
        old = self._snapshot if version > self._snapshot.version else snapshot.EMPTY
        changed: list[CatalogDomain] = []
        async with self._database.connection() as conn:
            categories = await store.list_categories(conn)
            serial = old.version
            while rows := await store.list_changes(conn, after=serial, limit=_BATCH):
                changed += await asyncio.to_thread(_records, rows)
                serial = rows[-1].serial
        version = max([serial, *(category.serial for category in categories)])
        self._snapshot = await asyncio.to_thread(old.changed, changed, categories, version)
        _log.info("catalog_read", version=version, changed=len(changed))


def _records(rows: list[store.Row]) -> list[CatalogDomain]:
    return [store.record(row) for row in rows]


def _log_failure(updating: asyncio.Task[None]) -> None:
    """Log a failure that no request waited for; the next check tries again."""
    if not updating.cancelled() and (error := updating.exception()) is not None:
        _log.warning("catalog_not_read", error=str(error))
