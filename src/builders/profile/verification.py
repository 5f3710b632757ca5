"""Verify addresses by links with tokens, which are sent to them.

A request does not check whether another account has the address: the same message is sent, and the unique key
refuses the change when the link is followed. So a caller cannot find out which addresses have accounts.
"""

import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import accounts, people
from builders.identity.records import Account, AuditAction
from builders.kit.callers import Actor
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn
from builders.kit.errors import Problem, TokenInvalid
from builders.kit.limits import maximums
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.resources import extended
from builders.mail import addresses, service as mail
from builders.mail.link_pages import Confirmation
from builders.mail.records import Message, Status as MailStatus
from builders.mail.templates import EmailChanged, EmailReplaced, EmailTemplate, VerifyEmail
from builders.profile import onboarding, store
from builders.profile.records import (
    LINK_LIFETIME,
    MessageDelivery,
    Purpose,
    Resent,
    SentMessages,
    StepKey,
    StoredProfile,
    Token,
    Verification,
    VerificationStatus,
)

PATH = "/v1/account/email-verification/confirm"
MIN_INTERVAL = timedelta(seconds=60)  # between two messages to an address
DAY = timedelta(days=1)
MAX_PER_ADDRESS = maximums.declare(
    "verifications_of_address",
    5,
    of="address",
    counts="Verification messages of an account in a day.",
    code="resend_too_soon",
)
# So that requests to change the address cannot flood addresses.
MAX_PER_ACCOUNT = maximums.declare(
    "verifications", 10, of="account", counts="Verification messages in a day.", code="resend_too_soon"
)
TOKEN_BYTES = 32
PURPOSE = "profile.token"  # of the keyring
UNDELIVERABLE = frozenset({MailStatus.BOUNCED, MailStatus.SUPPRESSED})
RETENTION = timedelta(days=30)  # of sends and tokens
old_rows.declare(
    "profile_verifications", key="account_id, email", age="sends[cardinality(sends)]", after=RETENTION
)
old_rows.declare("profile_tokens", key="account_id", age="expires_at", after=RETENTION)

RECIPIENT = Actor(type="user")  # the person who follows a link


