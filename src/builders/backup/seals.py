"""Streams that are compressed and sealed to a public key (the age format), with no copy on the disk in between.

The machine has the public key only: with all its files no backup can be opened.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import pyrage  # type: ignore[import-untyped] # it has no types
from pyrage import x25519

CHUNK = 1 << 18  # bytes
_GZIP = 31  # wbits of zlib


class Reader(Protocol):
    """Something to read from."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to so many bytes; none at the end."""


class Unreadable(Exception):
    """The file is damaged, or sealed to another key."""


def make_key() -> tuple[str, str]:
    """Return a new private key, and its public one."""
    identity = x25519.Identity.generate()
    return str(identity), str(identity.to_public())


def public_of(private_key: str) -> str:
    """Return the public key of a private one. Raise Unreadable."""
    try:
        return str(x25519.Identity.from_str(private_key.strip()).to_public())
    except pyrage.IdentityError as error:
        raise Unreadable(f"This is no private key of backups: {error}.") from None


def require_public(key: str) -> str:
    """Return a public key. Raise Unreadable for what is none."""
    try:
        x25519.Recipient.from_str(key)
    except pyrage.RecipientError as error:
        raise Unreadable(f"This is no public key of backups: {error}.") from None
    return key


class Parts:
    """Reads a stream of parts."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._left = filter(None, parts), b""

    def read(self, size: int = CHUNK) -> bytes:
        """Return up to so many bytes; none at the end."""
        if not self._left:
            self._left = next(self._parts, b"")
        found, self._left = self._left[:size], self._left[size:]
        return found


def _compress(source: Reader) -> Iterator[bytes]:
    packed = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
    while part := source.read(CHUNK):
        yield packed.compress(part)
    yield packed.flush()


class _Writer:
    """Passes what is written on."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write

    def write(self, part: bytes) -> int:
        """Pass a part on."""
        self._write(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Do nothing: the end of the stream follows."""


def seal(source: Reader, write: Callable[[bytes], object], *, public_key: str) -> tuple[int, str]:
    """Compress and seal a stream; return how many bytes were written, and their SHA-256 in hex digits."""
    digest, size = hashlib.sha256(), 0

    def count(part: bytes) -> None:
        nonlocal size
        write(part)
        digest.update(part)
        size += len(part)

    pyrage.encrypt_io(Parts(_compress(source)), _Writer(count), [x25519.Recipient.from_str(public_key)])
    return size, digest.hexdigest()


def unseal(source: Reader, write: Callable[[bytes], object], *, private_key: str) -> None:
    """Write the content of a sealed stream. Raise Unreadable; what was written before is then worth nothing."""
    unzip = zlib.decompressobj(_GZIP)
    try:
        identity = x25519.Identity.from_str(private_key.strip())
        pyrage.decrypt_io(source, _Writer(lambda part: write(unzip.decompress(part))), [identity])
        write(unzip.flush())
    except (pyrage.DecryptError, pyrage.IdentityError, zlib.error) as error:
        raise Unreadable(f"It cannot be opened: {error}.") from None
    if not unzip.eof:
        raise Unreadable("It ends too early.")
