"""By which key mail is known to be ours: DKIM (RFC 6376; for Ed25519, RFC 8463), relaxed for head and body.

dkimpy brings a message into its canonical form. The signature itself is cryptography's: dkimpy's own is pure
Python, and holds up every other job for 20 ms.
"""

import hashlib
from base64 import b64encode
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from dkim import rfc822_parse  # type: ignore[import-untyped] # it has no types
from dkim.canonicalization import Relaxed  # type: ignore[import-untyped] # as above

LEAST_BITS = 1024  # of an RSA key; RFC 8301, 3.2
# What says something to the reader or the reader's program, and From once more than it is there, so that nobody
# can add another one (RFC 6376, 8.15). Those of them that a message lacks nobody can add either.
SIGNED = (
    *("from", "from", "to", "reply-to", "subject", "date", "message-id", "mime-version", "content-type"),
    *("auto-submitted", "list-unsubscribe", "list-unsubscribe-post"),
)
_FOLD = "\r\n\t"
_BASE64_LINE = 72  # characters


class Signer:
    """Signs messages for a domain."""

    __slots__ = ("_algorithm", "_domain", "_key", "_selector")

    def __init__(self, *, selector: str, domain: str, pem: str) -> None:
        self._selector, self._domain = selector, domain
        try:
            key = load_pem_private_key(pem.encode(), password=None)
        except (ValueError, TypeError):  # whose words may show a part of it
            key = None
        if isinstance(key, RSAPrivateKey) and key.key_size >= LEAST_BITS:
            self._algorithm = "rsa-sha256"
        elif isinstance(key, Ed25519PrivateKey):
            self._algorithm = "ed25519-sha256"
        else:
            raise ValueError(
                f"BUILDERS_DKIM_KEY is no RSA key of {LEAST_BITS} bits or more and no Ed25519 key in PEM"
            )
        self._key = key

    def __repr__(self) -> str:
        """Where the public key is."""
        return f"Signer({self._selector}._domainkey.{self._domain})"

    def sign(self, message: bytes, *, at: datetime) -> bytes:
        """The message, with its signature in front; made at this time."""
        headers, body = rfc822_parse(message)
        digest = hashlib.sha256(Relaxed.canonicalize_body(body)).digest()
        parts = (
            *("v=1", f"a={self._algorithm}", "c=relaxed/relaxed", f"d={self._domain}", f"s={self._selector}"),
            *(
                f"t={int(at.timestamp())}",
                f"h={f':{_FOLD}'.join(SIGNED)}",
                f"bh={b64encode(digest).decode()}",
                "b=",
            ),
        )
        unsigned = f"DKIM-Signature: {f';{_FOLD}'.join(parts)}"
        signature = b64encode(self._signature(_covered(headers, unsigned.encode()))).decode()
        lines = [signature[at : at + _BASE64_LINE] for at in range(0, len(signature), _BASE64_LINE)]
        return f"{unsigned}{_FOLD.join(lines)}\r\n".encode() + message

    def _signature(self, covered: bytes) -> bytes:
        if isinstance(self._key, RSAPrivateKey):
            return self._key.sign(covered, PKCS1v15(), SHA256())
        return self._key.sign(hashlib.sha256(covered).digest())


def _covered(headers: list[tuple[bytes, bytes]], unsigned: bytes) -> bytes:
    """What is signed: the last header of each name, then the one before, and the signature's own, still empty."""
    left: list[tuple[bytes, bytes]] = Relaxed.canonicalize_headers(headers)
    covered = b""
    for name in SIGNED:
        found = next((each for each in reversed(left) if each[0] == name.encode()), None)
        if found is not None:
            left.remove(found)
            covered += b":".join(found)
    own: tuple[bytes, bytes] = Relaxed.canonicalize_headers([unsigned.split(b":", 1)])[0]
    return covered + b":".join(own).rstrip(b"\r\n")
