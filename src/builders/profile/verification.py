"""Proof that an account's holder reads the mail of an address: a link with a token that is sent there.

Nothing here looks whether another account has the address: a change to a taken one goes the same way, to the
same mail, and is refused when the link is followed, by the unique key, to somebody who reads that mail. So who
asks learns nothing.
"""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import service as identity
from builders.identity.records import Account, AuditAction
from builders.kit.db.connections import Conn
from builders.kit.errors import TokenInvalid
from builders.kit.http.callers import Actor
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.records import Message, Status as MailStatus
from builders.mail.service import EmailChanged, EmailReplaced, EmailTemplate, VerifyEmail
from builders.profile import onboarding
from builders.profile.errors import ResendTooSoon
from builders.profile.records import (
    LINK_LIFE,
    Confirmation,
    Delivery,
    Purpose,
    Sent,
    StepKey,
    Stored,
    Token,
    UnusedLink,
    Verification,
    VerificationStatus,
)
from builders.profile.store import profiles, verifications as store

PATH = "/v1/account/email-verification/confirm"
GAP = timedelta(seconds=60)  # between two messages to an address
DAY = timedelta(days=1)
MOST_TO_ADDRESS = 5  # a day
MOST_OF_ACCOUNT = 10  # a day, to whatever addresses: nobody's mailbox is filled by asking for changes
TOKEN_BYTES = 32
HASHED = "profile.token"  # the keyring's purpose
UNDELIVERABLE = frozenset({MailStatus.BOUNCED, MailStatus.SUPPRESSED})
READER = Actor(type="user")  # who follows a link: whoever reads the mail


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What a link is made with."""

    keyring: Keyring
    settings: Settings


def target(account: Account, stored: Stored) -> tuple[Purpose, str] | None:
    """The address that is to be confirmed, and what for; None when there is none."""
    if stored.pending_email is not None:
        return Purpose.CHANGE, stored.pending_email
    return None if account.email_verified_at is not None else (Purpose.VERIFY, account.email)


async def send(conn: Conn, sender: Sender, *, account_id: UUID, purpose: Purpose, email: str) -> None:
    """Mails a new link, which voids the ones before; call it with the profile locked. Raises ResendTooSoon."""
    now = clock.now()
    await _reserve(conn, account_id=account_id, email=email, now=now)
    text, expires_at = secrets.token_urlsafe(TOKEN_BYTES), now + LINK_LIFE
    token = Token(account_id=account_id, purpose=purpose, email=email, expires_at=expires_at, used_at=None)
    await store.put_token(conn, digest=sender.keyring.hash_token(HASHED, text), token=token)
    link = f"{sender.settings.url}{PATH}?token={text}"
    message_id = await mail.send(
        conn,
        keyring=sender.keyring,
        account_id=account_id,
        to=email,
        template=VerifyEmail(link=link, address=email),
        expires_at=expires_at,
    )
    await store.set_message(conn, account_id=account_id, email=email, message_id=message_id)


async def _reserve(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> None:
    sends = await store.list_sends(conn, account_id=account_id, day_ago=now - DAY)
    if len(sends) >= MOST_OF_ACCOUNT:
        raise _too_soon(sends[-MOST_OF_ACCOUNT] + DAY, now)
    if not await store.reserve(
        conn,
        account_id=account_id,
        email=email,
        now=now,
        gap_ago=now - GAP,
        day_ago=now - DAY,
        most=MOST_TO_ADDRESS,
    ):
        sent = await store.find_sent(conn, account_id=account_id, email=email)
        raise _too_soon(_available_at(sent, now) or now, now)


def _too_soon(at: datetime, now: datetime) -> ResendTooSoon:
    return ResendTooSoon(
        "A verification message was sent a moment ago, or enough of them were today.",
        retry_after=max(1, -int((now - at).total_seconds() // 1)),
        next_action="Look into the mailbox, also among the spam, or ask again later.",
    )


def _available_at(sent: Sent | None, now: datetime) -> datetime | None:
    """From when on another message may go to the address."""
    if sent is None:
        return None
    today = [at for at in sent.sends if at > now - DAY]
    at = sent.sends[-1] + GAP
    return max(at, today[-MOST_TO_ADDRESS] + DAY) if len(today) >= MOST_TO_ADDRESS else at


async def ask_for(
    conn: Conn, sender: Sender, *, account: Account, stored: Stored, email: str, actor: Actor
) -> str | None:
    """The pending address after a request for this one: the present address ends a change under way.

    The old address is told at once, when there is time to object. Raises ResendTooSoon.
    """
    if email == stored.pending_email:
        return email
    if email == account.email:
        if stored.pending_email is not None:
            await store.void_token(conn, account_id=account.id)
        return None
    about = {"from": mail.mask(account.email), "to": mail.mask(email)}
    await identity.record_audit(
        conn, account_id=account.id, actor=actor, action=AuditAction.EMAIL_CHANGE_REQUESTED, about=about
    )
    await send(conn, sender, account_id=account.id, purpose=Purpose.CHANGE, email=email)
    await _warn(conn, sender.keyring, account, EmailChanged(new_address_masked=mail.mask(email)))
    return email


async def _warn(conn: Conn, keyring: Keyring, account: Account, letter: EmailTemplate) -> None:
    """Tells the address that the account has, or had before the change, what happens."""
    await mail.send(conn, keyring=keyring, account_id=account.id, to=account.email, template=letter)


async def find_unused_link(conn: Conn, *, keyring: Keyring, token: str) -> UnusedLink | None:
    """What the link would confirm; None for a link that is unknown, used or expired. Changes nothing."""
    found = await store.find_token(conn, digests=keyring.hashes(HASHED, token), now=clock.now())
    if found is None or found.used_at is not None:
        return None
    return UnusedLink(email=mail.mask(found.email), is_change=found.purpose == Purpose.CHANGE)


async def confirm(conn: Conn, *, keyring: Keyring, token: str) -> Confirmation:
    """Confirms the address that the token was sent to, which takes its place if it was pending.

    Can be repeated until the link expires. Raises TokenInvalid for all that is not a good token, EmailTaken.
    """
    now, digests = clock.now(), keyring.hashes(HASHED, token)
    found = await store.find_token(conn, digests=digests, now=now)
    if found is not None and found.used_at is None:
        # The profile first, as everywhere; whoever was faster has used the token, or put another in its place.
        stored = await profiles.lock(conn, account_id=found.account_id)
        if await store.use_token(conn, account_id=found.account_id, digests=digests, now=now):
            await _take(conn, keyring, token=found, stored=stored, now=now)
            return Confirmation(repeated=False, email=mail.mask(found.email))
        found = await store.find_token(conn, digests=digests, now=now)
    if found is None:
        raise _invalid()
    return Confirmation(repeated=True, email=mail.mask(found.email))


async def _take(conn: Conn, keyring: Keyring, *, token: Token, stored: Stored, now: datetime) -> None:
    account = await identity.get_account(conn, account_id=token.account_id)
    if token.purpose == Purpose.CHANGE:
        if stored.pending_email != token.email:
            raise _invalid()
        await _change(conn, keyring, account=account, email=token.email)
    elif not await identity.verify_email(conn, account_id=account.id, email=token.email):
        raise _invalid()
    ahead = await onboarding.advance(
        conn, account=account, stored=replace(stored, pending_email=None), steps={StepKey.VERIFY_EMAIL: now}
    )
    await profiles.save(conn, account_id=account.id, stored=ahead, now=now)


async def _change(conn: Conn, keyring: Keyring, *, account: Account, email: str) -> None:
    """Gives the account the other address; the one before is told a second time, now that it is done."""
    await identity.change_email(conn, account_id=account.id, email=email)
    about = {"from": mail.mask(account.email), "to": mail.mask(email)}
    await identity.record_audit(
        conn, account_id=account.id, actor=READER, action=AuditAction.EMAIL_CHANGED, about=about
    )
    await _warn(conn, keyring, account, EmailReplaced(new_address_masked=mail.mask(email)))


def _invalid() -> TokenInvalid:
    return TokenInvalid(
        "This link is not good, or not any more.",
        next_action="Ask for a new one with POST /v1/account/email-verification/resend.",
    )


async def read(conn: Conn, *, account: Account, stored: Stored) -> Verification:
    """Where the verification stands."""
    wanted, sent, message = target(account, stored), None, None
    if wanted is not None:
        sent = await store.find_sent(conn, account_id=account.id, email=wanted[1])
    if sent is not None and sent.message_id is not None:
        message = await mail.find_message(conn, account_id=account.id, message_id=sent.message_id)
    now = clock.now()
    return Verification(
        email=account.email,
        status=_status(wanted, sent, message, now),
        verified_at=account.email_verified_at,
        pending_email=stored.pending_email,
        last_sent_at=sent.sends[-1] if sent else None,
        resend_available_at=_available_at(sent, now),
        expires_at=sent.expires_at if sent else None,
        delivery=Delivery(status=message.status, error=message.last_error) if message else None,
    )


def _status(
    wanted: tuple[Purpose, str] | None, sent: Sent | None, message: Message | None, now: datetime
) -> VerificationStatus:
    if wanted is None:
        return VerificationStatus.VERIFIED
    if wanted[0] is Purpose.CHANGE:
        return VerificationStatus.PENDING_CHANGE
    if sent is None:
        return VerificationStatus.UNVERIFIED
    if message is not None and message.status in UNDELIVERABLE:
        return VerificationStatus.BOUNCED
    good = sent.expires_at is not None and sent.expires_at > now
    return VerificationStatus.SENT if good else VerificationStatus.EXPIRED
