"""A batch of drafts, applied to the portfolio: domains, entries of the ledger, and a result for each row."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.bulk import RowOutcome, RowProblem
from builders.portfolio.domain_files.records import Draft, Field, ImportConflict, Options, Source
from builders.portfolio.domains import service as domains
from builders.portfolio.domains.records import Domain, DomainChange, WrittenDomain
from builders.portfolio.imports import images, merging
from builders.portfolio.imports.records import Counts, ImportRow
from builders.portfolio.imports.store import rows as store
from builders.portfolio.imports.store.rows import Earlier
from builders.portfolio.ledger import service as ledger
from builders.portfolio.ledger.records import NewEntry

_REMOVED = RowProblem(
    code="domain_changed_meanwhile", message="The domain was removed during the import. Import the row again."
)
_KEPT = RowProblem(
    code="reference_taken",
    message="The ledger has an entry with the same reference and other values; it was not changed.",
    field=Field.ENTRIES.value,
)


@dataclass(slots=True, kw_only=True)
class _Group:
    """The rows of one domain in a batch, and what becomes of it."""

    name: str
    rows: list[tuple[int, Draft]]
    draft: Draft  # of all rows
    earlier: Earlier | None
    present: Domain | None = None
    outcome: RowOutcome = RowOutcome.UNCHANGED
    domain_id: UUID | None = None
    problems: list[RowProblem] = field(default_factory=list)
    warnings: list[RowProblem] = field(default_factory=list)
    before: images.Image | None = None
    after: images.Image | None = None
    entry_ids: list[UUID] = field(default_factory=list)

    def mode(self, options: Options) -> ImportConflict:
        """Return how the rows change a present domain; one that an earlier row of the file has is merged."""
        is_added = self.earlier is not None and self.earlier.outcome is not RowOutcome.SKIPPED
        return ImportConflict.MERGE if is_added else options.on_conflict


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

    A dry run does the same and takes it back, except for the results.
    """
    groups = await _group(conn, account_id=account_id, import_id=import_id, drafts=drafts)
    async with conn.transaction(force_rollback=options.dry_run):
        await _write_domains(conn, account_id=account_id, groups=groups, options=options)
        await _post_entries(conn, account_id=account_id, member_id=member_id, groups=groups)
    if options.dry_run:
        for each in groups:
            _forget_writes(each)
    rows = [_refused(number, draft) for number, draft in drafts if draft.errors or draft.name is None]
    rows += [row for group in groups for row in _results(group, source)]
    await store.insert(conn, account_id=account_id, import_id=import_id, rows=rows)
    return _count(rows, groups)


async def _group(
    conn: Conn, *, account_id: UUID, import_id: UUID, drafts: Sequence[tuple[int, Draft]]
) -> Sequence[_Group]:
    by_name = dict[str, list[tuple[int, Draft]]]()
    for number, draft in drafts:
        if draft.name is not None and not draft.errors:
            by_name.setdefault(draft.name.domain, []).append((number, draft))
    names = list(by_name)
    earlier = await store.find_earlier(conn, account_id=account_id, import_id=import_id, domains=names)
    return [
        _Group(
            name=name,
            rows=rows,
            draft=reduce(merging.combine, (draft for _, draft in rows)),
            earlier=earlier.get(name),
        )
        for name, rows in by_name.items()
    ]


async def _write_domains(conn: Conn, *, account_id: UUID, groups: Sequence[_Group], options: Options) -> None:
    present = await domains.find_domains(conn, account_id=account_id, names=[each.name for each in groups])
    added = [each for each in groups if each.name not in present]
    new = [merging.new_domain(each.draft) for each in added]
    found = await domains.add_domains(conn, account_id=account_id, new=new)
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


async def _change_domains(conn: Conn, *, account_id: UUID, groups: Sequence[_Group], options: Options) -> None:
    changed = list[_Group]()
    changes = list[DomainChange]()
    for each in groups:
        if each.present is None:
            continue
        each.domain_id = each.present.id
        mode = each.mode(options)
        if mode is ImportConflict.SKIP:
            each.outcome = RowOutcome.SKIPPED
            continue
        changed.append(each)
        changes.append(DomainChange(id=each.present.id, patch=merging.patch_of(each.present, each.draft, mode)))
    found = await domains.change_domains(conn, account_id=account_id, changes=changes, is_quiet=True)
    for each, written in zip(changed, found, strict=True):
        _record(each, written)


def _record(group: _Group, written: WrittenDomain) -> None:
    """Store the result of the domain of a group."""
    if written.domain is None:
        group.outcome, group.domain_id = RowOutcome.ERROR, None
        group.problems.append(_REMOVED)
        return
    group.outcome, group.domain_id = written.outcome, written.id
    if written.outcome is RowOutcome.UPDATED and group.present is not None:
        group.before, group.after = images.list_changes(group.present, written.domain)


