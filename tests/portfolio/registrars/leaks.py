"""Where planted secrets can be found: in rows of any table, also encoded."""

import binascii
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from psycopg import sql

from builders.kit.db.connections import Conn

TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1
"""
# All columns of a row as one text, as a dump shows them: bytea in hexadecimal. Only rows written since a
# transaction: the database has the rows of thousands of other tests.
HOLDING = """
    SELECT count(*) FROM {table} AS held
    WHERE age(held.xmin) <= age(%(since)s::xid) AND held::text ~ %(any_form)s
"""


def forms_of(secrets: Iterable[str]) -> Sequence[str]:
    """The secrets as they are and as encodings write them."""
    found: set[str] = set()
    for secret in secrets:
        raw = secret.encode()
        # The middle of base64 does not depend on what stands before and after.
        shifted = [b64encode(bytes(shift) + raw).decode()[4:-4] for shift in range(3)]
        found |= {secret, quote(secret, safe=""), binascii.hexlify(raw).decode(), *shifted}
    return sorted(found)


async def current_transaction(conn: Conn) -> str:
    """The id of a transaction: rows that are written later have a later one."""
    row = await (await conn.execute("SELECT pg_current_xact_id()::xid::text")).fetchone()
    assert row is not None
    return str(row[0])


async def list_leaks(conn: Conn, secrets: Iterable[str], *, since: str) -> Sequence[str]:
    """The tables with a row, written since the transaction, that holds one of the secrets."""
    names = [name for (name,) in await (await conn.execute(TABLES)).fetchall()]
    any_form = "|".join(map(re.escape, forms_of(secrets)))
    found = []
    for name in names:
        query = sql.SQL(HOLDING).format(table=sql.Identifier(name))  # pyright: ignore[reportArgumentType] - a constant
        row = await (await conn.execute(query, {"any_form": any_form, "since": since})).fetchone()
        if row is not None and row[0]:
            found.append(name)
    return found
