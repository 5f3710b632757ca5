"""Recipient confirmation: mail to an address is forwarded after its recipient follows a link.

A confirmation is requested in the destination's row. It waits for two limits: the daily limit of the account
(`Settings.confirmations_per_day`), and then the limits of the mailbox, which count the confirmations of all
accounts and ignore tags. So neither many accounts nor many tags can flood a recipient. An account learns only of
its own requests: other accounts' requests can delay its mail, but not the dates that it reads. An address that
bounced gets no confirmation for a week, and a recipient who opted out gets none (`mail`).
"""

import secrets
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from builders.aliases import lookups, loops
from builders.aliases.errors import ConfirmationTooSoon, DestinationNotFound
from builders.aliases.events import ALIAS_BOUNCED, DESTINATION_VERIFIED, DestinationPaused, DestinationVerified
from builders.aliases.records import Destination, ResentDestination
from builders.aliases.store import bounces, destinations as store
from builders.aliases.store.destinations import ConfirmationLink, DueConfirmation, Terms, WaitingDestination
from builders.identity import accounts
from builders.identity.errors import AccountNotFound
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.http.pagination import PageRequest
from builders.kit.jobs import queue
from builders.kit.limits import maximums
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.ids import ALL_ACCOUNTS, AccountSelection
from builders.kit.values.resources import extended
from builders.mail import addresses, service as mail
from builders.mail.link_pages import Confirmation
from builders.mail.templates import DestinationBounced, VerifyDestination

SEND_TASK = "aliases.send_confirmations"  # the task
PATH = "/v1/aliases/destinations/confirm"
LINK_LIFETIME = timedelta(hours=72)
MIN_INTERVAL = timedelta(minutes=15)  # between two confirmations to an address
DAY = timedelta(days=1)
BOUNCE_PAUSE = timedelta(days=7)  # after a bounce: the mailbox may be created in the meantime
MAX_PER_ADDRESS = maximums.declare(
    "confirmations_of_address",
    5,
    of="destination",
    counts="Confirmations of an account to it in a day.",
    code="confirmation_too_soon",
)
MAX_PER_MAILBOX = 10  # confirmations in a day, of all accounts
maximums.declare_setting(
    "confirmations_per_day", of="account", counts="Confirmations to new destinations in a day.", code=None
)
BATCH = 100  # confirmations in a transaction
old_rows.declare("aliases_links", key="account_id, email", age="expires_at", after=timedelta(days=30))
old_rows.declare(
    "aliases_readers", key="email", age="asks[cardinality(asks)]", after=DAY, only="bounced_at IS NULL"
)
TOKEN_BYTES = 32
LINK_PURPOSE = "aliases.link"  # of the keyring


async def choose_terms(conn: Conn, *, account_id: UUID) -> Terms:
    """Return how new destinations of the account are confirmed.

    The account's own verified address is confirmed. So is every address of a sandbox, which delivers no mail.
    """
    now, own, is_sandbox, is_live = clock.now(), None, False, True
    try:
        account = await accounts.get_account(conn, account_id=account_id)
    except AccountNotFound:
        real = await accounts.load_real_accounts(conn, account_ids=[account_id])
        is_live, is_sandbox = False, account_id in real
    else:
        own = account.email if account.email_verified_at else None
    return Terms(own=own, verified_at=now if is_sandbox else None, wanted_at=now if is_live else None, now=now)


async def list_new(conn: Conn, *, account_id: UUID, emails: Collection[str]) -> set[str]:
    """Return those of the addresses that are new to the account: nobody confirmed them, and it is not its own."""
    if not emails:
        return set()
    readers = {each.lower() for each in emails}
    known = await store.list_confirmed(conn, account_id=account_id, readers=readers)
    known |= {(await choose_terms(conn, account_id=account_id)).own or ""}
    return {each for each in emails if each.lower() not in known}


