"""Kinds of tables: their columns, and which column of a table has which of them."""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date, datetime
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, overload

from pydantic import Field

from builders.kit.errors import Invalid
from builders.kit.http.bulk import RowOutcome, RowProblem, RowResult
from builders.kit.sheets.cells import CellRefused, DateFormat, read_date, read_moment, shown
from builders.kit.sheets.csv_files import normalize_header, part_unit
from builders.kit.sheets.formats import Format, normalize_numbered, read_format
from builders.kit.sheets.numbers import (
    AmountRules,
    DecimalMark,
    find_currency,
    is_ambiguous_number,
    read_amount,
    read_count,
    read_currency,
)
from builders.kit.values import texts
from builders.kit.values.money import Money, decimals_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the cells of a table are read."""

    labels: Mapping[str, str]  # by column: its header, as messages name it
    date_format: DateFormat
    currency: str  # of amounts in a row without one
    row_currency: str | None  # of all amounts, when the format names it
    zero_is_blank: bool  # an amount of zero means that none is set
    decimal_mark: DecimalMark | None = None  # None: the numbers of the table do not show it
    units: Mapping[str, str] = field(default_factory=dict)  # by column: the currency in its header
    required: AbstractSet[str] = frozenset()  # columns without which the format has no row
    home_currency: str | None = None  # that the request, the format or the account names


class Column(Generic[T]):
    """A column of a table: the headers that mean it, the reader of its cells, and whether rows need it.

    The headers are its own name and `names`, the best one first, in the languages that files have. A row without a
    `required` value is refused. A bad cell of a `required` or `strict` column refuses its row; in other columns it
    is ignored with a warning, and the row goes in.
    """

    def __init__(
        self,
        *names: str,
        read: Callable[[str], T | None],
        type: str = "text",  # noqa: A002 - as templates name it
        required: bool = False,
        strict: bool = False,
        is_name: bool = False,
    ) -> None:
        self.names = names
        self.name = ""
        self.is_name = is_name or type == "domain"  # its cells are names of domains or hosts
        self.required, self.is_strict = required, required or strict
        self.type = type
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute as the name of the column."""
        self.name = name

    @property
    def headers(self) -> tuple[str, ...]:
        """Return the normalized headers that mean the column, the best one first."""
        return normalize_header(self.name), *self.names

    @overload
    def __get__(self, row: None, owner: type) -> Self: ...

    @overload
    def __get__(self, row: "Row", owner: type) -> T | None: ...

    def __get__(self, row: "Row | None", owner: type) -> Self | T | None:
        """Return the value of the row; None without one."""
        return self if row is None else row.values.get(self.name)

    def read(self, cell: str, row: "Row") -> T | None:
        """Return the value of a cell that is not blank. Raise CellRefused."""
        del row
        return self._read(cell)

    def accepts(self, cell: str) -> bool:
        """Return whether a cell is a value of the column."""
        try:
            return self._read(cell) is not None
        except CellRefused:
            return False


def _by_row(cell: str) -> Any:
    raise TypeError(f"{cell} is read by the rules of its row.")


class Currency(Column[str]):
    """A column with the currency of amounts; it is read before them."""

    def __init__(self, *names: str, strict: bool = False) -> None:
        super().__init__(*names, read=_by_row, type="currency", strict=strict)

    def read(self, cell: str, row: "Row") -> str | None:
        """Return the code of a cell. Raise CellRefused."""
        return read_currency(cell, row.rules.home_currency)


