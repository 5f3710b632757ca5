"""Many funnel events, written by SQL, for tests of the sums."""

from datetime import datetime

from builders.kit.db.connections import Conn

FILL = """
    INSERT INTO catalog_events (id, created_at, occurred_at, kind, domain, result, session_id, utm, metadata,
                                is_machine, agent, network)
    SELECT gen_random_uuid(), %(at)s - n * %(apart)s::interval, %(at)s - n * %(apart)s::interval,
           (ARRAY['view', 'view', 'view', 'check', 'claim'])[1 + n %% 5],
           (%(domains)s::text[])[1 + n %% cardinality(%(domains)s::text[])],
           NULL, 'session-' || n / 4, '{}', '{}', n %% 9 = 0, 'browser', '127.0.0.0/24'
    FROM generate_series(1, %(count)s) AS n
"""


async def fill(conn: Conn, *, until: datetime, domains: list[str], count: int) -> None:
    """Insert `count` events of the domains in the 22 hours before `until`: 4 per session, a ninth of machines."""
    apart = 22 * 3600 / count
    row = {"at": until, "domains": domains, "count": count, "apart": f"{apart} s"}
    await conn.execute(FILL, row)