async def set_catch_alls(conn: Conn, *, account_id: UUID, destinations: Mapping[str, str | None]) -> None:
    """Forward the mail to all other names of each domain, or end that; a new recipient has to confirm.

    The caller ensures that the account holds the domains.
    """
    await store.delete_catch_alls(conn, account_id=account_id, domains=destinations)
    wanted = {domain: email for domain, email in destinations.items() if email is not None}
    if wanted:
        terms = await choose_terms(conn, account_id=account_id)
        await store.insert_catch_alls(conn, account_id=account_id, destinations=wanted, terms=terms)
    await lookups.write_catch_alls(conn, account_id=account_id, domains=destinations)


async def send_due_confirmations(
    database: Database,
    *,
    keyring: Keyring,
    settings: Settings,
    account_id: AccountSelection = ALL_ACCOUNTS,
    batch_size: int = BATCH,
) -> None:
    """Send the confirmations that are due, a batch per transaction; a later call continues an interrupted one."""
    await admit_waiting(
        database, quota=settings.confirmations_per_day, account_id=account_id, batch_size=batch_size
    )
    sent = batch_size
    while sent >= batch_size:
        async with database.transaction() as conn:
            sent = await _send_batch(conn, keyring, settings, account_id, batch_size)


async def admit_waiting(
    database: Database, *, quota: int, account_id: AccountSelection = ALL_ACCOUNTS, batch_size: int = BATCH
) -> None:
    """Admit waiting destinations, a batch per transaction; a later call continues an interrupted one."""
    may_be_more = True
    while may_be_more:
        async with database.transaction() as conn:
            may_be_more = await admit_batch(
                conn, quota=quota, account_id=account_id, now=clock.now(), batch_size=batch_size
            )


async def admit_batch(
    conn: Conn, *, quota: int, account_id: AccountSelection, now: datetime, batch_size: int = BATCH
) -> bool:
    """Admit waiting destinations, up to the daily limit of each account; return whether there may be more.

    A batch costs an account the same number of statements as one destination.
    """
    limits = {"quota": quota, "day_ago": now - DAY}
    owners = (
        await store.list_waiting(conn, **limits, limit=batch_size) if account_id is ALL_ACCOUNTS else [account_id]
    )
    found: list[WaitingDestination] = []
    for owner in dict.fromkeys(owners):
        if room := batch_size - len(found):
            found += await store.lock_waiting(conn, account_id=owner, **limits, limit=room)
    if not found:
        return False
    idle = [each for each in found if not each.is_used]
    wanted = [each for each in found if each.is_used]
    counts = Counter(each.account_id for each in wanted)
    free = {
        each: await store.take_quota(conn, account_id=each, wanted=counts[each], now=now, **limits)
        for each in sorted(counts)  # two transactions lock rows in the same sequence
    }
    due: list[WaitingDestination] = []
    for each in wanted:
        if free[each.account_id]:
            free[each.account_id] -= 1
            due.append(each)
    await store.admit(conn, due=due, now=now)
    await store.cancel(conn, idle=idle)
    # If none was admitted, a concurrent transaction has taken the quota: the next call does the rest.
    return len(found) == batch_size and bool(due or idle)


async def _send_batch(
    conn: Conn, keyring: Keyring, settings: Settings, account_id: AccountSelection, batch_size: int
) -> int:
    now = clock.now()
    owners = await store.list_due(conn, now=now, limit=batch_size) if account_id is ALL_ACCOUNTS else [account_id]
    found: list[DueConfirmation] = []
    for owner in dict.fromkeys(owners):
        if room := batch_size - len(found):
            found += await store.lock_due(conn, account_id=owner, now=now, limit=room)
    if not found:
        return 0
    readers = {each.reader for each in found}
    bounced = await store.list_bounced(conn, readers=readers, since=now - BOUNCE_PAUSE)
    wanted = [each for each in found if each.alias is not None and each.reader not in bounced]
    await store.cancel(conn, idle=[each for each in found if each not in wanted])
    limits = {"gap_ago": now - MIN_INTERVAL, "day_ago": now - DAY, "quota": MAX_PER_MAILBOX}
    free = {
        each
        for each in sorted({each.mailbox for each in wanted})  # two transactions lock rows in the same sequence
        if await store.reserve_mailbox(conn, mailbox=each, now=now, **limits)
    }
    first = {each.mailbox: each for each in reversed(wanted) if each.mailbox in free}
    late = [each for each in wanted if first.get(each.mailbox) is not each]
    await store.postpone(conn, late=late, now=now, soon=now + MIN_INTERVAL)
    await _send(conn, keyring, settings, due=list(first.values()), now=now)
    return len(found)


