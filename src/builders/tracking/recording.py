"""Hits on their way into the table: judged, joined with their message, and written together.

A reader is never made to wait for our database, nor sent to an error page for it: a hit that cannot be written is
lost, and the image or the redirect is answered all the same. What was written was committed before the answer.
"""

from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Self
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.db.group_commit import GroupCommit
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.http.visitors import Machine, Visitor
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.records import Origin
from builders.tracking import links, store
from builders.tracking.records import Hit, HitKind

TOO_SOON = timedelta(seconds=5)  # after sending; nobody reads so fast
LONGEST_S = 1.5  # that a reader waits in the queue, and again for the database
MOST_KNOWN = 20_000  # messages whose account is remembered
TOLD_EVERY_S = 10.0
_TOKEN = 48  # characters

_log = log.get_logger()


class Recorder:
    """Takes down opens and clicks, for one process."""

    def __init__(self, database: Database, *, keyring: Keyring) -> None:
        self._keyring = keyring
        self._commits = GroupCommit(database, self._write, timeout_s=LONGEST_S)
        self._known: dict[UUID, Origin] = {}  # messages that were sent
        self._lost, self._told = 0, clock.monotonic()

    async def __aenter__(self) -> Self:
        """Ready; opens nothing."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Writes what waits."""
        await self._commits.close()

    async def note_open(self, *, token: str, visitor: Visitor) -> None:
        """Takes down an opening; nothing, when the token is none of ours."""
        message_id = mail.read_token(self._keyring, token) if len(token) == _TOKEN else None
        if message_id is not None:
            await self._note(Hit(message_id, HitKind.OPEN, None, clock.now(), visitor))

    def check(self, *, token: str, target: str, mac: str) -> None:
        """Raises LinkAltered unless we made the link."""
        links.check(self._keyring, token=token, target=target, mac=mac)

    async def note_click(self, *, token: str, target: str, visitor: Visitor) -> None:
        """Takes down that a link was followed, which `check` found good."""
        message_id = mail.message_of(token)
        if message_id is not None:
            await self._note(Hit(message_id, HitKind.CLICK, target, clock.now(), visitor))

    async def _note(self, hit: Hit) -> None:
        try:
            await self._commits.add(hit)
        except (DatabaseUnavailable, DatabaseBusy):
            self._lost += 1
            if clock.monotonic() - self._told >= TOLD_EVERY_S:
                _log.warning("hits_lost", count=self._lost)
                self._lost, self._told = 0, clock.monotonic()

    async def _write(self, conn: Conn, hits: Sequence[Hit]) -> Sequence[None]:
        origins = [self._known.get(each.message_id) for each in hits]
        if None in origins:
            found = await self._find(conn, {each.message_id for each in hits})
            origins = [found.get(each.message_id) for each in hits]
        judged = [
            store.Judged(each, origin.account_id, _machine(each, origin))
            for each, origin in zip(hits, origins, strict=True)
            if origin is not None  # else the message is gone, or its account
        ]
        if judged:
            await store.insert(conn, hits=judged)
        return [None] * len(hits)

    async def _find(self, conn: Conn, message_ids: set[UUID]) -> dict[UUID, Origin]:
        known = {each: self._known[each] for each in message_ids & self._known.keys()}
        found = await mail.find_origins(conn, message_ids=message_ids - known.keys())
        if len(self._known) + len(found) > MOST_KNOWN:
            self._known.clear()
        self._known |= {each: origin for each, origin in found.items() if origin.sent_at is not None}
        return {**known, **found}


def _machine(hit: Hit, origin: Origin) -> Machine | None:
    if hit.visitor.machine is not None:
        return hit.visitor.machine
    is_soon = origin.sent_at is None or hit.at < origin.sent_at + TOO_SOON
    return Machine.TOO_SOON if is_soon else None
