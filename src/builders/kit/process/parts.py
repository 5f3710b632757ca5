"""What is wrong with the processes of a `serve`, which its parent process writes and the others read.

It is a file without a name, in memory: children inherit its descriptor, and `builders doctor` opens it by the
process id of the parent. Its time says when the parent last looked after its children, which the probe of a
container reads (`deploy/container/alive.py`).
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

PARTS_FILE = "BUILDERS_PARTS_FILE"  # the descriptor, in the environment of a child
MAX_BYTES = 65_536


class Trouble(StrEnum):
    """What is wrong with a process; shown to anyone, so it names no reason."""

    NOT_STARTED = "has not started"
    ENDS = "keeps ending"
    SILENT = "does not respond"


Parts = Mapping[str, Trouble | None]  # by the name of the part, such as `worker`


class PartsFile:
    """The file, in the parent process."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("builders-parts")

    @property
    def path(self) -> str:
        """The path by which other processes of the user open it."""
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def write(self, parts: Parts) -> None:
        """Replace the content; a reader sees a whole line, because what follows the line feed does not count."""
        os.pwrite(self.descriptor, json.dumps(parts).encode() + b"\n", 0)


def load_own() -> Parts:
    """Return the parts of the `serve` that started this process; none without one."""
    descriptor = os.environ.get(PARTS_FILE, "")
    with suppress(OSError, ValueError):
        return _read(os.pread(int(descriptor), MAX_BYTES, 0))
    return {}


def load(path: str) -> Parts:
    """Return the parts in a file; none if its process has ended."""
    with suppress(OSError, ValueError, AttributeError):
        return _read(Path(path).read_bytes())
    return {}


def _read(content: bytes) -> Parts:
    stored: Mapping[str, str | None] = json.loads(content.partition(b"\n")[0])
    return {name: None if trouble is None else Trouble(trouble) for name, trouble in stored.items()}
