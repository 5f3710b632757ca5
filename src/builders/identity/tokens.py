"""Our own access tokens (RFC 9068): signed with Ed25519 by a key that is derived from the secret keys.

Every process derives the same keys, so none is stored or handed about; the first secret signs, all verify.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import jwt
from jwt.algorithms import OKPAlgorithm

from builders.identity import jwts, scopes
from builders.identity.jwts import Presented, TokenRefused
from builders.identity.records import PublicKey, Session
from builders.kit.process.secret_keys import Keyring

PURPOSE = "access token"
KIND = "at+jwt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """What a good token of ours says: which session of which account. Whether that lives, the database knows."""

    account_id: UUID
    session_id: UUID
    expires_at: datetime


def sign(keyring: Keyring, session: Session, *, issuer: str) -> str:
    """The token of a session."""
    grant = session.impersonation
    claims = {
        "iss": issuer,
        "aud": issuer,
        "sub": str(session.account_id),
        "jti": str(session.id),
        "iat": int(session.created_at.timestamp()),
        "nbf": int(session.created_at.timestamp()),
        "exp": int(session.expires_at.timestamp()),
        "scope": " ".join(scopes.in_order(scopes.of_session(grant))),
    }
    if grant is not None:
        claims["act"] = {"sub": grant.operator}  # RFC 8693, 4.1
    kid, key = next(iter(keyring.signing_keys(PURPOSE).items()))
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"typ": KIND, "kid": kid})


class Verifier:
    """Knows our tokens, for one process."""

    def __init__(self, keyring: Keyring, *, issuer: str) -> None:
        self.issuer = issuer
        self._keys = {kid: key.public_key() for kid, key in keyring.signing_keys(PURPOSE).items()}

    def verify(self, presented: Presented) -> Claimed:
        """What the token says. Raises TokenRefused."""
        key = self._keys.get(presented.kid)
        if key is None or presented.kind != KIND:
            raise TokenRefused("The token is not valid.")
        claims = jwts.verify(
            presented,
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
        return Claimed(account_id=account_id, session_id=session_id, expires_at=jwts.expiry(claims))


def list_public_keys(keyring: Keyring) -> Sequence[PublicKey]:
    """The public halves of the keys that sign our tokens (RFC 8037), the one that signs now first."""
    published = (
        (kid, OKPAlgorithm.to_jwk(key.public_key(), as_dict=True))
        for kid, key in keyring.signing_keys(PURPOSE).items()
    )
    return [PublicKey(kid=kid, x=key["x"]) for kid, key in published]
