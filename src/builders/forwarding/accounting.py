"""What happened to the mail of names: results and counts, from what the mail server logged.

Each entry of the log is counted in the transaction that stores how far the log is read. A name with two
destinations has two results of a message. No senders and no content are stored.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

from builders.aliases import claims, confirmations
from builders.forwarding import filter_addresses, store
from builders.forwarding.log_lines import FILTERED, REMOTE, Delivery, Entry, Expired, Refusal, Returned
from builders.forwarding.recipients import find_address, load_mail_recipients
from builders.forwarding.records import Bounces, MailDay, MailRecipient, MailResult, Outcome
from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids

RESULTS_OF_DAY = 200  # of a name; further ones are only counted, so that a flood does not fill the table
DAYS_KEPT = 90
BOUNCES = 3  # messages, on two days, after which a destination is paused

_MAX_ADDRESS = 320  # characters
_OUTCOMES = {"sent": Outcome.FORWARDED, "deferred": Outcome.DEFERRED, "bounced": Outcome.BOUNCED}


class Key(NamedTuple):
    """A message to a name, at a destination."""

    account_id: UUID
    alias_id: UUID
    queue_id: str
    destination: str


class Day(NamedTuple):
    """A day of a name."""

    account_id: UUID
    alias_id: UUID
    day: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A delivery, and whose mail it was."""

    account_id: UUID
    alias_id: UUID | None  # None: of a catch-all
    delivery: Delivery


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a day of a name gains."""

    last_at: datetime
    results: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys([*Outcome, "refused"], 0))


@dataclass(slots=True, kw_only=True)
class Book:
    """The results and the counts of a batch, in the sequence of the log. Pure."""

    outcomes: dict[Key, Outcome]  # those that are stored, and those of the batch
    stored: Mapping[Day, int]  # results that began on the day before this batch
    written: dict[Key, tuple[Outcome, str, datetime]] = field(default_factory=dict)
    days: dict[Day, Tally] = field(default_factory=dict)

    def add(self, key: Key, outcome: Outcome, code: str, at: datetime) -> None:
        """Add a result. A message that is tried again counts as deferred once."""
        day = Day(key.account_id, key.alias_id, at.date())
        tally = self._tally(day, at)
        known = self.outcomes.get(key)
        if known is None and self.stored.get(day, 0) + tally.results >= RESULTS_OF_DAY:
            tally.counts[outcome] += outcome is not Outcome.DEFERRED  # each attempt would count
            return
        tally.counts[outcome] += known is not outcome
        tally.results += known is None
        self.outcomes[key] = outcome
        self.written[key] = (outcome, code, at)

    def add_refusal(self, account_id: UUID, alias_id: UUID, at: datetime) -> None:
        """Count a message that was refused while its sender was connected."""
        self._tally(Day(account_id, alias_id, at.date()), at).counts["refused"] += 1

    def expire(self, queue_id: str, at: datetime) -> None:
        """Add that a message is not tried again."""
        late = [
            key
            for key, outcome in self.outcomes.items()
            if key.queue_id == queue_id and outcome is Outcome.DEFERRED
        ]
        for key in late:
            self.add(key, Outcome.BOUNCED, "4.4.7", at)

    def _tally(self, day: Day, at: datetime) -> Tally:
        tally = self.days.setdefault(day, Tally(last_at=at))
        tally.last_at = max(tally.last_at, at)
        return tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """Whose mail the entries of a batch are about."""

    by_address: Mapping[str, MailRecipient]
    by_message: Mapping[str, tuple[UUID | None, UUID | None]]  # of those that the mail filter returned
    open: frozenset[str]  # messages that it returned, and no line has said whose yet

    def find(self, entry: Delivery | Refusal) -> tuple[UUID | None, UUID | None]:
        """Return the account and the alias, None without one."""
        address = entry.to if isinstance(entry, Refusal) else entry.original
        if address is None:
            return (
                self.by_message.get(entry.queue_id, (None, None)) if isinstance(entry, Delivery) else (None, None)
            )
        found = self.by_address.get(address)
        return (None, None) if found is None else (found.account_id, found.alias_id)

    def is_open(self, entry: Entry) -> bool:
        """Return whether a later line may say whose mail it is."""
        return isinstance(entry, Delivery) and entry.original is None and entry.queue_id in self.open


async def load_owners(conn: Conn, *, host: str, entries: Sequence[Entry]) -> Owners:
    """Return whose mail the entries of a mail server are about; store it of messages that the filter returned."""
    by_address = await _load_recipients(conn, entries)
    messages: dict[str, tuple[UUID | None, UUID | None, bool]] = {}
    for each in entries:
        if isinstance(each, Returned):
            messages.setdefault(each.queue_id, (None, None, False))
        elif isinstance(each, Delivery) and each.next_queue_id:
            found = by_address.get(each.original or "")
            owner = (found.account_id, found.alias_id) if found else (None, None)
            messages[each.next_queue_id] = (*owner, True)
    if messages:
        account_ids, alias_ids, are_known = zip(*messages.values(), strict=True)
        columns = {"account_ids": account_ids, "alias_ids": alias_ids, "are_known": are_known}
        await store.add_returns(conn, host=host, queue_ids=list(messages), **columns, now=clock.now())
    asked = {each.queue_id for each in entries if isinstance(each, Delivery) and each.original is None}
    known = await store.load_returns(conn, host=host, queue_ids=asked)
    return Owners(
        by_address=by_address,
        by_message={at: (each.account_id, each.alias_id) for at, each in known.items()},
        open=frozenset(at for at, each in known.items() if not each.is_known),
    )


async def _load_recipients(conn: Conn, entries: Iterable[Entry]) -> Mapping[str, MailRecipient]:
    written = {
        each.to if isinstance(each, Refusal) else each.original or ""
        for each in entries
        if isinstance(each, Delivery | Refusal)
    }
    addresses = {text: address for text in sorted(written) if (address := find_address(text)) is not None}
    found = await load_mail_recipients(conn, addresses=addresses.values())
    return {text: found[address] for text, address in addresses.items() if address in found}


async def record(conn: Conn, *, keyring: Keyring, owners: Owners, entries: Sequence[Entry]) -> None:
    """Count entries, store their results, and pause the destinations that do not exist."""
    attempts = list(_list_attempts(owners, entries))
    refusals = [(*owners.find(each), each.at) for each in entries if isinstance(each, Refusal)]
    expired = [each for each in entries if isinstance(each, Expired)]
    queue_ids = {each.queue_id for each in expired} | {each.delivery.queue_id for each in attempts}
    known = await store.list_results_of_messages(conn, queue_ids=queue_ids)
    named = [(each.account_id, each.alias_id, each.delivery) for each in attempts if each.alias_id is not None]
    days = {Day(account_id, alias_id, each.at.date()) for account_id, alias_id, each in named}
    outcomes = {Key(account, alias, mail, at): Outcome(outcome) for account, alias, mail, at, outcome in known}
    book = Book(outcomes=outcomes, stored=await _load_counts(conn, days))
    for account_id, alias_id, each in named:
        key = Key(account_id, alias_id, each.queue_id, _destination_of(each)[:_MAX_ADDRESS])
        book.add(key, _OUTCOMES[each.status], each.code, each.at)
    for owner, alias, at in refusals:
        if owner is not None and alias is not None:
            book.add_refusal(owner, alias, at)
    for gone in expired:
        book.expire(gone.queue_id, gone.at)
    await _write(conn, book)
    await _record_bounces(conn, keyring, attempts)


def _destination_of(delivery: Delivery) -> str:
    """Return the destination as the owner knows it: the address of the mail filter is that of the name."""
    is_internal = delivery.to.endswith(f"@{filter_addresses.DOMAIN}")
    return delivery.original or delivery.to if is_internal else delivery.to


def _list_attempts(owners: Owners, entries: Iterable[Entry]) -> Iterable[Attempt]:
    for each in entries:
        # What the mail filter makes of a message has the result, unless the filter refuses it.
        if isinstance(each, Delivery) and (each.program != FILTERED or each.status == "bounced"):
            account_id, alias_id = owners.find(each)
            if account_id is not None:
                yield Attempt(account_id=account_id, alias_id=alias_id, delivery=each)


async def _load_counts(conn: Conn, days: Iterable[Day]) -> Mapping[Day, int]:
    if not (asked := sorted(days)):
        return {}
    account_ids, alias_ids, dates = zip(*asked, strict=True)
    found = await store.list_result_counts(conn, account_ids=account_ids, alias_ids=alias_ids, days=dates)
    return {Day(account_id, alias_id, day): results for account_id, alias_id, day, results in found}


async def _write(conn: Conn, book: Book) -> None:
    if book.written:
        account_ids, alias_ids, queue_ids, destinations = zip(*book.written, strict=True)
        outcomes, codes, times = zip(*book.written.values(), strict=True)
        await store.write_results(
            conn,
            account_ids=account_ids,
            alias_ids=alias_ids,
            ids=ids.new_many(len(book.written)),
            queue_ids=queue_ids,
            destinations=destinations,
            outcomes=outcomes,
            codes=codes,
            times=times,
        )
    if book.days:
        account_ids, alias_ids, days = zip(*book.days, strict=True)
        tallies = list(book.days.values())
        await store.count_days(
            conn,
            account_ids=account_ids,
            alias_ids=alias_ids,
            days=days,
            forwarded=[each.counts[Outcome.FORWARDED] for each in tallies],
            deferred=[each.counts[Outcome.DEFERRED] for each in tallies],
            bounced=[each.counts[Outcome.BOUNCED] for each in tallies],
            refused=[each.counts["refused"] for each in tallies],
            results=[each.results for each in tallies],
            last_at=[each.last_at for each in tallies],
        )


async def _record_bounces(conn: Conn, keyring: Keyring, attempts: Sequence[Attempt]) -> None:
    """Note the destinations that do not exist for their servers, and pause those that refused enough messages."""
    tries: dict[tuple[UUID, str], list[Delivery]] = defaultdict(list)
    for each in attempts:
        if each.delivery.program == REMOTE and (each.delivery.has_no_mailbox or each.delivery.status == "sent"):
            tries[each.account_id, each.delivery.to.lower()[:_MAX_ADDRESS]].append(each.delivery)
    if not tries:
        return
    account_ids, emails = zip(*sorted(tries), strict=True)
    known: dict[tuple[UUID, str], Bounces] = {}
    found = await store.list_bounces(conn, account_ids=account_ids, emails=emails)
    for account_id, of_account in groupby(sorted(found), itemgetter(0)):  # few destinations bounced before
        bounced = [email for _, email in of_account]
        locked = await store.lock_bounces(conn, account_id=account_id, emails=bounced)
        known |= {(account_id, each.email): each for each in locked}
    after = {key: _follow(known.get(key), key, deliveries) for key, deliveries in tries.items()}
    paused = sorted(key for key, each in after.items() if each is not None and _is_enough(each))
    kept = [each for key, each in sorted(after.items()) if each is not None and key not in paused]
    if gone := [key for key in known if key in paused or after[key] is None]:
        account_ids, emails = zip(*gone, strict=True)
        await store.delete_bounces(conn, account_ids=account_ids, emails=emails)
    if kept:
        await store.write_bounces(
            conn,
            account_ids=[each.account_id for each in kept],
            emails=[each.email for each in kept],
            queue_ids=[" ".join(each.queue_ids) for each in kept],
            firsts=[each.first_on for each in kept],
            lasts=[each.last_on for each in kept],
        )
    for account_id, of_account in groupby(paused, itemgetter(0)):
        bounced = [email for _, email in of_account]
        await confirmations.pause_destinations(conn, keyring=keyring, account_id=account_id, emails=bounced)


def _follow(known: Bounces | None, key: tuple[UUID, str], deliveries: Iterable[Delivery]) -> Bounces | None:
    """Return the bounces of a destination after deliveries, up to enough of them; none after accepted mail."""
    for each in deliveries:
        day = each.at.date()
        if each.status == "sent":
            known = None
        elif known is None:
            known = Bounces(account_id=key[0], email=key[1], queue_ids=(each.queue_id,), first_on=day, last_on=day)
        elif each.queue_id not in known.queue_ids:
            queue_ids = (*known.queue_ids, each.queue_id)[-BOUNCES:]
            first_on, last_on = min(day, known.first_on), max(day, known.last_on)
            known = replace(known, queue_ids=queue_ids, first_on=first_on, last_on=last_on)
        if known is not None and _is_enough(known):
            return known
    return known


def _is_enough(bounces: Bounces) -> bool:
    return len(bounces.queue_ids) >= BOUNCES and bounces.first_on < bounces.last_on


async def list_mail(
    conn: Conn, *, realm: UUID, account_id: UUID, alias_id: UUID, page: PageRequest
) -> tuple[Page[MailResult], Sequence[MailDay]]:
    """Return recent results of the mail to a name, and its counts by day, newest first. Raise AliasNotFound."""
    await claims.get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id)
    # In this order: a result that is counted is among the results.
    days = await store.list_days(conn, account_id=account_id, alias_id=alias_id, limit=DAYS_KEPT)
    found = await store.list_results(
        conn, account_id=account_id, alias_id=alias_id, before_id=page.before_id, limit=page.limit + 1
    )
    return page.cut(found, lambda each: [str(each.id)]), days
