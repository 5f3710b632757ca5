"""Signed open and click links of emails; the tracking package handles the requests for them.

A token is the message's id and its signature, so no row is stored for it. A click link carries a MAC over token
and target, so a changed target is refused.
"""

from base64 import urlsafe_b64encode
from binascii import a2b_base64
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from builders.kit.process.secret_keys import Keyring

_MESSAGE, _CLICK = "mail.message", "mail.click"
_ID = 16  # bytes
_PLAIN = bytes.maketrans(b"-_", b"+/")  # from base64url into base64


@dataclass(frozen=True, slots=True)
class Links:
    """The tracked links of one message."""

    _keyring: Keyring
    _base_url: str
    token: str

    @property
    def pixel(self) -> str:
        """Return the address of the image whose request is an open."""
        return f"{self._base_url}/v1/t/o/{self.token}"

    def click(self, target: str) -> str:
        """Return a link to the target whose request is a click."""
        mac = urlsafe_b64encode(self._keyring.sign(_CLICK, _signed(self.token, target))).decode()
        return f"{self._base_url}/v1/t/c/{self.token}?{urlencode({'u': target, 'm': mac})}"


def mint_links(keyring: Keyring, *, base_url: str, message_id: UUID) -> Links:
    """Return the links of a message; equal for the same message and secret."""
    return Links(keyring, base_url, token(keyring, message_id))


def token(keyring: Keyring, message_id: UUID) -> str:
    """Return the message's id and its signature: 48 characters of base64url."""
    return urlsafe_b64encode(message_id.bytes + keyring.sign(_MESSAGE, message_id.bytes)).rstrip(b"=").decode()


def is_token(keyring: Keyring, text: str) -> bool:
    """Return whether the text is the token of a message, with a valid signature."""
    raw = decode_base64url(text)
    return len(raw) > _ID and keyring.verify(_MESSAGE, raw[:_ID], raw[_ID:])


def message_of(text: str) -> UUID:
    """Return the message of a token that `is_token` or `is_target` accepted."""
    return UUID(bytes=decode_base64url(text)[:_ID])


def is_target(keyring: Keyring, text: str, *, target: str, mac: str) -> bool:
    """Return whether the MAC of a click link (`m`) fits its token and its decoded target (`u`).

    A valid MAC implies a valid token: only targets of minted tokens are signed.
    """
    return keyring.verify(_CLICK, _signed(text, target), decode_base64url(mac))


def decode_base64url(text: str) -> bytes:
    """Return the bytes of base64url, with or without padding; empty when it is not base64url."""
    bare = text.rstrip("=")
    try:
        return a2b_base64(bare.encode("ascii").translate(_PLAIN) + b"=" * (-len(bare) % 4))
    except ValueError:
        return b""


def _signed(token_text: str, target: str) -> bytes:
    return f"c\n{token_text}\n{target}".encode("utf-8", "surrogatepass")
