"""The undo of an import: remove added domains, restore changed fields and the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.bulk import RowOutcome, RowProblem
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.values import clock
from builders.portfolio.domains import changes, lookups
from builders.portfolio.finance import recorded_sales
from builders.portfolio.imports import conversion
from builders.portfolio.imports.errors import ImportFinal, ImportNotFound, ImportRunning
from builders.portfolio.imports.events import IMPORT_UNDONE
from builders.portfolio.imports.records import MAX_KEPT, Import, ImportRow, ImportState, Undone
from builders.portfolio.imports.running import BATCH_ROWS, INLINE_ROWS, defer, event_data, get_import
from builders.portfolio.imports.store import imports as store, rows as rows_store
from builders.portfolio.imports.undo_plans import UndoPlan, plan_undo
from builders.portfolio.ledger import currencies, entries
from builders.portfolio.parking import revenue

_REASON = "The import was undone."
_OPEN = frozenset({ImportState.QUEUED, ImportState.RUNNING})


async def undo_import(
    conn: Conn, *, account_id: UUID, import_id: UUID, dry_run: bool = False, before_row: int | None = None
) -> Undone:
    """Undo an import: a small one at once, a large one by a job.

    An import that is undone or being undone is returned unchanged. A dry run changes nothing; it examines
    INLINE_ROWS rows, from the last one or the one before `before_row` on. Raise ImportNotFound, ImportRunning,
    ImportFinal.
    """
    row = await store.lock(conn, account_id=account_id, import_id=import_id)
    if row is None:
        raise ImportNotFound
    made = conversion.import_of(row)
    if made.state not in {ImportState.UNDOING, ImportState.UNDONE}:
        _require_undoable(made)
        if dry_run:
            return await _try_undo(conn, account_id=account_id, made=made, before_row=before_row)
        await store.set_state(conn, account_id=account_id, import_id=import_id, state=ImportState.UNDOING.value)
        if made.rows_done > INLINE_ROWS:
            await defer(conn, account_id=account_id, import_id=import_id)
        else:
            await _undo_batch(conn, account_id=account_id, import_id=import_id, limit=INLINE_ROWS + 1)
        made = await get_import(conn, account_id=account_id, import_id=import_id)
    kept = await rows_store.list_kept(
        conn, account_id=account_id, import_id=import_id, outcome=None, after=-1, limit=MAX_KEPT
    )
    return Undone(made=made, kept=kept)


def _require_undoable(made: Import) -> None:
    """Raise ImportRunning, ImportFinal."""
    if made.state in _OPEN:
        raise ImportRunning("The import has not ended.", retry_after=5)
    if made.undo_until is None:
        raise ImportFinal("The import made no changes, so it cannot be undone.")
    if made.undo_until <= clock.now():
        raise ImportFinal(f"The import could be undone until {made.undo_until:%Y-%m-%dT%H:%M:%SZ}.")


async def _try_undo(conn: Conn, *, account_id: UUID, made: Import, before_row: int | None) -> Undone:
    """Return what the undo of the next rows would do, and where the rows before them are."""
    below = made.rows_done if before_row is None else min(before_row, made.rows_done)
    rows = await rows_store.list_backwards(
        conn, account_id=account_id, import_id=made.id, below=below, limit=INLINE_ROWS
    )
    names = [each.domain for each in rows if each.domain is not None]
    later = await rows_store.list_of_domains(
        conn, account_id=account_id, import_id=made.id, domains=names, since=below
    )
    plan = await _plan(conn, account_id=account_id, made=made, rows=rows, later=later)
    found = [each for each in reversed(rows) if each.number in plan.kept]
    kept = [replace(each, kept=_as_json(plan.kept[each.number])) for each in found[:MAX_KEPT]]
    first = min((each.number for each in rows), default=0)
    return Undone(
        made=replace(made, undo=plan.counts), kept=kept, is_dry_run=True, before_row=first if first > 0 else None
    )


async def run_undo(database: Database, *, account_id: UUID, import_id: UUID, time_slice: TimeSlice) -> bool:
    """Undo the rows of an import that are not undone yet, for a time slice, each batch in a transaction.

    Return whether rows remain.
    """
    is_open = True
    while is_open:
        async with database.transaction() as conn:
            is_open = await _undo_batch(conn, account_id=account_id, import_id=import_id, limit=BATCH_ROWS)
        if time_slice.is_over:
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
    plan = await _plan(conn, account_id=account_id, made=made, rows=rows, later=())
    await _carry_out(conn, account_id=account_id, import_id=import_id, plan=plan)
    counts = plan.counts
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


async def _plan(
    conn: Conn, *, account_id: UUID, made: Import, rows: Sequence[ImportRow], later: Sequence[ImportRow]
) -> UndoPlan:
    """Lock the domains of rows, and return what undoes them."""
    touched = {each.domain_id for each in rows if each.domain_id is not None and _is_touched(each)}
    locked = await lookups.lock_for_removal(conn, account_id=account_id, ids=touched)
    await currencies.lock_base_currency(conn, account_id=account_id)
    return await plan_undo(conn, account_id=account_id, made=made, rows=rows, later=later, locked=locked)


async def _carry_out(conn: Conn, *, account_id: UUID, import_id: UUID, plan: UndoPlan) -> None:
    if plan.void:
        await entries.void_entries(conn, account_id=account_id, ids=plan.void, reason=_REASON)
    kept_ids = [each.id for each in plan.changes]
    if kept_ids:
        undone: Mapping[str, Any] = {"account_id": account_id, "import_id": import_id, "domain_ids": kept_ids}
        await recorded_sales.void_imported(conn, **undone)
        await revenue.delete_imported(conn, **undone)
    await changes.remove_domains(conn, account_id=account_id, ids=plan.remove, is_quiet=True)
    await changes.change_domains(conn, account_id=account_id, changes=plan.changes, is_quiet=True)
    if plan.kept:
        kept = {number: _as_json(reasons) for number, reasons in plan.kept.items()}
        await rows_store.keep(conn, account_id=account_id, import_id=import_id, kept=kept)


def _as_json(reasons: Sequence[RowProblem]) -> Sequence[Mapping[str, Any]]:
    return [asdict(each) for each in reasons]


def _is_touched(row: ImportRow) -> bool:
    return row.outcome in {RowOutcome.CREATED, RowOutcome.UPDATED}
