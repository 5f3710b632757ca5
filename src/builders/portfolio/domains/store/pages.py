"""Pages of the domains of a portfolio.

PostgreSQL writes the stored members of each item as JSON: half the cost of records (kit/http/pagination.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import LiteralString
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.kit.db.columns import columns_of
from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.domains.filters import FigureFilters
from builders.portfolio.domains.records import Domain, DomainFields, DomainSort
from builders.portfolio.domains.store.domains import COLUMNS, CURRENCIES, domain_of
from builders.portfolio.domains.store.figures import FIGURES
from builders.portfolio.domains.store.filters import (
    IN_BOUNDS,
    MATCHES,
    MATCHES_FIGURES,
    figure_parameters,
)
from builders.portfolio.domains.today import Today

# The fields whose JSON is not that of their column.
_SHOWN: Mapping[LiteralString, LiteralString] = {
    "revenue_share": "CASE WHEN %(shows_finance)s THEN revenue_share::text END",
    "expires_at": "kit_time(expires_at)",
    **{
        amount: "CASE WHEN %(shows_finance)s AND " + amount + " IS NOT NULL THEN json_build_object("
        "'amount', " + amount + "::text, 'currency', " + currency + ") END"
        for amount, currency in CURRENCIES.items()
    },
}
_STORED = columns_of(DomainFields).split(", ")
_MEMBERS: Sequence[LiteralString] = ["'" + name + "', " + _SHOWN.get(name, name) for name in _STORED]
_FIELDS = ", ".join(_MEMBERS)
# What the other members are computed from follows the JSON.
_COLUMNS = f"""
    id, tld, status, expires_at, epp_statuses, renewal_price, renewal_currency, json_build_object(
        'id', id, 'domain', domain, 'domain_unicode', unicode, 'tld', tld, {_FIELDS},
        'created_at', kit_time(created_at), 'updated_at', kit_time(updated_at)
    )::text AS json
"""
_SELECTED = """
    account_id = %(account_id)s AND (%(tagged)s::uuid[] IS NULL OR id = ANY(%(tagged)s::uuid[]))
"""
# The planner removes absent filters, so the statement is never prepared.
ITEMS = f"{_COLUMNS} FROM portfolio_domains AS listed WHERE {_SELECTED} AND {MATCHES_FIGURES}"
EXPIRY, BEHIND = "coalesce(expires_at, 'infinity')", "(%(value)s::timestamptz, %(after)s::uuid)"
PAGES: Mapping[DomainSort, LiteralString] = {
    DomainSort.CREATED: f"""
        SELECT NULL AS sort_key, {ITEMS} AND id > %(after)s ORDER BY id LIMIT %(limit)s
    """,
    DomainSort.CREATED_DESC: f"""
        SELECT NULL AS sort_key, {ITEMS} AND id < %(after)s ORDER BY id DESC LIMIT %(limit)s
    """,
    DomainSort.DOMAIN: f"""
        SELECT domain AS sort_key, {ITEMS} AND domain > %(value)s ORDER BY domain LIMIT %(limit)s
    """,
    DomainSort.DOMAIN_DESC: f"""
        SELECT domain AS sort_key, {ITEMS} AND domain < %(value)s ORDER BY domain DESC LIMIT %(limit)s
    """,
    DomainSort.EXPIRES: f"""
        SELECT {EXPIRY}::text AS sort_key, {ITEMS} AND ({EXPIRY}, id) > {BEHIND}
        ORDER BY {EXPIRY}, id LIMIT %(limit)s
    """,
    DomainSort.EXPIRES_DESC: f"""
        SELECT {EXPIRY}::text AS sort_key, {ITEMS} AND ({EXPIRY}, id) < {BEHIND}
        ORDER BY {EXPIRY} DESC, id DESC LIMIT %(limit)s
    """,
    DomainSort.UPDATED: f"""
        SELECT updated_at::text AS sort_key, {ITEMS} AND (updated_at, id) > {BEHIND}
        ORDER BY updated_at, id LIMIT %(limit)s
    """,
    DomainSort.UPDATED_DESC: f"""
        SELECT updated_at::text AS sort_key, {ITEMS} AND (updated_at, id) < {BEHIND}
        ORDER BY updated_at DESC, id DESC LIMIT %(limit)s
    """,
}
# The lowest figure first, or the highest with the sign -1; null is last with both.
RANK = """coalesce(%(sign)s * CASE %(figure)s
        WHEN 'roi' THEN roi WHEN 'net' THEN net WHEN 'cost' THEN cost WHEN 'income' THEN income
        ELSE renewal_price_base END, 'infinity')"""
PAGE_BY_FIGURE = f"""
    SELECT sort_key::text, {_COLUMNS}
    FROM (
        SELECT listed.id AS listed_id, {RANK} AS sort_key
        FROM portfolio_domains AS listed JOIN ({FIGURES}) AS figures ON figures.domain_id = listed.id
        WHERE {_SELECTED} AND {MATCHES} AND {IN_BOUNDS}
          AND ({RANK}, listed.id) > (%(value)s::numeric, %(after)s::uuid)
        ORDER BY sort_key, listed.id LIMIT %(limit)s
    ) AS page
    JOIN portfolio_domains AS shown ON shown.account_id = %(account_id)s AND shown.id = page.listed_id
    ORDER BY page.sort_key, id
