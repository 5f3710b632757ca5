"""What the undo of rows changes, and what it keeps because it was changed or used since."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.rows import RowOutcome, RowProblem
from builders.portfolio.billing import bookings
from builders.portfolio.domains.records import FIELDS, Domain, DomainChange, DomainPatch
from builders.portfolio.finance import sales
from builders.portfolio.history import service as history
from builders.portfolio.history.records import DomainHistory
from builders.portfolio.imports import field_values, store
from builders.portfolio.imports.records import Import, ImportRow, UndoCounts

# Why an added domain is not removed, by what is recorded on it: the code and the message.
_RECORDED: Mapping[str, tuple[str, str]] = {
    "sales": ("kept_sale", "A sale was recorded since."),
    "entries": ("kept_entries", "Ledger entries were recorded since."),
    "charges": ("kept_charges", "Charges of a registrar were matched with the domain since."),
    "parking_days": ("kept_parking", "Parking revenue was recorded since."),
    "decisions": ("kept_decision", "Its renewal was decided since."),
    "transfers": ("kept_transfer", "A transfer was prepared or seen since."),
    "holdings": ("kept_inventory", "A registrar has listed the domain since."),
}
_CONNECTED = RowProblem(code="kept_inventory", message="A registrar connection keeps the domain up to date.")
_AGAIN = RowProblem(code="kept_imported", message="A later import has the domain, too. Undo that import first.")
_BOOKED = RowProblem(code="kept_charges", message="A charge of a registrar was booked with an entry of the row.")
_SOLD = RowProblem(code="kept_sale", message="A sale of the row was changed since.", field="sales")


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """What the undo of some rows does."""

    remove: Sequence[UUID]  # added domains
    void: Sequence[UUID]  # entries
    changes: Sequence[DomainChange]
    kept: Mapping[int, Sequence[RowProblem]]  # the reasons, by the number of the row
    counts: UndoCounts


async def plan_undo(
    conn: Conn,
    *,
    account_id: UUID,
    domain_import: Import,
    rows: Sequence[ImportRow],
    later: Sequence[ImportRow],
    locked: Mapping[UUID, Domain],
) -> UndoPlan:
    """Return what undoes rows of an import, the last row first; their domains are locked.

    `later` are rows of the same domains that are undone before them.
    """
    undone = [*later, *rows]
    now, unrestored = _restore(undone, locked)
    entry_ids = [entry_id for each in undone for entry_id in each.entry_ids]
    booked = set(await bookings.list_booked_entries(conn, account_id=account_id, entry_ids=entry_ids))
    import_id = domain_import.import_id
    sold = await sales.list_changed_entries(conn, account_id=account_id, import_id=import_id, entry_ids=entry_ids)
    added = {each.domain_id: each for each in rows if each.outcome is RowOutcome.CREATED}
    present = {domain_id: row for domain_id, row in added.items() if domain_id is not None and domain_id in locked}
    recorded = await history.list_history(
        conn,
        account_id=account_id,
        domain_ids=list(present),
        since=domain_import.created_at,
        except_entry_ids=entry_ids,
        except_import_id=import_id,
    )
    names = [now[each].domain for each in present]
    again = await store.list_imported_later(conn, account_id=account_id, import_id=import_id, domains=names)
    reasons = {
        domain_id: _reasons(now[domain_id], row, recorded[domain_id], is_again=now[domain_id].domain in again)
        for domain_id, row in present.items()
    }
    kept = {each.number: reasons[domain_id] for domain_id, each in present.items() if reasons[domain_id]}
    for row in rows:
        row_reasons = [_changed(name) for name in unrestored.get(row.number, ())]
        row_reasons += [] if booked.isdisjoint(row.entry_ids) else [_BOOKED]
        row_reasons += [] if sold.isdisjoint(row.entry_ids) else [_SOLD]
        if row_reasons and row.domain_id not in reasons:
            kept[row.number] = row_reasons
    return _plan(rows, locked, now, reasons=reasons, kept=kept, kept_entries=booked | sold)


def _plan(
    rows: Sequence[ImportRow],
    locked: Mapping[UUID, Domain],
    now: Mapping[UUID, Domain],
    *,
    reasons: Mapping[UUID, Sequence[RowProblem]],
    kept: Mapping[int, Sequence[RowProblem]],
    kept_entries: AbstractSet[UUID],
) -> UndoPlan:
    """Return the plan. An added domain that is kept keeps its fields and its entries."""
    whole = {domain_id for domain_id, found in reasons.items() if found}
    remove = [domain_id for domain_id in reasons if domain_id not in whole]
    kept_ids = {each.domain_id for each in rows if each.number in kept}
    changed = {each.domain_id for each in rows if each.after is not None and each.domain_id in locked}
    return UndoPlan(
        remove=remove,
        void=[
            entry_id
            for each in rows
            if each.domain_id not in whole
            for entry_id in each.entry_ids
            if entry_id not in kept_entries
        ],
        changes=[
            DomainChange(id=domain_id, patch=_difference(before, now[domain_id]))
            for domain_id, before in locked.items()
            if domain_id not in reasons
        ],
        kept=kept,
        counts=UndoCounts(
            rows=len(rows),
            removed=len(remove),
            restored=len(changed - reasons.keys() - kept_ids),
            kept=len(kept_ids),
        ),
    )


def _reasons(domain: Domain, row: ImportRow, recorded: DomainHistory, *, is_again: bool) -> Sequence[RowProblem]:
    """Return why an added domain is not removed; empty without a reason."""
    changed = field_values.list_changed_since(domain, row.after or {}, recorded.registry)
    reasons = [_changed(name) for name in changed]
    for name, (code, message) in _RECORDED.items():
        if getattr(recorded, name):
            reasons.append(RowProblem(code=code, message=message))
    if domain.connection_id is not None and not recorded.holdings:
        reasons.append(_CONNECTED)
    return [*reasons, _AGAIN] if is_again else reasons


def _changed(field: str) -> RowProblem:
    return RowProblem(code="kept_changed", message="The value was changed since.", field=field)


def _restore(
    rows: Sequence[ImportRow], locked: Mapping[UUID, Domain]
) -> tuple[Mapping[UUID, Domain], Mapping[int, Sequence[str]]]:
    """Return the domains with the restored fields of rows, and the fields of each row that keep their values."""
    now = dict(locked)
    unrestored = dict[int, Sequence[str]]()
    for each in rows:
        domain = None if each.domain_id is None else now.get(each.domain_id)
        if domain is not None and each.before is not None and each.after is not None:
            patch, unrestored[each.number] = field_values.restoring_patch(domain, each.before, each.after)
            now[domain.id] = replace(domain, **patch.members)
    return now, unrestored


def _difference(before: Domain, after: Domain) -> DomainPatch:
    changed = {name for name in FIELDS if getattr(before, name) != getattr(after, name)}
    if "ownership" in changed:  # which the status would follow
        changed.add("status")
    return DomainPatch({name: getattr(after, name) for name in changed})