async def _post_entries(conn: Conn, *, account_id: UUID, member_id: UUID, groups: Sequence[_Group]) -> None:
    """Record the purchases and sales that the ledger does not have."""
    wanted = [
        (each, each.domain_id)
        for each in groups
        if each.draft.entries and each.domain_id is not None and each.outcome is not RowOutcome.SKIPPED
    ]
    if not wanted:
        return
    present = await ledger.list_entries_by_domain(
        conn, account_id=account_id, domain_ids=[domain_id for _, domain_id in wanted]
    )
    missing = [
        (each, entry)
        for each, domain_id in wanted
        for entry in merging.missing_entries(
            each.draft, present.get(domain_id, ()), domain_id=domain_id, member_id=member_id
        )
    ]
    taken = await _post(conn, account_id=account_id, entries=missing)
    if taken:
        own = [(group, merging.with_own_reference(entry)) for group, entry in taken]
        await _post(conn, account_id=account_id, entries=own)


async def _post(
    conn: Conn, *, account_id: UUID, entries: Sequence[tuple[_Group, NewEntry]]
) -> Sequence[tuple[_Group, NewEntry]]:
    """Record entries of groups; return those whose reference an entry of another domain or kind has.

    One of the same domain and kind is the same entry: with other values it stays, with a warning.
    """
    posted = await ledger.post_entries(conn, account_id=account_id, entries=[entry for _, entry in entries])
    taken = list[tuple[_Group, NewEntry]]()
    for (group, new), found in zip(entries, posted, strict=True):
        present = found.entry
        if found.is_new:
            group.entry_ids.append(present.id)
            if group.outcome is RowOutcome.UNCHANGED:
                group.outcome = RowOutcome.UPDATED
        elif (new.domain_id, new.kind) != (present.domain_id, present.kind):
            taken.append((group, new))
        elif (new.money, new.occurred_on) != (present.money, present.occurred_on):
            group.warnings.append(_KEPT)
    return taken


def _forget_writes(group: _Group) -> None:
    """Store the simulated result of a dry run."""
    if group.outcome is RowOutcome.CREATED:
        group.domain_id = None
        if group.earlier is not None:  # which would have added it
            group.outcome = RowOutcome.UNCHANGED
    group.before = group.after = None
    group.entry_ids = []


def _results(group: _Group, source: Source) -> Sequence[ImportRow]:
    """Return the results of the rows of a group; all but the first one were merged into it."""
    first_position = group.earlier.position if group.earlier else group.rows[0][1].position
    results = list[ImportRow]()
    for at, (number, draft) in enumerate(group.rows):
        is_first = at == 0
        warnings = [*draft.warnings, *(group.warnings if is_first else ())]
        if group.earlier is not None or not is_first:
            warnings.append(_duplicate(first_position, source))
        is_changed = is_first or group.outcome in {RowOutcome.SKIPPED, RowOutcome.ERROR}
        results.append(
            ImportRow(
                number=number,
                position=draft.position,
                domain=group.name,
                outcome=group.outcome if is_changed else RowOutcome.UNCHANGED,
                domain_id=group.domain_id,
                errors=_problems(group.problems),
                warnings=_problems(warnings),
                before=group.before if is_first else None,
                after=group.after if is_first else None,
                entry_ids=group.entry_ids if is_first else (),
            )
        )
    return results


def _refused(number: int, draft: Draft) -> ImportRow:
    return ImportRow(
        number=number,
        position=draft.position,
        domain=draft.name.domain if draft.name else draft.written[:253] or None,
        outcome=RowOutcome.ERROR,
        domain_id=None,
        errors=_problems(draft.errors),
        warnings=_problems(draft.warnings),
    )


def _duplicate(position: int, source: Source) -> RowProblem:
    where = f"Line {position}" if source.has_lines else f"Row {position}"
    message = f"{where} has the same domain. Both rows are merged; the later row takes precedence."
    return RowProblem(code="duplicate_row", message=message, field="domain")


def _problems(found: Sequence[RowProblem]) -> Sequence[Mapping[str, Any]]:
    return [asdict(each) for each in found]


def _count(rows: Sequence[ImportRow], groups: Sequence[_Group]) -> Counts:
    counts = Counter(each.outcome for each in rows)
    duplicates = sum(len(each.rows) - (each.earlier is None) for each in groups)
    return Counts(
        created=counts[RowOutcome.CREATED],
        updated=counts[RowOutcome.UPDATED],
        unchanged=counts[RowOutcome.UNCHANGED],
        skipped=counts[RowOutcome.SKIPPED],
        errors=counts[RowOutcome.ERROR],
        duplicates=duplicates,
    )
