"""The columns of tables and the rows that are read with them."""

from collections.abc import Callable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from builders.kit.rows import RowOutcome, RowProblem, RowResult
from builders.kit.sheets.cells import CellRefused, DateFormat, read_date, read_moment, read_percent, shown
from builders.kit.sheets.csv_files import normalize_header
from builders.kit.sheets.numbers import (
    AmountRules,
    DecimalMark,
    NumberCell,
    has_thousands,
    is_ambiguous_number,
    read_amount,
    read_count,
    read_currency,
    read_currency_of,
    round_number,
)
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

    The headers are its own name and `names`, the best one first, in English; `headers.toml` has other languages. A
    row without a `required` value is refused. A bad cell of a `required` or `strict` column refuses its row; in
    other columns it is ignored with a warning, and the row goes in.
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

    def find_value(self, cell: str) -> T | None:
        """Return the value of a cell, None for one that is none."""
        try:
            return self._read(cell)
        except CellRefused:
            return None


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

    `currency`: the column of its currency, or several, the best one first. `decimals`: how many an amount can
    have, if not those of its currency.
    """

    def __init__(
        self,
        *names: str,
        currency: str | tuple[str, ...] = "currency",
        is_signed: bool = False,
        decimals: int | None = None,
        required: bool = False,
        strict: bool = False,
    ) -> None:
        super().__init__(*names, read=_by_row, type="amount", required=required, strict=strict)
        self.currencies = (currency,) if isinstance(currency, str) else currency
        self._is_signed, self._decimals = is_signed, decimals

    def read(self, cell: str, row: "Row") -> Money | None:
        """Return the money of a cell. Raise CellRefused."""
        currency, rules = row.currency_of(*self.currencies), row.rules
        amount_rules = AmountRules(
            currency,
            rules.currency,
            zero_is_blank=rules.zero_is_blank,
            unit=rules.units.get(self.name),
            decimal_mark=rules.decimal_mark,
            home_currency=rules.home_currency,
            decimals=self._decimals,
        )
        if isinstance(cell, NumberCell):
            return self._read_number(cell, row, amount_rules)
        found = read_amount(cell, amount_rules, is_signed=self._is_signed)
        if found is not None and has_thousands(found.currency):
            row.warn_if_ambiguous(self, cell, f"{abs(found.amount):,f}")
        return found

    def _read_number(self, cell: NumberCell, row: "Row", rules: AmountRules) -> Money | None:
        """Return the money of a stored number, which has more digits than a person sees. Raise CellRefused."""
        currency = read_currency_of(rules)
        decimals = decimals_of(currency) if self._decimals is None else self._decimals
        number, rounded = round_number(cell, decimals)
        if rounded != number:
            row.warn("amount_rounded", f"The stored value {cell} was read as {rounded:f}.", self)
        rules = replace(rules, decimal_mark=DecimalMark.POINT)
        return read_amount(f"{rounded:f}", rules, is_signed=self._is_signed)


class Percent(Column[Decimal]):
    """A column of percentages. A stored number below 1 is a part of 1, as spreadsheets store percentages."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names, read=read_percent)

    def read(self, cell: str, row: "Row") -> Decimal | None:
        """Return the percentage of a cell. Raise CellRefused."""
        if isinstance(cell, NumberCell) and 0 < Decimal(cell) < 1:
            percent = f"{(Decimal(cell) * 100).normalize():f}%"
            row.warn("percent_guessed", f"The stored value {cell} was read as {percent}.", self)
            return read_percent(percent)
        found = read_percent(cell)
        if found is not None and 0 < found < 1 and "%" not in cell:
            part = f"{(found * 100).normalize():f}%"
            row.warn(
                "percent_guessed", f"{shown(cell)} was read as {found}%. If it is a part of 1, write {part}.", self
            )
        return found


class Count(Column[int]):
    """A column of whole numbers from 0."""

    def __init__(self, *names: str, maximum: int) -> None:
        super().__init__(*names, read=_by_row, type="number")
        self._maximum = maximum

    def read(self, cell: str, row: "Row") -> int | None:
        """Return the number of a cell. Raise CellRefused."""
        if isinstance(cell, NumberCell):
            return read_count(cell, self._maximum, DecimalMark.POINT)
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

    def currency_of(self, *names: str) -> str | None:
        """Return the currency in the first column that has one, else that of the row. Raise CellRefused."""
        for each in (*names, "currency"):
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
