"""Find domains of a portfolio: one, several, a page, or all of them."""

import json
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from functools import cache
from uuid import UUID

from builders.kit.db import partitions
from builders.kit.db.batches import HISTORY_RETENTION
from builders.kit.db.connections import Conn
from builders.kit.http.pagination import CountedPage, PageRequest
from builders.kit.pages import Page
from builders.kit.values import ids
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import Money
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.filters import EVERY_DOMAIN, FigureFilters
from builders.portfolio.domains.lifecycle import days_to_expiry, held_state_of
from builders.portfolio.domains.rdap import read_check
from builders.portfolio.domains.records import (
    FIGURES,
    Domain,
    DomainSort,
    Figures,
    PortfolioDomainStatus,
    RecordedChange,
    RegistryCheck,
    UsedTag,
)
from builders.portfolio.domains.store import domains as store, pages, rdap
from builders.portfolio.domains.store.pages import ListedRow
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.ledger import entries, rates
from builders.portfolio.ledger.records import Totals
from builders.portfolio.team.records import Access

partitions.declare("portfolio_domains_changes", retention=HISTORY_RETENTION)

BATCH = 1_000  # domains of `list_batch`
MAX_TAGS_LISTED = 5_000  # the most frequent ones
_NO_FIGURES = ",".join([*(f'"{name}":null' for name in (*FIGURES, "finance")), '"redacted":["finance"]'])


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


async def list_history(conn: Conn, *, account_id: UUID, key: str, page: PageRequest) -> Page[RecordedChange]:
    """Return the changes of a domain within HISTORY_RETENTION, the newest first. Raise DomainNotFound."""
    domain_id = ids.find(key) or (await get_domain(conn, account_id=account_id, key=key)).id
    found = await store.list_changes(
        conn, account_id=account_id, domain_id=domain_id, before=page.before_id, limit=page.limit + 1
    )
    if not found:
        raise DomainNotFound
    return page.cut([each for each in found if each is not None], key=lambda each: (str(each.id),))


async def lock_domain(conn: Conn, *, account_id: UUID, key: str) -> Domain:
    """Return a domain as `get_domain` does, locked until the transaction ends. Raise DomainNotFound."""
    domain_id = ids.find(key) or (await get_domain(conn, account_id=account_id, key=key)).id
    for locked in await store.lock(conn, account_id=account_id, ids=[domain_id]):
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


async def load_domains_by_key(conn: Conn, *, account_id: UUID, keys: Collection[str]) -> Mapping[str, Domain]:
    """Return the domains that keys name, each by id or by name in either form; in two statements."""
    by_id = {key: found for key in keys if (found := ids.find(key)) is not None}
    by_name = {key: name for key in keys if key not in by_id and (name := find_a_label(key)) is not None}
    found_by_id = await load_domains_by_id(conn, account_id=account_id, ids=[*set(by_id.values())])
    found_by_name = await load_domains(conn, account_id=account_id, names=[*set(by_name.values())])
    return {
        **{key: found_by_id[each] for key, each in by_id.items() if each in found_by_id},
        **{key: found_by_name[name] for key, name in by_name.items() if name in found_by_name},
    }


async def list_domains(
    conn: Conn,
    *,
    account_id: UUID,
    filters: FigureFilters,
    sort: DomainSort,
    page: PageRequest,
    shows_finance: bool,
    include_total: bool = False,
) -> CountedPage:
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
    figures = None
    if shows_finance:
        prices = {each.id: each.price for each in shown}
        figures = await list_figures(conn, account_id=account_id, prices=prices, today=today)
    total = None
    if include_total:
        total = await pages.count(conn, account_id=account_id, filters=filters, today=today)
    has_more = len(rows) > page.limit
    return CountedPage(
        items=write_items(shown, figures=figures, today=today),
        next_cursor=page.seal((shown[-1].sort_key, str(shown[-1].id))) if has_more else None,
        total=total,
    )


