"""Links that tell of reading: the open pixel and tracked targets, minted here and redeemed by the tracking room.

A token is the message's id and its signature, so nothing is stored for it. A target carries a MAC over token and
target: a changed one leads nowhere.
"""

from base64 import urlsafe_b64encode
from binascii import a2b_base64
from urllib.parse import urlencode
from uuid import UUID

from builders.kit.process.secret_keys import Keyring

_MESSAGE, _CLICK = "mail.message", "mail.click"
_ID = 16  # bytes
_PLAIN = bytes.maketrans(b"-_", b"+/")  # from base64url into base64


class Links:
    """The tracked links of one message."""

    __slots__ = ("_base_url", "_keyring", "token")

    def __init__(self, keyring: Keyring, base_url: str, token: str) -> None:
        self._keyring = keyring
        self._base_url = base_url
        self.token = token

    @property
    def pixel(self) -> str:
        """The address of the image that tells of an opening."""
        return f"{self._base_url}/v1/t/o/{self.token}"

    def click(self, target: str) -> str:
        """A link that leads to the target and tells of it."""
        mac = urlsafe_b64encode(self._keyring.sign(_CLICK, _signed(self.token, target))).decode()
        return f"{self._base_url}/v1/t/c/{self.token}?{urlencode({'u': target, 'm': mac})}"


def mint_links(keyring: Keyring, *, base_url: str, message_id: UUID) -> Links:
    """The links of a message; minted again they are the same, as long as the secret is."""
    return Links(keyring, base_url, token(keyring, message_id))


def token(keyring: Keyring, message_id: UUID) -> str:
    """The message's id, signed: 48 characters of base64url."""
    return urlsafe_b64encode(message_id.bytes + keyring.sign(_MESSAGE, message_id.bytes)).rstrip(b"=").decode()


def read_token(keyring: Keyring, text: str) -> UUID | None:
    """The message whose token it is; None for what was not minted here."""
    raw = decoded(text)
    if len(raw) <= _ID or not keyring.verify(_MESSAGE, raw[:_ID], raw[_ID:]):
        return None
    return UUID(bytes=raw[:_ID])


def message_of(text: str) -> UUID | None:
    """The message of a token that is known to be ours, as that of a target which `is_target` found good."""
    raw = decoded(text)
    return UUID(bytes=raw[:_ID]) if len(raw) > _ID else None


def is_target(keyring: Keyring, text: str, *, target: str, mac: str) -> bool:
    """Whether we ourselves made the link of this token to this target (decoded), as `u` and `m` say it.

    A good one says that the token is good too: we sign targets of tokens that we minted, and of no others.
    """
    return keyring.verify(_CLICK, _signed(text, target), decoded(mac))


def decoded(text: str) -> bytes:
    """The bytes that base64url spells, with or without its padding; none for what is not base64url."""
    bare = text.rstrip("=")
    try:
        return a2b_base64(bare.encode("ascii").translate(_PLAIN) + b"=" * (-len(bare) % 4))
    except ValueError:
        return b""


def _signed(token_text: str, target: str) -> bytes:
    return f"c\n{token_text}\n{target}".encode("utf-8", "surrogatepass")
