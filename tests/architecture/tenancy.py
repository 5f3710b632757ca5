"""Whether the schema can be spread over machines by account: the tenant is in every key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

TENANT = "account_id"
# Tables whose keys do without the tenant, and why; a star stands for the rest of a name.
GLOBAL: Mapping[str, str] = {
    "procrastinate_*": "the job queue's own; its arguments are ids only",
    "kit_migrations": "book-keeping of the schema itself",
    "probes_writes": "always empty: readiness writes to it and rolls back",
    "kit_outbox_pending": "events of all accounts that wait to be published; rows live for milliseconds",
    "identity_accounts": "the tenant itself: its id is everyone's account_id",
    "identity_key_ids": "a key arrives without its account",
    "identity_grant_ids": "a grant arrives without its account",
    "identity_sign_ins": "somebody asks with an address, which may be no account's",
    "identity_identities": "a token of another issuer arrives without its account",
    "mail_optouts": "an opt-out is of a reader's address, whichever account writes to it",
    "catalog_*": "reference data of the vendor, the same for all",
    "portfolio_ledger_rates": "exchange rates are reference data, the same for all",
    "portfolio_domains_rdap_*": "servers of the registries, the same for all",
    "portfolio_renewals_tokens": "a calendar is requested without its account",
    "portfolio_team_tokens": "a mailed link arrives without its account",
    "profile_tokens": "a mailed link arrives without its account",
    "invoices_series": "numbers have no gaps across all accounts, as tax offices ask",
    "invoices_numbers": "a bank transfer names a number, and nobody's account",
    "invoices_stripe_events": "an event of Stripe arrives without its account, and may be of none of ours",
    "aliases_names": "a name is unique in its realm, whoever claims it",
    "aliases_skeletons": "as above, for names that look alike",
    "aliases_links": "a mailed link arrives without its account",
    "aliases_readers": "who reads an address is not to be flooded, by however many accounts",
    "domains_holders": "a domain has one holder in its realm, whoever proved it first",
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
    """A table as its tenant sees it; partitions are their parent's."""

    name: str
    has_tenant: bool  # and never null
    unique_keys: Sequence[str]  # each `index (column, column)`
    foreign_keys: Sequence[str]  # each `target (column, column)`


def read(conn: psycopg.Connection, schema: str = "public") -> list[Table]:
    """The tables of a schema."""
    with conn.cursor(row_factory=class_row(Table)) as cursor:
        return cursor.execute(READ, {"tenant": TENANT, "schema": schema}).fetchall()


def is_listed(table: str, listed: Mapping[str, str]) -> bool:
    """Whether a table stands in the list, by its name or by the beginning of it."""
    return any(table == each or (each[-1] == "*" and table.startswith(each[:-1])) for each in listed)


def columns(key: str) -> set[str]:
    """The columns of a key as `read` gives it."""
    return set(key[key.index("(") + 1 : -1].split(", "))


def untenanted(tables: Sequence[Table], listed: Mapping[str, str] = GLOBAL) -> Iterator[str]:
    """Every tenant table has its account, and so has each of its unique and foreign keys.

    A foreign key to a listed table needs none, for that table is not spread by account.
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
    """Listed names that no table bears."""
    return [each for each in listed if not any(is_listed(table.name, {each: ""}) for table in tables)]
