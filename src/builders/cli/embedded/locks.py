"""Locks of files, which the kernel releases when their process ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builders.cli.embedded.system_user import EmbeddedServerError

POLL_INTERVAL_S = 0.05  # flock has no timeout


def open_lock(path: Path) -> int:
    """Open the lock file, creating it if missing; child processes do not inherit the descriptor (PEP 446)."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    if os.geteuid() == 0:
        # the owner of the folder must be able to lock the file later
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def try_exclusive(descriptor: int) -> bool:
    """Try to take the exclusive lock without waiting; return True on success."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def exclusive(path: Path, *, wait_s: float) -> Iterator[int]:
    """Hold the exclusive lock during the block; provide its descriptor.

    Raise EmbeddedServerError if the lock is not available within `wait_s` seconds.
    """
    deadline = time.monotonic() + wait_s
    descriptor = open_lock(path)
    try:
        while not try_exclusive(descriptor):
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Another process holds {path}; it did not end within {wait_s:.0f} s. Check what it does, end "
                    "it, and try again."
                )
            time.sleep(POLL_INTERVAL_S)
        yield descriptor
    finally:
        os.close(descriptor)
