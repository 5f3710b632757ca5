"""Whom a token of another issuer speaks for: its issuer and subject are linked to an account, once."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from builders.identity import accounts, audit
from builders.identity.errors import EmailTaken, IdentityNotFound, IdentityTaken
from builders.identity.jwts import Claims, TokenRefused
from builders.identity.records import AuditAction, Identity
from builders.identity.store import accounts as account_store, identities as store
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Actor
from builders.kit.values import clock
from builders.kit.values.emails import canonical

MOST_LISTED = 500
MAX_SUBJECT = 255  # characters of ASCII (OpenID Connect Core 1.0, 2)


async def find_account_id(
    database: Database, *, issuer: str, claims: Claims, sign_up: bool, link_by_email: bool
) -> UUID:
    """The account that the token speaks for.

    At first sight one is made where `sign_up` allows, or the one with the address where `link_by_email` does.
    Raises TokenRefused.
    """
    subject = _subject(claims["sub"])
    async with database.reading() as conn:
        known = await store.find_identity(conn, issuer=issuer, subject=subject)
    if known is not None:
        return known
    if not sign_up and not link_by_email:
        raise TokenRefused("No account is linked to the subject of this token.")
    email = _verified_email(claims)
    try:
        async with database.transaction() as conn:
            account_id = await _account_of(conn, email, sign_up=sign_up, link_by_email=link_by_email)
            actor = Actor(type="user", label=issuer)
            await link_identity(conn, account_id=account_id, issuer=issuer, subject=subject, actor=actor)
    except (EmailTaken, IdentityTaken):  # by a twin of this request, right now, or by somebody else
        async with database.reading() as conn:
            known = await store.find_identity(conn, issuer=issuer, subject=subject)
        if known is None:
            raise TokenRefused("An account has this address; the operator can link it.") from None
        return known
    return account_id


async def link_identity(conn: Conn, *, account_id: UUID, issuer: str, subject: str, actor: Actor) -> None:
    """Has an issuer's subject speak for the account. Raises IdentityTaken when it speaks for one already."""
    linked = await store.insert_identity(
        conn,
        issuer=issuer,
        subject=subject,
        account_id=account_id,
        now=clock.now(),
    )
    if not linked:
        raise IdentityTaken(f"The subject {subject!r} of {issuer} is linked to an account already.")
    await audit.record_audit(
        conn,
        account_id=account_id,
        actor=actor,
        action=AuditAction.IDENTITY_LINKED,
        about={"issuer": issuer, "subject": subject},
    )


async def unlink_identity(conn: Conn, *, account_id: UUID, issuer: str, subject: str, actor: Actor) -> None:
    """Undoes a link; felt everywhere within the cache time. Raises IdentityNotFound."""
    if not await store.delete_identity(conn, issuer=issuer, subject=subject, account_id=account_id):
        raise IdentityNotFound(f"The subject {subject!r} of {issuer} is not linked to this account.")
    await audit.record_audit(
        conn,
        account_id=account_id,
        actor=actor,
        action=AuditAction.IDENTITY_UNLINKED,
        about={"issuer": issuer, "subject": subject},
    )


async def list_identities(conn: Conn, *, account_id: UUID) -> Sequence[Identity]:
    """Whose tokens speak for the account, the newest links first."""
    return await store.list_identities(conn, account_id=account_id, limit=MOST_LISTED)


async def _account_of(conn: Conn, email: str, *, sign_up: bool, link_by_email: bool) -> UUID:
    """A new account, or the one with this address; one that did not prove it gets no stranger in.

    Raises EmailTaken where there is one that must not be linked so.
    """
    if sign_up:
        try:
            return (await accounts.create_account(conn, email=email, verified=True)).id
        except EmailTaken:
            if not link_by_email:
                raise
    account = await account_store.find_account(conn, email=email)
    if account is None:
        raise TokenRefused("No account is linked to the subject of this token, and none has its address.")
    if account.email_verified_at is None:
        raise TokenRefused("An account has this address, which it did not verify yet.")
    return account.id


def _subject(subject: Any) -> str:
    if not (isinstance(subject, str) and subject.isascii() and subject.isprintable()):
        raise TokenRefused("The token's subject is not a plain name.")
    if not 0 < len(subject) <= MAX_SUBJECT:
        raise TokenRefused(f"A subject has 1 to {MAX_SUBJECT} characters.")
    return subject


def _verified_email(claims: Claims) -> str:
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        raise TokenRefused("No account is linked to the subject of this token, which has no verified address.")
    try:
        return canonical(email)
    except ValueError:
        raise TokenRefused("The token's address is none.") from None
