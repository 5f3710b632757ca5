"""The schema can be sharded by account, by the rules of Citus: the tenant is in every key.

A table without it is placed as a whole, or by a column of its own (`migrations/placement.toml`). What then asks
another shard is listed, with what replaces it.

Sources: https://docs.citusdata.com/en/stable/develop/reference_ddl.html (keys),
https://github.com/citusdata/citus/pull/5705 (triggers act on rows of their shard).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import psycopg
from psycopg.rows import class_row

from builders.kit.db.placement import NODE, OF_ACCOUNTS, TENANT, Place, load, place_of

Listed = Mapping[str, tuple[Place, str]]

# Keys, triggers and columns that would ask another shard, with what replaces them in a sharded database. A
# transaction of two shards (two-phase commit) writes the row of a look-up with the row that it leads to.
_LOOK_UP = "falls away: one transaction writes and deletes both rows, and a look-up without a row finds nothing"
CROSSING: Mapping[str, str] = {
    "invoices_numbers: the foreign key to invoices_invoices (account_id, invoice_id)": _LOOK_UP,
    "portfolio_renewals_tokens: the foreign key to portfolio_renewals_calendars (account_id, member_id)": _LOOK_UP,
    "profile_tokens: the foreign key to profile_profiles (account_id)": _LOOK_UP,
    "aliases_links: the foreign key to aliases_destinations (account_id, email)": _LOOK_UP,
    "aliases: the column changed_in has ids of transactions": (
        "falls away with `builders aliases export --since`: then the mail server asks (decision 0031)"
    ),
}

# Statements that use rows of two shards, by the table that is not in the account's.
ACROSS: Mapping[str, Sequence[str]] = {
    "aliases_links": ["aliases/store/aliases.py:clear"],
    "aliases_lookups": [
        "aliases/store/lookups.py:write_names",
        *(f"forwarding/store.py:{each}" for each in ("list_lookup_keys", "list_wrong", "repair")),
        "forwarding/store.py:list_further_tables",
    ],
    "aliases_names": ["aliases/store/aliases.py:clear"],
    "aliases_readers": [f"aliases/store/destinations.py:{name}" for name in ("POSTPONE", "record_bounce")],
    "aliases_skeletons": ["aliases/store/aliases.py:clear"],
    "catalog_daily": ["catalog/store.py:ROLL_UP", "catalog/store.py:find_last_day"],
    "catalog_event_keys": ["catalog/store.py:INSERT_EVENTS"],
    "domains_holders": ["domains/store.py:clear"],
    "forwarding_reverse_names": ["forwarding/store.py:add_correspondent"],
    "portfolio_renewals_tokens": ["portfolio/renewals/store.py:add_calendar"],
    "portfolio_team_tokens": ["portfolio/team/store.py:upsert_invite"],
    "procrastinate_jobs": ["backup/store.py:count_open"],
    "profile_tokens": ["profile/store.py:find_sent"],
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
        ) AS foreign_keys,
        ARRAY(
            SELECT conname::text FROM pg_constraint WHERE conrelid = owner.oid AND condeferred ORDER BY 1
        ) AS deferred,
        EXISTS (SELECT FROM pg_index WHERE indrelid = owner.oid AND indisprimary) AS has_primary_key,
        ARRAY(
            SELECT confrelid::regclass || ' (' || (
                SELECT string_agg(attname, ', ' ORDER BY place)
                FROM unnest(conkey) WITH ORDINALITY AS part (number, place)
                JOIN pg_attribute ON attrelid = owner.oid AND attnum = number
            ) || ')'
            FROM pg_constraint
            WHERE conrelid = owner.oid AND contype = 'f' AND conparentid = 0 AND confdeltype IN ('n', 'd')
            ORDER BY 1
        ) AS clearing_keys,
        ARRAY(
            SELECT ARRAY[tgname::text, prosrc] FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
            WHERE tgrelid = owner.oid AND NOT tgisinternal AND tgparentid = 0 ORDER BY 1
        ) AS triggers,
        ARRAY(
            SELECT attname::text FROM pg_attribute
            WHERE attrelid = owner.oid AND attnum > 0 AND atttypid IN ('xid'::regtype, 'xid8'::regtype) ORDER BY 1
        ) AS transaction_ids
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
    deferred: Sequence[str] = field(default_factory=list)  # constraints that are checked at the commit
    has_primary_key: bool = True
    clearing_keys: Sequence[str] = field(default_factory=list)  # foreign keys with ON DELETE SET NULL or DEFAULT
    triggers: Sequence[Sequence[str]] = field(default_factory=list)  # each its name and the text of its function
    transaction_ids: Sequence[str] = field(default_factory=list)  # columns


def read(conn: psycopg.Connection, schema: str = "public") -> list[Table]:
    """Return the tables of a schema."""
    with conn.cursor(row_factory=class_row(Table)) as cursor:
        return cursor.execute(READ, {"tenant": TENANT, "schema": schema}).fetchall()


def columns(key: str) -> set[str]:
    """Return the columns of a key in the form of `read`."""
    return set(key[key.index("(") + 1 : -1].split(", "))


def untenanted(tables: Sequence[Table], listed: Listed | None = None) -> Iterator[str]:
    """Yield tables whose rows have no shard: without the column by which they are sharded, also in a key."""
    for table in tables:
        place = place_of(table.name, listed)
        if place.by is None:
            continue
        if place == OF_ACCOUNTS and not table.has_tenant:
            yield f"{table.name}: has no {TENANT} that is never null"
        if not table.unique_keys:
            yield f"{table.name}: has no key"
        for key in table.unique_keys:
            if place.by not in columns(key):
                yield f"{table.name}: the unique key {key} is without {place.by}"


def crossing(tables: Sequence[Table], listed: Listed | None = None) -> Iterator[str]:
    """Yield what needs rows of another shard, or the transaction ids of another server."""
    places = {table.name: place_of(table.name, listed) for table in tables}
    for table in tables:
        place = places[table.name]
        for key in table.foreign_keys:
            target = places[key.partition(" ")[0]]
            if not place.is_beside(target) or (target == OF_ACCOUNTS and TENANT not in columns(key)):
                yield f"{table.name}: the foreign key to {key}"
        for name in table.deferred:
            yield f"{table.name}: the constraint {name} waits for the commit"
        for trigger, function in table.triggers:
            used = places.keys() & set(re.findall(r"\w+", function))
            for target_name in sorted(used):
                if not place.is_beside(places[target_name]):
                    yield f"{table.name}: the trigger {trigger} uses {target_name}"
        if place != NODE:
            for column in table.transaction_ids:
                yield f"{table.name}: the column {column} has ids of transactions"


def find_across(statement: str, tables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each table of a statement that is not beside those of accounts, if it has any, with the statement."""
    places = {table: place for table in tables if not (place := place_of(table)).copied}
    home = OF_ACCOUNTS if OF_ACCOUNTS in places.values() or not places else places[max(places)]
    yield from ((table, statement) for table, place in places.items() if place != home)


def unused(tables: Sequence[Table], listed: Listed | None = None) -> list[str]:
    """Return listed names without a table."""
    return [
        name
        for name, entry in (load() if listed is None else listed).items()
        if all(place_of(table.name, {name: entry}) == OF_ACCOUNTS for table in tables)
    ]
