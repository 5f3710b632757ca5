"""The sender of email, as the settings define it, and its DKIM signature."""

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime
from email.utils import parseaddr
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from dkim import rfc822_parse  # type: ignore[import-untyped] # it has no types
from dkim.canonicalization import (  # type: ignore[import-untyped] # as above
    Relaxed,
    compress_whitespace,
    strip_trailing_whitespace,
)

from builders.kit.process.settings import Settings
from builders.mail import addresses

_MAX_RETURN = 16  # characters of the local part before the token: 64 in all
LEAST_BITS = 1024  # of an RSA key; RFC 8301, 3.2
# Headers that a recipient or a mail program acts on. From is listed twice, so that no second one can be added
# (RFC 6376, 8.15); a listed header that the message lacks cannot be added either.
SIGNED = (
    *("from", "from", "to", "reply-to", "subject", "date", "message-id", "mime-version", "content-type"),
    *("auto-submitted", "list-unsubscribe", "list-unsubscribe-post"),
)
_FOLD = "\r\n\t"
_BASE64_LINE = 72  # characters


class Signer:
    """Signs messages for a domain by DKIM (RFC 6376; for Ed25519, RFC 8463), relaxed for head and body.

    dkimpy canonicalizes the message; cryptography signs, because dkimpy's pure Python blocks the loop for 20 ms.
    """

    __slots__ = ("_algorithm", "_domain", "_key", "_selector")

    def __init__(self, *, selector: str, domain: str, pem: str) -> None:
        self._selector, self._domain = selector, domain
        try:
            key = load_pem_private_key(pem.encode(), password=None)
        except (ValueError, TypeError):  # its text may contain a part of the key
            key = None
        if isinstance(key, RSAPrivateKey) and key.key_size >= LEAST_BITS:
            self._algorithm = "rsa-sha256"
        elif isinstance(key, Ed25519PrivateKey):
            self._algorithm = "ed25519-sha256"
        else:
            raise ValueError(
                f"BUILDERS_DKIM_KEY must be an RSA key of at least {LEAST_BITS} bits or an Ed25519 key, in PEM."
            )
        self._key = key

    def __repr__(self) -> str:
        """Return the DNS name of the public key."""
        return f"Signer({self._selector}._domainkey.{self._domain})"

    def sign(self, message: bytes, *, at: datetime) -> bytes:
        """Return the message with a signature of this time in front."""
        head, end, body = message.partition(b"\r\n\r\n")
        # Of a large message dkimpy would copy each line, and remove empty ones at the end in a loop.
        headers, _ = rfc822_parse(head + end)
        digest = digest_body(body)
        names = f":{_FOLD}".join(SIGNED)
        parts = (
            *("v=1", f"a={self._algorithm}", "c=relaxed/relaxed", f"d={self._domain}", f"s={self._selector}"),
            *(f"t={int(at.timestamp())}", f"h={names}", f"bh={b64encode(digest).decode()}", "b="),
        )
        unsigned = f"DKIM-Signature: {f';{_FOLD}'.join(parts)}"
        left: list[tuple[bytes, bytes]] = Relaxed.canonicalize_headers(headers)
        covered = b""
        for name in SIGNED:
            found = next((each for each in reversed(left) if each[0] == name.encode()), None)
            if found is not None:
                left.remove(found)
                covered += b":".join(found)
        own: tuple[bytes, bytes] = Relaxed.canonicalize_headers([unsigned.encode().split(b":", 1)])[0]
        signature = b64encode(self._signature(covered + b":".join(own).rstrip(b"\r\n"))).decode()
        lines = [signature[at : at + _BASE64_LINE] for at in range(0, len(signature), _BASE64_LINE)]
        return f"{unsigned}{_FOLD.join(lines)}\r\n".encode() + message

    def _signature(self, covered: bytes) -> bytes:
        if isinstance(self._key, RSAPrivateKey):
            return self._key.sign(covered, PKCS1v15(), SHA256())
        return self._key.sign(hashlib.sha256(covered).digest())


def digest_body(body: bytes, *, piece: int = 64 * 1024) -> bytes:
    """Return the SHA-256 of a body in its relaxed form (RFC 6376, 3.4.4).

    It is read in pieces of whole lines: one expression over a large body would hold the interpreter for seconds.
    """
    digest, at = hashlib.sha256(), 0
    body = body.rstrip(b"\r\n\t ")
    body += b"\r\n" if body else b""
    while at < len(body):
        end = body.find(b"\r\n", at + piece)
        end = len(body) if end == -1 else end + len(b"\r\n")
        digest.update(compress_whitespace(strip_trailing_whitespace(body[at:end])))
        at = end
    return digest.digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The sender of all messages."""

    name: str
    address: str
    domain: str
    reply_to: str | None = None
    bounces_to: str | None = None
    signer: Signer | None = None

    def return_path(self, token: str) -> str:
        """Return the envelope's sender, with the message's token when bounces go to a separate address."""
        if self.bounces_to is None:
            return self.address
        local, _, domain = self.bounces_to.rpartition("@")
        return f"{local}+{token}@{domain}"


def read_sender(settings: Settings) -> Sender:
    """Return the sender of the settings. Raise ValueError, with the text for the operator."""
    named = urlsplit(settings.url).hostname or ""
    host = named if named[-1:].isalpha() else "localhost"  # not for an IP address
    address = _route(settings.mail_from, "BUILDERS_MAIL_FROM") or f"no-reply@{host}"
    bounces_to = _route(settings.mail_bounces_to, "BUILDERS_MAIL_BOUNCES_TO")
    if bounces_to and len(bounces_to.partition("@")[0]) >= _MAX_RETURN:
        raise ValueError(f"BUILDERS_MAIL_BOUNCES_TO must have at most {_MAX_RETURN - 1} characters before the @")
    domain = address.rpartition("@")[2]
    return Sender(
        name=parseaddr(settings.mail_from)[0] if settings.mail_from else "Builders",
        address=address,
        domain=domain,
        reply_to=_route(settings.mail_reply_to, "BUILDERS_MAIL_REPLY_TO"),
        bounces_to=bounces_to,
        signer=_signer(settings, domain),
    )


def _route(written: str | None, setting: str) -> str | None:
    if not written:
        return None
    route = addresses.find_route(parseaddr(written)[1])
    if route is None or not route.isascii():
        raise ValueError(f"{setting} is not a valid sender address")
    return route


def _signer(settings: Settings, domain: str) -> Signer | None:
    if settings.dkim_key is None:
        return None
    if settings.dkim_selector is None:
        raise ValueError("BUILDERS_DKIM_KEY requires BUILDERS_DKIM_SELECTOR.")
    key = settings.dkim_key.get_secret_value().replace("\\n", "\n")
    try:
        pem = key if "-----BEGIN" in key else Path(key).read_text(encoding="ascii")
    except (OSError, ValueError):
        raise ValueError("The file of BUILDERS_DKIM_KEY cannot be read.") from None
    return Signer(selector=settings.dkim_selector, domain=settings.dkim_domain or domain, pem=pem)
