"""Domains with a due registry query, and the registries' servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows, query

POSTPONE = """
    UPDATE portfolio_domains AS domain SET rdap_due_at = later.due_at, rdap_failures = later.failures
    FROM unnest(%(account_ids)s::uuid[], %(ids)s::uuid[], %(due)s::timestamptz[], %(failures)s::int[])
         AS later (account_id, id, due_at, failures)
    WHERE domain.account_id = ANY(%(account_ids)s::uuid[]) AND domain.account_id = later.account_id
      AND domain.id = later.id
"""


FIND_CHECK = """
    SELECT rdap_checked_at, rdap_facts FROM portfolio_domains WHERE account_id = %(account_id)s AND id = %(id)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueDomain:
    """A domain with a due registry query."""

    account_id: UUID
    id: UUID
    domain: str
    failures: int  # since the last answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """When to ask about a domain again."""

    domain: DueDomain
    due_at: datetime | None  # None: never
    failures: int


# The conditions are those of the index portfolio_domains_rdap.
list_due = due_rows(
    "portfolio_domains",
    by="rdap_due_at",
    only="connection_id IS NULL AND status IN ('owned', 'leased', 'consigned', 'listed', 'expired')",
).all(tuple[UUID, UUID])
# Those that no other worker has claimed meanwhile. Claimed rows fall due again by themselves.
claim = query("""
    UPDATE portfolio_domains AS domain SET rdap_due_at = %(due_at)s
    FROM unnest(%(account_ids)s::uuid[], %(ids)s::uuid[]) AS due (account_id, id)
    WHERE domain.account_id = ANY(%(account_ids)s::uuid[]) AND domain.account_id = due.account_id
      AND domain.id = due.id AND domain.rdap_due_at <= %(now)s AND domain.connection_id IS NULL
    RETURNING domain.account_id, domain.id, domain.domain, domain.rdap_failures AS failures
""").all(DueDomain)


async def postpone(conn: Conn, *, domains: Sequence[Later]) -> None:
    """Set when to ask again."""
    domains = sorted(domains, key=lambda each: each.domain.id)  # as others lock them
    row = {
        "account_ids": [each.domain.account_id for each in domains],
        "ids": [each.domain.id for each in domains],
        "due": [each.due_at for each in domains],
        "failures": [each.failures for each in domains],
    }
    await conn.execute(POSTPONE, row)


# Without `facts` the registry does not have the domain.
finish = query("""
    UPDATE portfolio_domains
    SET rdap_due_at = %(due_at)s, rdap_checked_at = %(now)s, rdap_failures = 0,
        rdap_facts = coalesce(%(facts)s::jsonb, rdap_facts)
    WHERE account_id = %(account_id)s AND id = %(id)s
""").run()


async def find_check(
    conn: Conn, *, account_id: UUID, domain_id: UUID
) -> tuple[datetime | None, Mapping[str, Any]]:
    """Return the time of the last registry query, and the last registry data."""
    found = await (await conn.execute(FIND_CHECK, {"account_id": account_id, "id": domain_id})).fetchone()
    return (None, {}) if found is None else (found[0], found[1] or {})


find_fetched_at = query("SELECT max(fetched_at) FROM portfolio_domains_rdap_services").scalar(datetime)
list_services = query("""
    SELECT tld, url FROM portfolio_domains_rdap_services WHERE tld = ANY(%(tlds)s::text[])
""").pairs(str, str)


replace_services = query("""
    WITH new AS (
        INSERT INTO portfolio_domains_rdap_services AS service (tld, url, fetched_at)
        SELECT tld, url, %(now)s FROM unnest(%(tlds)s::text[], %(urls)s::text[]) AS row (tld, url)
        ON CONFLICT (tld) DO UPDATE SET url = excluded.url, fetched_at = excluded.fetched_at
    )
    DELETE FROM portfolio_domains_rdap_services WHERE tld <> ALL(%(tlds)s::text[])
""").run()


list_blocked = query("""
    SELECT url, blocked_until FROM portfolio_domains_rdap_servers WHERE blocked_until > %(now)s
""").pairs(str, datetime)


# A server that refuses again is blocked twice as long, up to a day; an answer resets the count.
# In seconds: a sharded database refuses the sum of a time and an interval here.
block = query("""
    INSERT INTO portfolio_domains_rdap_servers AS server (url, blocked_until, refusals)
    VALUES (%(url)s, to_timestamp(%(now_s)s::float + %(pause_s)s), 1)
    ON CONFLICT (url) DO UPDATE SET
        blocked_until = to_timestamp(%(now_s)s::float + least(
            greatest(%(pause_s)s, %(first_s)s * power(2, least(server.refusals, 10))), 86400
        )),
        refusals = least(server.refusals + 1, 100)
    RETURNING blocked_until
""").value(datetime)


unblock = query("DELETE FROM portfolio_domains_rdap_servers WHERE url = %(url)s").run()
