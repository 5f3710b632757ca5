"""A look-up reads few rows by their keys, with any number of names and domains, and with wrong estimates."""

import json
from datetime import date

import psycopg
import pytest

from builders.aliases.store import lookups
from builders.forwarding import role, store
from builders.forwarding.recipients import Recipients
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings

LOOK_UPS = 50
BLOCKS = 12  # of a look-up: two rows by indexes with up to four levels
SEED = """
    CREATE TEMP TABLE seeds ON COMMIT DROP AS
    SELECT n, gen_random_uuid() AS id, gen_random_uuid() AS account_id FROM generate_series(1, 20000) AS n;
    INSERT INTO aliases_lookups (domain, name, account_id, is_shared, separator_policy, leads_to, destinations)
    SELECT 'plan' || n || '.example', '', account_id, false, 'ignore_dots', 'example.net',
           ARRAY['to' || n || '@example.net'] FROM seeds;
    INSERT INTO aliases_lookups (domain, name, account_id, alias_id, is_claimed, destinations, block)
    SELECT 'plan1.example', 'n' || n, account_id, id, true, ARRAY['to' || n || '@example.net'], '{spam.example}'
    FROM seeds;
"""
RESULTS = """
    INSERT INTO forwarding_results (account_id, alias_id, id, queue_id, destination, outcome, code, created_at, at)
    SELECT account_id, id, gen_random_uuid(), 'q' || n, 'to@example.net', 'forwarded', '2.0.0', now(), now()
    FROM seeds;
    INSERT INTO forwarding_days
    SELECT account_id, id, '2026-01-05', 1, 1, 1, 1, 1, now() FROM seeds;
    INSERT INTO forwarding_bounces
    SELECT account_id, 'to@example.net', '{a}', '2026-01-05', '2026-01-05' FROM seeds;
    INSERT INTO forwarding_returns SELECT 'mx1', 'q' || n, account_id, id, true, now() FROM seeds;
"""


@pytest.mark.parametrize("is_analyzed", [False, True])
async def test_a_look_up_reads_few_blocks(
    conninfo: str, settings: Settings, recipients: Recipients, *, is_analyzed: bool
) -> None:
    assert recipients  # which created the role
    names = [f"n{n * 7 + 1}" for n in range(LOOK_UPS)]
    domains = ["plan1.example" if n % 2 else f"plan{n + 2}.example" for n in range(LOOK_UPS)]
    entries = ["any@spam.example spam.example"] * LOOK_UPS
    row = {"domains": domains, "names": names, "without_dots": names, "bare": names, "entries": entries}
    database = Database(conninfo, settings, role=role.NAME)  # with the parameters of the look-up server
    await database.open()
    async with database.transaction(force_rollback=True) as conn:
        await conn.execute("SET LOCAL ROLE NONE")
        await conn.execute(SEED)
        if is_analyzed:
            await conn.execute("ANALYZE aliases_lookups")
        cursor = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {lookups.list_routes.text}", row)
        ((found,),) = await cursor.fetchall()
        routes = await lookups.list_routes(conn, **row)
    await database.close()
    plan = found[0]["Plan"]
    assert len(routes) == LOOK_UPS
    assert sum(bool(each.is_refused) for each in routes.values()) == LOOK_UPS // 2
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= LOOK_UPS * BLOCKS, json.dumps(plan)


@pytest.mark.parametrize("is_analyzed", [False, True])
def test_a_batch_of_the_log_reads_few_blocks(conninfo: str, *, is_analyzed: bool) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute(SEED + RESULTS)
        if is_analyzed:
            conn.execute("ANALYZE forwarding_results, forwarding_days, forwarding_bounces, forwarding_returns")
        conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        chosen = conn.execute("SELECT account_id, id, n FROM seeds LIMIT %s", [LOOK_UPS]).fetchall()
        account_ids, alias_ids, numbers = map(list, zip(*chosen, strict=True))
        row = {
            "host": "mx1",
            "account_ids": account_ids,
            "alias_ids": alias_ids,
            "queue_ids": [f"q{n}" for n in numbers],
            "days": [date(2026, 1, 5)] * LOOK_UPS,
            "emails": ["to@example.net"] * LOOK_UPS,
        }
        plans = [
            conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {each.text}", row).fetchall()[0][0][0]["Plan"]
            for each in (
                *(store.list_results_of_messages, store.list_result_counts),
                *(store.list_bounces, store.load_returns),
            )
        ]
        conn.rollback()
    for plan in plans:
        assert plan["Actual Rows"] == LOOK_UPS
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= LOOK_UPS * 10, json.dumps(plan)
