"""What becomes of the rows of a batch: a group for each domain, and the result of each row."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from builders.kit.http.bulk import RowOutcome, RowProblem
from builders.kit.sheets.sources import Source
from builders.portfolio.domain_files.records import Draft, ImportConflict, Options
from builders.portfolio.domains.records import Domain
from builders.portfolio.imports import images
from builders.portfolio.imports.records import Counts, ImportRow
from builders.portfolio.imports.store.rows import Earlier

UNSTORABLE = RowProblem(
    code="row_refused", message="The row has a value that cannot be stored. Correct it, and import the row again."
)


@dataclass(slots=True, kw_only=True)
class Group:
    """The rows of one domain in a batch, and what becomes of it."""

    name: str
    rows: list[tuple[int, Draft]]
    draft: Draft  # of all rows
    earlier: Earlier | None
    present: Domain | None = None
    outcome: RowOutcome = RowOutcome.UNCHANGED
    domain: Domain | None = None  # as it is written
    problems: list[RowProblem] = field(default_factory=list)
    warnings: list[RowProblem] = field(default_factory=list)
    before: images.Image | None = None
    after: images.Image | None = None
    entry_ids: list[UUID] = field(default_factory=list)

    def add_entries(self, entry_ids: Sequence[UUID]) -> None:
        """Store that entries, or days of parking without one, were recorded."""
        self.entry_ids += entry_ids
        if self.outcome is RowOutcome.UNCHANGED:
            self.outcome = RowOutcome.UPDATED

    def mode(self, options: Options) -> ImportConflict:
        """Return how the rows change a present domain; one that an earlier row of the file has is merged."""
        is_added = self.earlier is not None and self.earlier.outcome is not RowOutcome.SKIPPED
        return ImportConflict.MERGE if is_added else options.on_conflict


def forget_writes(group: Group) -> None:
    """Store the simulated result of a dry run."""
    if group.outcome is RowOutcome.CREATED:
        group.domain = None
        if group.earlier is not None:  # which would have added it
            group.outcome = RowOutcome.UNCHANGED
    group.before = group.after = None
    group.entry_ids = []


def list_results(group: Group, source: Source) -> Sequence[ImportRow]:
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
                domain_id=None if group.domain is None else group.domain.id,
                errors=_problems(group.problems),
                warnings=_problems(warnings),
                before=group.before if is_first else None,
                after=group.after if is_first else None,
                entry_ids=group.entry_ids if is_first else (),
            )
        )
    return results


def refused_row(number: int, draft: Draft) -> ImportRow:
    """Return the result of a row that is refused."""
    return ImportRow(
        number=number,
        position=draft.position,
        domain=draft.name.domain if draft.name else draft.written or None,
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


def count(rows: Sequence[ImportRow], groups: Sequence[Group]) -> Counts:
    """Return the number of rows by outcome."""
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
