"""A database on several nodes, by the extension Citus: its tables and its time limits (decision 0058).

A step is a transaction and follows from what is there, so the next run continues one that was ended. Foreign keys
that wait for their tables are in the table kit_foreign_keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import class_row

from builders.kit.db import placement, rights
from builders.kit.db.placement import COPIED, NODE

LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")

TO_NODES = "SET LOCAL citus.propagate_set_commands = 'local'"  # without Citus a variable that nobody reads
HAS_CITUS = "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL"
# Without its own address the coordinator gets no copies, and joins none with its tables.
GET_NODES = """
    SELECT coalesce(bool_or(groupid = 0), false), coalesce(bool_or(groupid <> 0 AND shouldhaveshards), false)
    FROM pg_dist_node WHERE noderole = 'primary' AND isactive
"""
HAS_SERVICE = """
    SELECT EXISTS (
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'builders'
    )
"""
# The tables of the service belong to the owner of kit_migrations. `t` is a copied one. A local table that refers
# to a copied one is in the catalog of Citus too.
TABLES = """
    WITH installed AS (SELECT relowner, relnamespace FROM pg_class WHERE oid = to_regclass('kit_migrations'))
    SELECT relname::text AS name, coalesce(partmethod = 'h' OR repmodel = 't', false) AS is_placed,
        (
            SELECT jsonb_object_agg(attname, format_type(atttypid, NULL)) FROM pg_attribute
            WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
        ) AS columns
    FROM pg_class JOIN installed USING (relowner, relnamespace)
    LEFT JOIN pg_dist_partition ON logicalrelid = pg_class.oid
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'kit_foreign_keys' ORDER BY 1
"""
KEYS = """
    SELECT source.relname::text AS source, target.relname::text AS target,
        format('ALTER TABLE %%I DROP CONSTRAINT %%I', source.relname, conname) AS dropped,
        format(
            'ALTER TABLE %%I ADD CONSTRAINT %%I %%s', source.relname, conname, pg_get_constraintdef(of_key.oid)
        ) AS added
    FROM pg_constraint AS of_key
    JOIN pg_class AS source ON source.oid = conrelid JOIN pg_class AS target ON target.oid = confrelid
    WHERE contype = 'f' AND conparentid = 0 AND source.relname = ANY(%s) ORDER BY 1, conname
"""
HAS_KEPT = "SELECT to_regclass('kit_foreign_keys') IS NOT NULL"
KEEP = "CREATE TABLE kit_foreign_keys (source text, target text, dropped text, added text)"
KEPT = "SELECT source, target, dropped, added FROM kit_foreign_keys ORDER BY 1, 4"
DROP = "DROP TABLE kit_foreign_keys"
# The owner of the tables, and those to whom it has granted some.
ROLES = """
    SELECT DISTINCT grantee::text FROM information_schema.role_table_grants
    WHERE table_schema = current_schema() AND grantee <> 'PUBLIC' ORDER BY 1
"""
NODES = """
    SELECT nodename || ':' || nodeport AS name, CASE WHEN success THEN result::jsonb END AS state
    FROM run_command_on_all_nodes($$
        SELECT jsonb_build_object(
            'prepared', current_setting('max_prepared_transactions')::int,
            'oldest', (
                SELECT extract(epoch FROM min(prepared)) FROM pg_prepared_xacts WHERE database = current_database()
            ),
            'limits', (
                SELECT coalesce(jsonb_object_agg(rolname, setconfig), '{}') FROM pg_db_role_setting
                JOIN pg_roles ON pg_roles.oid = setrole JOIN pg_database ON pg_database.oid = setdatabase
                WHERE datname = current_database()
            )
        )
    $$) JOIN pg_dist_node USING (nodeid) ORDER BY 1
"""
# Shards of one range of values are moved together.
BYTES = """
    WITH moved AS (
        SELECT nodename, nodeport, sum(shard_size) AS size FROM citus_shards JOIN pg_dist_shard USING (shardid)
        WHERE citus_table_type = 'distributed' GROUP BY nodename, nodeport, colocation_id, shardminvalue
    )
    SELECT nodename || ':' || nodeport AS name, coalesce(sum(size), 0)::bigint AS size,
        coalesce(max(size), 0)::bigint AS largest
    FROM pg_dist_node LEFT JOIN moved USING (nodename, nodeport)
    WHERE noderole = 'primary' AND shouldhaveshards GROUP BY 1 ORDER BY 1
