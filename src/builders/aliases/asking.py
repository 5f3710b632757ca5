"""Readers of destinations are asked by mail whether names may forward to them, and answer by a link.

What is to be asked stands in the destination's row, and is taken in sets. A destination first waits for its turn
in its account, which has so many readers asked in a day (`turns`), then for its mailbox, which gets one mail in a
while whoever names it, and however: nobody is flooded by many accounts, nor by many tags. Nobody learns of the
others: an account is told when it asked, and not when the mail left. An address that mail came back from is not
asked for a week, and one whose reader wants no more of it never (the mail room knows).
"""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.aliases import turns
from builders.aliases.errors import AskedTooSoon, DestinationNotFound
from builders.aliases.events import DESTINATION_VERIFIED, DestinationVerified
from builders.aliases.records import Confirmation, Destination
from builders.aliases.rows import Asked, Due
from builders.aliases.store import destinations as store
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.accounts import ALL_ACCOUNTS, AccountSelection
from builders.mail import service as mail
from builders.mail.service import VerifyDestination

ASK = "aliases.ask"  # the task
PATH = "/v1/aliases/destinations/confirm"
LINK_LIFE = timedelta(hours=72)
GAP = timedelta(minutes=15)  # between two mails to an address
DAY = timedelta(days=1)
SHUT = timedelta(
    days=7
)  # that an address gets nothing more after mail came back: its mailbox may be made meanwhile
MOST_TO_ADDRESS, MOST_TO_READER = 5, 10  # a day: from one account, and from all
AT_ONCE = 100  # mails in a transaction
KEPT = timedelta(days=30)  # links that expired
PRUNED_AT_ONCE = 10_000
TOKEN_BYTES = 32
HASHED = "aliases.link"  # the keyring's purpose


async def ask_due(
    database: Database, *, keyring: Keyring, settings: Settings, account_id: AccountSelection = ALL_ACCOUNTS
) -> None:
    """As many transactions as it takes; one that is cut short is done by the next call."""
    await turns.let_through(database, most=settings.confirmations_per_day, account_id=account_id)
    asked = AT_ONCE
    while asked >= AT_ONCE:
        async with database.transaction() as conn:
            asked = await _ask_some(conn, keyring, settings, account_id)


async def _ask_some(conn: Conn, keyring: Keyring, settings: Settings, account_id: AccountSelection) -> int:
    now = clock.now()
    found = await store.list_due(conn, account_id=account_id, now=now, bounced_since=now - SHUT, limit=AT_ONCE)
    if not found:
        return 0
    wanted = [each for each in found if each.alias is not None and not each.bounced]
    await store.drop(conn, idle=[each for each in found if each not in wanted])
    free = await store.reserve(
        conn,
        mailboxes=[each.mailbox for each in wanted],
        now=now,
        gap_ago=now - GAP,
        day_ago=now - DAY,
        most=MOST_TO_READER,
    )
    first = {each.mailbox: each for each in reversed(wanted) if each.mailbox in free}
    late = [each for each in wanted if first.get(each.mailbox) is not each]
    await store.put_off(conn, late=late, now=now, soon=now + GAP)
    await _mail(conn, keyring, settings, due=list(first.values()), now=now)
    return len(found)


async def _mail(conn: Conn, keyring: Keyring, settings: Settings, *, due: Sequence[Due], now: datetime) -> None:
    """Mails a new link to each, which voids the one before, and that one's message if it still waits."""
    tokens, expires_at = [secrets.token_urlsafe(TOKEN_BYTES) for _ in due], now + LINK_LIFE
    digests = [keyring.hash_token(HASHED, token) for token in tokens]
    await store.put_links(conn, due=due, digests=digests, expires_at=expires_at)
    asked = []
    for each, token in zip(due, tokens, strict=True):
        if each.message_id is not None:
            await mail.withdraw(conn, account_id=each.account_id, message_id=each.message_id)
        link = f"{settings.url}{PATH}?token={token}"
        message_id = await mail.send(
            conn,
            keyring=keyring,
            account_id=each.account_id,
            to=each.email,
            template=VerifyDestination(link=link, address=each.email, alias=each.alias or ""),
            expires_at=expires_at,
        )
        asked.append(Asked(due=each, message_id=message_id))
    await store.note_asked(conn, asked=asked, now=now)