class Moment(Column[date | datetime]):
    """A column of dates with or without a time."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names, read=_by_row, type="date")

    def read(self, cell: str, row: "Row") -> date | datetime | None:
        """Return the date or the time of a cell. Raise CellRefused."""
        return read_moment(cell, row.rules.date_format)


class Day(Column[date]):
    """A column of dates."""

    def __init__(self, *names: str, required: bool = False, strict: bool = False) -> None:
        super().__init__(*names, read=_by_row, type="date", required=required, strict=strict)

    def read(self, cell: str, row: "Row") -> date | None:
        """Return the date of a cell. Raise CellRefused."""
        return read_date(cell, row.rules.date_format)


class Amount(Column[Money]):
    """A column of amounts. One whose currency cannot be read is bad itself.

    `decimals`: how many an amount can have, if not those of its currency.
    """

    def __init__(
        self,
        *names: str,
        currency: str = "currency",
        is_signed: bool = False,
        decimals: int | None = None,
        required: bool = False,
        strict: bool = False,
    ) -> None:
        super().__init__(*names, read=_by_row, type="amount", required=required, strict=strict)
        self._currency, self._is_signed, self._decimals = currency, is_signed, decimals

    def read(self, cell: str, row: "Row") -> Money | None:
        """Return the money of a cell. Raise CellRefused."""
        currency, rules = row.currency_of(self._currency), row.rules
        amount_rules = AmountRules(
            currency,
            rules.currency,
            zero_is_blank=rules.zero_is_blank,
            unit=rules.units.get(self.name),
            decimal_mark=rules.decimal_mark,
            home_currency=rules.home_currency,
            decimals=self._decimals,
        )
        found = read_amount(cell, amount_rules, is_signed=self._is_signed)
        if found is not None and decimals_of(found.currency) < _THOUSANDS:
            row.warn_if_ambiguous(self, cell, f"{abs(found.amount):,f}")
        return found


class Count(Column[int]):
    """A column of whole numbers from 0."""

    def __init__(self, *names: str, maximum: int) -> None:
        super().__init__(*names, read=_by_row, type="number")
        self._maximum = maximum

    def read(self, cell: str, row: "Row") -> int | None:
        """Return the number of a cell. Raise CellRefused."""
        found = read_count(cell, self._maximum, row.rules.decimal_mark)
        row.warn_if_ambiguous(self, cell, f"{found:,}")
        return found


class Row:
    """A row of a table that was read: its values by column, and the problems of its cells."""

    columns: ClassVar[Mapping[str, Column[Any]]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the columns of the class."""
        cls.columns = {name: each for name, each in vars(cls).items() if isinstance(each, Column)}

    def __init__(self, position: int, rules: Rules) -> None:
        self.position = position  # the line of a file or text, from 1; of another source the index, from 0
        self.rules = rules
        self.values: dict[str, Any] = {}
        self.blank: set[str] = set()  # columns of the table whose cells are blank
        self.bad: dict[str, CellRefused] = {}  # by column
        self.written: dict[str, str] = {}  # the text of each cell that is not blank
        self.is_total = False  # a sum of other rows
        self.errors: list[RowProblem] = []
        self.warnings: list[RowProblem] = []

    def currency_of(self, name: str) -> str | None:
        """Return the currency in a column, else that of the row. Raise CellRefused."""
        for each in (name, "currency"):
            if each in self.bad:
                raise self.bad[each]
            if each in self.values:
                return str(self.values[each])
        return self.rules.row_currency

    def refuse(self, code: str, message: str, column: Column[Any] | None = None, **more: Any) -> None:
        """Add an error: the row is not imported."""
        self.errors.append(RowProblem(code=code, message=message, field=self._label(column), **more))

    def warn(self, code: str, message: str, column: Column[Any] | None = None) -> None:
        """Add a warning: the row is imported."""
        self.warnings.append(RowProblem(code=code, message=message, field=self._label(column)))

    def warn_if_ambiguous(self, column: Column[Any], cell: str, taken: str) -> None:
        """Warn of a number whose point can mean two things, when no number of the table shows which."""
        if self.rules.decimal_mark is None and is_ambiguous_number(cell):
            message = f"{shown(cell)} was read as {taken}. If its point is a decimal mark, send `decimal_mark`."
            self.warn("number_ambiguous", message, column)

    def take(self, column: Column[Any], cell: str) -> None:
        """Read a cell that is not blank into the row."""
        self.written[column.name] = cell
        try:
            value = column.read(cell, self)
        except CellRefused as refusal:
            self.bad[column.name] = refusal
            if column.is_strict or column.name in self.rules.required:
                self.refuse(refusal.code, str(refusal), column, did_you_mean=refusal.did_you_mean)
            else:
                self.warn(refusal.code, f"{refusal} The cell was ignored.", column)
        else:
            if value is None:
                self.blank.add(column.name)
            else:
                self.values[column.name] = value

    def result(self, domain: str | None, *, has_lines: bool) -> RowResult:
        """Return the result of the row before it is imported: an error, skipped, or unchanged."""
        outcome = RowOutcome.ERROR if self.errors else RowOutcome.UNCHANGED
        return RowResult(
            outcome=RowOutcome.SKIPPED if self.is_total else outcome,
            index=None if has_lines else self.position,
            line=self.position if has_lines else None,
            domain=domain,
            errors=self.errors,
            warnings=self.warnings,
        )

    def _label(self, column: Column[Any] | None) -> str | None:
        return None if column is None else self.rules.labels.get(column.name)


