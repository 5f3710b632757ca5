"""Each table is of accounts, so that an erasure finds its rows, or has none of them for a reason."""

from pathlib import Path

import psycopg

from builders.kit.db import account_tables, placement

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "retention.md"
# Tables without `account_id`: what an erasure does with what they may hold of an account.
OTHERS = {
    "aliases_quarantines": "hashes of names, which an erasure adds",
    "aliases_readers": "an erasure deletes those of the destinations of the account",
    "aliases_salts": "no data of accounts",
    "catalog_categories": "no data of accounts",
    "catalog_daily": "sums",
    "catalog_domains": "no data of accounts",
    "catalog_event_keys": "visitors, who have no account",
    "catalog_events": "visitors, who have no account",
    "domains_dkim_keys": "an erasure deletes those of the domains that the account held",
    "forwarding_logs": "positions in files",
    "identity_accounts": "an erasure replaces address and name",
    "identity_issuer_sign_ins": "used ids",
    "identity_oauth_requests": "they arrive without an account, and end within the hour",
    "invoices_series": "the last numbers",
    "kit_migrations": "no data of accounts",
    "kit_partitioned": "no data of accounts",
    "kit_quotas": "ids of keys and accounts, until the window ends",
    "kit_releases": "no data of accounts",
    "kit_restores": "no data of accounts",
    "kit_secret_keys": "no data of accounts",
    "mail_optouts": "wishes of addresses, sealed: they prevent further email",
    "portfolio_domains_rdap_servers": "no data of accounts",
    "portfolio_domains_rdap_services": "no data of accounts",
    "portfolio_ledger_rates": "no data of accounts",
    "probes_writes": "always empty",
    "tracking_losses": "sums",
}
TABLES = """
    SELECT relname::text FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace
"""


async def test_each_table_is_erased_or_listed(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        names = {name for (name,) in await (await conn.execute(TABLES)).fetchall()}
        erased = {each.name for each in await account_tables.load(conn)}
    others = {name for name in names - erased if not name.startswith("procrastinate_")}
    assert sorted(others ^ {name for name, why in OTHERS.items() if why}) == []


def test_the_page_has_each_table() -> None:
    listed = {line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")}
    assert {"identity_keys", "identity_audit", "invoices_invoices"} <= listed
    assert {name for name, why in OTHERS.items() if why} - {"kit_migrations"} <= listed
    assert placement.load()
