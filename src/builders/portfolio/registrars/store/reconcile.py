"""SQL of the comparison of a portfolio with its registrars: listings, names, and the findings of the rules."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.portfolio.registrars.findings import (
    BY_RANK,
    EXPIRY_TOLERANCE,
    NEAR_EXPIRY,
    Count,
    Difference,
    FindingCategory,
    FindingSeverity,
    ListedConnection,
)
from builders.portfolio.registrars.records import MANUAL
from builders.portfolio.registrars.store.rules import FIND, PLACES

_CATEGORIES = list(FindingCategory)
MAX_REGISTRARS = 1_000  # names of registrars that are read; the most frequent ones
MAX_FORMS = 5_000  # internationalized names of each side that are compared
BEGIN = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
LIST_SNAPSHOTS = """
    SELECT connection.id AS connection_id, connection.provider, connection.name,
           starts_with(connection.provider, %(manual)s) AS is_manual,
           connection.is_enabled,
           connection.status IN ('auth_failed', 'restricted') OR coalesce(last.state = 'failed', false)
               AS has_failed,
           connection.sync_interval_hours, listing.taken_at, listing.last_complete_at AS complete_at,
           connection.suspected_drop, connection.suspected_drop_at
    FROM portfolio_registrars_connections AS connection
    LEFT JOIN portfolio_registrars_snapshots AS listing
      ON listing.account_id = connection.account_id AND listing.connection_id = connection.id
    LEFT JOIN LATERAL (
        SELECT state FROM portfolio_runs_parts AS part
        WHERE part.account_id = connection.account_id AND part.subject_id = connection.id
          AND part.kind = 'sync' AND part.finished_at IS NOT NULL
        ORDER BY part.created_at DESC LIMIT 1
    ) AS last ON true
    WHERE connection.account_id = %(account_id)s AND connection.disconnected_at IS NULL
    ORDER BY connection.provider, connection.created_at, connection.id
"""
# A name is what a person or a file wrote: a portfolio can have as many as domains.
LIST_REGISTRARS = """
    SELECT lower(registrar) FROM portfolio_domains
    WHERE account_id = %(account_id)s AND registrar IS NOT NULL
    GROUP BY lower(registrar) ORDER BY count(*) DESC, lower(registrar) LIMIT %(limit)s
"""
COUNT_COMPARED = """
    SELECT count(DISTINCT held.domain)
    FROM portfolio_registrars_holdings AS held JOIN portfolio_domains AS own
      ON own.account_id = held.account_id AND own.domain = held.domain
    WHERE held.account_id = %(account_id)s AND held.connection_id = ANY(%(connections)s::uuid[])
      AND held.missing_since IS NULL AND held.status <> 'gone'
"""
# Names in another script, or with characters that are no A-label's, that the other side does not have.
LIST_FORMS = """
    (
        SELECT DISTINCT true AS is_held, domain FROM portfolio_registrars_holdings AS held
        WHERE account_id = %(account_id)s AND connection_id = ANY(%(connections)s::uuid[])
          AND missing_since IS NULL AND status <> 'gone' AND (domain LIKE '%%xn--%%' OR domain ~ '[^ -~]')
          AND NOT EXISTS (
            SELECT FROM portfolio_domains AS own
            WHERE own.account_id = %(account_id)s AND own.domain = held.domain
          )
        LIMIT %(limit)s
    ) UNION ALL (
        SELECT false, domain FROM portfolio_domains AS own
        WHERE account_id = %(account_id)s AND domain LIKE '%%xn--%%'
          AND status NOT IN ('sold', 'dropped', 'transferred_out') AND NOT EXISTS (
            SELECT FROM portfolio_registrars_holdings AS held
            WHERE held.account_id = %(account_id)s AND held.domain = own.domain AND held.missing_since IS NULL
          )
        LIMIT %(limit)s
    )
