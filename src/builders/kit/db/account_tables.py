"""The tables with rows of accounts, as the catalog of the database lists them: a new one is among them by itself.

They are what an erasure deletes and a complete export holds. tests/architecture lists the tables that have no row
of an account. A package declares its columns with sealed values, which an export unseals:

    account_tables.declare_sealed("things", "secret", purpose=PURPOSE, context=_context, of=("account_id", "id"))
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn

# What a column of this name holds owns the row, if it cannot be null: an account, or a person in another account.
OWNERS = ("account_id", "member_id", "decider_id", "portfolio_id")
LIST = """
    SELECT relname::text, ARRAY(
        SELECT attname::text FROM pg_attribute
        WHERE attrelid = pg_class.oid AND (attname = 'account_id' OR attname = ANY(%(owners)s) AND attnotnull)
        ORDER BY attname
    ), ARRAY(
        SELECT attname::text FROM pg_attribute
        WHERE attrelid = pg_class.oid AND NOT attisdropped AND atttypid IN ('bytea'::regtype, 'bytea[]'::regtype)
        ORDER BY attname
    )
    FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace
    ORDER BY relname
"""
LIST_REFERENCES = (
    "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"
)
_sealed: dict[tuple[str, str], tuple[str, Callable[[Mapping[str, Any]], bytes]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTable:
    """A table with rows of accounts."""

    name: str
    owners: Sequence[str]  # OWNERS among its columns
    hidden: Sequence[str]  # columns of bytes that are not declared as sealed: hashes
    is_whole: bool  # its rows refer to one another: those of an account are deleted at once


def declare_sealed(
    table: str, *columns: str, purpose: str, context: Callable[..., bytes], of: Sequence[str]
) -> None:
    """Let exports unseal columns of a table; `context` makes that of their seal, of other columns."""

    def context_of(row: Mapping[str, Any]) -> bytes:
        return context(*(UUID(row[each]) if isinstance(row[each], str) else row[each] for each in of))

    _sealed.update(dict.fromkeys(((table, each) for each in columns), (purpose, context_of)))


def sealed_columns(table: str) -> Mapping[str, tuple[str, Callable[[Mapping[str, Any]], bytes]]]:
    """Return the sealed columns of a table: the purpose of each, and its context from a row as JSON."""
    return {column: sealed for (name, column), sealed in _sealed.items() if name == table}


async def load(conn: Conn) -> Sequence[AccountTable]:
    """Return the tables, each before those that its rows refer to."""
    listed = await (await conn.execute(LIST, {"owners": list(OWNERS)})).fetchall()
    found = {name: owners for name, owners, _ in listed if owners}
    of_bytes = {name: columns for name, _, columns in listed}
    references = set(await (await conn.execute(LIST_REFERENCES)).fetchall())
    before: dict[str, set[str]] = {name: set() for name in found}
    for child, parent in references:
        if child != parent and {child, parent} <= found.keys():
            before[parent].add(child)
    return [
        AccountTable(
            name=each,
            owners=found[each],
            hidden=[column for column in of_bytes[each] if (each, column) not in _sealed],
            is_whole=(each, each) in references,
        )
        for each in TopologicalSorter(before).static_order()
    ]
