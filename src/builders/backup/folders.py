"""Where backups are: a folder, with a folder for each database system and timeline, and one for each backup in it.

`backup.json` comes last: without it a backup was not completed and does not count.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from builders.backup.records import Backup, Part
from builders.backup.seals import CHUNK
from builders.kit.process.files import written

FILE = "backup.json"
ERASURES = "erasures.txt"  # of all backups: the id of an account and a time in each line
_BACKUP = TypeAdapter(Backup)


def path_of(folder: Path, backup: Backup) -> Path:
    """Return the folder of a backup."""
    return folder / f"{backup.system_id}-{backup.timeline}" / backup.id


def save(place: Path, name: str, work: Callable[[Callable[[bytes], object]], tuple[int, str]]) -> Part:
    """Write a file by a function of its writer, which returns the size and the digest; it is on the disk then."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = place / f"{name}.part"
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        size, digest = work(file.write)
        file.flush()
        os.fsync(file.fileno())
    part.rename(place / name)
    return Part(size=size, sha256=digest)


def record(folder: Path, backup: Backup) -> None:
    """Write down that a backup is complete."""
    with written(path_of(folder, backup) / FILE) as file:
        file.write(_BACKUP.dump_json(backup, indent=2).decode())


def list_backups(folder: Path) -> Sequence[Backup]:
    """Return the complete backups, the newest first."""
    found = list[Backup]()
    for path in folder.glob(f"*/*/{FILE}"):
        with suppress(ValidationError):
            found.append(_BACKUP.validate_json(path.read_bytes()))
    return sorted(found, key=lambda each: each.made_at, reverse=True)


def verify(folder: Path, backup: Backup) -> Sequence[str]:
    """Return what is wrong with the files of a backup: missing, of another size, or changed. It needs no key."""
    errors = []
    for name, part in backup.parts.items():
        path = path_of(folder, backup) / name
        if not path.exists():
            errors.append(f"{name} is missing.")
        elif path.stat().st_size != part.size:
            errors.append(f"{name} has {path.stat().st_size} bytes, not {part.size}.")
        elif _digest(path) != part.sha256:
            errors.append(f"{name} was changed: its SHA-256 differs.")
    return errors


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            digest.update(part)
    return digest.hexdigest()


def merge_erasures(folder: Path, own: Path) -> Mapping[str, str]:
    """Add the erasures of the service to the list beside the backups; return the lines of both by account."""
    lines = dict[str, str]()
    for path in (folder / ERASURES, own):
        if path.exists():
            lines |= {line.split()[0]: line for line in path.read_text().splitlines() if line.strip()}
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with written(folder / ERASURES) as file:
        file.write("".join(f"{line}\n" for line in lines.values()))
    return lines


def age_s(backup: Backup, *, now: datetime) -> int:
    """Return the age of a backup in seconds."""
    return int((now - backup.made_at).total_seconds())
