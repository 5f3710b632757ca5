"""Sources of imports: opened as tables, and kept sealed while a job imports them."""

from collections.abc import Iterator
from uuid import UUID

from pydantic_core import from_json

from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.portfolio.imports import tables
from builders.portfolio.imports.reading import Reading, open_reading
from builders.portfolio.imports.records import Options, Source
from builders.portfolio.imports.store import imports as store
from builders.portfolio.imports.tables import Table

PART_BYTES = 1024 * 1024
_PURPOSE = "portfolio.imports"  # of the sealing key


def open_source(source: Source, content: bytes, options: Options) -> Reading:
    """Return the reading of a source. Raises FileRefused when no row can be read."""
    return open_reading(_table(source, content, options), options)


def _table(source: Source, content: bytes, options: Options) -> Table:
    match source:
        case Source.FILE:
            return tables.table_of_file(content, options)
        case Source.TEXT:
            return tables.table_of_text(content.decode())
        case Source.ROWS:
            return tables.table_of_rows(from_json(content))
        case Source.NAMES:
            return tables.table_of_names(from_json(content))


async def keep(conn: Conn, *, keyring: Keyring, account_id: UUID, import_id: UUID, content: bytes) -> None:
    """Store a source, sealed: it may contain passwords and authorization codes."""
    for number, part in enumerate(_parts(content)):
        sealed = keyring.seal(_PURPOSE, part, context=_context(import_id, number))
        await store.insert_parts(conn, account_id=account_id, import_id=import_id, parts={number: sealed})


async def load(conn: Conn, *, keyring: Keyring, account_id: UUID, import_id: UUID) -> bytes:
    """Return a stored source."""
    content = bytearray()
    number = 0
    while (
        sealed := await store.find_part(conn, account_id=account_id, import_id=import_id, number=number)
    ) is not None:
        content += keyring.unseal(_PURPOSE, sealed, context=_context(import_id, number))
        number += 1
    return bytes(content)


def _parts(content: bytes) -> Iterator[bytes]:
    view = memoryview(content)
    return (bytes(view[at : at + PART_BYTES]) for at in range(0, len(view), PART_BYTES))


def _context(import_id: UUID, number: int) -> bytes:
    return b"%s:%d" % (import_id.bytes, number)
