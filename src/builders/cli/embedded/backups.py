"""Backups of the embedded database and of the files of its data folder, and databases that are made of them."""

import asyncio
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO

from builders.backup import archive, repositories, restores, seals
from builders.backup.records import Backup, Part
from builders.backup.repositories import Repository, home_of, path_of
from builders.cli.embedded import copies, upgrade
from builders.cli.embedded.directory import MAJOR, DatabaseDirectory
from builders.cli.embedded.locks import exclusive
from builders.cli.embedded.server import DATABASE, Cluster
from builders.cli.embedded.system_user import EmbeddedServerError
from builders.cli.embedded.upgrade import Place
from builders.erasure.records import LIST
from builders.kit.process import activity
from builders.kit.process.secret_keys import FILE as SECRET_KEYS
from builders.kit.process.version import VERSION
from builders.kit.values import clock

PUBLIC = "backup.pub"  # in the data folder
BASE, FILES, PASSWORD = "base.tar.gz.age", "files.tar.gz.age", "password"
DRILL = "drill-"  # begins the name of a folder of a drill
# What is in the data folder and in no backup: the database is one by itself, keys are apart, mail is sent, and
# sockets come and go.
OMITTED = ("postgres", SECRET_KEYS, "outbox", PUBLIC, LIST, DRILL, activity.FOLDER)
DRAFT = ".part"  # ends the name of a file that is being written
KEPT_DAYS = 35
RECOVERY_TIMEOUT_S = 24 * 3600
# The log is in its folder: nothing is fetched. A restored database continues in a timeline of its own.
_RECOVERY = {
    "restore_command": "false",
    "recovery_target_timeline": "current",
    "recovery_target_action": "promote",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A backup to be made a database of, and the moment up to which the log after it is used."""

    repository: Repository
    backup: Backup
    private_key: str
    to: datetime | None = None  # None: all of the log

    def unseal(self, path: str, write: Callable[[bytes], object]) -> None:
        """Write the content of a file of the repository. Raise Unreadable and OSError."""
        with self.repository.opened(path) as sealed:
            seals.unseal(sealed, write, private_key=self.private_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A running database that was made of a backup."""

    conninfo: str
    segments: int  # of the log
    notes: Sequence[str]  # what differs from what was asked for
    use: Callable[[], None]  # stops it and puts it in its place


async def create(
    conninfo: str, *, data_dir: Path, repository: Repository, public_key: str, keeps_log: bool
) -> Backup:
    """Back up the running database and the files of its data folder. Raise EmbeddedServerError and OSError.

    `keeps_log` lets the database keep its log from now on until it is archived.
    """
    now = clock.now()
    async with restores.holding_log(conninfo) as conn:
        if keeps_log:
            await archive.keep(conn)
        position = await archive.get_position(conn)
        made = Backup(
            id=f"{now:%Y%m%dT%H%M%SZ}",
            system_id=position.system_id,
            timeline=position.timeline,
            log_from=archive.name_of(position.timeline, position.written // archive.SEGMENT_BYTES),
            made_at=now,
            postgresql=MAJOR,
            release=VERSION,
            parts={},
        )
        # Another process can wait for the parts, which take long.
        try:
            parts = await asyncio.to_thread(_save_parts, data_dir, repository, made, public_key)
        except (EmbeddedServerError, OSError):
            if repository.folder is not None:  # the credentials of a bucket only add
                await asyncio.to_thread(repository.delete_folder, f"{home_of(made)}/{made.id}")
            raise
    made = replace(made, parts=parts)
    await asyncio.to_thread(repositories.merge_erasures, repository, data_dir / LIST)
    await asyncio.to_thread(repositories.record, repository, made)
    return made


def _save_parts(data_dir: Path, repository: Repository, made: Backup, public_key: str) -> Mapping[str, Part]:
    with copies.base_backup(data_dir) as source:
        base = repository.seal(path_of(made, BASE), source, public_key=public_key)
    with tempfile.TemporaryFile(dir=data_dir) as packed:
        _pack(data_dir, packed)
        files = repository.seal(path_of(made, FILES), packed, public_key=public_key)
    return {BASE: base, FILES: files}


def _pack(data_dir: Path, packed: IO[bytes]) -> None:
    """Write the files of the data folder, and the password of the database, which its roles know."""
    _, directory = copies.open_used(data_dir)
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(data_dir.iterdir()):
            if not path.name.startswith(OMITTED) and not path.name.endswith((".lock", DRAFT)):
                tar.add(path.resolve(), path.name, filter=_without_special)
        tar.add(directory.password, PASSWORD)
    packed.seek(0)


def _without_special(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out what no restore makes: links, pipes and sockets. A link in the data folder itself is followed."""
    return info if info.isfile() or info.isdir() else None


def prune(repository: Repository, *, days: int) -> Sequence[str]:
    """Delete backups but those of the last days that have one, and the log that is not needed; return their ids.

    Days without a backup do not count: when the clock jumps ahead, the earlier backups are still there.
    """
    found = repositories.list_backups(repository)
    last = sorted({each.made_at.date() for each in found})[-days:]
    kept = [each for each in found if each.made_at.date() in last]
    old = [each for each in found if each not in kept]
    # First: what is deleted in part is no backup.
    repository.delete([path_of(each, repositories.FILE) for each in old])
    for each in old:
        repository.delete_folder(f"{home_of(each)}/{each.id}")
    for home in repositories.list_homes(repository):
        ids = {each.id for each in kept if home_of(each) == home}
        left = {each.rpartition("/")[2] for each in repository.list_folders(home)} - ids
        for name in left:
            if name < max(ids, default=""):  # not completed, and not being made
                repository.delete_folder(f"{home}/{name}")
    repository.delete(archive.prune(repository, kept, sorted({home_of(each) for each in found})))
    return [each.id for each in old]


@contextmanager
def recovered(data_dir: Path, chosen: Chosen) -> Iterator[Recovered]:
    """Yield a running database that is made of a backup and the log after it, in a folder without one.

    Without a call of `use` it is stopped and deleted. Raise EmbeddedServerError, Unreadable and OSError.
    """
    if chosen.backup.postgresql != MAJOR:
        raise EmbeddedServerError(
            f"It is of PostgreSQL {chosen.backup.postgresql}: use the release {chosen.backup.release}."
        )
    copies.prepare(data_dir)
    with upgrade.opened(data_dir) as place:
        if place.directory.cluster.exists():
            raise EmbeddedServerError(f"{place.directory.cluster} exists. Move it away, or choose another folder.")
        with copies.unpacking(place) as (stream, staging):
            chosen.unseal(path_of(chosen.backup, BASE), stream.write)
        place.user.shell('cat >"$1"', staging.password, text=_unpack_files(data_dir, chosen))
        further, is_whole = _unpack_log(place, staging, chosen)
        copies.reserve_timelines(place, staging, _list_later_timelines(chosen))
        server, notes = _recover(place, staging, chosen, is_whole=is_whole)

        def use() -> None:
            server.stop()
            copies.use(place, staging)

        try:
            yield Recovered(conninfo=staging.conninfo(DATABASE), segments=further, notes=notes, use=use)
        finally:
            server.stop()
            copies.remove(place)


def _unpack_log(place: Place, staging: DatabaseDirectory, chosen: Chosen) -> tuple[int, bool]:
    """Put the log after a backup into its database; return how many segments, and whether none is missing."""
    segments = archive.list_segments(chosen.repository, chosen.backup)
    further = archive.list_further(segments, chosen.backup)
    for name in further:
        with copies.writing(place, staging, name) as file:
            chosen.unseal(segments[name].path, file.write)
    return len(further), max(segments, default="") <= (further[-1] if further else chosen.backup.log_from)


def _recover(
    place: Place, staging: DatabaseDirectory, chosen: Chosen, *, is_whole: bool
) -> tuple[Cluster, Sequence[str]]:
    """Start the database and let it read its log; return it and what differs from what was asked for."""
    note = [] if is_whole else ["The log has a gap: what was written after it is not restored."]
    if chosen.to is None:
        return copies.recover(place, staging, _RECOVERY, wait_s=RECOVERY_TIMEOUT_S), note
    target = {**_RECOVERY, "recovery_target_time": chosen.to.isoformat()}
    try:
        return copies.recover(place, staging, target, wait_s=RECOVERY_TIMEOUT_S), []
    except EmbeddedServerError as error:
        if "before configured recovery target was reached" not in str(error):
            raise
        if not is_whole:
            raise EmbeddedServerError(
                "The log has a gap before that time. Choose a later backup, or an earlier time."
            ) from None
        # Nothing was committed between the end of the log and the time.
        ended = ["The log ends before that time; all of it is restored."]
        return copies.recover(place, staging, _RECOVERY, wait_s=RECOVERY_TIMEOUT_S), ended


def _list_later_timelines(chosen: Chosen) -> Sequence[int]:
    """Return the timelines that other restores of this database system have begun."""
    prefix = f"{chosen.backup.system_id}-"
    homes = {path.partition("/")[0] for path in chosen.repository.list() if path.startswith(prefix)}
    found = {int(home.removeprefix(prefix)) for home in homes}
    return sorted(each for each in found if each > chosen.backup.timeline)


def _unpack_files(data_dir: Path, chosen: Chosen) -> str:
    """Put the files into the data folder; return the password of the database."""
    with tempfile.TemporaryFile(dir=data_dir) as packed:
        chosen.unseal(path_of(chosen.backup, FILES), packed.write)
        packed.seek(0)
        with tarfile.open(fileobj=packed) as tar:
            password = tar.extractfile(PASSWORD)
            text = "" if password is None else password.read().decode()
            members = [each for each in tar if each.name != PASSWORD]
            tar.extractall(data_dir, members, filter="data")
    return text


@contextmanager
def scratch(data_dir: Path) -> Iterator[Path]:
    """Yield a data folder of its own beside the used one; it is removed with its database.

    So is that of a command that was killed. Raise EmbeddedServerError while another command has one.
    """
    with exclusive(data_dir / "drill.lock", wait_s=0):
        for left in data_dir.glob(f"{DRILL}*/"):
            copies.remove_all(left)
        path = Path(tempfile.mkdtemp(prefix=DRILL, dir=data_dir))
        path.chmod(0o711)  # the user of PostgreSQL has a folder in it
        try:
            yield path
        finally:
            copies.remove_all(path)


def open_all(chosen: Chosen) -> Sequence[str]:
    """Return what of a backup and the log after it cannot be opened."""
    paths = [path_of(chosen.backup, name) for name in chosen.backup.parts]
    segments = archive.list_segments(chosen.repository, chosen.backup)
    paths += [segments[name].path for name in archive.list_further(segments, chosen.backup)]
    errors = []
    for path in paths:
        try:
            chosen.unseal(path, lambda _: None)
        except (seals.Unreadable, FileNotFoundError) as error:
            errors.append(f"{path}: {error}")
    return errors
