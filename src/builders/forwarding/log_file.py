"""The log of the mail server, read from a position on: through rotation, truncation and half-written lines.

A position is an offset, and a digest of what is before it. The digest is the identity of the file: it finds the
file after it was renamed, and its copy after it was truncated (logrotate's `copytruncate`).
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.forwarding.records import Position

CHUNK = 256 * 1024  # bytes
_MARK = 256  # bytes before the offset
_OLDER = re.compile(r"[.-](?:old|\d[\d-]*)")  # after the name of the log; compressed files are not read


START = Position(offset=0, digest=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Complete lines of a log."""

    lines: Sequence[bytes] = ()  # with their ends
    start: int = 0  # of the first line
    before: bytes = b""  # the bytes before it
    unread: int = 0  # bytes of the file after the lines
    is_gap: bool = False  # lines before it are lost

    def position_after(self, count: int) -> Position:
        """Return the position after the first lines."""
        passed = b"".join(self.lines[:count])
        return Position(offset=self.start + len(passed), digest=_digest(self.before + passed))


def read(path: Path, position: Position, *, size: int = CHUNK) -> Chunk:
    """Return the next lines, none if there are none yet. Raise OSError, but not for a missing file."""
    if (found := _read_from(path, position, size)) is not None:
        return found
    older = _list_older(path)
    for at, each in enumerate(older):
        found = _read_from(each, position, size)
        if found is not None:
            following = (_read_from(next_one, START, size) for next_one in (*older[at + 1 :], path))
            # The log has lines of its own only after the mail server closed the older file.
            return found if found.lines else next((chunk for chunk in following if chunk and chunk.lines), Chunk())
    found = _read_from(path, START, size)
    if found is None or not found.lines:
        return Chunk()
    return Chunk(lines=found.lines, unread=found.unread, is_gap=True)


def _read_from(path: Path, position: Position, size: int) -> Chunk | None:
    """Return the lines of a file after a position; None if the position is not one of this file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        file.seek(max(0, position.offset - _MARK))
        before = file.read(min(_MARK, position.offset))
        if position != START and _digest(before) != position.digest:
            return None
        content = file.read(size)
        file.seek(0, 2)
        lines = _split(content, is_full=len(content) == size)
        end = position.offset + sum(map(len, lines))
        return Chunk(lines=lines, start=position.offset, before=before, unread=max(0, file.tell() - end))


def _split(content: bytes, *, is_full: bool) -> Sequence[bytes]:
    """Return the complete lines. A longer one than a chunk is cut: its parts are no lines of the mail server."""
    lines = [each + b"\n" for each in content.split(b"\n")]
    rest = lines.pop()[:-1]
    return [rest] if is_full and not lines else lines


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content[-_MARK:]).digest()


def _list_older(path: Path) -> Sequence[Path]:
    """Return the rotated files of a log, oldest first."""
    found = [
        (each.stat().st_mtime_ns, each)
        for each in path.parent.iterdir()
        if each.name.startswith(path.name) and _OLDER.fullmatch(each.name.removeprefix(path.name))
    ]
    return [each for _, each in sorted(found)]
