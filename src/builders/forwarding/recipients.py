"""Who receives the mail to an address: the states of names, for a mail server that asks when mail arrives.

An address has many spellings: capitals, dots, a `+` tag, a domain in Unicode. `aliases.rules` decides which are
the same, and the domain says which separators it ignores.

Look-ups that arrive while a statement runs share the next one, because each statement costs more than its rows.
With a statement each, 32 connections got 2,600 look-ups a second instead of 10,000 (measured on two cores).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from builders.aliases import lookups
from builders.aliases.records import Route, SeparatorPolicy
from builders.aliases.rules import SHAPE, key, normalize
from builders.aliases.senders import list_entries
from builders.forwarding import filter_addresses
from builders.forwarding.filter_addresses import REVERSE
from builders.forwarding.records import Address, Envelope, MailRecipient, Recipient, State
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


async def _read_routes(conn: Conn, asked: Sequence[Envelope]) -> list[Route | None]:
    """Return what the mail server is told of each recipient; None of one of a foreign domain. One statement."""
    found = await lookups.list_routes(
        conn,
        domains=[each.recipient.domain for each in asked],
        names=[each.recipient.name for each in asked],
        without_dots=[_key(each.recipient, SeparatorPolicy.IGNORE_DOTS) for each in asked],
        bare=[_key(each.recipient, SeparatorPolicy.IGNORE_ALL) for each in asked],
        entries=[" ".join(each.entries) for each in asked],
    )
    return [found.get(place) for place in range(1, len(asked) + 1)]


def _key(address: Address, policy: SeparatorPolicy) -> str:
    return address.name if address.is_exact else key(address.name, policy)


async def load_mail_recipients(conn: Conn, *, addresses: Collection[Address]) -> Mapping[Address, MailRecipient]:
    """Return whose mail each address receives. Two statements."""
    routes = await _read_routes(conn, [Envelope(recipient=each) for each in addresses])
    targets = sorted({each.leads_to for each in routes if each and each.leads_to})
    own = await _read_routes(conn, [Envelope(recipient=Address(domain=each, name="")) for each in targets])
    looping = {target for target, route in zip(targets, own, strict=True) if route is not None}
    return {
        address: MailRecipient(account_id=route.account_id, alias_id=route.alias_id if route.is_claimed else None)
        for address, route in zip(addresses, routes, strict=True)
        if route is not None and route.account_id is not None and route.leads_to not in looping
    }


class Recipients:
    """Looks up addresses. Raise DatabaseUnavailable and DatabaseBusy."""

    def __init__(self, database: Database, *, operator: str | None) -> None:
        """Use a database; the mail to the operators of each domain goes to `operator`, if given."""
        self._routes: GroupCommit[Envelope, Route | None] = GroupCommit(
            database, _read_routes, max_batch_rows=MAX_BATCH, max_queued_rows=MAX_WAITING
        )
        self._operator = operator

    async def look_up(self, text: str) -> Recipient:
        """Return who receives the mail to an address in any spelling."""
        address = find_address(text)
        if address is not None and REVERSE.fullmatch(address.name) and await self._takes_replies(address):
            to = f"{address.name}@{filter_addresses.DOMAIN}"
            return Recipient(state=State.DELIVERABLE, destinations=(to,))
        route = None if address is None else await self._find_route(address)
        if address is None or route is None:
            return FOREIGN
        if self._operator is not None and address.name in OPERATORS:
            return Recipient(state=State.DELIVERABLE, destinations=(self._operator,), is_shared=route.is_shared)
        return decide(route, now=clock.now())

    async def _find_route(self, address: Address) -> Route | None:
        """Return what is told of an address.

        A catch-all leads to no domain of the service: so it closes no loop, as aliases close none (decision 0013).
        """
        route = await self._routes.add(Envelope(recipient=address))
        if route is not None and route.leads_to is not None and await self.find_domain(route.leads_to):
            return replace(route, destinations=None, unconfirmed_since=None, paused_since=None)
        return route

    async def _takes_replies(self, address: Address) -> bool:
        """Return whether it is a reverse address of a name that receives mail, and whose owner replies from it."""
        reverse = await self._routes.add(Envelope(recipient=replace(address, is_exact=True)))
        if reverse is None or reverse.reverse_of is None:
            return False
        name = Address(domain=address.domain, name=reverse.reverse_of, is_exact=True)
        route = await self._routes.add(Envelope(recipient=name))
        return route is not None and bool(route.replies) and route.alias_id == reverse.alias_id

    async def refuses(self, recipient: str, *, sender: str) -> bool:
        """Return whether the account of a name blocks a sender. A catch-all has no list."""
        address, entries = find_address(recipient), list_entries(sender)
        if address is None or not address.name or not entries:
            return False
        route = await self._routes.add(Envelope(recipient=address, entries=entries))
        return route is not None and bool(route.is_refused)

    async def find_domain(self, text: str) -> str | None:
        """Return the domain as an A-label if the service receives its mail, else None."""
        domain = find_a_label(text)
        is_own = domain and await self._routes.add(Envelope(recipient=Address(domain=domain, name="")))
        return domain if is_own else None
