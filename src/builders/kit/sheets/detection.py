"""What is detected of a table that comes in; what its content does not prove is a warning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from builders.kit.rows import RowProblem
from builders.kit.sheets.cells import DateFormat
from builders.kit.sheets.kinds import UnmappedColumn
from builders.kit.sheets.numbers import DecimalMark
from builders.kit.values.docs import doc


class FileType(StrEnum):
    """Type of a file, which its bytes show."""

    CSV = "csv"
    XLSX = "xlsx"
    XLS = "xls"
    ODS = "ods"


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedTable:
    """Detected properties of a table."""

    format: Annotated[str, doc("The recognized format; `generic` for another table, `list` for names alone.")]
    file_type: Annotated[FileType | None, doc("Type of the file, by its bytes; null for JSON.")] = None
    encoding: Annotated[str | None, doc("Encoding of the file; null for JSON and workbooks.")]
    likely_encodings: Annotated[
        Sequence[str], doc("When the encoding is a guess: the likeliest ones, of which the first was used.")
    ] = ()
    delimiter: Annotated[str | None, doc("Delimiter of the file; null for a single column and for workbooks.")]
    header_line: Annotated[int | None, doc("Line of the header; null without one.")]
    sheet: Annotated[str | None, doc("Name of the sheet of a workbook; null for other tables.")] = None
    omitted_sheets: Annotated[Sequence[str], doc("Other sheets of the workbook, which were not read.")] = ()
    hidden_sheets: Annotated[Sequence[str], doc("Which sheets of the workbook are hidden.")] = ()
    merged_cells: Annotated[
        Sequence[str], doc("The first merged cells of the sheet, such as `A1:C1`; the first cell has their value.")
    ] = ()
    mapping: Annotated[Mapping[str, str], doc("The header of each column.")]
    unmapped_columns: Annotated[Sequence[UnmappedColumn], doc("Columns that were omitted.")]
    dropped_columns: Annotated[
        Sequence[str], doc("Columns with passwords, codes or personal data, which are never stored.")
    ]
    date_order: Annotated[
        DateFormat | None, doc("Order in which numeric dates were read; null when no date needs it.")
    ]
    dates_ambiguous: Annotated[
        bool, doc("Some dates are ambiguous, and others show no order, or both: send `date_order`.")
    ]
    decimal_mark: Annotated[
        DecimalMark | None, doc("Decimal mark of the numbers; null when no number shows a single one.")
    ] = None
    numbers_ambiguous: Annotated[
        bool,
        doc(
            "Some numbers are ambiguous, such as 1.120, and no number shows the decimal mark: a warning of "
            "the row says how it was read. Send `decimal_mark`."
        ),
    ] = False
    time_zones: Annotated[
        Mapping[str, str], doc("The words for time zones, each with the offset from UTC that it was read as.")
    ] = field(default_factory=dict)
    currency_symbols: Annotated[
        Mapping[str, str], doc("The symbols of currencies, each with the code that it was read as.")
    ] = field(default_factory=dict)
    assumed_currency: Annotated[
        str | None, doc("Currency of the amounts without one; null when each amount has one.")
    ] = None
    merged_rows: Annotated[int, doc("Rows with the domain of an earlier row.")] = 0
    warnings: Annotated[
        Sequence[RowProblem],
        doc("What the content does not prove, and how it was read; `field` is the option that names it."),
    ] = ()
