"""Recorder of tracking events: check the link, find the message, and write events in groups.

A recipient never waits for the database or sees an error page. An event that cannot be written is lost, and the
image or redirect is sent anyway. An event that was written is committed before the response.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.db.group_commit import GroupCommit
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Problem
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.kit.visitors import Machine, Visitor
from builders.mail import links, service as mail
from builders.mail.records import Origin
from builders.tracking import store
from builders.tracking.records import TrackingEvent, TrackingEventKind

MIN_OPEN_DELAY = timedelta(seconds=5)  # after sending; no person opens an email so fast
TIMEOUT_S = 1.5  # in the queue, and again for the database
MAX_ORIGINS = 20_000  # messages whose account is cached
LOG_INTERVAL_S = 10.0
MAX_TARGET = 2048  # characters
_TOKEN = 48  # characters
_MAC = re.compile(r"[A-Za-z0-9_-]{26}[AEIMQUYcgkosw048]={0,1}")  # 20 bytes in canonical base64url
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")  # browsers drop some of them, and read a backslash as a slash

_log = log.get_logger()


class LinkAltered(Problem):
    """The link or its signature was altered."""

    status, code = 400, "link_altered"
    remedy = "Follow the link from the original email."


class Recorder:
    """Records opens and clicks, for one process."""

    def __init__(self, database: Database, *, keyring: Keyring) -> None:
        self._database, self._keyring = database, keyring
        self._commits = GroupCommit(database, self._write, timeout_s=TIMEOUT_S)
        self._origins: dict[UUID, Origin] = {}  # of messages that were sent
        self._lost, self._logged_at = 0, clock.monotonic()

    async def __aenter__(self) -> Self:
        """Return the recorder; opens nothing."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the queued events and the count of the lost ones."""
        await self._commits.close()
        if self._lost:
            await self._store_losses()

    def check(self, *, token: str, target: str, mac: str) -> None:
        """Raise LinkAltered unless the link was minted with this token and this target.

        The MAC is compared first, in constant time. All minted links pass the other checks, which are a second
        barrier.
        """
        is_valid = links.is_target(self._keyring, token, target=target, mac=mac)
        if not is_valid or not _MAC.fullmatch(mac) or not is_web_address(target):
            raise LinkAltered("The link was altered. Follow it from the original email.")

    async def record(self, *, token: str, target: str | None, visitor: Visitor) -> None:
        """Record a click of a target that `check` accepted, or an open (None); ignore an invalid token."""
        if target is None and not (len(token) == _TOKEN and links.is_token(self._keyring, token)):
            return
        kind = TrackingEventKind.OPEN if target is None else TrackingEventKind.CLICK
        event = TrackingEvent(links.message_of(token), kind, target, clock.now(), visitor)
        try:
            await self._commits.add(event)
        except (DatabaseUnavailable, DatabaseBusy):
            self._lost += 1
            if clock.monotonic() - self._logged_at >= LOG_INTERVAL_S:
                _log.warning("tracking_events_lost", count=self._lost)
                self._logged_at = clock.monotonic()
        else:
            if self._lost:
                await self._store_losses()

    async def _store_losses(self) -> None:
        """Store the count of lost events, for the metric; keep it if that fails."""
        lost, self._lost = self._lost, 0
        try:
            async with self._database.connection() as conn:
                await store.add_losses(conn, day=clock.now().date(), events=lost)
        except (DatabaseUnavailable, DatabaseBusy):
            self._lost += lost

    async def _write(self, conn: Conn, events: Sequence[TrackingEvent]) -> Sequence[None]:
        message_ids = {each.message_id for each in events}
        origins = {each: self._origins[each] for each in message_ids & self._origins.keys()}
        if len(origins) < len(message_ids):
            found = await mail.load_origins(conn, message_ids=message_ids - origins.keys())
            if len(self._origins) + len(found) > MAX_ORIGINS:
                self._origins.clear()
            self._origins |= {each: origin for each, origin in found.items() if origin.sent_at is not None}
            origins |= found
        rows = [
            (each, origin.account_id, each.visitor.machine or _too_soon(each, origin))
            for each in events
            if (origin := origins.get(each.message_id))  # else the message or its account was deleted
        ]
        if rows:
            await store.insert(conn, events=rows)
        return [None] * len(events)


@lru_cache(maxsize=1024)  # of valid targets alone, which many recipients share
def is_web_address(target: str) -> bool:
    """Return whether the target is an absolute http or https address without hidden parts."""
    if len(target) > MAX_TARGET or _UNSAFE.search(target):
        return False
    try:
        parts = urlsplit(target)
        _ = parts.port  # raises unless it is a number
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc


def _too_soon(event: TrackingEvent, origin: Origin) -> Machine | None:
    is_too_soon = origin.sent_at is None or event.at < origin.sent_at + MIN_OPEN_DELAY
    return Machine.TOO_SOON if is_too_soon else None