async def _send(
    conn: Conn, keyring: Keyring, settings: Settings, *, due: Sequence[DueConfirmation], now: datetime
) -> None:
    """Mail a new link to each destination. It replaces the previous link and its unsent message."""
    tokens, expires_at = [secrets.token_urlsafe(TOKEN_BYTES) for _ in due], now + LINK_LIFETIME
    digests = [keyring.hash_token(LINK_PURPOSE, token) for token in tokens]
    await store.replace_links(conn, due=due, digests=digests, expires_at=expires_at)
    message_ids = []
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
        message_ids.append(message_id)
    await store.record_sent(conn, sent=due, message_ids=message_ids, now=now)


async def resend_confirmation(conn: Conn, *, account_id: UUID, email: str, quota: int) -> ResentDestination:
    """Request another confirmation unless mail is forwarded already; say whether one is requested.

    `quota` is the daily limit of the account. The result does not reveal requests of other accounts or an opt-out:
    the mail can leave later, or never. Raise DestinationNotFound, ConfirmationTooSoon.
    """
    now = clock.now()
    key = {"account_id": account_id, "email": email, "day_ago": now - DAY}
    found = await store.find(conn, **key, quota=quota, now=now)
    if found is None:
        raise DestinationNotFound("None of your names has this destination.")
    if found.verified:
        return extended(ResentDestination, found, sent=False)
    is_requested = await store.request(conn, **key, now=now, gap_ago=now - MIN_INTERVAL, quota=MAX_PER_ADDRESS)
    sent = [] if is_requested else await store.list_requests(conn, **key)
    at = max(
        sent[-1] + MIN_INTERVAL if sent else now,
        sent[-MAX_PER_ADDRESS] + DAY if len(sent) >= MAX_PER_ADDRESS else now,
    )
    if at > now:  # else a confirmation is requested, now or before
        raise ConfirmationTooSoon(
            "A confirmation was sent recently, or the daily limit is reached.",
            retry_after=max(1, -int((now - at).total_seconds() // 1)),
        )
    await queue.defer(conn, SEND_TASK, once=f"{SEND_TASK} {account_id}", account_id=str(account_id))
    shown = await store.find(conn, **key, quota=quota, now=now) or found
    return extended(ResentDestination, shown, sent=True)


async def find_unconfirmed(conn: Conn, *, keyring: Keyring, token: str) -> str | None:
    """Return the address that a link confirms; None if the link was used. Raise TokenInvalid."""
    link = await _get_link(conn, keyring, token, lock=False)
    return None if link.used_at is not None else link.email


async def confirm_destination(conn: Conn, *, keyring: Keyring, token: str) -> Confirmation:
    """Confirm the destination of a link; publish alias.destination_verified.

    Idempotent until the link expires or is replaced by a newer one. Raise TokenInvalid.
    """
    link = await _get_link(conn, keyring, token, lock=False)
    if link.used_at is None:
        # The destination is locked before its link, as when a new link is sent.
        await verify_destination(conn, account_id=link.account_id, email=link.email)
        link = await _get_link(conn, keyring, token, lock=True)
    if link.used_at is None:
        await store.use_link(conn, account_id=link.account_id, email=link.email, now=clock.now())
    return Confirmation(email=addresses.mask(link.email), repeated=link.used_at is not None)


async def _get_link(conn: Conn, keyring: Keyring, token: str, *, lock: bool) -> ConfirmationLink:
    digests = keyring.hashes(LINK_PURPOSE, token)
    link = await (store.lock_link if lock else store.find_link)(conn, digests=digests, now=clock.now())
    if link is None:
        raise TokenInvalid(
            "The link is not valid: it has expired, or a newer one was sent.",
            next_action="Ask the owner of the name for a new link.",
        )
    return link


async def verify_destination(conn: Conn, *, account_id: UUID, email: str) -> None:
    """Mark a destination as confirmed, and end its pause; publish alias.destination_verified. Idempotent."""
    now = clock.now()
    await loops.lock_routes(conn, account_id=account_id)  # no other name gets the destination meanwhile
    verified = await store.verify(conn, account_id=account_id, email=email, now=now)
    events = [
        (account_id, DestinationVerified(email=addresses.mask(each), verified_at=now, aliases=len(alias_ids)))
        for each, alias_ids in verified.items()
    ]
    await _tell(conn, account_id, verified)
    await outbox.publish_many(conn, DESTINATION_VERIFIED, events)


async def pause_destinations(conn: Conn, *, keyring: Keyring, account_id: UUID, emails: Collection[str]) -> None:
    """Forward no mail to confirmed destinations of an account until their recipients confirm again.

    Publish alias.bounced for each, and notify the account. Idempotent.
    """
    now = clock.now()
    await loops.lock_routes(conn, account_id=account_id)
    await bounces.lock_bounced(conn, account_id=account_id, emails=emails)
    paused = await bounces.pause(conn, account_id=account_id, emails=emails, now=now)
    events = [
        (account_id, DestinationPaused(email=addresses.mask(each), paused_at=now, aliases=len(alias_ids)))
        for each, alias_ids in paused.items()
    ]
    await _tell(conn, account_id, paused)
    await outbox.publish_many(conn, ALIAS_BOUNCED, events)
    for each, alias_ids in paused.items():  # few: a destination has to refuse several messages
        await _notify(conn, keyring, account_id, each, len(alias_ids))


async def _tell(conn: Conn, account_id: UUID, alias_ids: Mapping[str, Sequence[UUID]]) -> None:
    """Tell mail servers of changed destinations; `alias_ids` forward there, by destination."""
    found = {alias_id for each in alias_ids.values() for alias_id in each}
    await lookups.write_destinations(conn, account_id=account_id, emails=alias_ids, alias_ids=found)


async def _notify(conn: Conn, keyring: Keyring, account_id: UUID, email: str, aliases: int) -> None:
    template = DestinationBounced(address=email, aliases=aliases)
    with suppress(AccountNotFound):  # a closed one
        account = await accounts.get_account(conn, account_id=account_id)
        await mail.send(conn, keyring=keyring, account_id=account_id, to=account.email, template=template)


async def record_bounce(conn: Conn, *, account_id: UUID, message_id: UUID) -> None:
    """Record that a confirmation bounced: the address gets no other one for BOUNCE_PAUSE."""
    await store.record_bounce(conn, account_id=account_id, message_id=message_id, now=clock.now())


async def list_destinations(conn: Conn, *, account_id: UUID, page: PageRequest, quota: int) -> Page[Destination]:
    """Return the account's destinations by address, also those without an alias."""
    after = str(page.after[0]) if page.after else ""
    now = clock.now()
    rows = await store.list_page(
        conn,
        account_id=account_id,
        after=after,
        limit=page.limit + 1,
        quota=quota,
        now=now,
        day_ago=now - DAY,
    )
    return page.cut(rows, lambda each: [each.email])


async def list_unconfirmed(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], limit: int) -> list[str]:
    """Return the first destinations of these aliases that are not confirmed, by address."""
    return await store.list_unconfirmed(conn, account_id=account_id, alias_ids=alias_ids, limit=limit)


async def erase_readers(conn: Conn, *, account_id: UUID) -> int:
    """Forget how often the destinations of an account that is erased were mailed; return their number."""
    emails = await store.list_emails(conn, account_id=account_id)
    return await store.delete_readers(conn, emails=emails)
