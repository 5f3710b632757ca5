"""Sources of imports, kept sealed while a job imports them."""

from collections.abc import Iterable
from uuid import UUID

from builders.kit.db import account_tables
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.portfolio.imports import store

PART_BYTES = 1024 * 1024
_PURPOSE = "portfolio.imports"  # of the sealing key


async def keep(conn: Conn, *, keyring: Keyring, account_id: UUID, import_id: UUID, content: bytes) -> None:
    """Store a source, sealed: it may contain passwords and authorization codes."""
    view = memoryview(content)
    for number, at in enumerate(range(0, len(view), PART_BYTES)):
        part = bytes(view[at : at + PART_BYTES])
        sealed = keyring.seal(_PURPOSE, part, context=_context(import_id, number))
        await store.insert_part(
            conn, account_id=account_id, import_id=import_id, number=number, content=sealed, first_row=None
        )


async def keep_rows(
    conn: Conn, *, keyring: Keyring, account_id: UUID, import_id: UUID, parts: Iterable[tuple[int, bytes]]
) -> None:
    """Store a source by rows instead of its bytes: parts with the number of their first row."""
    await store.delete_parts(conn, account_id=account_id, import_id=import_id)
    for number, (first_row, part) in enumerate(parts):
        sealed = keyring.seal(_PURPOSE, part, context=_context(import_id, number))
        await store.insert_part(
            conn, account_id=account_id, import_id=import_id, number=number, content=sealed, first_row=first_row
        )


async def load_rows(
    conn: Conn, *, keyring: Keyring, account_id: UUID, import_id: UUID, first_row: int
) -> bytes | None:
    """Return the part that begins with a row; None if the source is not stored by rows, or ends before it."""
    found = await store.find_rows(conn, account_id=account_id, import_id=import_id, first_row=first_row)
    if found is None:
        return None
    number, sealed = found
    return keyring.unseal(_PURPOSE, sealed, context=_context(import_id, number))


async def load(conn: Conn, *, keyring: Keyring, account_id: UUID, import_id: UUID) -> bytes:
    """Return a stored source."""
    content = bytearray()
    number = 0
    while sealed := await store.find_part(conn, account_id=account_id, import_id=import_id, number=number):
        content += keyring.unseal(_PURPOSE, sealed, context=_context(import_id, number))
        number += 1
    return bytes(content)


def _context(import_id: UUID, number: int) -> bytes:
    return b"%s:%d" % (import_id.bytes, number)


account_tables.declare_sealed(
    "portfolio_imports_sources", "content", purpose=_PURPOSE, context=_context, of=("import_id", "number")
)
