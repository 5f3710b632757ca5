"""A batch of drafts, applied to the portfolio: domains, entries of the ledger, and a result for each row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from uuid import UUID

import psycopg

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid, Problem
from builders.kit.http.bulk import RowOutcome, RowProblem
from builders.kit.process import log
from builders.kit.sheets.sources import Source
from builders.portfolio.domain_files.columns import DomainRow
from builders.portfolio.domain_files.records import Draft, DraftSale, ImportConflict, Options
from builders.portfolio.domains import changes as domain_changes, lookups
from builders.portfolio.domains.domain_limit import FULL_PROBLEM
from builders.portfolio.domains.records import Domain, DomainChange, WrittenDomain
from builders.portfolio.finance import sales as finance_sales
from builders.portfolio.finance.records import Sale
from builders.portfolio.imports import images, merging, outcomes
from builders.portfolio.imports.outcomes import Group
from builders.portfolio.imports.records import Counts
from builders.portfolio.imports.store import rows as store
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.ledger.records import NewEntry
from builders.portfolio.parking import revenue
from builders.portfolio.parking.records import DayRevenue

_REMOVED = RowProblem(
    code="domain_changed_meanwhile", message="The domain was removed during the import. Import the row again."
)
_KEPT = RowProblem(
    code="reference_taken",
    message="The ledger has an entry with the same reference and other values; it was not changed.",
    field=DomainRow.entries.name,
)
_FULL = RowProblem(
    code=EntryLimitReached.code,
    message=f"{EntryLimitReached.default_detail} Those of the row that exceed it were not recorded.",
    field=DomainRow.entries.name,
)
# Of the database about a value; other errors are not those of a row.
REFUSALS = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded)

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """The import that a batch belongs to."""

    account_id: UUID
    member_id: UUID
    import_id: UUID
    options: Options
    source: Source


async def apply_batch(
    conn: Conn,
    *,
    account_id: UUID,
    member_id: UUID,
    import_id: UUID,
    drafts: Sequence[tuple[int, Draft]],
    options: Options,
    source: Source,
) -> Counts:
    """Import rows with their numbers and record their results; return the number of rows by outcome.

    A dry run does the same and takes it back, except for the results. If the database refuses a row, only that row
    is refused: the rows are imported by halves, down to single rows.
    """
    context = _Context(
        account_id=account_id, member_id=member_id, import_id=import_id, options=options, source=source
    )
    if any(draft.parking for _, draft in drafts):
        await revenue.lock_revenue(conn, account_id=account_id)  # first, as all who record revenue lock
    return await _apply(conn, context, drafts)


async def _apply(conn: Conn, context: _Context, drafts: Sequence[tuple[int, Draft]]) -> Counts:
    try:
        async with conn.transaction():
            return await _write(conn, context, drafts)
    except REFUSALS as error:
        _log.warning(
            "import_rows_refused", import_id=str(context.import_id), rows=len(drafts), sqlstate=error.sqlstate
        )
    if len(drafts) == 1:
        [(number, draft)] = drafts
        row = outcomes.refused_row(number, replace(draft, errors=[outcomes.UNSTORABLE], warnings=[]))
        await store.insert(conn, account_id=context.account_id, import_id=context.import_id, rows=[row])
        return Counts(errors=1)
    half = len(drafts) // 2
    return await _apply(conn, context, drafts[:half]) + await _apply(conn, context, drafts[half:])


async def _write(conn: Conn, context: _Context, drafts: Sequence[tuple[int, Draft]]) -> Counts:
    account_id, import_id, options = context.account_id, context.import_id, context.options
    groups = await _group(conn, account_id=account_id, import_id=import_id, drafts=drafts)
    async with conn.transaction(force_rollback=options.dry_run):
        await _write_domains(conn, account_id=account_id, groups=groups, options=options)
        written = [each for each in groups if each.domain is not None and each.outcome is not RowOutcome.SKIPPED]
        await _post_entries(conn, account_id=account_id, member_id=context.member_id, groups=written)
        await _record_sales(conn, context, written)
        await _record_parking(conn, context, written)
    if options.dry_run:
        for each in groups:
            outcomes.forget_writes(each)
    rows = [outcomes.refused_row(number, draft) for number, draft in drafts if draft.errors or draft.name is None]
    rows += [row for group in groups for row in outcomes.list_results(group, context.source)]
    await store.insert(conn, account_id=account_id, import_id=import_id, rows=rows)
    return outcomes.count(rows, groups)


async def _group(
    conn: Conn, *, account_id: UUID, import_id: UUID, drafts: Sequence[tuple[int, Draft]]
) -> Sequence[Group]:
    by_name = dict[str, list[tuple[int, Draft]]]()
    for number, draft in drafts:
        if draft.name is not None and not draft.errors:
            by_name.setdefault(draft.name.domain, []).append((number, draft))
    names = list(by_name)
    earlier = await store.find_earlier(conn, account_id=account_id, import_id=import_id, domains=names)
    return [
        Group(
            name=name,
            rows=rows,
            draft=reduce(merging.combine, (draft for _, draft in rows)),
            earlier=earlier.get(name),
        )
        for name, rows in by_name.items()
    ]


async def _write_domains(conn: Conn, *, account_id: UUID, groups: Sequence[Group], options: Options) -> None:
    present = await lookups.find_domains(conn, account_id=account_id, names=[each.name for each in groups])
    added = [each for each in groups if each.name not in present]
    new = [merging.new_domain(each.draft) for each in added]
    found = await domain_changes.add_domains(conn, account_id=account_id, new=new)
    created = {each.name: written for each, written in zip(added, found, strict=True)}
    for each in groups:
        written = created.get(each.name)
        if written is None:
            each.present = present[each.name]
        elif written.outcome is RowOutcome.UNCHANGED:  # added by a concurrent request
            each.present = written.domain
        else:
            _record(each, written)
    await _change_domains(conn, account_id=account_id, groups=groups, options=options)


async def _change_domains(conn: Conn, *, account_id: UUID, groups: Sequence[Group], options: Options) -> None:
    changed = list[Group]()
    changes = list[DomainChange]()
    for each in groups:
        if each.present is None:
            continue
        each.domain = each.present
        mode = each.mode(options)
        if mode is ImportConflict.SKIP:
            each.outcome = RowOutcome.SKIPPED
            continue
        changed.append(each)
        changes.append(DomainChange(id=each.present.id, patch=merging.patch_of(each.present, each.draft, mode)))
    found = await domain_changes.change_domains(conn, account_id=account_id, changes=changes, is_quiet=True)
    for each, written in zip(changed, found, strict=True):
        _record(each, written)


def _record(group: Group, written: WrittenDomain) -> None:
    """Store the result of the domain of a group."""
    if written.domain is None:
        group.problems.append(FULL_PROBLEM if written.outcome is RowOutcome.ERROR else _REMOVED)
        group.outcome, group.domain = RowOutcome.ERROR, None
        return
    group.outcome, group.domain = written.outcome, written.domain
    if written.outcome is RowOutcome.CREATED:
        group.after = images.image_of_added(written.domain)
    if written.outcome is RowOutcome.UPDATED and group.present is not None:
        group.before, group.after = images.list_changes(group.present, written.domain)


async def _post_entries(conn: Conn, *, account_id: UUID, member_id: UUID, groups: Sequence[Group]) -> None:
    """Record the entries that the ledger does not have."""
    wanted = [
        (each, merging.new_entries(each.draft, domain_id=each.domain.id, member_id=member_id))
        for each in groups
        if each.draft.entries and each.domain is not None
    ]
    if not wanted:
        return
    listed = [entry for _, entries in wanted for entry in entries]
    present = await ledger_entries.count_same(conn, account_id=account_id, entries=listed)
    missing = [(each, entry) for each, entries in wanted for entry in merging.missing_entries(entries, present)]
    taken = await _post(conn, account_id=account_id, entries=missing)
    if taken:
        # One invoice can have several domains and kinds.
        shared = [(group, replace(entry, reference=None, order_ref=entry.reference)) for group, entry in taken]
        await _post(conn, account_id=account_id, entries=shared)


async def _post(
    conn: Conn, *, account_id: UUID, entries: Sequence[tuple[Group, NewEntry]]
) -> Sequence[tuple[Group, NewEntry]]:
    """Record entries of groups; return those whose reference another entry has: of another domain, kind or row.

    One of the same domain and kind that was recorded before is the same entry: with other values it stays, with a
    warning.
    """
    posted = await ledger_entries.post_entries(
        conn, account_id=account_id, entries=[entry for _, entry in entries]
    )
    taken = list[tuple[Group, NewEntry]]()
    for (group, new), found in zip(entries, posted, strict=True):
        present = found.entry
        if present is None:
            _warn(group, _FULL)
        elif found.is_new:
            group.add_entries([present.id])
        elif (new.domain_id, new.kind) != (present.domain_id, present.kind) or present.id in group.entry_ids:
            taken.append((group, new))
        elif (new.money, new.occurred_on) != (present.money, present.occurred_on):
            group.warnings.append(_KEPT)
    return taken


async def _record_sales(conn: Conn, context: _Context, groups: Sequence[Group]) -> None:
    """Record the sales of days that have none. The status of a domain is that of its row."""
    wanted = [
        (group, (_new_sale(group.domain, each, context.import_id), each.terms))
        for group in groups
        for each in group.draft.sales
        if group.domain is not None
    ]
    if not wanted:
        return
    found = await finance_sales.record_sales(
        conn, account_id=context.account_id, sales=[sale for _, sale in wanted], member_id=context.member_id
    )
    for (group, _), recorded in zip(wanted, found, strict=True):
        if isinstance(recorded, Problem | Invalid):
            message = f"{recorded} The sale was not recorded."
            _warn(group, RowProblem(code=recorded.code, message=message, field="sales"))
        elif recorded:
            group.add_entries(recorded)


def _new_sale(domain: Domain, draft: DraftSale, import_id: UUID) -> Sale:
    return finance_sales.new_sale(
        draft.terms,
        domain_id=domain.id,
        own_share=domain.own_share if draft.own_share is None else draft.own_share,
        status_before=domain.ownership.value,
        import_id=import_id,
    )


async def _record_parking(conn: Conn, context: _Context, groups: Sequence[Group]) -> None:
    """Record the parking revenue of days that have none."""
    by_domain = {each.domain.id: each for each in groups if each.domain is not None and each.draft.parking}
    days = [
        DayRevenue(
            domain_id=domain_id,
            day=each.day,
            provider=each.provider,
            reference=each.reference,
            money=each.money.quantized(),
            visits=each.visits,
            clicks=each.clicks,
        )
        for domain_id, group in by_domain.items()
        for each in group.draft.parking
    ]
    if not days:
        return
    recorded, refused = await revenue.record_missing(
        conn, account_id=context.account_id, import_id=context.import_id, days=days, member_id=context.member_id
    )
    for (domain_id, *_), entry in recorded.items():
        by_domain[domain_id].add_entries([] if entry is None else [entry.id])
    for domain_id in refused:
        _warn(by_domain[domain_id], replace(_FULL, field="parking"))


def _warn(group: Group, problem: RowProblem) -> None:
    group.warnings += [] if problem in group.warnings else [problem]
