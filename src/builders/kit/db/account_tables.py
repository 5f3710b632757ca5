"""The tables with rows of accounts, as the catalog of the database lists them: a new one is among them by itself.

They are what an erasure deletes. tests/architecture lists the tables that have no row of an account.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from builders.kit.db.connections import Conn

# What a column of this name holds owns the row, if it cannot be null: an account, or a person in another account.
OWNERS = ("account_id", "member_id", "decider_id", "portfolio_id")
LIST = """
    SELECT relname::text, ARRAY(
        SELECT attname::text FROM pg_attribute
        WHERE attrelid = pg_class.oid AND (attname = 'account_id' OR attname = ANY(%(owners)s) AND attnotnull)
        ORDER BY attname
    )
    FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace
    ORDER BY relname
"""
LIST_REFERENCES = (
    "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTable:
    """A table with rows of accounts."""

    name: str
    owners: Sequence[str]  # OWNERS among its columns
    is_whole: bool  # its rows refer to one another: those of an account are deleted at once


async def load(conn: Conn) -> Sequence[AccountTable]:
    """Return the tables, each before those that its rows refer to."""
    listed = await (await conn.execute(LIST, {"owners": list(OWNERS)})).fetchall()
    found = {name: owners for name, owners in listed if owners}
    references = set(await (await conn.execute(LIST_REFERENCES)).fetchall())
    before: dict[str, set[str]] = {name: set() for name in found}
    for child, parent in references:
        if child != parent and {child, parent} <= found.keys():
            before[parent].add(child)
    return [
        AccountTable(name=each, owners=found[each], is_whole=(each, each) in references)
        for each in TopologicalSorter(before).static_order()
    ]
