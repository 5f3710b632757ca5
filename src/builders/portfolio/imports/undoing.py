"""The undo of an import: remove added domains, restore changed fields and the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.bulk import RowOutcome
from builders.kit.jobs.turns import Turn
from builders.kit.values import clock
from builders.kit.values.patches import set_members
from builders.portfolio.domains import service as domains
from builders.portfolio.domains.records import Domain, DomainChange, DomainPatch
from builders.portfolio.imports import conversion, images
from builders.portfolio.imports.errors import ImportFinal, ImportNotFound, ImportRunning
from builders.portfolio.imports.events import IMPORT_UNDONE
from builders.portfolio.imports.records import Import, ImportRow, ImportState, UndoCounts
from builders.portfolio.imports.running import BATCH_ROWS, INLINE_ROWS, defer, event_data, get_import
from builders.portfolio.imports.store import imports as store, rows as rows_store
from builders.portfolio.ledger import service as ledger

_REASON = "The import was undone."
_OPEN = frozenset({ImportState.QUEUED, ImportState.RUNNING})


async def undo_import(conn: Conn, *, account_id: UUID, import_id: UUID) -> Import:
    """Undo an import: a small one at once, a large one by a job.

    An import that is undone or being undone is returned unchanged. Raise ImportNotFound, ImportRunning,
    ImportFinal.
    """
    row = await store.lock(conn, account_id=account_id, import_id=import_id)
    if row is None:
        raise ImportNotFound
    made = conversion.import_of(row)
    if made.state in {ImportState.UNDOING, ImportState.UNDONE}:
        return made
    if made.state in _OPEN:
        raise ImportRunning("The import has not ended.", retry_after=5)
    if made.undo_until is None:
        raise ImportFinal("The import made no changes, so it cannot be undone.")
    if made.undo_until <= clock.now():
        raise ImportFinal(f"The import could be undone until {made.undo_until:%Y-%m-%dT%H:%M:%SZ}.")
    await store.set_state(conn, account_id=account_id, import_id=import_id, state=ImportState.UNDOING.value)
    if made.rows_done > INLINE_ROWS:
        await defer(conn, account_id=account_id, import_id=import_id)
    else:
        await _undo_batch(conn, account_id=account_id, import_id=import_id, limit=INLINE_ROWS + 1)
    return await get_import(conn, account_id=account_id, import_id=import_id)


async def run_undo(database: Database, *, account_id: UUID, import_id: UUID, turn: Turn) -> bool:
    """Undo the rows of an import that are not undone yet, for a turn, each batch in a transaction.

    Return whether rows remain.
    """
    is_open = True
    while is_open:
        async with database.transaction() as conn:
            is_open = await _undo_batch(conn, account_id=account_id, import_id=import_id, limit=BATCH_ROWS)
        if turn.is_over:
            return is_open
    return False


async def _undo_batch(conn: Conn, *, account_id: UUID, import_id: UUID, limit: int) -> bool:
    """Undo the last rows that are not undone; return whether more may remain. One batch in a transaction."""
    row = await store.lock(conn, account_id=account_id, import_id=import_id)
    if row is None or row["state"] != ImportState.UNDOING:
        return False
    made = conversion.import_of(row)
    rows = await rows_store.list_backwards(
        conn,
        account_id=account_id,
        import_id=import_id,
        below=made.rows_done - made.undo.rows,
        limit=limit,
    )
    counts = await _undo_rows(conn, account_id=account_id, rows=rows)
    await store.advance_undo(
        conn,
        account_id=account_id,
        import_id=import_id,
        rows=counts.rows,
        removed=counts.removed,
        restored=counts.restored,
        kept=counts.kept,
    )
    if len(rows) == limit:
        return True
    await store.set_state(conn, account_id=account_id, import_id=import_id, state=ImportState.UNDONE.value)
    undone = await get_import(conn, account_id=account_id, import_id=import_id)
    await outbox.publish(conn, IMPORT_UNDONE, account_id=account_id, data=event_data(undone))
    return False


async def _undo_rows(conn: Conn, *, account_id: UUID, rows: Sequence[ImportRow]) -> UndoCounts:
    touched = {each.domain_id for each in rows if each.domain_id is not None and _is_touched(each)}
    locked = await domains.lock_domains(conn, account_id=account_id, ids=touched)
    await ledger.lock_base_currency(conn, account_id=account_id)
    entry_ids = [entry_id for each in rows for entry_id in each.entry_ids]
    if entry_ids:
        await ledger.void_entries(conn, account_id=account_id, ids=entry_ids, reason=_REASON)
    added = [each.domain_id for each in rows if each.outcome is RowOutcome.CREATED and each.domain_id is not None]
    removed = await domains.remove_domains(conn, account_id=account_id, ids=added, is_quiet=True)
    changed = [each for each in rows if each.after is not None]
    present = {each.domain_id for each in changed}.difference(removed)
    found = {domain_id: domain for domain_id, domain in locked.items() if domain_id in present}
    restored, unrestored = await _restore(conn, account_id=account_id, rows=changed, found=found)
    return UndoCounts(rows=len(rows), removed=len(removed), restored=restored, kept=unrestored)


def _is_touched(row: ImportRow) -> bool:
    return row.outcome is RowOutcome.CREATED or row.after is not None or bool(row.entry_ids)


async def _restore(
    conn: Conn, *, account_id: UUID, rows: Sequence[ImportRow], found: Mapping[UUID, Domain]
) -> tuple[int, int]:
    """Restore the fields of rows, the last row first; return how many domains are restored and how many not."""
    now: dict[UUID, Domain] = dict(found)
    complete = dict.fromkeys(now, True)
    for each in rows:
        domain = None if each.domain_id is None else now.get(each.domain_id)
        if domain is None or each.before is None or each.after is None:
            continue
        patch, is_whole = images.restoring_patch(domain, each.before, each.after)
        now[domain.id] = replace(domain, **set_members(patch))
        complete[domain.id] = complete[domain.id] and is_whole
    changes = [DomainChange(id=each, patch=_difference(found[each], now[each])) for each in now]
    await domains.change_domains(conn, account_id=account_id, changes=changes, is_quiet=True)
    restored = sum(complete.values())
    return restored, len(complete) - restored


def _difference(before: Domain, after: Domain) -> DomainPatch:
    values: Mapping[str, Any] = {
        each.name: getattr(after, each.name)
        for each in fields(DomainPatch)
        if getattr(before, each.name) != getattr(after, each.name)
    }
    return DomainPatch(**values)
