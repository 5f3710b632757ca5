"""Where backups are: a folder, or a bucket of an object store that speaks S3.

`SYSTEM-TIMELINE/ID/` has the parts of a backup of a database system and its timeline, and `SYSTEM-TIMELINE/log/`
the segments of its log. `backup.json` comes last: without it a backup was not completed and does not count.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, S3Store
from pydantic import TypeAdapter, ValidationError

from builders.backup import seals
from builders.backup.records import Backup, Part
from builders.backup.seals import CHUNK, Parts, Reader
from builders.kit.process.settings import Settings

FILE = "backup.json"
ERASURES = "erasures.txt"  # of all backups: the id of an account and a time in each line
S3 = "s3://"
PART_BYTES = 8 << 20  # of a large file, each with its own request and checksum
ATTEMPT_S = 60
RETRIES = 3
_BACKUP = TypeAdapter(Backup)
_HOME = re.compile(r"\d+-\d+")
_NOT_SHOWN = "\n\nDebug source"  # of an error: the requests and the body of the response


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a repository."""

    size: int  # bytes
    written_at: datetime


def home_of(backup: Backup) -> str:
    """Return the folder of a database system and its timeline."""
    return f"{backup.system_id}-{backup.timeline}"


def path_of(backup: Backup, name: str) -> str:
    """Return the path of a part of a backup."""
    return f"{home_of(backup)}/{backup.id}/{name}"


