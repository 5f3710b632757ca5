"""Formats of tables: how a vendor writes them.

A format is a file in the folder `formats` of a package: how a vendor writes a table. `source` and `read_on`: the
document that shows it, and when it was read. `requires`: headers that show it; a format that is `by_name` is
used only if a request names it. `columns`: the vendor's headers of a column, the first one that is not blank
counts; `Currency#2` is the second column of that name. `required`: columns without which a row is refused.
`ignores`: headers without a meaning. `blanks`: the vendor's words for a blank cell. `defaults`: values for all
rows, such as the registrar. A format with a `sample` is a template. Headers are compared in lower case, by their
words; a unit in brackets at the end counts only if a header is known with it.
"""

import csv
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date
from io import StringIO
from typing import Any

from builders.kit.sheets.cells import DateFormat
from builders.kit.sheets.csv_files import normalize_header
from builders.kit.sheets.numbers import DecimalMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a vendor writes a table."""

    id: str
    title: str = "Tables made by hand"
    source: str = ""  # the document that shows the headers, or what is known instead
    read_on: date | None = None  # when it was read
    by_name: bool = False  # it is used only if a request names it
    requires: AbstractSet[str] = frozenset()
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)  # normalized headers by column
    ignores: AbstractSet[str] = frozenset()
    defaults: Mapping[str, str] = field(default_factory=dict)
    currency: str | None = None
    date_format: DateFormat | None = None
    decimal_mark: DecimalMark | None = None
    required: AbstractSet[str] = frozenset()  # columns without which a row is refused
    blanks: AbstractSet[str] = frozenset()  # words of a blank cell, in lower case
    zero_is_blank: bool = False  # an amount of zero means that none is set
    is_exact: bool = False  # words such as "none" are text; else they are a blank cell
    notes: str = ""  # instructions to fill in the template
    is_verified: bool = False  # whether the vendor exports the header of the template
    headers: Mapping[str, str] = field(default_factory=dict)  # as the template writes them, by column
    sample: Sequence[Sequence[str]] = ()  # rows of the template

    @property
    def header_row(self) -> str:
        """Return the header of the template as a line of CSV."""
        return _csv([[*self.headers.values()]]).strip()

    @property
    def sample_csv(self) -> str:
        """Return the template as a file that can be imported."""
        return _csv([[*self.headers.values()], *self.sample])


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_format(name: str, table: dict[str, Any]) -> Format:
    """Return the format of a file."""
    columns = table.pop("columns", {})
    date_format, decimal_mark = table.pop("date_format", None), table.pop("decimal_mark", None)
    return Format(
        id=name,
        decimal_mark=None if decimal_mark is None else DecimalMark(decimal_mark),
        required=frozenset(table.pop("required", ())),
        blanks=frozenset(map(str.lower, table.pop("blanks", ()))),
        requires=frozenset(map(normalize_header, table.pop("requires", ()))),
        ignores=frozenset(map(normalize_numbered, table.pop("ignores", ()))),
        columns={each: [*map(normalize_numbered, headers)] for each, headers in columns.items()},
        headers={each: headers[0] for each, headers in columns.items()},
        date_format=None if date_format is None else DateFormat(date_format),
        **table,
    )


def normalize_numbered(header: str) -> str:
    """Return a header in the form in which it is compared, with the number behind it."""
    words, mark, number = header.rpartition("#")
    is_numbered = bool(mark) and number.isdecimal() and number != "1"
    return f"{normalize_header(words)}#{number}" if is_numbered else normalize_header(header.removesuffix("#1"))
