"""A look-up reads few rows by their keys, with any number of names and domains, and with wrong estimates."""

import json

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
        routes, refusals = (
            conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {each.text}", row).fetchall()[0][0][0]["Plan"]
            for each in (store.list_routes, store.list_refusals)
        )
        conn.rollback()
    assert (routes["Actual Rows"], refusals["Actual Rows"]) == (LOOK_UPS, LOOK_UPS // 2)
    for plan in (routes, refusals):
        read = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        assert read <= LOOK_UPS * BLOCKS, json.dumps(plan)