"""
# Citus itself sends this to the nodes only for a role that was created in this database.
LIMIT = "ALTER ROLE {} IN DATABASE {} SET {} = {}"
EACH_NODE = "SELECT result FROM run_command_on_all_nodes({}) WHERE NOT success"
HERE = "SET citus.enable_ddl_propagation = off"
PLACE = "SELECT create_distributed_table({}, {}, colocate_with => {})"
COPY = "SELECT create_reference_table({})"
# Rows that were copied to shards are still in the local table, where no statement sees them.
CLEAR = "SELECT truncate_local_data_after_distributing_table({})"
PUT_BACK = "DELETE FROM kit_foreign_keys WHERE added = {}"
NOTE = "INSERT INTO kit_foreign_keys VALUES ({}, {}, {}, {})"


class CannotDistribute(Exception):
    """The database cannot be distributed, or is so in part; the message says why and what to do."""

    def __init__(self, reason: str, next_action: str) -> None:
        super().__init__(f"{reason} {next_action}")
        self.reason, self.next_action = reason, next_action


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the service, without its partitions."""

    name: str
    is_placed: bool  # in shards, or copied
    columns: Mapping[str, str]  # types by name

    @property
    def is_open(self) -> bool:
        """Return whether it is still to be placed."""
        return not self.is_placed and placement.place_of(self.name) != NODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A foreign key, with the statements that drop and add it."""

    source: str
    target: str
    dropped: str
    added: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A server of the cluster."""

    name: str  # HOST:PORT
    state: Mapping[str, Any] | None  # None: it does not respond


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a node has of the distributed tables."""

    name: str  # HOST:PORT
    size: int  # bytes
    largest: int  # ... of the shards that are moved together


Step = Sequence[str]  # statements of a transaction


def lift_limits(conn: psycopg.Connection) -> None:
    """Let the statements of this transaction take as long as they need, on each node."""
    conn.execute(TO_NODES)
    for name in LIMITS:
        conn.execute(sql.SQL("SET LOCAL {} = 0").format(sql.Identifier(name)))


def has_citus(conn: psycopg.Connection) -> bool:
    """Return whether the database has the extension."""
    return conn.execute(HAS_CITUS).fetchone() == (True,)


def read_tables(conn: psycopg.Connection) -> list[Table]:
    """Return the tables of the service in a database with the extension."""
    with conn.cursor(row_factory=class_row(Table)) as cursor:
        return cursor.execute(TABLES).fetchall()


def read_nodes(conn: psycopg.Connection) -> list[Node]:
    """Return the state of each node."""
    with conn.cursor(row_factory=class_row(Node)) as cursor:
        return cursor.execute(NODES).fetchall()


def read_shares(conn: psycopg.Connection) -> list[Share]:
    """Return what each node has."""
    with conn.cursor(row_factory=class_row(Share)) as cursor:
        return cursor.execute(BYTES).fetchall()


def list_unlimited(
    conn: psycopg.Connection, nodes: Sequence[Node], limits: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return each role with a node that does not limit its times so."""
    wanted = {f"{name}={limits[name]}" for name in LIMITS}
    roles = [name for (name,) in conn.execute(ROLES).fetchall()]
    answers = [(each.name, each.state["limits"]) for each in nodes if each.state is not None]
    return [(role, name) for role in roles for name, held in answers if wanted - set(held.get(role, ()))]


def require_whole(conninfo: str) -> None:
    """Raise CannotDistribute if a run of `distribute` was ended and not continued."""
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        tables = read_tables(conn) if has_citus(conn) else []
        is_begun = any(each.is_placed for each in tables) or _has_kept(conn)
        if is_begun and (_has_kept(conn) or any(each.is_open for each in tables)):
            raise CannotDistribute("The tables are distributed in part.", "Continue by `builders distribute`.")


def place_new(conn: psycopg.Connection) -> None:
    """Place the tables that a migration creates, in its transaction, where the others are distributed."""
    tables = read_tables(conn) if has_citus(conn) else []
    if any(each.is_placed for each in tables):
        for statement in (each for step in _place(tables) for each in step):
            conn.execute(statement.encode())


def plan(conn: psycopg.Connection, limits: Mapping[str, str]) -> list[Step]:
    """Return what is left to do. Raise CannotDistribute where nothing can be done, and RightMissing."""
    rights.get(conn).require(of_owner=True)
    _require_nodes(conn)
    tables, has_kept = read_tables(conn), _has_kept(conn)
    names = {each.name for each in tables if each.is_open}
    with conn.cursor(row_factory=class_row(Key)) as cursor:
        kept = cursor.execute(KEPT).fetchall() if has_kept else []
        found = cursor.execute(KEYS, [[each.name for each in tables]]).fetchall()
    waiting = [each for each in found if {each.source, each.target} & names]
    steps: list[Step] = [] if has_kept or not waiting else [[KEEP]]
    steps += [[text for key in waiting for text in _take_off(key)]] if waiting else []
    steps += [*_place(tables), *(_put_back(key) for key in (*kept, *waiting))]
    steps += [[DROP]] if has_kept or waiting else []
    roles = dict.fromkeys(role for role, _ in list_unlimited(conn, read_nodes(conn), limits))
    return steps + [[_limit(conn.info.dbname, role, limits)] for role in roles]