"""
COUNT = f"SELECT count(*) FROM portfolio_domains AS listed WHERE {_SELECTED} AND {MATCHES_FIGURES}"
LIST_TAGGED = """
    SELECT domain_id FROM portfolio_domains_tags
    WHERE account_id = %(account_id)s AND tag = %(tag)s LIMIT %(limit)s
"""
BATCH = f"""
    SELECT {COLUMNS} FROM portfolio_domains AS listed
    WHERE account_id = %(account_id)s AND domain > %(after)s AND {MATCHES_FIGURES}
    ORDER BY domain LIMIT %(limit)s
"""
RARE = 1_000  # domains of a tag
_LAST_NAME = "~"  # no A-label is greater


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRow:
    """A domain of a page: its stored members as JSON, and the inputs of the computed ones."""

    id: UUID
    tld: str
    status: str
    expires_at: datetime | None
    epp_statuses: Sequence[str]
    renewal_price: Decimal | None
    renewal_currency: str | None
    sort_key: str | None  # besides the id
    json: str  # an object

    @property
    def price(self) -> Money | None:
        """Return the price of a renewal."""
        if self.renewal_price is None or self.renewal_currency is None:
            return None
        return Money(self.renewal_price, self.renewal_currency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a page begins: behind the row with this sort key and id."""

    value: str | None
    after: UUID


def first_position(sort: DomainSort) -> Position:
    """Return the position before the first row of an order."""
    is_descending = sort.startswith("-") and not sort.is_of_figures
    by_name, by_time = ("", _LAST_NAME), ("-infinity", "infinity")
    values = by_name if sort in {DomainSort.DOMAIN, DomainSort.DOMAIN_DESC} else by_time
    return Position(value=values[is_descending], after=ids.LAST if is_descending else ids.NIL)


async def list_page(
    conn: Conn,
    *,
    account_id: UUID,
    filters: FigureFilters,
    sort: DomainSort,
    position: Position,
    limit: int,
    shows_finance: bool,
    today: Today,
) -> Sequence[ListedRow]:
    """Return up to `limit` domains behind a position."""
    row = {
        **figure_parameters(filters, today=today),
        "account_id": account_id,
        "tagged": await _find_tagged(conn, account_id=account_id, tag=filters.tag),
        "value": position.value,
        "after": position.after,
        "limit": limit,
        "shows_finance": shows_finance,
        "figure": sort.removeprefix("-"),
        "sign": -1 if sort.startswith("-") else 1,
    }
    cursor = conn.cursor(row_factory=class_row(ListedRow))
    if sort.is_of_figures:
        return await (await cursor.execute(PAGE_BY_FIGURE, row, prepare=False)).fetchall()
    return await (await cursor.execute(PAGES[sort], row, prepare=False)).fetchall()


async def count(conn: Conn, *, account_id: UUID, filters: FigureFilters, today: Today) -> int:
    """Return the number of domains that a list with these filters has."""
    row = {
        **figure_parameters(filters, today=today),
        "account_id": account_id,
        "tagged": await _find_tagged(conn, account_id=account_id, tag=filters.tag),
    }
    [(found,)] = await (await conn.execute(COUNT, row, prepare=False)).fetchall()
    return int(found)


async def _find_tagged(conn: Conn, *, account_id: UUID, tag: str | None) -> Sequence[UUID] | None:
    """Return the domains with a rare tag; None for a frequent one, for which a walk along the list is faster."""
    if tag is None:
        return None
    row = {"account_id": account_id, "tag": tag, "limit": RARE + 1}
    found = await (await conn.execute(LIST_TAGGED, row)).fetchall()
    return None if len(found) > RARE else [domain_id for (domain_id,) in found]


async def list_batch(
    conn: Conn, *, account_id: UUID, filters: FigureFilters, after: str, limit: int, today: Today
) -> Sequence[Domain]:
    """Return up to `limit` domains with names behind `after`, in the order of names."""
    row = {**figure_parameters(filters, today=today), "account_id": account_id, "after": after, "limit": limit}
    cursor = conn.cursor(row_factory=kwargs_row(domain_of))
    return await (await cursor.execute(BATCH, row, prepare=False)).fetchall()
