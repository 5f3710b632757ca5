"""The formats of a portfolio's own sheets: saved under a name, and used by imports that name it."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.sheets.bodies import TableBody, read_mapping
from builders.kit.sheets.kinds import AUTO, GENERIC, list_kinds
from builders.kit.sheets.sources import DateNotation, DecimalNotation
from builders.kit.sheets.tables import LIST_FORMAT
from builders.kit.values import clock
from builders.portfolio.saved_formats import store
from builders.portfolio.saved_formats.errors import SavedFormatLimit, SavedFormatNotFound
from builders.portfolio.saved_formats.records import MAX_FORMATS, SavedFormat, SheetKind

_OPTIONS = ("date_order", "decimal_mark", "encoding")


async def save_format(
    conn: Conn,
    *,
    account_id: UUID,
    name: str,
    kind: SheetKind,
    mapping: Mapping[str, str],
    date_order: DateNotation,
    decimal_mark: DecimalNotation,
    encoding: str | None = None,
) -> SavedFormat:
    """Save a format, or replace the one of the name. Raise Invalid, SavedFormatLimit."""
    table = next(each for each in list_kinds() if each.name == kind)
    if name in {AUTO, LIST_FORMAT, *table.formats}:
        raise Invalid(("path", "name"), f"{name!r} is a format of the service.", "format_reserved")
    table.require_columns(mapping)
    await store.lock_formats(conn, account_id=account_id)
    saved = await store.save(
        conn,
        account_id=account_id,
        name=name,
        kind=kind,
        mapping=Jsonb(mapping),
        date_order=date_order,
        decimal_mark=decimal_mark,
        encoding=encoding,
        now=clock.now(),
        most=MAX_FORMATS,
    )
    if saved is None:
        raise SavedFormatLimit(f"A portfolio has at most {MAX_FORMATS} formats.")
    return saved


async def list_formats(conn: Conn, *, account_id: UUID) -> list[SavedFormat]:
    """Return the formats by name."""
    return await store.list_all(conn, account_id=account_id, most=MAX_FORMATS)


async def delete_format(conn: Conn, *, account_id: UUID, name: str) -> None:
    """Delete a format. Raise SavedFormatNotFound."""
    if not await store.delete(conn, account_id=account_id, name=name):
        raise SavedFormatNotFound


async def expand(
    database: Database, *, account_id: UUID, body: TableBody, query: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the query of an import, with the options of the saved format that the request names.

    Options of the request count before those of the format. A name that is unknown, or of a sheet of another kind,
    stays, and the body refuses it. Raise Invalid for an unreadable mapping of the query.
    """
    name = query.get("format", body.format)
    if name == AUTO or name in body.kind.formats:
        return query
    async with database.connection() as conn:
        saved = await store.find(conn, account_id=account_id, name=name)
    if saved is None or saved.kind != body.kind.name:
        return query
    own = read_mapping(query["mapping"]) if "mapping" in query else {}
    options = {name: getattr(saved, name) for name in _OPTIONS}
    options |= {name: given for name in _OPTIONS if (given := getattr(body, name)) not in {None, "auto"}}
    return {
        **{name: value for name, value in options.items() if value is not None},
        **query,
        "format": GENERIC,
        "mapping": json.dumps({**saved.mapping, **body.mapping, **own}),
    }