async def list_figures(
    conn: Conn, *, account_id: UUID, prices: Mapping[UUID, Money | None], today: Today
) -> Mapping[UUID, Figures]:
    """Return the figures of domains with these renewal prices, in at most two statements."""
    totals = await entries.list_totals(conn, account_id=account_id, domain_ids=[*prices], today=today.day)
    converted: Mapping[UUID, Money | None] = {}
    for base_currency in {each.base_currency for each in totals.values()}:  # one, unless there are no domains
        converted = await rates.convert(
            conn, account_id=account_id, base_currency=base_currency, amounts=prices, on=today.day
        )
    return {
        domain_id: Figures(totals=found, renewal_price_base=converted[domain_id])
        for domain_id, found in totals.items()
    }


async def find_figures(conn: Conn, *, access: Access, domain: Domain, today: Today) -> Figures | None:
    """Return the figures of a domain; None for a role that sees no money."""
    if not access.shows_finance:
        return None
    prices = {domain.id: domain.renewal_price}
    return (await list_figures(conn, account_id=access.portfolio_id, prices=prices, today=today))[domain.id]


async def list_batch(
    conn: Conn, *, account_id: UUID, after: str, filters: FigureFilters = EVERY_DOMAIN
) -> Sequence[Domain]:
    """Return the next domains behind a name, from the first for ""; none at the end."""
    today = await get_today(conn, account_id=account_id)
    return await pages.list_batch(
        conn, account_id=account_id, filters=filters, after=after, limit=BATCH, today=today
    )


async def list_tags(conn: Conn, *, account_id: UUID, limit: int = MAX_TAGS_LISTED) -> Sequence[UsedTag]:
    """Return the tags of a portfolio with the most domains."""
    return await store.count_tags(conn, account_id=account_id, limit=limit)


async def count_connections(conn: Conn, *, account_id: UUID) -> Mapping[UUID, int]:
    """Return the number of domains that each registrar connection keeps up to date."""
    return await store.count_connections(conn, account_id=account_id)


def write_items(rows: Sequence[ListedRow], *, figures: Mapping[UUID, Figures] | None, today: Today) -> str:
    """Return the JSON array of a page: what PostgreSQL wrote of each item, and the members that are computed.

    Without figures, `redacted` reports that money is omitted.
    """
    return f"[{','.join(_write(row, None if figures is None else figures[row.id], today) for row in rows)}]"


def _write(row: ListedRow, figures: Figures | None, today: Today) -> str:
    state = None
    if PortfolioDomainStatus(row.status).is_held:
        state = held_state_of(row.tld, row.expires_at, row.epp_statuses, today=today).lifecycle
    lifecycle = "null" if state is None else f'"{state.value}"'
    days = days_to_expiry(row.expires_at, today)
    return (
        f'{row.json[:-1]},"days_to_expiry":{"null" if days is None else days},"lifecycle":{lifecycle},'
        f"{_NO_FIGURES if figures is None else _figures(figures)}}}"
    )


def _figures(figures: Figures) -> str:
    totals = figures.totals
    price = _money(figures.renewal_price_base)
    sums = _sums(totals) if totals.entries else _no_sums(totals.base_currency)
    return f'{sums},"renewal_price_base":{price},"redacted":[]'


def _sums(totals: Totals) -> str:
    cost, net, roi = _money(totals.total_cost), _money(totals.net_position), totals.roi
    return (
        f'"roi":{"null" if roi is None else json.dumps(roi)},"net":{net},"cost":{cost},'
        f'"income":{_money(totals.total_income)},'
        f'"finance":{{"total_cost":{cost},"net_position":{net},"unconverted":{totals.unconverted}}}'
    )


def _money(money: Money | None) -> str:
    return "null" if money is None else f'{{"amount":"{money.amount:f}","currency":"{money.currency}"}}'


@cache
def _no_sums(currency: str) -> str:
    """Return the sums of a domain without entries, as most are after an import."""
    zero = Decimal(0)
    return _sums(Totals(base_currency=currency, cost=zero, income=zero, sale=zero, entries=0, unconverted=0))
