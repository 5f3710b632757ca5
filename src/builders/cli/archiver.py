"""The child of `serve` that archives the log of the embedded database, and backs it up each day."""

import asyncio
import signal
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import psycopg

from builders.backup import archive, repositories, seals
from builders.backup.archive import AGE, FAILURES, LOG_AGE, SEGMENT_BYTES
from builders.backup.records import Backup, Position
from builders.backup.repositories import Repository
from builders.cli.embedded import backups, copies
from builders.cli.embedded.backups import PUBLIC
from builders.cli.embedded.system_user import EmbeddedServerError
from builders.cli.session import CannotStart, CommandFailed, alone, connected, fail, failing
from builders.erasure.records import LIST
from builders.kit.process import log, supervision
from builders.kit.process.settings import Settings
from builders.kit.values import clock

EACH = timedelta(days=1)
NEVER = datetime.min.replace(tzinfo=UTC)
AGAIN = timedelta(minutes=10)  # after a backup that failed
_log = log.get_logger()
ERRORS = (psycopg.Error, OSError, EmbeddedServerError)


def read_public(settings: Settings) -> str:
    """Return the key that seals backups; end the command if there is none."""
    try:
        return seals.require_public((settings.data_dir / PUBLIC).read_text().strip())
    except (seals.Unreadable, UnicodeDecodeError) as error:
        raise CannotStart(f"{settings.data_dir / PUBLIC}: {error}") from None
    except FileNotFoundError:
        raise CannotStart("There is no key that seals backups. Make one: `builders backup init`.") from None


def open_repository(settings: Settings, *, creates: bool = False) -> Repository:
    """Return the repository of the settings; end the command if there is none."""
    with failing(OSError):
        found = repositories.opened(settings, creates=creates)
    if found is None:
        fail("Set BUILDERS_BACKUP_TO to the folder or bucket of the backups, on another disk or machine.")
    return found


def back_up(settings: Settings, *, repository: Repository, keeps_log: bool) -> Backup:
    """Make a backup of the embedded database, which is started if it is stopped; end the command if it fails."""
    public = read_public(settings)
    with failing(*ERRORS, says="There is no new backup: "), connected(settings, migrated=False) as ready:
        return asyncio.run(_create(ready, repository, public, keeps_log=keeps_log))


async def _create(settings: Settings, repository: Repository, public_key: str, *, keeps_log: bool) -> Backup:
    """Make a backup of the running database. Raise CommandFailed while another process makes one."""
    with alone(settings.model_copy(update={"database_url": None}), "backup create"):
        return await backups.create(
            settings.conninfo,
            data_dir=settings.data_dir,
            repository=repository,
            public_key=public_key,
            keeps_log=keeps_log,
        )


class Archiver:
    """Archives the log of a running database, and makes a backup when one is due."""

    def __init__(self, settings: Settings, repository: Repository, *, public_key: str) -> None:
        self._settings, self._repository, self._public_key = settings, repository, public_key
        self._newest: Backup | None = None
        self._is_known = False  # what the repository has
        self._archived_at = self._began_at = clock.now()
        self._tried_at = NEVER  # to make a backup, without success
        self._erased_at: float | None = None  # when the list beside the backups was last brought up to date
        self._backup: asyncio.Task[None] | None = None

    async def turn(self) -> None:
        """Archive what is written, and begin a backup if one is due; log a failure."""
        began = clock.now()
        try:
            await self._advance()
            self._archived_at = began
        except ERRORS as error:
            report(error)
        LOG_AGE.set((clock.now() - self._archived_at).total_seconds())
        since = self._began_at if self._newest is None else self._newest.made_at
        AGE.set((clock.now() - since).total_seconds())

    async def _advance(self) -> None:
        async with await psycopg.AsyncConnection.connect(self._settings.conninfo, autocommit=True) as conn:
            if await archive.keep(conn):
                self._is_known = False  # also if the repository is away now
            await archive.advance(
                conn,
                repository=self._repository,
                read=partial(copies.segment, self._settings.data_dir),
                public_key=self._public_key,
            )
            position = await archive.get_position(conn)
        if not self._is_known:
            self._newest = await asyncio.to_thread(self._find_continued, position)
            self._is_known = True
        await asyncio.to_thread(self._list_erased)
        # Also after a backup of the future: the clock was wrong.
        is_due = self._newest is None or abs(clock.now() - self._newest.made_at) >= EACH
        if is_due and self._backup is None and abs(clock.now() - self._tried_at) >= AGAIN:
            self._tried_at = clock.now()
            self._backup = asyncio.create_task(self._back_up())

    def _list_erased(self) -> None:
        """Add erasures to the list beside the backups at once: a restore to a moment before repeats them."""
        own = self._settings.data_dir / LIST
        changed_at = own.stat().st_mtime if own.exists() else None
        if changed_at != self._erased_at:
            repositories.merge_erasures(self._repository, own)
            self._erased_at = changed_at

    def _find_continued(self, position: Position) -> Backup | None:
        """Return the newest backup of this database, if the archive has the log after it."""
        here = (position.system_id, position.timeline)
        found = repositories.list_backups(self._repository)
        own = [each for each in found if (each.system_id, each.timeline) == here]
        if not own:
            return None
        further = archive.list_further(archive.list_segments(self._repository, own[0]), own[0])
        reached = archive.number_of(own[0].log_from) + len(further)
        return own[0] if reached >= (position.archived or 0) // SEGMENT_BYTES else None

    async def _back_up(self) -> None:
        try:
            self._newest = await _create(self._settings, self._repository, self._public_key, keeps_log=True)
            self._tried_at = NEVER
            _log.info("backup_created", backup=self._newest.id)
            if self._repository.folder is not None:  # the credentials of a bucket only add
                await asyncio.to_thread(backups.prune, self._repository, days=backups.KEPT_DAYS)
        except (*ERRORS, CommandFailed) as error:
            report(error)
        finally:
            self._backup = None


def report(error: Exception) -> None:
    """Log and count a failure."""
    FAILURES.inc()
    _log.error("backup_failed", reason=str(error).strip())


async def main(settings: Settings) -> None:
    """Archive and back up until SIGTERM."""
    archiver = Archiver(settings, open_repository(settings), public_key=read_public(settings))
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    with supervision.beating("backup"):
        while not stopping.is_set():
            await archiver.turn()
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), settings.backup_loss_s / 2)