def distribute(conn: psycopg.Connection, steps: Sequence[Step]) -> None:
    """Run the steps. Raise CannotDistribute while a service runs, for invalid rows and for a missing right."""
    for step in steps:
        if conn.execute(HAS_SERVICE).fetchone() == (True,):
            action = "Stop all its processes, on each machine; then run `builders distribute` again."
            raise CannotDistribute("The service uses the database.", action)
        try:
            with conn.transaction():
                lift_limits(conn)
                for statement in step:
                    _run(conn, statement)
        except psycopg.errors.IntegrityError as error:
            found = error.diag
            reason = f"Rows of {found.table_name} break {found.constraint_name}: {found.message_detail}"
            raise CannotDistribute(reason, "Correct them; then run `builders distribute` again.") from None
        except psycopg.errors.InsufficientPrivilege as error:
            reason = f"The role {conn.info.user} lacks a right: {error.diag.message_primary}."
            raise CannotDistribute(reason, f"As an administrator: {'; '.join(step)}.") from None


def _run(conn: psycopg.Connection, statement: str) -> None:
    """Raise CannotDistribute for what a node refuses: statements return this, or an empty text."""
    result = conn.execute(statement.encode())
    refused = [text for (text,) in result if text] if result.description else []
    if refused:
        raise CannotDistribute(f"A node refuses: {refused[0]}.", f"As an administrator: {statement}.")


def _has_kept(conn: psycopg.Connection) -> bool:
    return conn.execute(HAS_KEPT).fetchone() == (True,)


def _require_nodes(conn: psycopg.Connection) -> None:
    """Raise CannotDistribute unless the coordinator has its own address and worker nodes."""
    if not has_citus(conn):
        action = "As an administrator, on each node: CREATE EXTENSION citus."
        raise CannotDistribute("The database has no extension citus.", action)
    has_coordinator, has_workers = conn.execute(GET_NODES).fetchone() or (False, False)
    if not has_coordinator:
        action = "On the coordinator, as an administrator: SELECT citus_set_coordinator_host('HOST', 5432)."
        raise CannotDistribute("The coordinator does not know its own address.", action)
    if not has_workers:
        action = "On the coordinator, as an administrator, for each one: SELECT citus_add_node('HOST', 5432)."
        raise CannotDistribute("The coordinator has no worker nodes.", action)


def _take_off(key: Key) -> list[str]:
    """Return statements that check the rows of a key, note it and drop it."""
    note = _write(NOTE, *map(sql.Literal, (key.source, key.target, key.dropped, key.added)))
    return [key.dropped, key.added, note, key.dropped]


def _put_back(key: Key) -> Step:
    """Return statements that add a key, unless its rows are on several nodes: then it falls away."""
    is_possible = placement.place_of(key.source).is_beside(placement.place_of(key.target))
    return [*([key.added] if is_possible else []), _write(PUT_BACK, sql.Literal(key.added))]


def _place(tables: Sequence[Table]) -> Iterator[Step]:
    """Yield what places each open table: first the copied ones, then beside the first one of its column."""
    beside: dict[tuple[str, str], str] = {}
    for table in sorted(tables, key=lambda each: (placement.place_of(each.name) != COPIED, not each.is_placed)):
        column, name = placement.place_of(table.name).by, sql.Literal(table.name)
        placed = _write(COPY, name)
        if column is not None:
            first = beside.setdefault((column, table.columns[column]), table.name)
            with_ = sql.Literal("none" if first == table.name else first)
            placed = _write(PLACE, name, sql.Literal(column), with_)
        if table.is_open:
            yield [placed, _write(CLEAR, name)]


def _limit(database: str, role: str, limits: Mapping[str, str]) -> str:
    texts = [
        _write(LIMIT, *map(sql.Identifier, (role, database, name)), sql.Literal(limits[name])) for name in LIMITS
    ]
    return _write(EACH_NODE, sql.Literal("; ".join([HERE, *texts])))


def _write(text: LiteralString, *values: sql.Composable) -> str:
    return sql.SQL(text).format(*values).as_string(None)
