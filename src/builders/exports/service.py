"""Exports: a job writes pages of the lists that the caller reads, sealed; the same credentials collect them."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from uuid import UUID

from builders.exports import store
from builders.exports.errors import ExportNotFound, ExportNotReady, ExportRunning
from builders.exports.lists import LEFT_OUT, LEFT_OUT_OF_COMPLETE, Listed, Reader
from builders.exports.records import (
    COLLECTIONS,
    LIFETIME,
    MAX_BYTES,
    MAX_COMPLETE_BYTES,
    TOO_LARGE,
    Export,
    ExportState,
)
from builders.identity import accounts, callers, people
from builders.identity.records import About, AuditAction
from builders.kit.callers import Caller, require_person
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import CredentialsInvalid
from builders.kit.jobs import time_slices
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.plans.approval import policies
from builders.portfolio.team import deciders
from builders.portfolio.team.records import Access

JOB = "exports.write"
PAGE = 200  # items
PIECE = 1_000_000  # bytes of a stored page
READS = 8  # at most, of a page
MAX_SHOWN = 20  # complete exports
_PURPOSE = "exports"  # of the sealing key
# Also those that never ended. A small batch: each has its pages.
old_rows.declare("exports_files", key="account_id, id", age="created_at", after=LIFETIME, batch=10)


async def create(conn: Conn, *, caller: Caller) -> Export:
    """Enqueue an export of what the caller reads. Raise ExportRunning."""
    await store.end_expired(conn, account_id=caller.account_id, since=clock.now() - LIFETIME)
    export = await store.insert(
        conn,
        account_id=caller.account_id,
        export_id=ids.new(),
        credential_id=caller.credential_id,
        left_out=json.dumps(LEFT_OUT),
        now=clock.now(),
    )
    if export is None:
        raise ExportRunning
    about = {"export_id": str(export.id)}
    await accounts.record_audit(
        conn,
        account_id=caller.live_account_id,
        actor=caller.actor,
        action=AuditAction.EXPORT_REQUESTED,
        about=about,
    )
    live = str(caller.live_account_id)
    await time_slices.defer(conn, JOB, account_id=str(caller.account_id), live_account_id=live, **about)
    return export


async def confirm_complete(conn: Conn, *, access: Access) -> Export:
    """Request the complete export as the holder, or confirm it as a decider; the last confirmation enqueues it.

    The session that requested it collects it. Audited. Raise PersonRequired, RoleForbidden, ExportRunning.
    """
    own, now = access.owner_id, clock.now()
    await people.lock(conn, account_id=own)
    await deciders.get_decider(conn, access=access)
    listed = await store.list_complete(conn, account_id=own, since=now - LIFETIME, limit=MAX_SHOWN)
    found = next((each for each in listed if each.state is ExportState.ASKED), None)
    if found is None:
        deciders.require_account(access, "Only the account itself requests its complete export.")
        await store.end_expired(conn, account_id=own, since=now - LIFETIME)
        found = await store.insert_complete(
            conn,
            account_id=own,
            export_id=ids.new(),
            credential_id=access.actor.id,
            left_out=json.dumps(LEFT_OUT_OF_COMPLETE),
            now=now,
        )
    if found is None:
        raise ExportRunning
    confirmed_by = list({*found.confirmed_by, access.member_id})
    missing = await policies.count_missing(conn, account_id=own, confirmed_by=confirmed_by)
    state = ExportState.ASKED if missing else ExportState.RUNNING
    row = {"account_id": own, "export_id": found.id}
    found = await store.confirm(conn, **row, confirmed_by=confirmed_by, state=state, now=now)
    about: About = {"export_id": str(found.id), "complete": True}
    await accounts.record_audit(
        conn, account_id=own, actor=access.actor, action=AuditAction.EXPORT_REQUESTED, about=about
    )
    if not missing:
        await time_slices.defer(conn, JOB, account_id=str(own), live_account_id=str(own), export_id=str(found.id))
    return found


async def list_complete(conn: Conn, *, account_id: UUID) -> Sequence[Export]:
    """Return the complete exports of the last 24 hours, newest first."""
    return await store.list_complete(conn, account_id=account_id, since=clock.now() - LIFETIME, limit=MAX_SHOWN)


async def get(conn: Conn, *, caller: Caller, export_id: UUID) -> Export:
    """Return an export that these credentials requested in the last 24 hours. Raise ExportNotFound."""
    export = await _find(conn, account_id=caller.account_id, export_id=export_id)
    if export is None or export.credential_id != caller.credential_id:
        raise ExportNotFound
    return export


async def get_ready(conn: Conn, *, caller: Caller, export_id: UUID) -> Export:
    """Return an export whose content is collected now: a complete one by the person, COLLECTIONS times at most.

    Raise ExportNotFound, ExportNotReady, PersonRequired.
    """
    export = await get(conn, caller=caller, export_id=export_id)
    if export.is_complete:
        require_person(caller.actor, account_id=caller.live_account_id)
    if export.state is not ExportState.READY:
        raise ExportNotReady(f"The export is {export.state}.")
    row = {"account_id": export.account_id, "export_id": export.id, "most": COLLECTIONS}
    if export.is_complete and not await store.count_collection(conn, **row):
        raise ExportNotFound("The export was collected as often as it can be.")
    return export


def size_of(export: Export) -> int:
    """Return the bytes of the content with its first line. It is ASCII: a byte is a character."""
    return len(_first_line(export)) + export.size


async def read(
    database: Database, *, keyring: Keyring, export: Export, wanted: range | None = None
) -> AsyncGenerator[str]:
    """Yield the content, or the bytes of it that are wanted. Raise ExportNotFound when it is deleted meanwhile."""
    first_line, wanted = _first_line(export), wanted or range(size_of(export))
    yield first_line[wanted.start : wanted.stop]
    byte, stop = max(wanted.start - len(first_line), 0), wanted.stop - len(first_line)
    while byte < stop:
        async with database.connection() as conn:
            page = await store.find_page(conn, account_id=export.account_id, export_id=export.id, byte=byte)
        if page is None:
            raise ExportNotFound
        first_byte, sealed = page
        content = keyring.unseal(_PURPOSE, sealed, context=_context(export, first_byte))
        yield content[byte - first_byte : stop - first_byte].decode()
        byte = first_byte + len(content)


async def read_all(reader: Reader, *, caller: Caller) -> AsyncGenerator[str]:
    """Yield the lines of a complete export as they are now, for the operator; last what is left out."""
    left_out = dict(LEFT_OUT_OF_COMPLETE)
    async for part, listed in _walk(reader, caller=caller, is_complete=True):
        left_out |= _left_out(part, listed)
        for line in _lines(part, listed):
            yield line
    yield f"{json.dumps({'left_out': left_out})}\n"


async def _walk(
    reader: Reader,
    *,
    caller: Caller,
    is_complete: bool,
    part: str = "",
    position: str | None = None,
    limit: int = PAGE,
) -> AsyncGenerator[tuple[str, Listed]]:
    """Yield the pages of the parts that follow a position of a part, each with the name of its part."""
    while True:
        if position is None:
            following = await reader.find_next(part, is_complete=is_complete)
            if following is None:
                return
            part = following
        listed = await reader.read(part, caller, cursor=position, limit=limit)
        yield part, listed
        position = listed.next_cursor


async def write_page(
    reader: Reader,
    *,
    live_account_id: UUID,
    account_id: UUID,
    export_id: UUID,
    page_size: int = PAGE,
    max_bytes: int | None = None,
) -> bool:
    """Write the next page of a running export; return whether another follows.

    It fails above `max_bytes`, by default MAX_BYTES or MAX_COMPLETE_BYTES, and when the credentials have ended.
    The page is read before the transaction that stores it with its position: of two workers at the same page, one
    stores it.
    """
    accounts_of = {"account_id": account_id, "live_account_id": live_account_id}
    async with reader.database.connection() as conn:
        export = await _find(conn, account_id=account_id, export_id=export_id)
        if export is None or export.state is not ExportState.RUNNING:
            return False
        caller = await callers.find(conn, **accounts_of, credential_id=export.credential_id)
    if caller is None:
        return await _end(reader.database, export, CredentialsInvalid.code)
    found, lines = await _read_page(reader, caller, export, page_size)
    if found is None:
        return await _end(reader.database, export, None)
    content = "".join(lines).encode()
    if export.size + len(content) > (max_bytes or (MAX_COMPLETE_BYTES if export.is_complete else MAX_BYTES)):
        return await _end(reader.database, export, TOO_LARGE)
    await _store(reader, found, content)
    return True


async def _read_page(
    reader: Reader, caller: Caller, export: Export, limit: int
) -> tuple[Export | None, Sequence[str]]:
    """Return the export as it is after its next page, and the lines: of several parts if they are small.

    Return None for the export at its end.
    """
    found, lines, reads = None, list[str](), 0
    pages = _walk(
        reader,
        caller=caller,
        is_complete=export.is_complete,
        part=export.part,
        position=export.position,
        limit=limit,
    )
    async with aclosing(pages):
        async for part, listed in pages:
            before = found or export
            found = replace(
                before,
                part=part,
                position=listed.next_cursor,
                parts=sorted({*before.parts, *([part] if listed.refusal is None else [])}),
                left_out={**before.left_out, **_left_out(part, listed)},
            )
            lines += _lines(part, listed)
            reads += 1
            if len(lines) >= limit or sum(map(len, lines)) >= PIECE or reads == READS:
                break
    return found, lines


async def _find(conn: Conn, *, account_id: UUID, export_id: UUID) -> Export | None:
    return await store.find(conn, account_id=account_id, export_id=export_id, since=clock.now() - LIFETIME)


async def _store(reader: Reader, export: Export, content: bytes) -> None:
    """Store the content that follows, and the export as it is after it, unless another worker did.

    It is stored in pieces, of which a reader has one at a time: lines of messages have many megabytes.
    """
    row = {"account_id": export.account_id, "export_id": export.id}
    async with reader.database.transaction() as conn:
        is_first = await store.advance(
            conn,
            **row,
            step=export.step,
            part=export.part,
            position=export.position,
            parts=export.parts,
            left_out=json.dumps(dict(export.left_out)),
            size=export.size + len(content),
        )
        for at in range(0, len(content), PIECE) if is_first else ():
            first_byte = export.size + at
            context = _context(export, first_byte)
            sealed = reader.keyring.seal(_PURPOSE, content[at : at + PIECE], context=context)
            await store.insert_page(conn, **row, first_byte=first_byte, content=sealed)


def _lines(part: str, listed: Listed) -> Sequence[str]:
    return [f"{json.dumps({'part': part, 'item': each})}\n" for each in listed.items]


def _left_out(part: str, listed: Listed) -> Mapping[str, str]:
    return listed.left_out if listed.refusal is None else {part: listed.refusal}


async def _end(database: Database, export: Export, code: str | None) -> bool:
    """End the export; of one that fails by this code, delete the content. Return that no page follows."""
    row = {"account_id": export.account_id, "export_id": export.id}
    state = ExportState.READY if code is None else ExportState.FAILED
    async with database.transaction() as conn:
        if await store.end(conn, **row, step=export.step, state=state, code=code) and code is not None:
            await store.delete_pages(conn, **row)
    return False


def _first_line(export: Export) -> str:
    about = {"export_id": str(export.id), "parts": list(export.parts), "left_out": dict(export.left_out)}
    return f"{json.dumps(about)}\n"


def _context(export: Export, first_byte: int) -> bytes:
    return export.account_id.bytes + export.id.bytes + b"%d" % first_byte
