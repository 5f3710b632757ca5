"""A batch of drafts, applied to the portfolio: domains, entries of the ledger, and a result for each row."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TypeAlias
from uuid import UUID

import psycopg

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid, Problem
from builders.kit.process import log
from builders.kit.rows import RowOutcome, RowProblem
from builders.kit.sheets.sources import Source
from builders.portfolio.domain_files.columns import DomainRow
from builders.portfolio.domain_files.drafts import Draft, ImportConflict, Options
from builders.portfolio.domains import changes as domain_changes, lookups
from builders.portfolio.domains.changes import FULL_PROBLEM
from builders.portfolio.domains.records import ChangeSource, Domain, DomainChange, WrittenDomain
from builders.portfolio.domains.today import get_today
from builders.portfolio.finance import sales as finance_sales
from builders.portfolio.finance.records import Sale
from builders.portfolio.imports import field_values, merge, repeats, store
from builders.portfolio.imports.field_values import FieldValues
from builders.portfolio.imports.records import Counts, ImportRow
from builders.portfolio.imports.repeats import SAME_SALE, Combined
from builders.portfolio.imports.store import Earlier
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.ledger.records import NewEntry
from builders.portfolio.parking import revenue
from builders.portfolio.parking.records import DayRevenue
from builders.portfolio.renewals import decisions as renewal_decisions
from builders.portfolio.renewals.records import Decision

_UNSTORABLE = RowProblem(
    code="row_refused", message="The row has a value that cannot be stored. Correct it, and import the row again."
)
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


@dataclass(slots=True, kw_only=True)
class Group:
    """The rows of one domain in a batch, and what becomes of it."""

    name: str
    rows: list[tuple[int, Draft]]
    combined: Combined
    earlier: Earlier | None
    present: Domain | None = None
    outcome: RowOutcome = RowOutcome.UNCHANGED
    domain: Domain | None = None  # as it is written
    problems: list[RowProblem] = field(default_factory=list)
    warnings: list[RowProblem] = field(default_factory=list)
    before: FieldValues | None = None
    after: FieldValues | None = None
    entry_ids: list[UUID] = field(default_factory=list)

    @property
    def draft(self) -> Draft:
        """Return all rows as one."""
        return self.combined.draft

    def add_entries(self, entry_ids: Sequence[UUID]) -> None:
        """Store that entries, or what has none, were recorded."""
        self.entry_ids += entry_ids
        if self.outcome is RowOutcome.UNCHANGED:
            self.outcome = RowOutcome.UPDATED

    def forget_writes(self) -> None:
        """Store the simulated result of a dry run."""
        if self.outcome is RowOutcome.CREATED:
            self.domain = None
            if self.earlier is not None:  # which would have added it
                self.outcome = RowOutcome.UNCHANGED
        self.before = self.after = None
        self.entry_ids = []

    def mode(self, options: Options) -> ImportConflict:
        """Return how the rows change a present domain; one that an earlier row of the file has is merged."""
        is_added = self.earlier is not None and self.earlier.outcome is not RowOutcome.SKIPPED
        return ImportConflict.MERGE if is_added else options.on_conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """The import that a batch belongs to."""

    account_id: UUID
    member_id: UUID
    import_id: UUID
    options: Options
    source: Source


_Written: TypeAlias = Sequence[tuple[Domain, Group]]  # with the domain as it is written


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
        row = _refused_row(number, replace(draft, errors=[_UNSTORABLE], warnings=[]))
        await store.insert(conn, account_id=context.account_id, import_id=context.import_id, rows=[row])
        return Counts(errors=1)
    half = len(drafts) // 2
    return await _apply(conn, context, drafts[:half]) + await _apply(conn, context, drafts[half:])


async def _write(conn: Conn, context: _Context, drafts: Sequence[tuple[int, Draft]]) -> Counts:
    account_id, import_id, options = context.account_id, context.import_id, context.options
    by_name = dict[str, list[tuple[int, Draft]]]()
    for number, draft in drafts:
        if draft.name is not None and not draft.errors:
            by_name.setdefault(draft.name.domain, []).append((number, draft))
    earlier = await store.load_earlier(conn, account_id=account_id, import_id=import_id, domains=list(by_name))
    groups = list[Group]()
    for name, of_domain in by_name.items():
        combined = repeats.combine(of_domain, has_lines=context.source.has_lines, is_continued=name in earlier)
        groups.append(Group(name=name, rows=of_domain, combined=combined, earlier=earlier.get(name)))
    async with conn.transaction(force_rollback=options.dry_run):
        await _write_domains(conn, account_id=account_id, groups=groups, options=options)
        changed = [each for each in groups if each.outcome is not RowOutcome.SKIPPED]
        written = [(each.domain, each) for each in changed if each.domain is not None]
        await _post_entries(conn, context, written)
        await _record_sales(conn, context, written)
        await _record_parking(conn, context, written)
        await _record_decisions(conn, context, written)
    if options.dry_run:
        for each in groups:
            each.forget_writes()
    rows = [_refused_row(number, draft) for number, draft in drafts if draft.errors or draft.name is None]
    rows += [row for group in groups for row in _list_results(group, context.source)]
    await store.insert(conn, account_id=account_id, import_id=import_id, rows=rows)
    outcomes = Counter(each.outcome for each in rows)
    return Counts(
        created=outcomes[RowOutcome.CREATED],
        updated=outcomes[RowOutcome.UPDATED],
        unchanged=outcomes[RowOutcome.UNCHANGED],
        skipped=outcomes[RowOutcome.SKIPPED],
        errors=outcomes[RowOutcome.ERROR],
        duplicates=sum(len(each.rows) - (each.earlier is None) for each in groups),
    )


async def _write_domains(conn: Conn, *, account_id: UUID, groups: Sequence[Group], options: Options) -> None:
    present = await lookups.load_domains(conn, account_id=account_id, names=[each.name for each in groups])
    added = [each for each in groups if each.name not in present]
    new = [merge.new_domain(each.draft) for each in added]
    found = await domain_changes.add_domains(conn, account_id=account_id, new=new)
    created = {each.name: written for each, written in zip(added, found, strict=True)}
    for group in groups:
        written = created.get(group.name)
        if written is None:
            group.present = present[group.name]
        elif written.outcome is RowOutcome.UNCHANGED:  # added by a concurrent request
            group.present = written.domain
        else:
            _record(group, written)
    await _change_domains(conn, account_id=account_id, groups=groups, options=options)


async def _change_domains(conn: Conn, *, account_id: UUID, groups: Sequence[Group], options: Options) -> None:
    changed = list[Group]()
    changes = list[DomainChange]()
    today = await get_today(conn, account_id=account_id)
    for group in groups:
        if group.present is None:
            continue
        group.domain = group.present
        mode = group.mode(options)
        if mode is ImportConflict.SKIP:
            group.outcome = RowOutcome.SKIPPED
            continue
        changed.append(group)
        patch = merge.patch_of(group.present, group.draft, mode, today=today)
        changes.append(DomainChange(id=group.present.id, patch=patch))
    found = await domain_changes.change_domains(
        conn, account_id=account_id, changes=changes, source=ChangeSource.IMPORT, is_quiet=True
    )
    for group, written in zip(changed, found, strict=True):
        _record(group, written)


def _record(group: Group, written: WrittenDomain) -> None:
    """Store the result of the domain of a group."""
    if written.domain is None:
        group.problems.append(FULL_PROBLEM if written.outcome is RowOutcome.ERROR else _REMOVED)
        group.outcome, group.domain = RowOutcome.ERROR, None
        return
    group.outcome, group.domain = written.outcome, written.domain
    if written.outcome is RowOutcome.CREATED:
        group.after = field_values.values_of_added(written.domain)
    if written.outcome is RowOutcome.UPDATED and group.present is not None:
        group.before, group.after = field_values.list_changes(group.present, written.domain)


async def _post_entries(conn: Conn, context: _Context, written: _Written) -> None:
    """Record the entries that the ledger does not have."""
    wanted = [
        (group, [each.entry(domain.id, created_by=context.member_id) for each in group.draft.entries])
        for domain, group in written
    ]
    listed = [entry for _, entries in wanted for entry in entries]
    if not listed:
        return
    present = await ledger_entries.count_same(conn, account_id=context.account_id, entries=listed)
    missing = [(each, entry) for each, entries in wanted for entry in merge.missing_entries(entries, present)]
    taken = await _post(conn, account_id=context.account_id, entries=missing)
    if taken:
        # One invoice can have several domains and kinds.
        shared = [(group, replace(entry, reference=None, order_ref=entry.reference)) for group, entry in taken]
        await _post(conn, account_id=context.account_id, entries=shared)


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


async def _record_sales(conn: Conn, context: _Context, written: _Written) -> None:
    """Record the sales of days that have none. The status of a domain is that of its row."""
    today = await get_today(conn, account_id=context.account_id)
    wanted = [
        (
            finance_sales.new_sale(
                terms,
                today=today.day,
                domain_id=domain.id,
                own_share=domain.own_share if share is None else share,
                status_before=domain.ownership.value,
                import_id=context.import_id,
            ),
            terms,
        )
        for domain, group in written
        for terms, share in group.draft.sales
    ]
    if not wanted:
        return
    sold = sorted({sale.domain_id for sale, _ in wanted})
    present = await finance_sales.list_sales(conn, account_id=context.account_id, domain_ids=sold)
    found = await finance_sales.record_sales(
        conn, account_id=context.account_id, sales=wanted, member_id=context.member_id
    )
    groups = {domain.id: group for domain, group in written}
    for (sale, _), recorded in zip(wanted, found, strict=True):
        if isinstance(recorded, Problem | Invalid):
            message = f"{recorded} The sale was not recorded."
            _warn(groups[sale.domain_id], RowProblem(code=recorded.code, message=message, field="sales"))
        elif recorded:
            groups[sale.domain_id].add_entries(recorded)
            similar = _find_similar(sale, present)
            if similar is not None:
                _warn(groups[sale.domain_id], _similar_sale(sale, similar, recorded[0]))


def _find_similar(sale: Sale, present: Sequence[Sale]) -> Sale | None:
    """Return the nearest other sale of the domain that an earlier request recorded, of about the same day."""
    others = [each for each in present if each.domain_id == sale.domain_id and each.import_id != sale.import_id]
    nearest = min(others, key=lambda each: abs(each.sold_on - sale.sold_on), default=None)
    return nearest if nearest is not None and abs(nearest.sold_on - sale.sold_on) <= SAME_SALE else None


def _similar_sale(sale: Sale, similar: Sale, entry_id: UUID) -> RowProblem:
    """Return the warning; its request keeps the other sale on the day of the file, which then adds it no more."""
    body = {"entries_void": [str(entry_id)], "sale": {"id": str(similar.id), "sold_on": sale.sold_on.isoformat()}}
    message = (
        f"A sale of {similar.sold_on} is recorded too ({similar.id}), and both count. If they are the same, keep "
        f"that one on this day: PATCH /v1/portfolio/domains/{sale.domain_id}/finance {json.dumps(body)}"
    )
    return RowProblem(code="sale_similar", message=message, field="sales")


async def _record_parking(conn: Conn, context: _Context, written: _Written) -> None:
    """Record the parking revenue of days that have none."""
    days = [
        DayRevenue(
            domain_id=domain.id,
            day=each.on,
            provider="-".join(each.provider.lower().split()),
            reference=each.reference or "",
            money=each.money,
            visits=each.visits,
            clicks=each.clicks,
        )
        for domain, group in written
        for each in group.draft.parking
    ]
    if not days:
        return
    recorded, refused = await revenue.record_missing(
        conn,
        account_id=context.account_id,
        import_id=context.import_id,
        days=days,
        member_id=context.member_id,
    )
    groups = {domain.id: group for domain, group in written}
    for domain_id in recorded:
        groups[domain_id].add_entries([])
    for domain_id, problem in refused.items():
        message = f"{problem.message} Days of the row were not recorded."
        _warn(groups[domain_id], replace(problem, field="parking", message=message))


async def _record_decisions(conn: Conn, context: _Context, written: _Written) -> None:
    """Record the renewal decisions of domains that have none or an earlier one."""
    groups = {domain.id: group for domain, group in written}
    given = {domain_id: group.draft.decision for domain_id, group in groups.items()}
    decisions = [
        Decision(domain_id=each, **dict(decided)) for each, decided in given.items() if decided is not None
    ]
    if not decisions:
        return
    recorded = await renewal_decisions.record_decisions(
        conn, account_id=context.account_id, member_id=context.member_id, decisions=decisions
    )
    for each in recorded:
        groups[each].add_entries([])


def _warn(group: Group, problem: RowProblem) -> None:
    group.warnings += [] if problem in group.warnings else [problem]


def _list_results(group: Group, source: Source) -> Sequence[ImportRow]:
    """Return the results of the rows of a group; all but the first one were merged into it."""
    first_position = group.earlier.position if group.earlier else group.rows[0][1].position
    where = f"Line {first_position}" if source.has_lines else f"Row {first_position}"
    message = f"{where} has the same domain. Both rows are merged; the later row takes precedence."
    duplicate = RowProblem(code="duplicate_row", message=message, field="domain")
    results = list[ImportRow]()
    for at, (number, draft) in enumerate(group.rows):
        is_first = at == 0
        warnings = [*draft.warnings, *(group.warnings if is_first else ())]
        if group.earlier is not None or not is_first:
            warnings.append(duplicate)
        if group.outcome not in {RowOutcome.SKIPPED, RowOutcome.ERROR}:
            warnings += group.combined.warnings.get(number, ())
        is_changed = is_first or group.outcome in {RowOutcome.SKIPPED, RowOutcome.ERROR}
        results.append(
            ImportRow(
                number=number,
                position=draft.position,
                domain=group.name,
                outcome=group.outcome if is_changed else RowOutcome.UNCHANGED,
                domain_id=None if group.domain is None else group.domain.id,
                errors=list(map(asdict, group.problems)),
                warnings=list(map(asdict, warnings)),
                before=group.before if is_first else None,
                after=group.after if is_first else None,
                entry_ids=group.entry_ids if is_first else (),
            )
        )
    return results


def _refused_row(number: int, draft: Draft) -> ImportRow:
    return ImportRow(
        number=number,
        position=draft.position,
        domain=draft.name.domain if draft.name else draft.written or None,
        outcome=RowOutcome.ERROR,
        domain_id=None,
        errors=list(map(asdict, draft.errors)),
        warnings=list(map(asdict, draft.warnings)),
    )
