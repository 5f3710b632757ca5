"""Find domains of a portfolio: one, several, a page, or all of them."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.values import ids
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import Money
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.filters import ALL_DOMAINS, DomainFilters
from builders.portfolio.domains.lifecycle import days_to_expiry, held_state_of
from builders.portfolio.domains.rdap import read_check
from builders.portfolio.domains.records import (
    Domain,
    DomainSort,
    PortfolioDomainStatus,
    RegistryCheck,
)
from builders.portfolio.domains.store import domains as store, pages, rdap
from builders.portfolio.domains.store.pages import ListedRow
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.ledger import entries
from builders.portfolio.ledger.records import Totals
from builders.portfolio.team.records import Access

BATCH = 1_000  # domains of `list_batch`
MAX_TAGS_LISTED = 5_000  # the most frequent ones
_REDACTED = '["finance"]'


async def get_domain(conn: Conn, *, account_id: UUID, key: str) -> Domain:
    """Return a domain by its id, or by its name in either form. Raise DomainNotFound."""
    domain_id = ids.find(key)
    if domain_id is not None:
        domain = await store.find(conn, account_id=account_id, domain_id=domain_id)
    else:
        name = find_a_label(key)
        domain = None if name is None else await store.find_by_name(conn, account_id=account_id, domain=name)
    if domain is None:
        raise DomainNotFound
    return domain


async def lock_domain(conn: Conn, *, account_id: UUID, key: str) -> Domain:
    """Return a domain as `get_domain` does, locked until the transaction ends. Raise DomainNotFound."""
    found = await get_domain(conn, account_id=account_id, key=key)
    for locked in await store.lock(conn, account_id=account_id, ids=[found.id]):
        return locked
    raise DomainNotFound


async def lock_domains(conn: Conn, *, account_id: UUID, ids: Collection[UUID]) -> Mapping[UUID, Domain]:
    """Return those of the domains that the portfolio has, locked until the transaction ends.

    Every writer of a portfolio locks in one order, so that no two wait for each other: domains by id, then the
    base currency (`currencies.lock_base_currency`), then entries and what else belongs to the domains.
    """
    return {each.id: each for each in await store.lock(conn, account_id=account_id, ids=list(ids))}


async def lock_for_removal(conn: Conn, *, account_id: UUID, ids: Collection[UUID]) -> Mapping[UUID, Domain]:
    """Lock domains as `lock_domains` does, and against rows that refer to them, until the transaction ends."""
    found = await store.lock_for_removal(conn, account_id=account_id, ids=list(ids))
    return {each.id: each for each in found}


async def get_registry_check(conn: Conn, *, account_id: UUID, domain_id: UUID) -> RegistryCheck:
    """Return the last registry data of a domain."""
    checked_at, facts = await rdap.find_check(conn, account_id=account_id, domain_id=domain_id)
    return read_check(checked_at, facts)


async def load_domains(conn: Conn, *, account_id: UUID, names: Sequence[str]) -> Mapping[str, Domain]:
    """Return those of the A-labels that the portfolio has."""
    found = await store.list_by_name(conn, account_id=account_id, names=names)
    return {each.domain: each for each in found}


async def load_domains_by_label(
    conn: Conn, *, account_id: UUID, labels: Sequence[str]
) -> Mapping[str, Sequence[Domain]]:
    """Return the domains of the portfolio whose first label is one of these, by the label."""
    found: dict[str, list[Domain]] = {}
    for each in await store.list_by_label(conn, account_id=account_id, labels=labels):
        found.setdefault(each.domain.partition(".")[0], []).append(each)
    return found


async def load_domains_by_id(conn: Conn, *, account_id: UUID, ids: Sequence[UUID]) -> Mapping[UUID, Domain]:
    """Return those of the domains that the portfolio has."""
    found = await store.list_by_id(conn, account_id=account_id, ids=ids)
    return {each.id: each for each in found}


async def list_domains(
    conn: Conn,
    *,
    account_id: UUID,
    filters: DomainFilters,
    sort: DomainSort,
    page: PageRequest,
    shows_finance: bool,
) -> JsonPage:
    """Return a page of domains as JSON; without finance their money is null, and `redacted` reports it."""
    today = await get_today(conn, account_id=account_id)
    position = pages.first_position(sort)
    if page.after is not None:
        value, after = page.after
        position = pages.Position(value=None if value is None else str(value), after=UUID(str(after)))
    rows = await pages.list_page(
        conn,
        account_id=account_id,
        filters=filters,
        sort=sort,
        position=position,
        limit=page.limit + 1,
        shows_finance=shows_finance,
        today=today,
    )
    shown = rows[: page.limit]
    last = None if len(rows) <= page.limit else (shown[-1].sort_key, str(shown[-1].id))
    totals = None
    if shows_finance:
        totals = await entries.list_totals(conn, account_id=account_id, domain_ids=[each.id for each in shown])
    return page.json(write_items(shown, totals=totals, today=today), last)


async def find_totals(conn: Conn, *, access: Access, domain_id: UUID) -> Totals | None:
    """Return the sums of the entries of a domain; None when the role does not see money."""
    if not access.shows_finance:
        return None
    return (await entries.list_totals(conn, account_id=access.portfolio_id, domain_ids=[domain_id]))[domain_id]


async def find_context(conn: Conn, *, access: Access, domain_id: UUID) -> tuple[Totals | None, Today]:
    """Return what the reply about a domain is computed from: `find_totals`, and the day."""
    totals = await find_totals(conn, access=access, domain_id=domain_id)
    return totals, await get_today(conn, account_id=access.portfolio_id)


async def list_batch(
    conn: Conn, *, account_id: UUID, after: str, filters: DomainFilters = ALL_DOMAINS
) -> Sequence[Domain]:
    """Return the next domains behind a name, from the first for ""; none at the end."""
    today = await get_today(conn, account_id=account_id)
    return await pages.list_batch(
        conn, account_id=account_id, filters=filters, after=after, limit=BATCH, today=today
    )


async def list_tags(conn: Conn, *, account_id: UUID, limit: int = MAX_TAGS_LISTED) -> Sequence[tuple[str, int]]:
    """Return the tags of a portfolio with the most domains, each with their number."""
    return await store.count_tags(conn, account_id=account_id, limit=limit)


async def count_connections(conn: Conn, *, account_id: UUID) -> Mapping[UUID, int]:
    """Return the number of domains that each registrar connection keeps up to date."""
    return await store.count_connections(conn, account_id=account_id)


def write_items(rows: Sequence[ListedRow], *, totals: Mapping[UUID, Totals] | None, today: Today) -> str:
    """Return the JSON array of a page: what PostgreSQL wrote of each item, and the members that are computed.

    Without totals, `redacted` reports that money is omitted.
    """
    return f"[{','.join(_write(row, None if totals is None else totals[row.id], today) for row in rows)}]"


def _write(row: ListedRow, totals: Totals | None, today: Today) -> str:
    state = None
    if PortfolioDomainStatus(row.status).is_held:
        state = held_state_of(row.tld, row.expires_at, row.epp_statuses, today=today).lifecycle
    lifecycle = "null" if state is None else f'"{state.value}"'
    days = days_to_expiry(row.expires_at, today)
    return (
        f'{row.json[:-1]},"days_to_expiry":{"null" if days is None else days},"lifecycle":{lifecycle},'
        f'"finance":{_finance(totals)},"redacted":{"[]" if totals else _REDACTED}}}'
    )


def _finance(totals: Totals | None) -> str:
    if totals is None:
        return "null"
    if not totals.entries:
        return _nothing(totals.base_currency)
    cost, net = totals.total_cost, totals.net_position
    return (
        f'{{"total_cost":{{"amount":"{cost.amount:f}","currency":"{cost.currency}"}},'
        f'"net_position":{{"amount":"{net.amount:f}","currency":"{net.currency}"}},'
        f'"unconverted":{totals.unconverted}}}'
    )


@cache
def _nothing(currency: str) -> str:
    """Return the totals of a domain without entries, as most are after an import."""
    zero = Money.zero(currency).to_wire()
    return json.dumps({"total_cost": zero, "net_position": zero, "unconverted": 0}, separators=(",", ":"))
