"""A look-up reads few rows by their keys, with any number of names and domains, and with wrong estimates."""

import json
from datetime import date

import psycopg
import pytest

from builders.forwarding import store

LOOK_UPS = 50
BLOCKS = 40  # of a look-up: about ten indexes with up to four levels
SEED = """
    CREATE TEMP TABLE seeds ON COMMIT DROP AS
    SELECT n, gen_random_uuid() AS id, gen_random_uuid() AS account_id FROM generate_series(1, 3000) AS n;
    INSERT INTO domains_holders (realm, domain, account_id, domain_id)
    SELECT '00000000-0000-0000-0000-000000000000', 'plan' || n || '.example', account_id, id FROM seeds;
    INSERT INTO aliases (account_id, id, domain, local_part, key, status, price_amount, price_currency,
                         price_interval, claimed_at, updated_at, block)
    SELECT account_id, id, 'plan1.example', 'n' || n, 'n' || n, 'active', 0, 'USD', 'once', now(), now(),
           '{spam.example}'
    FROM seeds;
    INSERT INTO aliases_names (realm, domain, key, skeleton, account_id, alias_id, state)
    SELECT '00000000-0000-0000-0000-000000000000', 'plan1.example', 'n' || n, 'n', account_id, id, 'claimed'
    FROM seeds;
    INSERT INTO aliases_destinations (account_id, email, verified_at, created_at)
    SELECT account_id, 'to' || n || '@example.net', now(), now() FROM seeds;
    INSERT INTO aliases_forwards (account_id, alias_id, position, email)
    SELECT account_id, id, 0, 'to' || n || '@example.net' FROM seeds;
    INSERT INTO aliases_catch_alls (account_id, domain, email)
    SELECT account_id, 'plan' || n || '.example', 'to' || n || '@example.net' FROM seeds;
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
ANALYZE = (
    "ANALYZE aliases, aliases_names, aliases_destinations, aliases_forwards, aliases_catch_alls, domains_holders"
)


@pytest.mark.parametrize("is_analyzed", [False, True])
def test_a_look_up_reads_few_blocks(conninfo: str, *, is_analyzed: bool) -> None:
    names = [f"n{n * 7 + 1}" for n in range(LOOK_UPS)]
    domains = ["plan1.example" if n % 2 else f"plan{n + 2}.example" for n in range(LOOK_UPS)]
    row = {"domains": domains, "names": names, "without_dots": names, "bare": names}
    row["entries"] = ["any@spam.example spam.example"] * LOOK_UPS
    with psycopg.connect(conninfo) as conn:
        conn.execute(SEED)
        if is_analyzed:
            conn.execute(ANALYZE)
        conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        routes, refusals, recipients = (
            conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {each.text}", row).fetchall()[0][0][0]["Plan"]
            for each in (store.list_routes, store.list_refusals, store.list_recipients)
        )
        conn.rollback()
    assert [each["Actual Rows"] for each in (routes, refusals, recipients)] == [LOOK_UPS, LOOK_UPS // 2, LOOK_UPS]
    for plan in (routes, refusals, recipients):
        read = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        assert read <= LOOK_UPS * BLOCKS, json.dumps(plan)


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
