"""Reads the log of the mail server, and counts what happened to mail.

The entries of a batch and the position after it are committed together, so each line counts once, also if the
process is killed, or if there are two. Nothing of this is in the path of mail: while it is away, the log waits.
"""

import asyncio
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psycopg

from builders.forwarding import accounting, log_file, store
from builders.forwarding.log_file import START, Chunk
from builders.forwarding.log_lines import Entry, Unreadable, read_line
from builders.forwarding.mail_server import find_host
from builders.forwarding.records import Position
from builders.kit.db import demand
from builders.kit.db.connections import Database
from builders.kit.db.restores import Known
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log, metrics, secret_keys, supervision
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock

POLL_S = 0.5
PAUSE_S = 5.0  # after a failure
WAIT = timedelta(seconds=5)  # for the line that says whose message the mail filter returned

LINES = metrics.counter("builders_mail_log_lines", "Lines of the mail server's log, by what they are.", ["kind"])
GAPS = metrics.counter("builders_mail_log_gaps", "Times that lines were lost, because the log was removed.")
UNREAD = metrics.total("builders_mail_log_unread_bytes", "Bytes of the log that are not read yet.")
LAG = metrics.latest("builders_mail_log_lag_seconds", "Age of the newest line that is read, while more follow.")

_log = log.get_logger()


class MailLog:
    """Reads the log of one mail server."""

    def __init__(self, database: Database, keyring: Keyring, *, host: str, path: Path) -> None:
        """Read a file; `host` is the name of the mail server."""
        self._database, self._keyring = database, keyring
        self._host, self._path = host, path

    async def read(self) -> bool:
        """Count the next lines; return whether more may follow. Raise as the database does, and OSError."""
        async with self._database.connection() as conn:
            position = await store.find_position(conn, host=self._host, path=str(self._path))
        chunk = await asyncio.to_thread(log_file.read, self._path, position or START)
        if chunk.lines:
            return await self._count(chunk, position)
        UNREAD.set(0)
        LAG.set(0)
        return False

    async def _count(self, chunk: Chunk, position: Position | None) -> bool:
        found, unreadable = _read_lines(chunk.lines)
        places, entries = [place for place, _ in found], [entry for _, entry in found]
        async with self._database.transaction() as conn:
            if position is None:
                await store.start_log(conn, host=self._host, path=str(self._path))
            locked = await store.lock_position(conn, host=self._host, path=str(self._path))
            if locked != (position or START):  # another process has counted these lines
                return True
            owners = await accounting.load_owners(conn, host=self._host, entries=entries)
            may_lack = (
                at for at, each in enumerate(entries) if owners.is_open(each) and _waits(chunk, places[at], each)
            )
            cut = next(may_lack, None)
            count = len(chunk.lines) if cut is None else places[cut]
            await accounting.record(conn, keyring=self._keyring, owners=owners, entries=entries[:cut])
            after = chunk.position_after(count)
            await store.move_position(
                conn, host=self._host, path=str(self._path), position=after.offset, digest=after.digest
            )
        self._measure(chunk, count, found, unreadable)
        return bool(count and (chunk.unread or cut is None))

    def _measure(
        self, chunk: Chunk, count: int, found: Sequence[tuple[int, Entry]], unreadable: Sequence[int]
    ) -> None:
        kinds = [type(entry).__name__.lower() for place, entry in found if place < count]
        kinds += ["unreadable" for place in unreadable if place < count]
        for kind in kinds:
            LINES.labels(kind).inc()
        LINES.labels("other").inc(count - len(kinds))
        UNREAD.set(chunk.unread + sum(map(len, chunk.lines[count:])))
        LAG.set((clock.now() - found[-1][1].at).total_seconds() if chunk.unread and found else 0)
        if chunk.is_gap:
            GAPS.inc()
            _log.warning("mail_log_gap", path=str(self._path))


def _read_lines(lines: Sequence[bytes]) -> tuple[list[tuple[int, Entry]], list[int]]:
    """Return the entries with the places of their lines, and the places of those that cannot be read."""
    found: list[tuple[int, Entry]] = []
    unreadable: list[int] = []
    now = clock.now()
    for place, line in enumerate(lines):
        try:
            entry = read_line(line, now=now)
        except Unreadable:
            unreadable.append(place)
            continue
        if entry is not None:
            found.append((place, entry))
    return found, unreadable


def _waits(chunk: Chunk, place: int, entry: Entry) -> bool:
    """Return whether a line waits for a later one, which the next chunk may have."""
    return clock.now() - entry.at < WAIT or bool(chunk.unread and place)


async def main(settings: Settings) -> None:
    """Read the log until SIGTERM."""
    if settings.mail_log is None:
        raise RuntimeError("Set BUILDERS_MAIL_LOG.")
    few = settings.model_copy(update={"pool_size": demand.MAIL_LOG})
    database = Database(settings.conninfo, few)
    await database.open()
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    host = find_host(settings) or socket.gethostname()
    reader = MailLog(database, secret_keys.keyring_of(settings), host=host, path=settings.mail_log)
    with supervision.beating("mail-log"):
        await Known(database).wait(stopping)
        _log.info("mail_log_reader_started", path=str(settings.mail_log))
        while not stopping.is_set():
            if pause_s := await _read(reader):
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), pause_s)
    await database.close()


async def _read(reader: MailLog) -> float:
    """Read the next lines; return the pause before the next time."""
    try:
        return 0.0 if await reader.read() else POLL_S
    except (DatabaseUnavailable, DatabaseBusy, psycopg.Error, OSError) as error:
        _log.error("mail_log_not_read", error=str(error))
        return PAUSE_S
