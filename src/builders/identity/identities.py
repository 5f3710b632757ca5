"""Identities: the subjects of other issuers' tokens, each linked to one account."""

from collections.abc import Sequence
from uuid import UUID

from builders.identity import accounts, people
from builders.identity.errors import EmailTaken, IdentityNotFound, IdentityTaken
from builders.identity.json_web_tokens import Claims, TokenRefused
from builders.identity.records import AuditAction, Identity
from builders.identity.store import accounts as store
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.process.issuers import OidcIssuer
from builders.kit.values import clock
from builders.kit.values.texts import canonical_email

MAX_LISTED = 500
MAX_SUBJECT = 255  # ASCII characters (OpenID Connect Core 1.0, 2)


async def get_account_id(database: Database, *, issuer: OidcIssuer, claims: Claims) -> UUID:
    """Return the account that the token's subject is linked to; link a new subject as the issuer's settings allow.

    `sign_up` creates an account, `link_by_email` links the one with the verified address. Raise TokenRefused.
    """
    subject = claims["sub"]
    if not (isinstance(subject, str) and subject.isascii() and subject.isprintable()):
        raise TokenRefused("The token's subject is not printable ASCII.")
    if not 0 < len(subject) <= MAX_SUBJECT:
        raise TokenRefused(f"A subject has 1 to {MAX_SUBJECT} characters.")
    own = {"issuer": issuer.issuer, "subject": subject}
    async with database.connection() as conn:
        linked = await store.find_linked_account(conn, **own)
    if linked is not None:
        return linked.id
    if not issuer.sign_up and not issuer.link_by_email:
        raise TokenRefused("No account is linked to the subject of this token.")
    email = _verified_email(claims)
    try:
        async with database.transaction() as conn:
            account_id, is_new = await _get_or_create_account(conn, email, issuer)
            actor = Actor(type="user", label=issuer.issuer)
            await link_identity(conn, account_id=account_id, **own, actor=actor, by_email=not is_new)
    except (EmailTaken, IdentityTaken):  # by a concurrent request with this token, or by somebody else
        async with database.connection() as conn:
            linked = await store.find_linked_account(conn, **own)
        if linked is None:
            raise TokenRefused("An account has this address; the operator can link it.") from None
        return linked.id
    return account_id


async def link_identity(
    conn: Conn, *, account_id: UUID, issuer: str, subject: str, actor: Actor, by_email: bool = False
) -> None:
    """Link an issuer's subject to the account; with `by_email`, until the account's address changes.

    Raise IdentityTaken when it is linked to any account.
    """
    linked = await store.insert_identity(
        conn, issuer=issuer, subject=subject, account_id=account_id, by_email=by_email, now=clock.now()
    )
    if not linked:
        raise IdentityTaken(f"The subject {subject!r} of {issuer} is linked to an account already.")
    about = {"issuer": issuer, "subject": subject}
    await accounts.record_audit(
        conn, account_id=account_id, actor=actor, action=AuditAction.IDENTITY_LINKED, about=about
    )


async def unlink_identity(conn: Conn, *, account_id: UUID, issuer: str, subject: str, actor: Actor) -> None:
    """Remove a link; its tokens are refused within the cache time. Raise IdentityNotFound."""
    if not await store.delete_identity(conn, issuer=issuer, subject=subject, account_id=account_id):
        raise IdentityNotFound(f"The subject {subject!r} of {issuer} is not linked to this account.")
    about = {"issuer": issuer, "subject": subject}
    await accounts.record_audit(
        conn, account_id=account_id, actor=actor, action=AuditAction.IDENTITY_UNLINKED, about=about
    )


async def list_identities(conn: Conn, *, account_id: UUID) -> Sequence[Identity]:
    """Return the subjects that are linked to the account, the newest links first."""
    return await store.list_identities(conn, account_id=account_id, limit=MAX_LISTED)


async def _get_or_create_account(conn: Conn, email: str, issuer: OidcIssuer) -> tuple[UUID, bool]:
    """Return the account with this email address if it has verified it, or a new one, and whether it is new.

    Raise TokenRefused, and EmailTaken when the existing account must not be linked.
    """
    if issuer.sign_up:
        try:
            return (await accounts.create_account(conn, email=email, verified=True)).id, True
        except EmailTaken:
            if not issuer.link_by_email:
                raise
    account = await store.find_account_by_email(conn, email=email)
    if account is None:
        raise TokenRefused("No account is linked to the subject of this token, and no account has its address.")
    if account.email_verified_at is None:
        raise TokenRefused("An account has this address, which is not verified.")
    if await people.lock(conn, account_id=account.id):
        raise TokenRefused("The account with this address needs a person for this; the operator can link it.")
    return account.id, False


def _verified_email(claims: Claims) -> str:
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        raise TokenRefused("No account is linked to the subject of this token, which has no verified address.")
    try:
        return canonical_email(email)
    except ValueError:
        raise TokenRefused("The token's email address is not valid.") from None
