"""Tables as parts of the complete export: the rows of an account and its sandbox, whatever lists them or not.

The catalog of the database lists the tables: a new one is a part, unless it is named here (decision 0072).
"""

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from builders.exports import store
from builders.identity import accounts
from builders.kit.db import account_tables
from builders.kit.db.account_tables import AccountTable
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, Unsealable

PREFIX = "tables/"  # of the names of parts
PAGE_SIZE = 4_000_000  # characters after which a page ends; of its last row more
_COPIES, _LINKS, _HASH = "computed", "credential", "hash"
# Tables that are no parts, with the reason.
LEFT_OUT = {
    "exports_pages": _COPIES,
    "identity_oauth_codes": _LINKS,  # they end within minutes
    "kit_idempotency": _COPIES,  # of answers, also those with the secret of a new key
    "kit_outbox": _COPIES,
    "kit_outbox_pending": _COPIES,
}
# Columns of bytes are hashes if they are not declared as sealed; these are not.
_COLUMNS = {"mail_messages.content": _LINKS}  # an email that waits, with links that sign in


async def load(conn: Conn) -> Mapping[str, AccountTable]:
    """Return the tables by the names of their parts."""
    tables = await account_tables.load(conn)
    return {f"{PREFIX}{each.name}": each for each in tables if each.name not in LEFT_OUT}


def left_out_of(table: AccountTable) -> Mapping[str, str]:
    """Return the columns that are left out, each with the reason."""
    named = (f"{table.name}.{each}" for each in table.hidden)
    return {f"{PREFIX}{each}": _COLUMNS.get(each, _HASH) for each in named}


async def read(
    database: Database, *, keyring: Keyring, table: AccountTable, account_id: UUID, cursor: str | None, limit: int
) -> tuple[Sequence[Any], str | None]:
    """Return rows of an account, or of its sandbox after that, as JSON, and the cursor of those that follow."""
    at, after = json.loads(cursor) if cursor is not None else (0, None)
    async with database.connection() as conn:
        account = await accounts.get_account(conn, account_id=account_id)
        own = [account.id, account.sandbox_id]
        row = {"table": table.name, "account_id": own[at], "hidden": table.hidden, "after": after}
        rows = await store.read_rows(conn, **row, limit=limit, size=PAGE_SIZE)
    is_whole = len(rows) < limit and sum(len(item) for _, item in rows) < PAGE_SIZE
    at, after = (at + 1, None) if is_whole else (at, rows[-1][0])
    # A row can have a message of many megabytes.
    items = await asyncio.to_thread(_unseal, keyring, table, [item for _, item in rows])
    return items, json.dumps((at, after)) if at < len(own) else None


def _unseal(keyring: Keyring, table: AccountTable, items: Sequence[str]) -> Sequence[Any]:
    sealed = account_tables.sealed_columns(table.name)
    rows = [json.loads(item, parse_float=str) for item in items]  # no digit of an amount is lost
    for row in rows:
        for column, (purpose, context) in sealed.items():
            if row[column] is not None:
                row[column] = _open(keyring, purpose, bytes.fromhex(row[column].removeprefix("\\x")), context(row))
    return rows


def _open(keyring: Keyring, purpose: str, sealed: bytes, context: bytes) -> str | Mapping[str, str] | None:
    """Return text, or bytes that are no text; None if no secret key opens it."""
    try:
        content = keyring.unseal(purpose, sealed, context=context)
    except Unsealable:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
