"""Who receives the mail to an address: the states of names, for a mail server that asks when mail arrives.

An address has many spellings: capitals, dots, a `+` tag, a domain in Unicode. `aliases.rules` decides which are
the same, and the domain says which separators it ignores.

Look-ups that arrive while a statement runs share the next one, because each statement costs more than its rows.
With a statement each, 32 connections got 2,600 look-ups a second instead of 10,000 (measured on two cores).
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from builders.aliases.records import SeparatorPolicy
from builders.aliases.rules import SHAPE, key, normalize
from builders.aliases.senders import list_entries
from builders.forwarding import filter_addresses, store
from builders.forwarding.filter_addresses import REVERSE
from builders.forwarding.records import Address, Envelope, MailRecipient, Recipient, Route, State
from builders.kit.db.connections import Conn, Database
from builders.kit.db.group_commit import GroupCommit
from builders.kit.values import clock
from builders.kit.values.domain_names import find_a_label

CONFIRMATION_WAIT = timedelta(hours=24)  # of mail to a name whose recipient has not confirmed; then it is refused
PAUSE_WAIT = timedelta(days=3)  # of mail to a name whose recipient has to confirm again, or that is paused
OPERATORS = frozenset({"abuse", "postmaster"})  # RFC 2142; no account can claim them
MAX_BATCH = 50  # look-ups in a statement
MAX_WAITING = 1_000  # look-ups; further ones are refused, so that the mail server tries again later
FOREIGN = Recipient(state=State.FOREIGN)


def find_address(text: str) -> Address | None:
    """Return the address of a text in any spelling; None if it has no domain."""
    local_part, at, written = text.rpartition("@")
    domain = find_a_label(written) if at and local_part else None
    if domain is None:
        return None
    name = normalize(local_part.partition("+")[0])
    return Address(domain=domain, name=name if SHAPE.fullmatch(name) else "")


def decide(route: Route, *, now: datetime) -> Recipient:
    """Return the state of an address of the service's domains. Pure."""
    if route.pause_until is not None and now < route.pause_until:
        is_delayed = _is_recent(route.paused_at, now, PAUSE_WAIT)
    elif route.destinations:
        return Recipient(state=State.DELIVERABLE, destinations=_hand_over(route), is_shared=route.is_shared)
    else:
        is_delayed = _is_recent(route.unconfirmed_since, now, CONFIRMATION_WAIT) or _is_recent(
            route.paused_since, now, PAUSE_WAIT
        )
    return Recipient(state=State.DELAYED if is_delayed else State.UNKNOWN, is_shared=route.is_shared)


def _hand_over(route: Route) -> Sequence[str]:
    """Return where the mail server sends the mail to an address: its destinations, or the mail filter."""
    to = list(route.destinations or ())
    if route.account_id is not None and route.alias_id is not None:
        if route.replies:
            to = [filter_addresses.address_of_name(route.account_id, route.alias_id)]
        if route.receives:
            to.append(filter_addresses.address_of_events(route.account_id, route.alias_id))
    return to


def _is_recent(since: datetime | None, now: datetime, wait: timedelta) -> bool:
    return since is not None and now - since < wait


async def _read_routes(conn: Conn, addresses: Sequence[Address]) -> list[Route | None]:
    """Return what the database has for each address; None for one of a foreign domain. One statement."""
    found = await store.list_routes(conn, **_columns(addresses))
    return [found.get(place) for place in range(1, len(addresses) + 1)]


async def _read_reverse_addresses(conn: Conn, addresses: Sequence[Address]) -> list[bool]:
    """Return which of the addresses are reverse addresses. One statement."""
    found = await store.list_reverse_addresses(
        conn, domains=[each.domain for each in addresses], names=[each.name for each in addresses]
    )
    return [place in found for place in range(1, len(addresses) + 1)]


async def _read_refusals(conn: Conn, asked: Sequence[Envelope]) -> list[bool]:
    """Return whether the name of each recipient refuses the sender. One statement."""
    entries = [" ".join(each.entries) for each in asked]
    found = await store.list_refusals(conn, **_columns([each.recipient for each in asked]), entries=entries)
    return [place in found for place in range(1, len(asked) + 1)]


def _columns(addresses: Sequence[Address]) -> Mapping[str, list[str]]:
    """Return the domains, and the names in the forms in which domains compare them."""
    names = [each.name for each in addresses]
    return {
        "domains": [each.domain for each in addresses],
        "names": names,
        "without_dots": [key(each, SeparatorPolicy.IGNORE_DOTS) for each in names],
        "bare": [key(each, SeparatorPolicy.IGNORE_ALL) for each in names],
    }


async def load_mail_recipients(conn: Conn, *, addresses: Collection[Address]) -> Mapping[Address, MailRecipient]:
    """Return whose mail each address receives. One statement."""
    found = await store.list_recipients(conn, **_columns(list(addresses)))
    return {address: found[place] for place, address in enumerate(addresses, 1) if place in found}


class Recipients:
    """Looks up addresses. Raise DatabaseUnavailable and DatabaseBusy."""

    def __init__(self, database: Database, *, operator: str | None) -> None:
        """Use a database; the mail to the operators of each domain goes to `operator`, if given."""
        self._routes: GroupCommit[Address, Route | None] = GroupCommit(
            database, _read_routes, max_batch_rows=MAX_BATCH, max_queued_rows=MAX_WAITING
        )
        self._reverse: GroupCommit[Address, bool] = GroupCommit(
            database, _read_reverse_addresses, max_batch_rows=MAX_BATCH, max_queued_rows=MAX_WAITING
        )
        self._refusals: GroupCommit[Envelope, bool] = GroupCommit(
            database, _read_refusals, max_batch_rows=MAX_BATCH, max_queued_rows=MAX_WAITING
        )
        self._operator = operator

    async def look_up(self, text: str) -> Recipient:
        """Return who receives the mail to an address in any spelling."""
        address = find_address(text)
        if address is not None and REVERSE.fullmatch(address.name) and await self._reverse.add(address):
            to = f"{address.name}@{filter_addresses.DOMAIN}"
            return Recipient(state=State.DELIVERABLE, destinations=(to,))
        route = None if address is None else await self._routes.add(address)
        if address is None or route is None:
            return FOREIGN
        if self._operator is not None and address.name in OPERATORS:
            return Recipient(state=State.DELIVERABLE, destinations=(self._operator,), is_shared=route.is_shared)
        return decide(route, now=clock.now())

    async def refuses(self, recipient: str, *, sender: str) -> bool:
        """Return whether the account of a name blocks a sender. A catch-all has no list."""
        address, entries = find_address(recipient), list_entries(sender)
        if address is None or not address.name or not entries:
            return False
        return await self._refusals.add(Envelope(recipient=address, entries=entries))

    async def find_domain(self, text: str) -> str | None:
        """Return the domain as an A-label if the service receives its mail, else None."""
        domain = find_a_label(text)
        is_own = domain and await self._routes.add(Address(domain=domain, name=""))
        return domain if is_own else None