"""
FIND_PAIRS = """
    SELECT DISTINCT pair.held, pair.own
    FROM unnest(%(held)s::text[], %(own)s::text[]) AS pair (held, own)
    JOIN portfolio_domains AS own
      ON own.account_id = %(account_id)s AND own.domain = pair.own
     AND own.status NOT IN ('sold', 'dropped', 'transferred_out')
    JOIN portfolio_registrars_holdings AS held
      ON held.account_id = %(account_id)s AND held.domain = pair.held AND held.missing_since IS NULL
     AND held.connection_id = ANY(%(connections)s::uuid[])
    WHERE NOT EXISTS (
        SELECT FROM portfolio_domains AS same WHERE same.account_id = %(account_id)s AND same.domain = pair.held
    ) AND NOT EXISTS (
        SELECT FROM portfolio_registrars_holdings AS same
        WHERE same.account_id = %(account_id)s AND same.domain = pair.own AND same.missing_since IS NULL
    )
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Parameters of the comparison."""

    account_id: UUID
    now: datetime
    snapshots: Sequence[ListedConnection]  # of all connections
    compared: Sequence[UUID]  # connections whose listing is fresh enough
    shown: Sequence[UUID]  # connections whose findings are wanted
    providers: Mapping[str, str]  # by the registrars that domains name, in lower case
    accepted: Sequence[tuple[str, UUID]]  # which of these names can be shown for a domain of a connection
    forms: Sequence[tuple[str, str]]  # of one internationalized name: as held, and as in the portfolio
    least: FindingSeverity = FindingSeverity.INFO
    shows_finance: bool = False

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the statement."""
        return {
            "account_id": self.account_id,
            "now": self.now,
            "connections": list(self.compared),
            "shown": list(self.shown),
            "connected": [each.connection_id for each in self.snapshots],
            "connected_to": [each.provider for each in self.snapshots],
            "complete_at": [self._complete_at(each) for each in self.snapshots],
            "registrars": list(self.providers),
            "providers": list(self.providers.values()),
            "accepted": [registrar for registrar, _ in self.accepted],
            "accepted_of": [connection_id for _, connection_id in self.accepted],
            "held_forms": [held for held, _ in self.forms],
            "own_forms": [own for _, own in self.forms],
            "least": self.least.rank,
            "shows_finance": self.shows_finance,
            "tolerance": EXPIRY_TOLERANCE,
            "near": NEAR_EXPIRY,
        }

    def _complete_at(self, snapshot: ListedConnection) -> datetime | None:
        """Return the time of the last complete listing of a connection; None without a reliable one."""
        return None if snapshot.has_failed or snapshot.is_stale(self.now) else snapshot.complete_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The place behind which a page begins."""

    severity: int = -1
    category: int = -1  # its place in FindingCategory
    domain: str = ""
    connection_id: UUID = ids.NIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The findings of some categories."""

    counts: Sequence[Count]
    differences: Sequence[Difference]  # those of the page


async def begin(conn: Conn) -> None:
    """Let the transaction of `conn` read one state of the database, and write nothing."""
    await conn.execute(BEGIN)


async def list_snapshots(conn: Conn, *, account_id: UUID) -> Sequence[ListedConnection]:
    """Return the connections of the portfolio with the age of their listings, by provider, the oldest first."""
    async with conn.cursor(row_factory=class_row(ListedConnection)) as cursor:
        await cursor.execute(LIST_SNAPSHOTS, {"account_id": account_id, "manual": MANUAL})
        return await cursor.fetchall()


async def list_registrars(conn: Conn, *, account_id: UUID) -> Sequence[str]:
    """Return the registrars that most domains of the portfolio name, in lower case."""
    row = {"account_id": account_id, "limit": MAX_REGISTRARS}
    found = await (await conn.execute(LIST_REGISTRARS, row)).fetchall()
    return [registrar for (registrar,) in found]


async def count_compared(conn: Conn, *, account_id: UUID, connections: Sequence[UUID]) -> int:
    """Return how many domains both the portfolio and the registrars of these connections have."""
    row = {"account_id": account_id, "connections": list(connections)}
    [(count,)] = await (await conn.execute(COUNT_COMPARED, row)).fetchall()
    return int(count)


async def list_forms(
    conn: Conn, *, account_id: UUID, connections: Sequence[UUID]
) -> tuple[Sequence[str], Sequence[str]]:
    """Return internationalized names that only a registrar has, and that only the portfolio has."""
    row = {"account_id": account_id, "connections": list(connections), "limit": MAX_FORMS}
    found = await (await conn.execute(LIST_FORMS, row)).fetchall()
    return [name for is_held, name in found if is_held], [name for is_held, name in found if not is_held]


async def find_pairs(
    conn: Conn, *, account_id: UUID, connections: Sequence[UUID], pairs: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Return the pairs whose first name only a registrar has, and whose second name only the portfolio has."""
    row = {
        "account_id": account_id,
        "connections": list(connections),
        "held": [held for held, _ in pairs],
        "own": [own for _, own in pairs],
    }
    found = await (await conn.execute(FIND_PAIRS, row)).fetchall()
    return [(held, own) for held, own in found]


async def compare(
    conn: Conn, *, context: Context, categories: Collection[FindingCategory], after: Position, limit: int
) -> Found:
    """Return the findings of the categories about domains: their counts, and up to `limit` behind a position."""
    parameters = context.parameters() | {
        "places": [PLACES[each] for each in categories],
        "after_severity": after.severity,
        "after_place": after.category,
        "after_domain": after.domain,
        "after_connection": after.connection_id,
        "limit": limit,
    }
    [(counts, rows)] = await (await conn.execute(FIND, parameters, prepare=False)).fetchall()
    return Found(
        counts=[
            Count(
                category=_CATEGORIES[each["place"]],
                severity=BY_RANK[each["severity"]],
                connection_id=UUID(each["connection_id"]),
                count=each["count"],
            )
            for each in counts
        ],
        differences=[_difference(each) for each in rows],
    )


def _difference(row: Mapping[str, Any]) -> Difference:
    return Difference(
        category=_CATEGORIES[row["place"]],
        severity=BY_RANK[row["severity"]],
        domain=row["domain"],
        domain_id=None if row["domain_id"] is None else UUID(row["domain_id"]),
        connection_id=UUID(row["connection_id"]),
        portfolio_value=row["portfolio_value"],
        registrar_value=row["registrar_value"],
        delta_days=row["delta_days"],
        facts=row["facts"] or {},
    )
