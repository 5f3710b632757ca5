"""Pages of the domains of a portfolio.

PostgreSQL writes the stored members of each item as JSON: half the cost of records (kit/http/pagination.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.portfolio.domains.filters import DomainFilters
from builders.portfolio.domains.records import FIELDS, Domain, DomainSort
from builders.portfolio.domains.store.domains import COLUMN_TYPES, COLUMNS, CURRENCIES, domain_of
from builders.portfolio.domains.store.filters import MATCHES, filter_parameters
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
_STORED: Sequence[LiteralString] = [name for name in COLUMN_TYPES if name in FIELDS]
_STORED = sorted(_STORED, key=FIELDS.index)
_MEMBERS: Sequence[LiteralString] = ["'" + name + "', " + _SHOWN.get(name, name) for name in _STORED]
_FIELDS = ", ".join(_MEMBERS)
# The planner removes absent filters, so the statement is never prepared.
# The columns that the life cycle is computed from follow the JSON, and the values of the sort key.
ITEMS = f"""
    id, tld, status, expires_at, epp_statuses, json_build_object(
        'id', id, 'domain', domain, 'domain_unicode', unicode, 'tld', tld, {_FIELDS},
        'created_at', kit_time(created_at), 'updated_at', kit_time(updated_at)
    )::text AS json
    FROM portfolio_domains AS listed
    WHERE account_id = %(account_id)s
      AND (%(tagged)s::uuid[] IS NULL OR id = ANY(%(tagged)s::uuid[]))
      AND {MATCHES}
"""
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
LIST_TAGGED = """
    SELECT domain_id FROM portfolio_domains_tags
    WHERE account_id = %(account_id)s AND tag = %(tag)s LIMIT %(limit)s
"""
BATCH = f"""
    SELECT {COLUMNS} FROM portfolio_domains AS listed
    WHERE account_id = %(account_id)s AND domain > %(after)s AND {MATCHES}
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
    sort_key: str | None  # besides the id
    json: str  # an object


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a page begins: behind the row with this sort key and id."""

    value: str | None
    after: UUID


def first_position(sort: DomainSort) -> Position:
    """Return the position before the first row of an order."""
    is_descending = sort.startswith("-")
    by_name, by_time = ("", _LAST_NAME), ("-infinity", "infinity")
    values = by_name if sort in {DomainSort.DOMAIN, DomainSort.DOMAIN_DESC} else by_time
    return Position(value=values[is_descending], after=ids.LAST if is_descending else ids.NIL)


async def list_page(
    conn: Conn,
    *,
    account_id: UUID,
    filters: DomainFilters,
    sort: DomainSort,
    position: Position,
    limit: int,
    shows_finance: bool,
    today: Today,
) -> Sequence[ListedRow]:
    """Return up to `limit` domains behind a position."""
    row = {
        **filter_parameters(filters, today=today),
        "account_id": account_id,
        "tagged": await _find_tagged(conn, account_id=account_id, tag=filters.tag),
        "value": position.value,
        "after": position.after,
        "limit": limit,
        "shows_finance": shows_finance,
    }
    cursor = conn.cursor(row_factory=class_row(ListedRow))
    return await (await cursor.execute(PAGES[sort], row, prepare=False)).fetchall()


async def _find_tagged(conn: Conn, *, account_id: UUID, tag: str | None) -> Sequence[UUID] | None:
    """Return the domains with a rare tag; None for a frequent one, for which a walk along the list is faster."""
    if tag is None:
        return None
    row = {"account_id": account_id, "tag": tag, "limit": RARE + 1}
    found = await (await conn.execute(LIST_TAGGED, row)).fetchall()
    return None if len(found) > RARE else [domain_id for (domain_id,) in found]


async def list_batch(
    conn: Conn, *, account_id: UUID, filters: DomainFilters, after: str, limit: int, today: Today
) -> Sequence[Domain]:
    """Return up to `limit` domains with names behind `after`, in the order of names."""
    row = {**filter_parameters(filters, today=today), "account_id": account_id, "after": after, "limit": limit}
    cursor = conn.cursor(row_factory=kwargs_row(domain_of))
    return await (await cursor.execute(BATCH, row, prepare=False)).fetchall()
