"""The schema can be sharded by account: the tenant is in every key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

TENANT = "account_id"
# Tables whose keys lack the tenant, with the reason; a star is the rest of a name.
GLOBAL: Mapping[str, str] = {
    "procrastinate_*": "tables of the job queue; arguments are ids only",
    "kit_migrations": "the applied migrations",
    "probes_writes": "always empty: readiness writes to it and rolls back",
    "identity_accounts": "the tenant itself: its id is the account_id of other tables",
    "identity_key_ids": "a key arrives without its account",
    "identity_grant_ids": "a grant arrives without its account",
    "identity_sign_ins": "a sign-in has an address, which may belong to no account",
    "identity_issuer_sign_ins": "a sign-in at an issuer is used up before its account is known",
    "identity_devices_requests": "a machine asks without an account",
    "identity_identities": "a token of another issuer arrives without its account",
    "mail_optouts": "an opt-out belongs to an address, for the mail of all accounts",
    "catalog_*": "reference data of the vendor, the same for all",
    "portfolio_ledger_rates": "exchange rates are reference data, the same for all",
    "portfolio_domains_rdap_*": "servers of the registries, the same for all",
    "portfolio_renewals_tokens": "a calendar is requested without its account",
    "portfolio_team_tokens": "a mailed link arrives without its account",
    "profile_tokens": "a mailed link arrives without its account",
    "invoices_series": "numbers have no gaps across all accounts, as tax law requires",
    "invoices_numbers": "a bank transfer has a number and no account",
    "invoices_stripe_events": "an event of Stripe arrives without its account",
    "aliases_names": "a name is unique in its realm, across accounts",
    "aliases_skeletons": "confusable names are unique in their realm, across accounts",
    "aliases_links": "a mailed link arrives without its account",
    "aliases_readers": "the mail to an address is limited across accounts",
    "domains_holders": "a domain has one holder in its realm, across accounts",
    "forwarding_reverse_names": "a reverse address arrives without its account",
    "forwarding_logs": "how far the log of a mail server is read",
    "forwarding_returns": "a message in the log has a queue id and no account",
    "domains_dkim_keys": "a domain has its keys whoever holds it",
}

READ = """
    SELECT
        owner.relname AS name,
        EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = owner.oid AND attname = %(tenant)s AND attnotnull AND NOT attisdropped
        ) AS has_tenant,
        ARRAY(
            SELECT unique_key.relname || ' (' || (
                SELECT string_agg(coalesce(attname, 'expression'), ', ' ORDER BY place)
                FROM unnest(indkey[:indnkeyatts - 1]) WITH ORDINALITY AS part (number, place)
                LEFT JOIN pg_attribute ON attrelid = owner.oid AND attnum = number AND number > 0
            ) || ')'
            FROM pg_index JOIN pg_class AS unique_key ON unique_key.oid = indexrelid
            WHERE indrelid = owner.oid AND indisunique ORDER BY 1
        ) AS unique_keys,
        ARRAY(
            SELECT confrelid::regclass || ' (' || (
                SELECT string_agg(attname, ', ' ORDER BY place)
                FROM unnest(conkey) WITH ORDINALITY AS part (number, place)
                JOIN pg_attribute ON attrelid = owner.oid AND attnum = number
            ) || ')'
            FROM pg_constraint WHERE conrelid = owner.oid AND contype = 'f' AND conparentid = 0 ORDER BY 1
        ) AS foreign_keys
    FROM pg_class AS owner
    WHERE relnamespace = %(schema)s::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    ORDER BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table and its keys, without its partitions."""

    name: str
    has_tenant: bool  # and never null
    unique_keys: Sequence[str]  # each `index (column, column)`
    foreign_keys: Sequence[str]  # each `target (column, column)`


def read(conn: psycopg.Connection, schema: str = "public") -> list[Table]:
    """Return the tables of a schema."""
    with conn.cursor(row_factory=class_row(Table)) as cursor:
        return cursor.execute(READ, {"tenant": TENANT, "schema": schema}).fetchall()


def is_listed(table: str, listed: Mapping[str, str]) -> bool:
    """Return whether the list has the table, by its name or its prefix."""
    return any(table == each or (each[-1] == "*" and table.startswith(each[:-1])) for each in listed)


def columns(key: str) -> set[str]:
    """Return the columns of a key in the form of `read`."""
    return set(key[key.index("(") + 1 : -1].split(", "))


def untenanted(tables: Sequence[Table], listed: Mapping[str, str] = GLOBAL) -> Iterator[str]:
    """Yield tenant tables without an account, and their unique and foreign keys without it.

    A foreign key to a listed table needs none, since that table is not sharded.
    """
    for table in tables:
        if is_listed(table.name, listed):
            continue
        if not table.has_tenant:
            yield f"{table.name}: has no {TENANT} that is never null"
        if not table.unique_keys:
            yield f"{table.name}: has no key"
        for key in table.unique_keys:
            if TENANT not in columns(key):
                yield f"{table.name}: the unique key {key} is without {TENANT}"
        for key in table.foreign_keys:
            if TENANT not in columns(key) and not is_listed(key.partition(" ")[0], listed):
                yield f"{table.name}: the foreign key to {key} is without {TENANT}"


def unused(tables: Sequence[Table], listed: Mapping[str, str] = GLOBAL) -> list[str]:
    """Return listed names without a table."""
    return [each for each in listed if not any(is_listed(table.name, {each: ""}) for table in tables)]
