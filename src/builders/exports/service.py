"""Exports: a job writes pages of the lists that the caller reads, sealed; the same credentials collect them."""

import json
from collections.abc import AsyncGenerator, Sequence
from uuid import UUID

from builders.exports import lists, store
from builders.exports.errors import ExportNotFound, ExportNotReady, ExportRunning
from builders.exports.lists import LEFT_OUT, Listed, Reader
from builders.exports.records import COLLECTIONS, LIFETIME, MAX_BYTES, TOO_LARGE, Export, ExportState
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
MAX_SHOWN = 20  # complete exports
_PURPOSE = "exports"  # of the sealing key
# Also those that never ended. A small batch: each has its pages.
old_rows.declare("exports_files", key="account_id, id", age="created_at", after=LIFETIME, batch=10)


async def create(conn: Conn, *, caller: Caller) -> Export:
    """Enqueue an export of what the caller reads. Raise ExportRunning."""
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
        left_out = {name: reason for name, reason in LEFT_OUT.items() if name not in lists.COMPLETE}
        found = await store.insert_complete(
            conn,
            account_id=own,
            export_id=ids.new(),
            credential_id=access.actor.id,
            left_out=json.dumps(left_out),
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
    """Yield the lines of a complete export as they are now, for the operator."""
    part, position = lists.find_next("", is_complete=True), None
    while part is not None:
        listed = await reader.read(part, caller, cursor=position, limit=PAGE)
        if listed.refusal is not None:
            yield f"{json.dumps({'part': part, 'left_out': listed.refusal})}\n"
        for each in listed.items:
            yield f"{json.dumps({'part': part, 'item': each})}\n"
        position = listed.next_cursor
        part = part if position is not None else lists.find_next(part, is_complete=True)


async def write_page(
    reader: Reader,
    *,
    live_account_id: UUID,
    account_id: UUID,
    export_id: UUID,
    page_size: int = PAGE,
    max_bytes: int = MAX_BYTES,
) -> bool:
    """Write the next page of a running export; return whether another follows.

    It fails above `max_bytes`, and when the credentials have ended. The page is read before the transaction that
    stores it with its position: of two workers at the same page, one stores it.
    """
    accounts_of = {"account_id": account_id, "live_account_id": live_account_id}
    async with reader.database.connection() as conn:
        export = await _find(conn, account_id=account_id, export_id=export_id)
        if export is None or export.state is not ExportState.RUNNING:
            return False
        caller = await callers.find(conn, **accounts_of, credential_id=export.credential_id)
    part = lists.find_next(export.part, is_complete=export.is_complete) if export.position is None else export.part
    if caller is None or part is None:
        return await _end(reader.database, export, None if caller is not None else CredentialsInvalid.code)
    listed = await reader.read(part, caller, cursor=export.position, limit=page_size)
    content = "".join(f"{json.dumps({'part': part, 'item': each})}\n" for each in listed.items).encode()
    if export.size + len(content) > max_bytes:
        return await _end(reader.database, export, TOO_LARGE)
    await _store(reader, export, part, listed, content)
    return True


async def _find(conn: Conn, *, account_id: UUID, export_id: UUID) -> Export | None:
    return await store.find(conn, account_id=account_id, export_id=export_id, since=clock.now() - LIFETIME)


async def _store(reader: Reader, export: Export, part: str, listed: Listed, content: bytes) -> None:
    """Store a page and the position after it, unless another worker did."""
    row = {"account_id": export.account_id, "export_id": export.id}
    sealed = reader.keyring.seal(_PURPOSE, content, context=_context(export, export.size))
    is_held = listed.refusal is None
    async with reader.database.transaction() as conn:
        is_first = await store.advance(
            conn,
            **row,
            step=export.step,
            part=part,
            position=listed.next_cursor,
            parts=sorted({*export.parts, part}) if is_held else export.parts,
            left_out=json.dumps({**export.left_out, **({} if is_held else {part: listed.refusal})}),
            size=export.size + len(content),
        )
        if is_first and content:
            await store.insert_page(conn, **row, first_byte=export.size, content=sealed)


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
