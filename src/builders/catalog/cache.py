"""The catalog of one process: the newest snapshot, followed by the serial of changes.

Once a second, at most, one request asks the database for the version; the others wait for its answer or do
not even notice. A small change is there before the answer; a large one is built off the event loop, and the
old snapshot is shown meanwhile. While the database is away nobody can say what is current, so the failure is
everybody's.
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
_WAIT_S = 0.25  # that a request waits for a new snapshot when there is an old one
_BATCH = 500  # domains read by one statement

_log = log.get_logger()


class CatalogCache:
    """What the requests of one process read the catalog from."""

    def __init__(self, database: Database, *, assets: Path) -> None:
        self.assets = assets
        self._database = database
        self._snapshot = snapshot.EMPTY
        self._checked = -inf  # on the monotonic clock
        self._checking: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None

    def find_current(self) -> Snapshot | None:
        """The catalog as it was at most a second ago; None when the database has to be asked."""
        return None if self._is_due() else self._snapshot

    async def current(self) -> Snapshot:
        """The catalog as it was at most a second ago. Raises DatabaseUnavailable and DatabaseBusy."""
        while self._is_due():
            if self._checking is None or self._checking.done():
                self._checking = asyncio.create_task(self._check())
            # Shielded: a client that goes away takes nobody else's answer with it.
            await asyncio.shield(self._checking)
        return self._snapshot

    def _is_due(self) -> bool:
        # A clock that was set back is no reason to trust the snapshot for longer.
        return not 0 <= clock.monotonic() - self._checked < CHECKED_EVERY_S

    async def _check(self) -> None:
        shown = self._snapshot
        patience = None if shown is snapshot.EMPTY else _WAIT_S
        async with self._database.connection() as conn:
            version = await store.get_version(conn)
        if patience is None and self._following is not None:
            await asyncio.wait({self._following})  # it may have begun too early to see the change
        has_moved_on = self._snapshot is not shown and self._snapshot.version >= version
        if version != shown.version and not has_moved_on:
            await self._wait(version, patience)
        self._checked = clock.monotonic()

    async def _wait(self, version: int, patience: float | None) -> None:
        """Lets a newer snapshot be made, and waits for it as long as it is patient."""
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow(version))
            self._following.add_done_callback(_log_failure)
        await asyncio.wait({self._following}, timeout=patience)
        if self._following.done():
            self._following.result()

    async def _follow(self, version: int) -> None:
        """Puts a newer snapshot in place; from the start when the database is an older one than before."""
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


def _log_failure(following: asyncio.Task[None]) -> None:
    """A failure that no request waited for is in the log; the next check tries again."""
    if not following.cancelled() and (error := following.exception()) is not None:
        _log.warning("catalog_not_read", error=str(error))
