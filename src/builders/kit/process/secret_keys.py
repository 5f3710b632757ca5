"""The keyring: a key for each purpose, derived from master secrets that can be rotated.

The first secret signs and seals; all verify and unseal. Signatures and sealed values contain the id of their key,
so a new first secret invalidates nothing. An old secret can be removed when `needs_reseal` is false for all stored
values.
"""

import hmac
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from builders.kit.process.files import written
from builders.kit.process.settings import Settings

FILE = "secret_keys"  # in the data folder

_ID = 4  # bytes of a key id
_MAC = 16  # bytes of a signature after the key id
_NONCE = 12  # bytes (NIST SP 800-38D)
_TAG = 16
_SEALED_V1 = b"\x01"
_HEADER = len(_SEALED_V1) + _ID
_BITS = 256
_DISTINCT = 10  # different characters; a random secret has more, with near certainty


class Unsealable(Exception):
    """The value was altered, or sealed for another purpose or context, or with a secret that the keyring lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """The results for values that another secret than the first had sealed."""

    renewed: int
    lost: int  # altered, or sealed with a secret that the keyring lacks


class _Key:
    """A master secret and its derived keys; its repr shows only the id."""

    __slots__ = ("_derived", "_secret", "id")

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._derived: dict[tuple[str, str], bytes] = {}
        self.id = self.derived("id", "")[:_ID]

    def derived(self, use: str, purpose: str) -> bytes:
        """Return the derived key for a use of a purpose: 32 bytes by HKDF-SHA256 (RFC 5869)."""
        key = self._derived.get((use, purpose))
        if key is None:
            info = f"builders/{use}/{purpose}".encode()
            key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(self._secret)
            self._derived[use, purpose] = key
        return key

    def mac(self, purpose: str, payload: bytes) -> bytes:
        """Return the HMAC-SHA256 of the payload, truncated."""
        return hmac.digest(self.derived("sign", purpose), payload, "sha256")[:_MAC]

    def token_hash(self, purpose: str, token: str) -> bytes:
        """Return the HMAC-SHA256 of a token."""
        # A token from a request can contain a lone surrogate: it is a wrong token, not an error.
        return hmac.digest(self.derived("hash", purpose), token.encode("utf-8", "surrogatepass"), "sha256")

    def __repr__(self) -> str:
        return f"_Key({self.id.hex()})"


class Keyring:
    """Signs, seals and hashes for named purposes; each purpose has its own keys.

    Purposes are constants of the code, because derived keys are cached without a limit. Seal at most 2**32 times
    for one purpose and secret, since the nonces are random (NIST SP 800-38D section 8.3).
    """

    __slots__ = ("_by_id", "_first")

    def __init__(self, master_secrets: Sequence[str]) -> None:
        if isinstance(master_secrets, str) or not master_secrets:
            raise ValueError("A keyring needs a list of at least one secret.")
        for secret in master_secrets:
            _require_strong(secret)
        keys = [_Key(secret) for secret in dict.fromkeys(master_secrets)]
        self._first = keys[0]
        self._by_id = {key.id: key for key in keys}
        if len(self._by_id) < len(keys):
            raise ValueError("Two of the secrets have the same key id; replace one of them.")

    def __repr__(self) -> str:
        return f"Keyring({', '.join(key.hex() for key in self._by_id)})"

    def sign(self, purpose: str, payload: bytes) -> bytes:
        """Return 20 bytes: the id of the key and a MAC of the payload (HMAC-SHA256, truncated to 16 bytes)."""
        return self._first.id + self._first.mac(purpose, payload)

    def verify(self, purpose: str, payload: bytes, signature: bytes) -> bool:
        """Return whether a secret of this keyring signed the payload for this purpose, in constant time."""
        key = self._by_id.get(signature[:_ID])
        return key is not None and hmac.compare_digest(signature[_ID:], key.mac(purpose, payload))

    def seal(self, purpose: str, plaintext: bytes, *, context: bytes) -> bytes:
        """Encrypt by AES-256-GCM; return version, key id, nonce, and ciphertext with tag, 33 bytes longer.

        The context, such as account and column, is authenticated and not stored: a sealed value that was copied to
        another row cannot be unsealed.
        """
        header, nonce = self.seal_header, os.urandom(_NONCE)
        cipher = AESGCM(self._first.derived("seal", purpose))
        return header + nonce + cipher.encrypt(nonce, plaintext, header + context)

    def unseal(self, purpose: str, sealed: bytes, *, context: bytes) -> bytes:
        """Return the plaintext. Raise Unsealable."""
        header, nonce, body = sealed[:_HEADER], sealed[_HEADER : _HEADER + _NONCE], sealed[_HEADER + _NONCE :]
        if header[:1] != _SEALED_V1 or len(body) < _TAG:
            raise Unsealable("The value is not sealed.")
        key = self._by_id.get(header[1:])
        if key is None:
            raise Unsealable(f"The keyring does not have the key {header[1:].hex()} that sealed the value.")
        try:
            return AESGCM(key.derived("seal", purpose)).decrypt(nonce, body, header + context)
        except InvalidTag:
            raise Unsealable("The value was altered, or sealed for another purpose or context.") from None

    @property
    def seal_header(self) -> bytes:
        """Return the first bytes of all that the first secret seals."""
        return _SEALED_V1 + self._first.id

    def needs_reseal(self, sealed: bytes) -> bool:
        """Return whether the value was sealed with another secret than the first, or in an older format."""
        return not sealed.startswith(self.seal_header)

    def hash_token(self, purpose: str, token: str) -> bytes:
        """Return 32 bytes to store instead of a token; tokens cannot be guessed against it without the secret."""
        return self._first.token_hash(purpose, token)

    def hashes(self, purpose: str, token: str) -> list[bytes]:
        """Return the hash of a token by each secret, the first secret first: a query looks for all."""
        return [key.token_hash(purpose, token) for key in self._by_id.values()]

    def signing_keys(self, purpose: str) -> dict[str, Ed25519PrivateKey]:
        """Return a key pair (RFC 8032) of each secret by its key id, for signatures that other parties verify.

        The first signs.
        """
        return {
            key.id.hex(): Ed25519PrivateKey.from_private_bytes(key.derived("pair", purpose))
            for key in self._by_id.values()
        }


def generate_secret() -> str:
    """Return a new master secret: 256 random bits as base64url."""
    return secrets.token_urlsafe(_BITS // 8)


def _require_strong(secret: str) -> None:
    if not re.fullmatch(r"[!-~]+", secret):
        raise ValueError("A secret key is one word of printable ASCII characters.")
    bits_each = 4 if re.fullmatch(r"[0-9a-fA-F]+", secret) else 6
    if len(secret) * bits_each < _BITS or len(set(secret)) < _DISTINCT:
        raise ValueError(
            "A secret key is too short or not random: it must be 32 random bytes, as 43 characters of base64url "
            "or 64 of hex."
        )


def load_or_create(path: Path) -> list[str]:
    """Return the secrets of the file, one per line; create a missing file (0600) with a new secret.

    If several processes create it, one succeeds, and all read the same file. The folder must exist. Blank lines
    and # comments are ignored. Raise ValueError when the file has no secret, or a weak one.
    """
    if not path.exists():
        with written(path, replaces=False) as file:
            file.write(f"{generate_secret()}\n")
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise ValueError(f"{path} has no secret key. Add one, or remove the file to generate a new key.")
    for secret in found:
        _require_strong(secret)
    return found


def keyring_of(settings: Settings) -> Keyring:
    """Return the keyring of the settings, or that of the data folder, which is created if missing.

    Raise ValueError for weak secrets, OSError when the file cannot be written.
    """
    if (found := find_keyring(settings)) is not None:
        return found
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return Keyring(load_or_create(settings.data_dir / FILE))


def find_keyring(settings: Settings) -> Keyring | None:
    """Return the keyring of the settings, or that of the data folder; None if neither has one. Raise as above."""
    given = [secret.get_secret_value() for secret in settings.secret_keys]
    path = settings.data_dir / FILE
    if given:
        return Keyring(given)
    return Keyring(load_or_create(path)) if path.exists() else None
