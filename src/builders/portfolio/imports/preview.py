"""What an import would read from a source: its columns, its first rows, and the rows with problems."""

from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated

from builders.kit.errors import Invalid
from builders.kit.http import slices
from builders.kit.rows import RowProblem, row_problems
from builders.kit.sheets import workbooks
from builders.kit.sheets.csv_files import MAX_COLUMNS, normalize_header
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.kinds import MAX_LABEL
from builders.kit.sheets.sources import SentTable, Table, open_table
from builders.kit.sheets.tables import Reading, describe, opening
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.resources import resource
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domain_files.drafts import Draft, Options, read_drafts
from builders.portfolio.imports import repeats

MAX_SHOWN = 20  # first rows
_MAX_SEARCHED = 1_000  # lines of a table that cannot be read, for its first rows
MAX_PROBLEMS = 100  # rows with problems
MAX_EXAMINED = 1_000  # rows that are searched for problems
MAX_CELL = 200  # characters of a cell


@resource("PortfolioImportColumn")
@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewColumn:
    """A column of a source."""

    header: Annotated[str, doc(f"The first {MAX_LABEL} characters of its header; empty without one.")]
    name: Annotated[str | None, doc("Its header as `mapping` names it; null without one, and for a longer one.")]
    label: Annotated[str, doc("Its header as problems name it in `field`.")]
    field: Annotated[str | None, doc("The field that it holds; null when it is omitted.")]
    dropped: Annotated[bool, doc("Whether it holds passwords, codes or personal data, and is never stored.")]


@resource("PortfolioImportPreviewRow")
@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRow:
    """A row of a source as an import would read it."""

    index: Annotated[int | None, doc("Position of the row in the body, from 0; null in a file.")]
    line: Annotated[int | None, doc("Line of the row in the file, from 1; null in a body.")]
    cells: Annotated[
        Sequence[str | None],
        doc(f"The first {MAX_CELL} characters of each cell, by column; null for a column that is never stored."),
    ]
    errors: Annotated[Sequence[RowProblem], doc("Why the row would be refused.")]
    warnings: Annotated[Sequence[RowProblem], doc("Warnings about the row.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an import would read from a source."""

    detected: Annotated[DetectedTable, doc("Detected properties of the source; with a `problem` no columns.")]
    problem: Annotated[RowProblem | None, doc("Why no row can be read, such as a missing column; else null.")]
    columns: Annotated[Sequence[PreviewColumn], doc("The columns of the source.")]
    rows_total: Annotated[int | None, doc("Number of rows; null with a `problem`.")]
    rows_examined: Annotated[int, doc(f"Rows that were searched for problems, the first {MAX_EXAMINED:,}.")]
    rows: Annotated[Sequence[PreviewRow], doc(f"The first {MAX_SHOWN} rows.")]
    problem_rows: Annotated[
        Sequence[PreviewRow], doc(f"The first {MAX_PROBLEMS} examined rows with errors or warnings.")
    ]


async def preview(new: SentTable[Options]) -> Preview:
    """Return what an import of the source would read, in slices. Raise Invalid for an unreadable source."""
    new = await workbooks.open_sent(new)
    try:
        reading = await slices.run(opening(DOMAINS, new))
    except Invalid as refusal:
        table = open_table(new, DOMAINS, {})
        if len(table.header) > MAX_COLUMNS:
            raise
        return _unread(new, table, row_problems(refusal)[0])
    return await slices.run(_examine(new, reading))


def _examine(new: SentTable[Options], reading: Reading[DomainRow]) -> Generator[None, None, Preview]:
    shown, problems, drafts = list[PreviewRow](), list[PreviewRow](), list[Draft]()
    columns = _columns(reading.table, reading)
    for each in read_drafts(reading.reader, islice(reading.records(), MAX_EXAMINED), new.options):
        drafts.append(each)
        yield
    replaced = yield from _replaced(drafts, has_lines=new.source.has_lines)
    for number, (_, written) in enumerate(islice(reading.records(), MAX_EXAMINED)):
        draft = replace(drafts[number], warnings=[*drafts[number].warnings, *replaced.get(number, ())])
        is_problem = bool(draft.errors or draft.warnings) and len(problems) < MAX_PROBLEMS
        if number < MAX_SHOWN or is_problem:
            row = _row(new, draft.position, written or (), columns, draft)
            shown += [row] if number < MAX_SHOWN else []
            problems += [row] if is_problem else []
        yield
    return Preview(
        detected=reading.detected,
        problem=None,
        columns=columns,
        rows_total=reading.total,
        rows_examined=len(drafts),
        rows=shown,
        problem_rows=problems,
    )


def _replaced(
    drafts: Sequence[Draft], *, has_lines: bool
) -> Generator[None, None, Mapping[int, Sequence[RowProblem]]]:
    """Return the warnings of rows whose purchase or sale replaces that of an earlier row of the domain."""
    rows = defaultdict[str, list[tuple[int, Draft]]](list)
    for number, draft in enumerate(drafts):
        if draft.name is not None and not draft.errors:
            rows[draft.name.domain].append((number, draft))
    warnings = dict[int, Sequence[RowProblem]]()
    for of_domain in rows.values():
        if len(of_domain) > 1:
            warnings |= repeats.combine(of_domain, has_lines=has_lines).warnings
            yield
    return warnings


def _unread(new: SentTable[Options], table: Table, problem: RowProblem) -> Preview:
    """Return the columns and the first rows of a table of which no row can be read."""
    columns = _columns(table, None)
    first = islice(table.read(), _MAX_SEARCHED)
    filled = ((at, cells) for at, cells in first if not table.is_blank(cells))
    rows = [_row(new, at, cells or (), columns, None) for at, cells in islice(filled, MAX_SHOWN)]
    return Preview(
        detected=describe(table),
        problem=problem,
        columns=columns,
        rows_total=None,
        rows_examined=0,
        rows=rows,
        problem_rows=[],
    )


def _columns(table: Table, reading: Reading[DomainRow] | None) -> Sequence[PreviewColumn]:
    """Return the columns; before they are mapped, the headers alone tell which are never stored."""
    mapped = DOMAINS.name_columns(table.header) if reading is None else reading.reader.columns
    fields = {at: name for name, each in mapped.positions.items() for at in each}
    seen, columns = Counter[str](), list[PreviewColumn]()
    for at, header in enumerate(table.header):
        key, label = normalize_header(header), mapped.labels[at]
        seen[key] += 1
        shown = texts.printable(header[:MAX_LABEL])
        name = shown if seen[key] == 1 else f"{shown}#{seen[key]}"
        column = PreviewColumn(
            header=shown,
            name=name if key and len(header) <= MAX_LABEL else None,
            label=label,
            field=fields.get(at),
            dropped=label in mapped.dropped,
        )
        columns.append(column)
    return columns


def _row(
    new: SentTable[Options],
    position: int,
    cells: Sequence[str],
    columns: Sequence[PreviewColumn],
    draft: Draft | None,
) -> PreviewRow:
    written = [*cells[: len(columns)], *("" for _ in columns[len(cells) :])]
    return PreviewRow(
        index=None if new.source.has_lines else position,
        line=position if new.source.has_lines else None,
        cells=[
            None if each.dropped else texts.printable(cell[:MAX_CELL])
            for each, cell in zip(columns, written, strict=True)
        ],
        errors=() if draft is None else draft.errors,
        warnings=() if draft is None else draft.warnings,
    )
