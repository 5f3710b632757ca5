"""The undo of an import: remove added domains, restore changed fields and the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.rows import RowOutcome
from builders.kit.values import clock
from builders.kit.values.resources import extended
from builders.portfolio.domains import changes, lookups
from builders.portfolio.domains.records import ChangeSource
from builders.portfolio.finance import sales
from builders.portfolio.imports import domain_imports, store
from builders.portfolio.imports.domain_imports import event_data, get_import
from builders.portfolio.imports.errors import ImportFinal, ImportRunning
from builders.portfolio.imports.events import IMPORT_UNDONE
from builders.portfolio.imports.records import MAX_KEPT, Import, ImportRow, ImportState, Undone
from builders.portfolio.imports.undo_plans import UndoPlan, plan_undo
from builders.portfolio.ledger import currencies, entries
from builders.portfolio.parking import revenue
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import Part, PartState, WorkKind
from builders.portfolio.runs.work import PartTools

batch_rows = 1_000  # of a transaction
_REASON = "The import was undone."
_OPEN = frozenset({ImportState.QUEUED, ImportState.RUNNING})


async def undo_import(
    conn: Conn, *, account_id: UUID, import_id: UUID, dry_run: bool = False, before_row: int | None = None
) -> Undone:
    """Undo an import: a small one at once, a large one by a job.

    An import that is undone or being undone is returned unchanged. A dry run changes nothing; it examines
    `inline_rows` rows, from the last one or the one before `before_row` on. Raise ImportNotFound, ImportRunning,
    ImportFinal.
    """
    await runs.lock_run(conn, account_id=account_id, run_id=import_id)
    domain_import = await get_import(conn, account_id=account_id, import_id=import_id)
    if domain_import.state not in {ImportState.UNDOING, ImportState.UNDONE}:
        _require_undoable(domain_import)
        if dry_run:
            return await _try_undo(conn, account_id=account_id, domain_import=domain_import, before_row=before_row)
        is_small = domain_import.rows_done <= domain_imports.inline_rows
        part = await runs.add_part(
            conn,
            account_id=account_id,
            run_id=import_id,
            kind=WorkKind.UNDO,
            subject_id=account_id,
            state=PartState.RUNNING if is_small else PartState.QUEUED,
        )
        if is_small:
            await _undo_batch(conn, part, domain_import, limit=domain_imports.inline_rows + 1)
        domain_import = await get_import(conn, account_id=account_id, import_id=import_id)
    kept = await store.list_page(
        conn,
        account_id=account_id,
        import_id=import_id,
        outcome=None,
        only_kept=True,
        after=-1,
        limit=MAX_KEPT,
    )
    return _undone(domain_import, kept, before_row=None)


def _undone(domain_import: Import, kept: Sequence[ImportRow], *, before_row: int | None) -> Undone:
    rows = [domain_imports.result_of(each, domain_import.source) for each in kept]
    return extended(Undone, domain_import, kept_rows=rows, before_row=before_row)


def _require_undoable(domain_import: Import) -> None:
    """Raise ImportRunning, ImportFinal."""
    if domain_import.state in _OPEN:
        raise ImportRunning("The import has not ended.", retry_after=5)
    if domain_import.undo_until is None:
        raise ImportFinal("The import made no changes, so it cannot be undone.")
    if domain_import.undo_until <= clock.now():
        raise ImportFinal(f"The import could be undone until {domain_import.undo_until:%Y-%m-%dT%H:%M:%SZ}.")


async def _try_undo(conn: Conn, *, account_id: UUID, domain_import: Import, before_row: int | None) -> Undone:
    """Return what the undo of the next rows would do, and where the rows before them are."""
    below = domain_import.rows_done if before_row is None else min(before_row, domain_import.rows_done)
    rows = await store.list_backwards(
        conn,
        account_id=account_id,
        import_id=domain_import.import_id,
        below=below,
        limit=domain_imports.inline_rows,
    )
    names = [each.domain for each in rows if each.domain is not None]
    later = await store.list_of_domains(
        conn, account_id=account_id, import_id=domain_import.import_id, domains=names, since=below
    )
    plan = await _plan(conn, account_id=account_id, domain_import=domain_import, rows=rows, later=later)
    found = [each for each in reversed(rows) if each.number in plan.kept]
    kept = [replace(each, kept=list(map(asdict, plan.kept[each.number]))) for each in found[:MAX_KEPT]]
    first = min((each.number for each in rows), default=0)
    tried = replace(domain_import, undo=plan.counts, dry_run=True)
    return _undone(tried, kept, before_row=first if first > 0 else None)


async def undo_part(tools: PartTools, part: Part) -> None:
    """Undo the rows of an import that are not undone yet, for a time slice, each batch in a transaction."""
    following: Part | None = part
    while following is not None:
        async with tools.database.transaction() as conn:
            made = await get_import(conn, account_id=part.account_id, import_id=part.run_id)
            following = await _undo_batch(conn, following, made, limit=batch_rows)
        if tools.time_slice.is_over:
            return


async def _undo_batch(conn: Conn, part: Part, domain_import: Import, *, limit: int) -> Part | None:
    """Undo the last rows that are not undone; return the part while more may remain."""
    account_id, import_id = part.account_id, part.run_id
    await revenue.lock_revenue(conn, account_id=account_id)  # first, as all who record revenue lock
    below = domain_import.rows_done - part.counts.get("rows", 0)
    rows = await store.list_backwards(conn, account_id=account_id, import_id=import_id, below=below, limit=limit)
    plan = await _plan(conn, account_id=account_id, domain_import=domain_import, rows=rows, later=())
    await _carry_out(conn, account_id=account_id, import_id=import_id, plan=plan)
    part = await runs.advance_part(conn, part=part, counts=asdict(plan.counts))
    if len(rows) == limit:
        return part
    await runs.finish_part(conn, part=part, state=PartState.COMPLETED)
    undone = await get_import(conn, account_id=account_id, import_id=import_id)
    await outbox.publish(conn, IMPORT_UNDONE, account_id=account_id, data=event_data(undone))
    return None


async def _plan(
    conn: Conn, *, account_id: UUID, domain_import: Import, rows: Sequence[ImportRow], later: Sequence[ImportRow]
) -> UndoPlan:
    """Lock the domains of rows, and return what undoes them."""
    written = [each for each in rows if each.outcome in {RowOutcome.CREATED, RowOutcome.UPDATED}]
    touched = {each.domain_id for each in written if each.domain_id is not None}
    locked = await lookups.lock_for_removal(conn, account_id=account_id, ids=touched)
    await currencies.lock_base_currency(conn, account_id=account_id)
    return await plan_undo(
        conn, account_id=account_id, domain_import=domain_import, rows=rows, later=later, locked=locked
    )


async def _carry_out(conn: Conn, *, account_id: UUID, import_id: UUID, plan: UndoPlan) -> None:
    if plan.void:
        await entries.void_entries(conn, account_id=account_id, ids=plan.void, reason=_REASON)
    kept_ids = [each.id for each in plan.changes]
    if kept_ids:
        undone: Mapping[str, Any] = {"account_id": account_id, "import_id": import_id, "domain_ids": kept_ids}
        await sales.void_imported(conn, **undone)
        await revenue.delete_imported(conn, **undone)
    await changes.remove_domains(conn, account_id=account_id, ids=plan.remove, is_quiet=True)
    await changes.change_domains(
        conn, account_id=account_id, changes=plan.changes, source=ChangeSource.IMPORT, is_quiet=True
    )
    if plan.kept:
        await store.keep(
            conn,
            account_id=account_id,
            import_id=import_id,
            numbers=plan.kept.keys(),
            kept=[Jsonb(list(map(asdict, reasons))) for reasons in plan.kept.values()],
        )
