"""Simulations for tests, and a count of all rows of an account."""

from typing import Any
from uuid import UUID

import httpx
from psycopg import sql

from builders.kit.db.connections import Conn
from tests.cast import Client
from tests.plans.make import Json

SIMULATE = "/v1/sandbox/simulate"
# Without the effects of the request itself: idempotency keys, and below the last use of an API key.
TABLES = """
    SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND attname = 'account_id' AND NOT attisdropped AND relname <> 'kit_idempotency' ORDER BY 1
"""


async def request_simulation(client: Client, **body: Any) -> httpx.Response:
    """Request a simulation; return the response with any status."""
    return await client.post(SIMULATE, json=body)


async def simulate(client: Client, **body: Any) -> Json:
    """Request a simulation, which succeeds."""
    answer = await request_simulation(client, **body)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    assert (found["simulated"], found["livemode"]) == (True, False)
    return found


async def simulate_event(client: Client, name: str = "alias.created", **members: Any) -> Json:
    """Simulate an event."""
    return await simulate(client, type="event", event=name, **members)


def list_errors(answer: httpx.Response) -> set[tuple[str, str]]:
    """Return location and type of the errors of a body."""
    assert answer.status_code == 422, answer.text
    return {(".".join(map(str, each["loc"])), each["type"]) for each in answer.json()["detail"]}


async def count_rows(conn: Conn, account_id: UUID) -> dict[str, tuple[int, str]]:
    """Return the number and a digest of the account's rows in each table."""
    tables = [name for (name,) in await (await conn.execute(TABLES)).fetchall()]
    found = {}
    for table in tables:
        query = sql.SQL(
            "SELECT count(*), coalesce(md5(string_agg(said, ',' ORDER BY said)), '')"
            " FROM (SELECT (to_jsonb(row) - 'last_used_at')::text AS said FROM {} AS row"
            " WHERE account_id = %s) AS rows"
        ).format(sql.Identifier(table))
        counted = await (await conn.execute(query, (account_id,))).fetchone()
        assert counted is not None
        if counted[0]:
            found[table] = (counted[0], counted[1])
    return found
