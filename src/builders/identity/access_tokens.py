"""The access tokens of sessions (RFC 9068), which this service signs with Ed25519 and verifies.

Every process derives the same keys from the secret keys, so none is stored. The first key signs, all verify.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import jwt
from jwt.algorithms import OKPAlgorithm

from builders.identity import scopes
from builders.identity.json_web_tokens import TokenRefused, UnverifiedToken, expiry_of, verify_token
from builders.identity.records import Session
from builders.kit.process.secret_keys import Keyring

PURPOSE = "access token"
JWT_TYPE = "at+jwt"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionToken:
    """The claims of a verified access token. The session may have ended since."""

    account_id: UUID
    session_id: UUID
    expires_at: datetime


def sign_token(keyring: Keyring, session: Session, *, issuer: str) -> str:
    """Return the access token of a session."""
    grant = session.impersonation
    claims = {
        "iss": issuer,
        "aud": issuer,
        "sub": str(session.account_id),
        "jti": str(session.id),
        "iat": int(session.created_at.timestamp()),
        "nbf": int(session.created_at.timestamp()),
        "exp": int(session.expires_at.timestamp()),
        "scope": " ".join(scopes.sort_scopes(scopes.session_scopes(grant))),
    }
    if grant is not None:
        claims["act"] = {"sub": grant.operator}  # RFC 8693, 4.1
    kid, key = next(iter(keyring.signing_keys(PURPOSE).items()))
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"typ": JWT_TYPE, "kid": kid})


class SessionTokenVerifier:
    """Verify access tokens of this service, for one process."""

    def __init__(self, keyring: Keyring, *, issuer: str) -> None:
        self.issuer = issuer
        self._keys = {kid: key.public_key() for kid, key in keyring.signing_keys(PURPOSE).items()}

    def verify(self, token: UnverifiedToken) -> SessionToken:
        """Return the claims of the token. Raise TokenRefused."""
        key = self._keys.get(token.kid)
        if key is None or token.kind != JWT_TYPE:
            raise TokenRefused("The token is not valid.")
        claims = verify_token(
            token,
            key=key,
            algorithms=["EdDSA"],
            issuer=self.issuer,
            audience=self.issuer,
            required=["jti"],
            sole_audience=True,
        )
        try:
            account_id, session_id = UUID(claims["sub"]), UUID(claims["jti"])
        except ValueError:
            raise TokenRefused("The token is not valid.") from None
        return SessionToken(account_id=account_id, session_id=session_id, expires_at=expiry_of(claims))


def list_public_keys(keyring: Keyring) -> Mapping[str, str]:
    """Return the public keys of access tokens, base64url (RFC 8037), by id; the first is of the key that signs."""
    found = keyring.signing_keys(PURPOSE).items()
    return {kid: OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)["x"] for kid, key in found}
