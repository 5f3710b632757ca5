"""`builders funnel`: what visitors did, domain by domain."""

import json

import psycopg

from tests.catalog.make import fresh
from tests.cli.conftest import Cli

TELL = """
    INSERT INTO catalog_events (id, created_at, occurred_at, kind, domain, session_id, utm, metadata,
                                is_machine, agent)
    SELECT gen_random_uuid(), now(), now(), %s, %s, 'session-' || n, '{}', '{}', n > 3, 'browser'
    FROM generate_series(1, 4) AS n
"""


def tell(conninfo: str, domain: str) -> None:
    with psycopg.connect(conninfo) as conn:
        for kind in ("view", "claim"):
            conn.execute(TELL, [kind, domain])


def test_shows_the_newest_sums(builders: Cli, conninfo: str) -> None:
    domain = fresh("funnel")
    tell(conninfo, domain)

    shown = builders("funnel", "--domain", domain)
    assert shown.exit_code == 0
    head, row = shown.stdout.splitlines()
    assert head.split()[:3] == ["domain", "views", "checks"]
    assert row.split() == [domain, "3", "0", "0", "3", "0", "6", "2"]


def test_prints_json_for_programs(builders: Cli, conninfo: str) -> None:
    domain = fresh("funnel")
    tell(conninfo, domain)
    [line] = json.loads(builders("funnel", "--domain", domain.upper(), "--days", "1", "--json").stdout)
    assert (line["domain"], line["views"], line["claims"], line["machines"]) == (domain, 3, 3, 2)


def test_says_when_nobody_was_there(builders: Cli) -> None:
    assert builders("funnel", "--domain", fresh()).stdout == "Nobody was here.\n"


def test_what_is_no_domain_is_said(builders: Cli) -> None:
    refused = builders("funnel", "--domain", "no domain")
    assert refused.exit_code == 1
    assert "no domain" in refused.stderr
