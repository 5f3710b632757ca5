"""The write-ahead log of the database beside its backups, in sealed segments of 16 MB.

A replication slot of the database keeps what is not archived yet. The server deletes it when it waits for too long
(`max_slot_wal_keep_size`): the archive is given up then, and a new backup begins another one.
"""

import asyncio
import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import IO

from builders.backup import repositories, seals, store
from builders.backup.records import Backup, Position
from builders.backup.repositories import Repository, home_of
from builders.kit.db.connections import Conn
from builders.kit.process import log, metrics

SLOT = "builders_archive"
SEGMENT_BYTES = 16 << 20  # as initdb sets it
_PER_FILE = (1 << 32) // SEGMENT_BYTES  # segments with the same middle part of the name
ENDING = ".gz.age"
_FILE = re.compile(r"([0-9A-F]{24})-([0-9a-f]{64})\.gz\.age")
Read = Callable[[str], AbstractContextManager[IO[bytes]]]
_log = log.get_logger()

AGE = metrics.latest("builders_backup_age_seconds", "Age of the newest backup that the archive continues.")
LOG_AGE = metrics.latest(
    "builders_backup_log_age_seconds", "What is older than this is in the archive of the log."
)
WAITING = metrics.latest("builders_backup_log_waiting_bytes", "Log that waits to be archived.")
FAILURES = metrics.counter("builders_backup_failures", "Failed attempts to archive the log or to make a backup.")
GIVEN_UP = metrics.counter(
    "builders_backup_log_given_up", "Archives that were given up, because the log waited for too long."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A segment of the log in the archive."""

    path: str
    sha256: str  # of the sealed file, in hex digits
    written_at: datetime


def name_of(timeline: int, number: int) -> str:
    """Return the file name of a segment (PostgreSQL: `XLogFileName`)."""
    return f"{timeline:08X}{number // _PER_FILE:08X}{number % _PER_FILE:08X}"


def number_of(name: str) -> int:
    """Return the number of a segment, of which the next one has the next."""
    return int(name[8:16], 16) * _PER_FILE + int(name[16:24], 16)


async def get_position(conn: Conn) -> Position:
    """Return where the log of the database is, and what of it waits."""
    return await store.get_position(conn, slot=SLOT)


async def is_kept(conn: Conn) -> bool:
    """Return whether the log of the database is archived, by this program or by a command of the server."""
    return await store.is_kept(conn, slot=SLOT)


async def keep(conn: Conn) -> bool:
    """Let the database keep its log for the archive from now on; return whether it did not before."""
    position = await get_position(conn)
    if position.is_given_up:
        GIVEN_UP.inc()
        _log.error("log_archive_given_up")
        await store.give_up_log(conn, slot=SLOT)
    elif position.archived is not None:
        return False
    await store.keep_log(conn, slot=SLOT)
    return True


async def advance(conn: Conn, *, repository: Repository, read: Read, public_key: str) -> None:
    """Archive what is written; `read` opens a segment of the log. Raise OSError, and as psycopg does."""
    await store.end_segment(conn)
    position = await get_position(conn)
    home = f"{position.system_id}-{position.timeline}"
    first = (position.archived or 0) // SEGMENT_BYTES
    for number in range(first, position.written // SEGMENT_BYTES):
        WAITING.set(position.written - number * SEGMENT_BYTES)
        name = name_of(position.timeline, number)
        await asyncio.to_thread(_save, repository, f"{home}/log/{name}", partial(read, name), public_key)
        end = (number + 1) * SEGMENT_BYTES
        await store.forget_log(conn, slot=SLOT, to=f"{end >> 32:X}/{end & 0xFFFFFFFF:X}")
    WAITING.set(0)


def _save(
    repository: Repository, path: str, opened: Callable[[], AbstractContextManager[IO[bytes]]], public_key: str
) -> None:
    """Seal a segment and save it; its name ends with the digest, so that no list of digests is rewritten."""
    sealed = io.BytesIO()
    with opened() as source:
        _, digest = seals.seal(source, sealed.write, public_key=public_key)
    repository.write(f"{path}-{digest}{ENDING}", sealed.getvalue())


def list_segments(repository: Repository, backup: Backup) -> Mapping[str, Segment]:
    """Return the archived segments of the timeline of a backup by name, in order.

    Of a segment that was archived again after a crash, the last file: an earlier one may not be on the disk.
    """
    files = repository.list(f"{home_of(backup)}/log")
    found = {}
    for path in sorted(files, key=lambda path: files[path].written_at):
        if match := _FILE.fullmatch(path.rpartition("/")[2]):
            found[match[1]] = Segment(path=path, sha256=match[2], written_at=files[path].written_at)
    return dict(sorted(found.items()))


def list_further(segments: Mapping[str, Segment], backup: Backup) -> Sequence[str]:
    """Return the names of the segments that continue a backup, up to the first one that is missing."""
    number, names = number_of(backup.log_from), []
    while (name := name_of(backup.timeline, number)) in segments:
        names.append(name)
        number += 1
    return names


def list_rivals(repository: Repository, found: Sequence[Backup]) -> Mapping[str, datetime]:
    """Return the ends of the logs by backup if the newest backup may be of another service than the wanted one.

    Another log went on after it, such as that of the service that a copy was restored beside; or another database
    system archived here too, such as the lost one when a new service began with an empty database.
    """
    newest_of = {home_of(each): each for each in reversed(found)}
    ends = {
        each.id: max(
            (segment.written_at for segment in list_segments(repository, each).values()), default=each.made_at
        )
        for each in newest_of.values()
    }
    goes_on = any(end > found[0].made_at for name, end in ends.items() if name != found[0].id)
    return ends if goes_on or len({each.system_id for each in found}) > 1 else {}


def verify(repository: Repository, found: Sequence[Backup], *, after: datetime) -> Sequence[str]:
    """Return what is wrong with the log of backups, of which the first is the newest.

    It was changed, is missing between others, or is not continued `after`. A gap that ends with a backup is none:
    the archive was given up.
    """
    errors, last = [], after
    for home in dict.fromkeys(map(home_of, found)):
        own = [each for each in found if home_of(each) == home]
        begins = {number_of(each.log_from) for each in own}
        listed = list_segments(repository, own[0])
        segments = {name: each for name, each in listed.items() if number_of(name) >= min(begins)}
        numbers = {number_of(name) for name in segments}
        errors += [
            f"Segment {name} of the log was changed: its SHA-256 differs."
            for name, each in segments.items()
            if repositories.digest_of(repository, each.path) != each.sha256
        ]
        errors += [
            f"Segment {name_of(own[0].timeline, each - 1)} of the log is missing, and later ones are there."
            for each in sorted(numbers - begins)
            if each - 1 not in numbers
        ]
        if own[0] is found[0] and segments:
            last = max(each.written_at for each in segments.values())
    if last < after:
        errors.append(f"No log was archived since {last:%Y-%m-%dT%H:%M:%SZ}.")
    return errors


def prune(repository: Repository, kept: Sequence[Backup], homes: Sequence[str]) -> Sequence[str]:
    """Return the paths of archived segments of these timelines that no kept backup needs."""
    firsts = {home_of(each): each.log_from for each in sorted(kept, key=lambda each: each.log_from, reverse=True)}
    return [
        path
        for home in homes
        for path in repository.list(f"{home}/log")
        if home not in firsts or path.rpartition("/")[2] < firsts[home]
    ]
