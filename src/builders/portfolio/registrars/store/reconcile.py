"""SQL of the comparison of a portfolio with its registrars: listings, names, findings, and which are known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.portfolio.registrars.findings import (
    BY_RANK,
    Difference,
    FindingCategory,
    FindingSeverity,
    ListedConnection,
)
from builders.portfolio.registrars.records import MANUAL
from builders.portfolio.registrars.store.rules import FIND

_CATEGORIES, _DIFFERENCES = list(FindingCategory), TypeAdapter(Sequence[Difference])
MAX_REGISTRARS = 1_000  # names of registrars that are read; the most frequent ones
MAX_FORMS = 5_000  # internationalized names of each side that are compared


# Lets the transaction read one state of the database, and write nothing.
begin = query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY").run()
list_snapshots = query("""
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
""").all(ListedConnection, manual=MANUAL)
# A name is what a person or a file wrote: a portfolio can have as many as domains.
list_registrars = query("""
    SELECT lower(registrar) FROM portfolio_domains
    WHERE account_id = %(account_id)s AND registrar IS NOT NULL
    GROUP BY lower(registrar) ORDER BY count(*) DESC, lower(registrar) LIMIT %(limit)s
""").scalars(str, limit=MAX_REGISTRARS)


# Names in another script, or with characters that are no A-label's, that the other side does not have.
list_forms = query("""
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
""").all(tuple[bool, str], limit=MAX_FORMS)


# Those whose first name only a registrar has, and whose second name only the portfolio has.
list_pairs = query("""
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
""").all(tuple[str, str])


async def compare(
    conn: Conn, *, parameters: Mapping[str, Any]
) -> tuple[int, Counter[tuple[FindingCategory, FindingSeverity, UUID]], Sequence[Difference]]:
    """Return the findings about domains: numbers by category, severity and connection, and those of a page.

    The first number is that of the domains that were compared.
    """
    [(compared, counts, rows)] = await (await conn.execute(FIND, parameters, prepare=False)).fetchall()
    found = Counter[tuple[FindingCategory, FindingSeverity, UUID]]()
    for row in counts:
        found[_CATEGORIES[row["place"]], BY_RANK[row["severity"]], UUID(row["connection_id"])] = row["count"]
    read = [
        {
            **row,
            "category": _CATEGORIES[row["place"]],
            "severity": BY_RANK[row["severity"]],
            "facts": row["facts"] or {},
        }
        for row in rows
    ]
    return compared, found, _DIFFERENCES.validate_python(read)


# The row is there and locked, so that two jobs publish a finding once.
lock_drift = query("""
    INSERT INTO portfolio_registrars_drifts AS drift (account_id, finding_ids) VALUES (%(account_id)s, '{}')
    ON CONFLICT (account_id) DO UPDATE SET account_id = excluded.account_id
    RETURNING finding_ids
""").value(list[UUID])
update_drift = query("""
    UPDATE portfolio_registrars_drifts SET finding_ids = %(finding_ids)s
    WHERE account_id = %(account_id)s
""").run()
# Also deletes expired expectations.
upsert_departure = query("""
    WITH ended AS (
        DELETE FROM portfolio_registrars_departures
        WHERE account_id = %(account_id)s AND expected_until <= %(now)s AND domain <> %(domain)s
    )
    INSERT INTO portfolio_registrars_departures AS departure (account_id, domain, expected_until)
    VALUES (%(account_id)s, %(domain)s, %(expected_until)s)
    ON CONFLICT (account_id, domain)
    DO UPDATE SET expected_until = greatest(departure.expected_until, excluded.expected_until)
""").run()