class ResendTooSoon(Problem):
    """It is too soon for another verification message."""

    status, code = 429, "resend_too_soon"
    remedy = "Check the mailbox and the spam folder, or try again later."


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The dependencies of sending a link."""

    keyring: Keyring
    settings: Settings


def _target_of(account: Account, stored: StoredProfile) -> tuple[Purpose, str] | None:
    """Return the address to confirm and the purpose, or None if there is nothing to confirm."""
    if stored.pending_email is not None:
        return Purpose.CHANGE, stored.pending_email
    return None if account.email_verified_at is not None else (Purpose.VERIFY, account.email)


async def _send(conn: Conn, sender: Sender, *, account_id: UUID, purpose: Purpose, email: str) -> None:
    """Send a new link, which replaces earlier ones; call it with the profile locked. Raise ResendTooSoon."""
    now = clock.now()
    sends = await store.list_sends(conn, account_id=account_id, day_ago=now - DAY)
    if len(sends) >= MAX_PER_ACCOUNT:
        raise _too_soon(sends[-MAX_PER_ACCOUNT] + DAY, now)
    is_reserved = await store.reserve(
        conn,
        account_id=account_id,
        email=email,
        now=now,
        gap_ago=now - MIN_INTERVAL,
        day_ago=now - DAY,
        quota=MAX_PER_ADDRESS,
    )
    if not is_reserved:
        sent = await store.find_sent(conn, account_id=account_id, email=email)
        raise _too_soon(_available_at(sent, now) or now, now)
    text, expires_at = secrets.token_urlsafe(TOKEN_BYTES), now + LINK_LIFETIME
    token = Token(account_id=account_id, purpose=purpose, email=email, expires_at=expires_at, used_at=None)
    await store.put_token(conn, digest=sender.keyring.hash_token(PURPOSE, text), token=token)
    message_id = await mail.send(
        conn,
        keyring=sender.keyring,
        account_id=account_id,
        to=email,
        template=VerifyEmail(link=f"{sender.settings.url}{PATH}?token={text}", address=email),
        expires_at=expires_at,
    )
    await store.set_message(conn, account_id=account_id, email=email, message_id=message_id)


def _too_soon(at: datetime, now: datetime) -> ResendTooSoon:
    return ResendTooSoon(
        "A verification message was sent recently, or the daily limit is reached.",
        retry_after=max(1, -int((now - at).total_seconds() // 1)),
    )


def _available_at(sent: SentMessages | None, now: datetime) -> datetime | None:
    """Return when the next message may be sent to the address."""
    if sent is None:
        return None
    today = [at for at in sent.sends if at > now - DAY]
    at = sent.sends[-1] + MIN_INTERVAL
    return max(at, today[-MAX_PER_ADDRESS] + DAY) if len(today) >= MAX_PER_ADDRESS else at


async def request_change(
    conn: Conn, *, sender: Sender, account: Account, stored: StoredProfile, email: str, actor: Actor
) -> str | None:
    """Request a change of the address and return the pending address; the present address cancels a change.

    Notify the present address, so that its owner can object. Raise ResendTooSoon, and as
    `people.require_if_needed`.
    """
    if email == stored.pending_email:
        return email
    if email == account.email:
        if stored.pending_email is not None:
            await store.delete_token(conn, account_id=account.id)
        return None
    await people.require_if_needed(conn, account_id=account.id, actor=actor)
    about = {"from": addresses.mask(account.email), "to": addresses.mask(email)}
    await accounts.record_audit(
        conn, account_id=account.id, actor=actor, action=AuditAction.EMAIL_CHANGE_REQUESTED, about=about
    )
    await _send(conn, sender, account_id=account.id, purpose=Purpose.CHANGE, email=email)
    await _notify(conn, sender.keyring, account, EmailChanged(new_address_masked=addresses.mask(email)))
    return email


async def _notify(conn: Conn, keyring: Keyring, account: Account, template: EmailTemplate) -> None:
    """Send an email to the address of the account record, which is the earlier one after a change."""
    await mail.send(conn, keyring=keyring, account_id=account.id, to=account.email, template=template)


async def find_unused_link(conn: Conn, *, keyring: Keyring, token: str) -> tuple[Purpose, str] | None:
    """Return the purpose of a link and the masked address that it would confirm. Changes nothing.

    Return None for an unknown, used or expired link.
    """
    found = await store.find_token(conn, digests=keyring.hashes(PURPOSE, token), now=clock.now())
    if found is None or found.used_at is not None:
        return None
    return Purpose(found.purpose), addresses.mask(found.email)


async def confirm(conn: Conn, *, keyring: Keyring, token: str) -> Confirmation:
    """Confirm the address that the token was sent to; a pending address becomes the address of the account.

    Idempotent until the link expires. Raise TokenInvalid, EmailTaken.
    """
    now, digests = clock.now(), keyring.hashes(PURPOSE, token)
    found = await store.find_token(conn, digests=digests, now=now)
    if found is not None and found.used_at is None:
        # Both are locked first, as everywhere; a concurrent request may have used or replaced the token.
        await people.lock(conn, account_id=found.account_id)
        stored = await store.lock(conn, account_id=found.account_id)
        if await store.use_token(conn, account_id=found.account_id, digests=digests, now=now):
            await _confirm_address(conn, keyring, token=found, stored=stored, now=now)
            return Confirmation(repeated=False, email=addresses.mask(found.email))
        found = await store.find_token(conn, digests=digests, now=now)
    if found is None:
        raise _invalid()
    return Confirmation(repeated=True, email=addresses.mask(found.email))


async def _confirm_address(
    conn: Conn, keyring: Keyring, *, token: Token, stored: StoredProfile, now: datetime
) -> None:
    account = await accounts.get_account(conn, account_id=token.account_id)
    if token.purpose == Purpose.CHANGE:
        if stored.pending_email != token.email:
            raise _invalid()
        await accounts.change_email(conn, account_id=account.id, email=token.email)
        about = {"from": addresses.mask(account.email), "to": addresses.mask(token.email)}
        await accounts.record_audit(
            conn, account_id=account.id, actor=RECIPIENT, action=AuditAction.EMAIL_CHANGED, about=about
        )
        await _notify(conn, keyring, account, EmailReplaced(new_address_masked=addresses.mask(token.email)))
    elif not await accounts.verify_email(conn, account_id=account.id, email=token.email):
        raise _invalid()
    updated = await onboarding.complete_steps(
        conn, account=account, stored=replace(stored, pending_email=None), steps={StepKey.VERIFY_EMAIL: now}
    )
    await store.save(conn, account_id=account.id, stored=updated, now=now)


def _invalid() -> TokenInvalid:
    return TokenInvalid(
        "This link is not valid.",
        next_action="Request a new link with POST /v1/account/email-verification/resend.",
    )


async def get_verification(conn: Conn, *, account_id: UUID) -> Verification:
    """Return the verification of a real account's address. Raise AccountNotFound."""
    stored = await store.find(conn, account_id=account_id)
    account = await accounts.get_account(conn, account_id=account_id)
    return await _describe(conn, account=account, stored=stored)


