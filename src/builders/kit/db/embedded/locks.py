"""Locks between the processes that share a data directory; the kernel lets go of them when a process dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builders.kit.db.embedded.errors import EmbeddedFailed

GLANCE_S = 0.05  # flock has no wait with an end, so we look again


def open_lock(path: Path) -> int:
    """A descriptor of the lock file, which is made when missing; children do not inherit it (PEP 446)."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    if os.geteuid() == 0:
        # a normal user whom root visits must be able to lock it later
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def try_exclusive(descriptor: int) -> bool:
    """Whether nobody else held the lock, so that it is now ours alone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def exclusive(path: Path, *, wait_s: float) -> Iterator[int]:
    """Hold the lock alone, by the descriptor that is given.

    Raises EmbeddedFailed when it is not free within `wait_s` seconds.
    """
    give_up = time.monotonic() + wait_s
    descriptor = open_lock(path)
    try:
        while not try_exclusive(descriptor):
            if time.monotonic() > give_up:
                raise EmbeddedFailed(
                    f"Another process has been starting or stopping PostgreSQL for {wait_s:.0f} s "
                    f"(it holds {path}). See what it is doing, end it, and try again."
                )
            time.sleep(GLANCE_S)
        yield descriptor
    finally:
        os.close(descriptor)
