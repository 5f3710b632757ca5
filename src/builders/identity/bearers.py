"""Who brings a token: one of ours, whose session lives, or one of a trusted issuer, linked to an account."""

from uuid import UUID

from builders.identity import identities, jwts, oidc, scopes, sessions, tokens
from builders.identity.jwts import Presented, TokenRefused, TokenUntimely
from builders.identity.store import sessions as session_store
from builders.kit.db.connections import Database
from builders.kit.http.callers import Caller
from builders.kit.http.credentials import Credential, invalid_credentials
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock

_ANOTHER = "Sign in again, or have a new token made."


class Bearers:
    """Judges tokens, for one process."""

    def __init__(self, database: Database, *, keyring: Keyring, settings: Settings, outbound: Outbound) -> None:
        self._database = database
        self._ours = tokens.Verifier(keyring, issuer=settings.issuer)
        self._issuers = {each.issuer: oidc.Issuer(each, outbound) for each in settings.oidc_issuers}

    async def find_caller(self, credential: Credential) -> Caller | None:
        """The caller; None when the token was good once and its session is over.

        Raises CredentialsInvalid, and IssuerUnavailable when the token cannot be judged.
        """
        try:
            return await self._judge(jwts.read(credential.text), in_cookie=credential.kind == "cookie")
        except TokenRefused as refusal:
            is_guess = not isinstance(refusal, TokenUntimely)
            raise invalid_credentials(str(refusal), next_action=_ANOTHER, is_guess=is_guess) from None

    def signed(self, credential: Credential) -> bool:
        """Whether it is a token of ours, be its time or its session over or not."""
        try:
            presented = jwts.read(credential.text)
            if presented.issuer == self._ours.issuer:
                self._ours.verify(presented)
                return True
        except TokenUntimely:
            return True
        except TokenRefused:
            pass
        return False

    async def _judge(self, presented: Presented, *, in_cookie: bool) -> Caller | None:
        if presented.issuer == self._ours.issuer:
            return await self._find_own(presented, in_cookie=in_cookie)
        issuer = self._issuers.get(presented.issuer)
        if issuer is None or in_cookie:  # we set the cookie, and only with tokens of ours
            raise TokenRefused("The token is of an issuer that is not accepted.")
        return await self._get_foreign(presented, issuer)

    async def _find_own(self, presented: Presented, *, in_cookie: bool) -> Caller | None:
        claimed = self._ours.verify(presented)
        async with self._database.reading() as conn:
            session = await session_store.find_session(
                conn,
                account_id=claimed.account_id,
                session_id=claimed.session_id,
                now=clock.now(),
            )
        return None if session is None else sessions.caller_of(session, method="cookie" if in_cookie else "jwt")

    async def _get_foreign(self, presented: Presented, issuer: oidc.Issuer) -> Caller:
        claims = await issuer.verify(presented)  # which may fetch keys, so no connection is held yet
        trusted = issuer.trusted
        account_id: UUID = await identities.find_account_id(
            self._database,
            issuer=trusted.issuer,
            claims=claims,
            sign_up=trusted.sign_up,
            link_by_email=trusted.link_by_email,
        )
        return Caller(
            account_id=account_id,
            live_account_id=account_id,
            mode="live",
            method="jwt",
            scopes=scopes.ALL,
            key_id=None,
            expires_at=jwts.expiry(claims),
        )