AUTO = "auto"  # the format is found by the header
GENERIC = "generic"
_CLOSE = 0.8  # similarity of a header that is suggested
_MAX_LABEL = 500  # characters of a header in a reply
_MAX_SUGGESTED = 40  # characters of a header for which a column is suggested
_MAX_SUGGESTIONS = 20  # headers of a table for which a column is suggested
_THOUSANDS = 3  # digits behind a mark, which are thousands if the currency has fewer decimals
_PRIVATE = tomllib.loads(files("builders.kit.sheets").joinpath("private_headers.toml").read_text(encoding="utf-8"))
_KINDS: dict[str, "TableKind[Any]"] = {}
R = TypeVar("R", bound=Row)


def list_kinds() -> Sequence["TableKind[Any]"]:
    """Return all kinds of tables by name."""
    return [_KINDS[name] for name in sorted(_KINDS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmappedColumn:
    """A column that was not recognized; name it with `mapping`."""

    column: Annotated[str, Field(description="Header of the column.")]
    did_you_mean: Annotated[
        str | None, Field(description="The column with the closest name; null when none is close.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
    """Which columns of a table hold which column of its kind."""

    positions: Mapping[str, Sequence[int]]  # the preferred one first
    labels: Sequence[str]  # of all columns, as messages name them
    unmapped: Sequence[UnmappedColumn]
    dropped: Sequence[str]  # labels of columns with secrets or personal data
    units: Mapping[str, str]  # by column: the currency in its header


@dataclass(frozen=True, kw_only=True)
class TableKind(Generic[R]):
    """A kind of table. Its formats are the files `formats/*.toml` of its package."""

    name: str
    row: type[R]
    path: str | None = None  # of the operation that imports it
    package: str | None = None  # None: it has no formats
    needs: Sequence[Sequence[str]] = ()  # of each of these a table has a column, besides the required ones
    multiline: AbstractSet[str] | None = None  # columns whose cells can have several lines; None: all
    key: str | None = None  # the column of a table that has a single one, with or without a header
    has_totals: bool = False  # rows that begin with a word such as "Total" are sums of others
    requires_date_order: bool = False  # a table whose dates have two meanings is refused
    merges_rows: bool = False  # rows with the same key are merged

    def __post_init__(self) -> None:
        """Add the kind to `list_kinds`."""
        _KINDS[self.name] = self

    @cached_property
    def formats(self) -> Mapping[str, Format]:
        """Return the formats by their ids; first that of tables made by hand."""
        found = {GENERIC: Format(id=GENERIC)}
        folder = None if self.package is None else files(self.package).joinpath("formats")
        for each in sorted(() if folder is None else folder.iterdir(), key=lambda each: each.name):
            name = each.name.removesuffix(".toml")
            found[name] = read_format(name, tomllib.loads(each.read_text(encoding="utf-8")))
        return found

    @cached_property
    def _by_header(self) -> Mapping[str, Column[Any]]:
        """Return the columns by the headers that mean them; the own names come before others."""
        columns = self.row.columns.values()
        synonyms = {header: each for each in columns for header in each.headers}
        return synonyms | {each.headers[0]: each for each in columns}

    @cached_property
    def _known(self) -> AbstractSet[str]:
        named = (headers for each in self.formats.values() for headers in (each.requires, *each.columns.values()))
        return frozenset(self._by_header) | {header.partition("#")[0] for headers in named for header in headers}

    def is_header(self, text: str, mapping: Iterable[str] = ()) -> bool:
        """Return whether a normalized cell is a known header, or one of the headers of a mapping."""
        return text in self._known or text in mapping

    def is_key_value(self, cell: str) -> bool:
        """Return whether a cell is a value of the key."""
        return self.key is not None and self.row.columns[self.key].accepts(cell)

    def is_key_header(self, text: str, mapping: Iterable[str] = ()) -> bool:
        """Return whether a normalized cell alone shows that its row is the header."""
        found = self._by_header.get(text)
        return text in mapping or (found is not None and found.name == self.key)

    def get_format(self, name: str, header: Sequence[str] = (), *, place: str = "body") -> Format:
        """Return a format; for `auto` the most specific one whose required headers are all there.

        Raise Invalid.
        """
        if name == AUTO:
            present = {normalize_header(form) for each in header for form in (each, part_unit(each)[0])}
            return max(
                (each for each in self.formats.values() if each.requires <= present and not each.by_name),
                key=lambda each: len(each.requires),
            )
        if name not in self.formats:
            message = f"Input should be one of: {', '.join([AUTO, *self.formats])}"
            raise Invalid((place, "format"), message, "format_unknown")
        return self.formats[name]

    def require_columns(self, names: Iterable[str], *, place: str = "body") -> None:
        """Raise Invalid for a mapping with a name that no column has."""
        for each in names:
            if each not in self.row.columns:
                meant = next(iter(get_close_matches(each[:_MAX_SUGGESTED], self.row.columns, n=1)), None)
                hint = f" Did you mean {meant}?" if meant else ""
                message = f"{each[:_MAX_LABEL]!r} is not a known column.{hint}"
                raise Invalid((place, "mapping", each[:_MAX_LABEL]), message, "column_unknown")

    def map_columns(self, header: Sequence[str], form: Format, mapping: Mapping[str, str]) -> ColumnMap:
        """Return which columns hold what: by the mapping, by the format, and by their headers for the others.

        Raise Invalid for a mapping to a missing column, and without a needed column.
        """
        whole, labels = _numbered([normalize_header(each) for each in header]), _labels(header)
        keys = self._known_keys(whole, header, form)
        at = {key: position for position, key in reversed([*enumerate(keys), *enumerate(whole)])}
        dropped = [at for at, key in enumerate(whole) if _is_private(key) or _is_private(keys[at])]
        candidates: dict[str, list[int]] = {name: [_mapped(at, name, theirs)] for name, theirs in mapping.items()}
        for name, headers in form.columns.items():
            candidates.setdefault(name, [at[each] for each in headers if each in at])
        named = {name for name, positions in candidates.items() if positions}
        taken = {position for positions in candidates.values() for position in positions}
        unmapped = list[UnmappedColumn]()
        for position, key in enumerate(keys):
            if position in taken or position in dropped or not key or key in form.ignores:
                continue
            meant = self._by_header.get(key.partition("#")[0])
            if meant is None:
                suggested = self._suggest(key) if len(unmapped) < _MAX_SUGGESTIONS else None
                unmapped.append(UnmappedColumn(column=labels[position], did_you_mean=suggested))
            elif meant.name not in named:
                candidates.setdefault(meant.name, []).append(position)
        for name in candidates.keys() - named:
            ranks = self.row.columns[name].headers
            candidates[name].sort(key=lambda position: ranks.index(keys[position].partition("#")[0]))
        units = [find_currency(part_unit(each)[1]) for each in header]
        positions = dict[str, Sequence[int]]()
        for name, each in candidates.items():
            same = [position for position in each if units[position] == units[each[0]]]
            others = [position for position in each if position not in same]  # amounts in another currency
            unmapped += [UnmappedColumn(column=labels[position], did_you_mean=None) for position in others]
            positions |= {name: same} if same else {}
        self._require_needed(positions)
        used = {position for each in positions.values() for position in each}
        private = [labels[position] for position in dropped if position not in used]
        return ColumnMap(
            positions=positions,
            labels=labels,
            unmapped=unmapped,
            dropped=private,
            units={name: unit for name, each in positions.items() if (unit := units[each[0]]) is not None},
        )

    def name_columns(self, header: Sequence[str]) -> ColumnMap:
        """Return the labels of columns that are not mapped yet, and which of them are never stored."""
        labels = _labels(header)
        private = [labels[at] for at, each in enumerate(header) if _is_private(normalize_header(each))]
        return ColumnMap(positions={}, labels=labels, unmapped=(), dropped=private, units={})

    def _known_keys(self, whole: Sequence[str], header: Sequence[str], form: Format) -> Sequence[str]:
        """Return the headers with their units where the kind or the format knows them so, the others without."""
        known = {*form.ignores, *(each for headers in form.columns.values() for each in headers), *self._by_header}
        keys = [
            key.partition("#")[0] if key in known else normalize_header(part_unit(each)[0])
            for key, each in zip(whole, header, strict=True)
        ]
        return _numbered(keys)

    def _require_needed(self, positions: Mapping[str, Sequence[int]]) -> None:
        required = [(name,) for name, each in self.row.columns.items() if each.required]
        for names in (*required, *self.needs):
            if not any(each in positions for each in names):
                known = dict.fromkeys(header for each in names for header in self.row.columns[each].headers)
                message = f"No column has the {' or the '.join(names)}. Name it one of: {', '.join(known)}; "
                raise Invalid(("body", "mapping"), f"{message}or specify it with `mapping`.", "column_missing")

    def _suggest(self, key: str) -> str | None:
        close = get_close_matches(key[:_MAX_SUGGESTED], self._by_header, n=1, cutoff=_CLOSE)
        return self._by_header[close[0]].name if close else None


def _mapped(at: Mapping[str, int], name: str, theirs: str) -> int:
    found = at.get(normalize_numbered(theirs))
    if found is None:
        message = f"The table has no column {theirs[:_MAX_LABEL]!r}."
        raise Invalid(("body", "mapping", name), message, "mapping_invalid")
    return found


def _numbered(keys: Sequence[str]) -> Sequence[str]:
    """Return the headers, the second one of the same words with #2 after it, and so on."""
    seen = Counter[str]()
    numbered = list[str]()
    for key in keys:
        seen[key] += 1
        numbered.append(key if seen[key] == 1 else f"{key}#{seen[key]}")
    return numbered


def _labels(header: Sequence[str]) -> Sequence[str]:
    shown = [texts.printable(each[:_MAX_LABEL]) for each in header]
    counts = Counter(shown)
    return [
        each if each and counts[each] == 1 else f"{each} (column {at})".strip()
        for at, each in enumerate(shown, start=1)
    ]


def _is_private(key: str) -> bool:
    return (
        key in _PRIVATE["exact"]
        or key.startswith(tuple(_PRIVATE["beginning"]))
        or key.endswith(tuple(_PRIVATE["ending"]))
    )