async def resend(conn: Conn, *, keyring: Keyring, settings: Settings, account_id: UUID) -> Resent:
    """Send a link again, to the pending address if there is one.

    Raise ResendTooSoon.
    """
    stored = await store.lock(conn, account_id=account_id)
    account = await accounts.get_account(conn, account_id=account_id)
    target = _target_of(account, stored)
    if target is not None:
        purpose, email = target
        sender = Sender(keyring=keyring, settings=settings)
        await _send(conn, sender, account_id=account_id, purpose=purpose, email=email)
    found = await _describe(conn, account=account, stored=stored)
    return extended(Resent, found, sent=target is not None)


async def begin_verification(conn: Conn, *, keyring: Keyring, settings: Settings, account_id: UUID) -> None:
    """Send the first link to a new account, unless a link was sent before. Idempotent."""
    before = await get_verification(conn, account_id=account_id)
    if before.last_sent_at is None:
        with suppress(ResendTooSoon):  # the owner requested one in the meantime
            await resend(conn, keyring=keyring, settings=settings, account_id=account_id)


async def _describe(conn: Conn, *, account: Account, stored: StoredProfile) -> Verification:
    target, sent, message = _target_of(account, stored), None, None
    if target is not None:
        sent = await store.find_sent(conn, account_id=account.id, email=target[1])
    if sent is not None and sent.message_id is not None:
        message = await mail.find_message(conn, account_id=account.id, message_id=sent.message_id)
    now = clock.now()
    return Verification(
        email=account.email,
        status=_status(target, sent, message, now),
        verified_at=account.email_verified_at,
        pending_email=stored.pending_email,
        last_sent_at=sent.sends[-1] if sent else None,
        resend_available_at=_available_at(sent, now),
        expires_at=sent.expires_at if sent else None,
        delivery=MessageDelivery(status=message.status, error=message.last_error) if message else None,
    )


def _status(
    target: tuple[Purpose, str] | None, sent: SentMessages | None, message: Message | None, now: datetime
) -> VerificationStatus:
    if target is None:
        return VerificationStatus.VERIFIED
    if target[0] is Purpose.CHANGE:
        return VerificationStatus.PENDING_CHANGE
    if sent is None:
        return VerificationStatus.UNVERIFIED
    if message is not None and message.status in UNDELIVERABLE:
        return VerificationStatus.BOUNCED
    is_valid = sent.expires_at is not None and sent.expires_at > now
    return VerificationStatus.SENT if is_valid else VerificationStatus.EXPIRED