async def resend(conn: Conn, *, account_id: UUID, email: str, most: int) -> tuple[bool, Destination]:
    """Has the reader asked again, unless they have agreed; whether they will be, now or when it is its turn.

    At `most` so many readers are asked for the account in a day. Says nothing of what other accounts, or the
    reader, did: a mail may leave later, or not at all. Raises DestinationNotFound, AskedTooSoon.
    """
    found = await turns.find(conn, account_id=account_id, email=email, most=most)
    if found is None:
        raise DestinationNotFound("None of your names has this destination.")
    if found.verified:
        return False, found
    now = clock.now()
    if not await store.ask_again(
        conn,
        account_id=account_id,
        email=email,
        now=now,
        gap_ago=now - GAP,
        day_ago=now - DAY,
        most=MOST_TO_ADDRESS,
    ):
        await _refuse(conn, account_id, email, now)
    await queue.defer(conn, ASK, once=f"{ASK} {account_id}", account_id=str(account_id))
    return True, await turns.find(conn, account_id=account_id, email=email, most=most) or found


async def _refuse(conn: Conn, account_id: UUID, email: str, now: datetime) -> None:
    """Says when; nothing for one that is to be asked anyway."""
    asks = await store.list_asks(conn, account_id=account_id, email=email, day_ago=now - DAY)
    at = max(
        asks[-1] + GAP if asks else now, asks[-MOST_TO_ADDRESS] + DAY if len(asks) >= MOST_TO_ADDRESS else now
    )
    if at > now:
        raise AskedTooSoon(
            "It was asked for a moment ago, or often enough today.",
            retry_after=max(1, -int((now - at).total_seconds() // 1)),
            next_action="Have them look among the spam too, or ask again later.",
        )


async def find_question(conn: Conn, *, keyring: Keyring, token: str) -> str | None:
    """The address that a link asks about; None when it was answered. Raises TokenInvalid."""
    link = await store.find_link(conn, digests=keyring.hashes(HASHED, token), now=clock.now())
    if link is None:
        raise _bad_link()
    return None if link.used_at is not None else link.email


async def confirm(conn: Conn, *, keyring: Keyring, token: str) -> Confirmation:
    """Has names forward to the reader who follows the link; publishes alias.destination_verified.

    Can be repeated until the link expires, or a newer one is mailed. Raises TokenInvalid.
    """
    now, digests = clock.now(), keyring.hashes(HASHED, token)
    link = await store.find_link(conn, digests=digests, now=now)
    if link is None:
        raise _bad_link()
    used = await store.use_link(conn, account_id=link.account_id, digests=digests, now=now)
    if used:
        await verify_destination(conn, account_id=link.account_id, email=link.email)
    elif link.used_at is None and await store.find_link(conn, digests=digests, now=now) is None:
        raise _bad_link()  # a newer one took its place in this moment
    return Confirmation(email_masked=mail.mask(link.email), repeated=not used)


async def verify_destination(conn: Conn, *, account_id: UUID, email: str) -> None:
    """Counts a destination of the account as verified; nothing where it is, or is none."""
    now = clock.now()
    for each in await store.verify(conn, account_id=account_id, email=email, now=now):
        names = await store.touch(conn, account_id=account_id, emails=[each])
        data = DestinationVerified(email=mail.mask(each), verified_at=now, aliases=names)
        await outbox.publish(conn, DESTINATION_VERIFIED, account_id=account_id, data=data)


async def note_bounced(conn: Conn, *, account_id: UUID, message_id: UUID) -> None:
    """Notes that the mail to a reader came back: for a while the address is not asked again."""
    await store.note_bounced(conn, account_id=account_id, message_id=message_id, now=clock.now())


async def prune_destinations(database: Database) -> None:
    """Forgets links that expired a month ago, and whom mail went to a day ago."""
    now = clock.now()
    async with database.connection() as conn:
        while await store.prune(conn, links_before=now - KEPT, asks_before=now - DAY, limit=PRUNED_AT_ONCE):
            pass


def _bad_link() -> TokenInvalid:
    return TokenInvalid(
        "The link is not valid any more: it is too old, or a newer one was mailed.",
        next_action="Have the owner of the name ask for a new link.",
    )
