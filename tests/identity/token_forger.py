"""Tokens built by hand, so that every malformed token can be built."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

Key = Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
Sign = Callable[[bytes], bytes]


def b64(raw: bytes) -> str:
    """Return base64url without padding (RFC 7515)."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def part(value: Any) -> str:
    """Return a part of a token."""
    return b64(json.dumps(value).encode())


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims of any token."""
    header, claims = (
        json.loads(base64.urlsafe_b64decode(each + "=" * (-len(each) % 4))) for each in token.split(".")[:2]
    )
    return header, claims


def signer(key: Key, algorithm: str) -> Sign:
    """Return a function that signs as JWA requires (RFC 7518)."""
    if isinstance(key, Ed25519PrivateKey):
        return key.sign
    if isinstance(key, rsa.RSAPrivateKey):
        digest = hashes.SHA256()
        if algorithm.startswith("PS"):
            return lambda text: key.sign(text, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
        return lambda text: key.sign(text, padding.PKCS1v15(), digest)

    def sign(text: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)

    return sign


def by_hmac(secret: bytes) -> Sign:
    """Return a function that signs with HS256."""
    return lambda text: hmac.digest(secret, text, hashlib.sha256)


@dataclass(frozen=True, kw_only=True)
class Forger:
    """The parts of a valid token, and a function that signs others."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    key: Key

    def make(
        self,
        *,
        header: Mapping[str, Any] | None = None,
        drop: tuple[str, ...] = (),
        sign: Sign | None = None,
        **claims: Any,
    ) -> str:
        """Return a signed token like the valid one, with the given and without the dropped members."""
        heading = {name: value for name, value in {**self.header, **(header or {})}.items() if name not in drop}
        saying = {name: value for name, value in {**self.claims, **claims}.items() if name not in drop}
        return self.of(f"{part(heading)}.{part(saying)}", sign)

    def of(self, text: str, sign: Sign | None = None) -> str:
        """Return the text with a signature."""
        return f"{text}.{b64((sign or signer(self.key, self.header['alg']))(text.encode()))}"

    @property
    def public_forms(self) -> list[bytes]:
        """Return the encodings of the public key that a verifier could use as an HS256 secret."""
        public = self.key.public_key()
        forms = [public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)]
        forms.append(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
        if isinstance(self.key, Ed25519PrivateKey):
            forms.append(public.public_bytes(Encoding.Raw, PublicFormat.Raw))
        return forms