class Repository:
    """A place of backups. Its methods raise OSError when the folder or the object store refuses or is away."""

    def __init__(self, place: Path | S3Store, *, name: str) -> None:
        self._place, self.name = place, name

    @property
    def folder(self) -> Path | None:
        """The folder; None for a bucket."""
        return self._place if isinstance(self._place, Path) else None

    def seal(self, path: str, source: Reader, *, public_key: str) -> Part:
        """Write a stream to a file, compressed and sealed."""
        with self._used() as store:
            file = obstore.open_writer(store, path, buffer_size=PART_BYTES, max_concurrency=2)
            size, digest = seals.seal(source, file.write, public_key=public_key)
            file.close()
            self._flush(path)
        return Part(size=size, sha256=digest)

    def write(self, path: str, content: bytes) -> None:
        """Write a small file."""
        with self._used() as store:
            obstore.put(store, path, content)
            self._flush(path)

    def read(self, path: str) -> bytes:
        """Return a small file. Raise FileNotFoundError."""
        with self._used() as store:
            return bytes(obstore.get(store, path).bytes())

    @contextmanager
    def opened(self, path: str) -> Iterator[Parts]:
        """Open a file to read it, in parts: a request has ATTEMPT_S. Raise FileNotFoundError."""
        with self._used() as store:
            size = obstore.head(store, path)["size"]
            yield Parts(
                bytes(obstore.get_range(store, path, start=each, end=min(each + PART_BYTES, size)))
                for each in range(0, size, PART_BYTES)
            )

    def list(self, prefix: str | None = None) -> Mapping[str, File]:
        """Return the files of a folder, by path."""
        with self._used() as store:
            pages = obstore.list(store, prefix)
            return {
                each["path"]: File(size=each["size"], written_at=each["last_modified"])
                for page in pages
                for each in page
            }

    def list_folders(self, prefix: str | None = None) -> Sequence[str]:
        """Return the paths of the folders in a folder."""
        with self._used() as store:
            return obstore.list_with_delimiter(store, prefix)["common_prefixes"]

    def delete_folder(self, path: str) -> None:
        """Delete a folder, with what a killed process left in it."""
        self.delete([*self.list(path)])
        if self.folder is not None:
            shutil.rmtree(self.folder / path, ignore_errors=True)

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; those that do not exist are ignored."""
        for path in paths:
            with self._used() as store, suppress(FileNotFoundError):
                obstore.delete(store, path)

    @contextmanager
    def _used(self) -> Iterator[LocalStore | S3Store]:
        """Yield the store. Raise errors of the library as OSError, in one line and without the response.

        A folder must exist: the library would create it, on the disk of the database if the other is not mounted.
        """
        place = self._place
        if isinstance(place, Path) and not place.is_dir():
            raise NotADirectoryError(f"{self.name} is missing. Is its disk mounted?")
        try:
            yield LocalStore(place) if isinstance(place, Path) else place
        except BaseError as error:
            reason = " ".join(str(error).partition(_NOT_SHOWN)[0].partition("<?xml")[0].split())
            raise OSError(f"{self.name}: {reason}") from None

    def _flush(self, path: str) -> None:
        """Let a file of a folder be on the disk."""
        if self.folder is not None:
            for each in (self.folder / path, (self.folder / path).parent):
                descriptor = os.open(each, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)


def in_folder(folder: Path, *, creates: bool = False) -> Repository:
    """Return the repository in a folder. Raise OSError."""
    if creates:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Repository(folder, name=str(folder))


def opened(settings: Settings, *, creates: bool = False) -> Repository | None:
    """Return the repository of the settings; None without one. `creates` makes its folder. Raise OSError."""
    to = settings.backup_to
    if to is None:
        return None
    if not to.startswith(S3):
        return in_folder(Path(to).absolute(), creates=creates)
    return Repository(_bucket(settings, to), name=to)


def _bucket(settings: Settings, to: str) -> S3Store:
    bucket, _, prefix = to.removeprefix(S3).partition("/")
    secret = settings.backup_s3_secret
    assert secret is not None  # noqa: S101 - the settings are validated
    endpoint = settings.backup_s3_endpoint or f"https://s3.{settings.backup_s3_region}.amazonaws.com"
    return S3Store(
        bucket,
        prefix=prefix or None,
        region=settings.backup_s3_region,
        access_key_id=settings.backup_s3_key_id,
        secret_access_key=secret.get_secret_value(),
        endpoint=endpoint,
        checksum_algorithm="SHA256",
        client_options={
            "timeout": timedelta(seconds=ATTEMPT_S),
            "allow_http": endpoint.startswith("http://"),
        },
        retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=ATTEMPT_S)},
    )


def record(repository: Repository, backup: Backup) -> None:
    """Write down that a backup is complete."""
    repository.write(path_of(backup, FILE), _BACKUP.dump_json(backup, indent=2))


def list_homes(repository: Repository) -> Sequence[str]:
    """Return the folders of database systems and their timelines. A disk has others, such as lost+found."""
    return [each for each in repository.list_folders() if _HOME.fullmatch(each)]


def list_backups(repository: Repository) -> Sequence[Backup]:
    """Return the complete backups, the newest first; none that says to be in another folder."""
    found = list[Backup]()
    for folder in (each for home in list_homes(repository) for each in repository.list_folders(home)):
        with suppress(ValidationError, FileNotFoundError):
            each = _BACKUP.validate_json(repository.read(f"{folder}/{FILE}"))
            if path_of(each, FILE) == f"{folder}/{FILE}":
                found.append(each)
    return sorted(found, key=lambda each: each.made_at, reverse=True)


def find_newest(settings: Settings) -> Backup | None:
    """Return the newest backup of the repository of the settings; None without one. Raise OSError."""
    repository = opened(settings)
    found = [] if repository is None else list_backups(repository)
    return found[0] if found else None


def verify(repository: Repository, backup: Backup) -> Sequence[str]:
    """Return what is wrong with the files of a backup: missing, of another size, or changed. It needs no key."""
    errors, files = [], repository.list(f"{home_of(backup)}/{backup.id}")
    for name, part in backup.parts.items():
        path = path_of(backup, name)
        if path not in files:
            errors.append(f"{name} is missing.")
        elif files[path].size != part.size:
            errors.append(f"{name} has {files[path].size} bytes, not {part.size}.")
        elif digest_of(repository, path) != part.sha256:
            errors.append(f"{name} was changed: its SHA-256 differs.")
    return errors


def digest_of(repository: Repository, path: str) -> str:
    """Return the SHA-256 of a file in hex digits."""
    digest = hashlib.sha256()
    with repository.opened(path) as file:
        while part := file.read(CHUNK):
            digest.update(part)
    return digest.hexdigest()


def merge_erasures(repository: Repository, own: Path) -> Mapping[str, str]:
    """Add the erasures of the service to the list beside the backups; return the lines of both by account."""
    known = b""
    with suppress(FileNotFoundError):
        known = repository.read(ERASURES)
    text = known.decode() + (own.read_text() if own.exists() else "")
    lines = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    content = "".join(f"{line}\n" for line in lines.values()).encode()
    if content != known:
        repository.write(ERASURES, content)
    return lines
