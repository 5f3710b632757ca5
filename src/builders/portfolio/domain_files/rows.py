"""Rows of a file, read into drafts: the valid values, and the errors of the others."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from builders.kit.http.bulk import RowProblem
from builders.kit.sheets.amounts import AmountRules, read_amount, read_currency
from builders.kit.sheets.cells import BLANK, CellRefused, original_text
from builders.kit.sheets.dates import DateFormat
from builders.kit.values import texts
from builders.kit.values.money import CURRENCIES, UNKNOWN_CURRENCY, Money
from builders.portfolio.domain_files.entry_cells import read_entries
from builders.portfolio.domain_files.fields import LENIENT, field_readers, purchase_readers
from builders.portfolio.domain_files.records import (
    PRICES,
    ColumnMap,
    Draft,
    DraftEntry,
    Field,
    ImportFormat,
    Options,
)
from builders.portfolio.domains import names
from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.domains.records import (
    FIELDS,
    MAX_TAGS,
    DomainName,
    ExpirySource,
    PortfolioDomainStatus,
)
from builders.portfolio.ledger.records import (
    EntryKind,
)

DEFAULT_CURRENCY = "USD"
MAX_WRITTEN = 253  # characters of a domain that is refused
_PURCHASE = (Field.PURCHASE_KIND, Field.PURCHASE_DATE, Field.PURCHASE_YEARS)
_SALE_COSTS = "An import records no sale, so tax and fees of a sale are recorded as costs of the domain."
_OPEN_QUOTE = "A quote is not closed, or text follows a closing quote. Close it, and double quotes in text."


class RowReader:
    """Reads the rows of a file whose columns are known."""

    def __init__(
        self,
        columns: ColumnMap,
        form: ImportFormat,
        options: Options,
        *,
        date_format: DateFormat,
        is_escaped: bool,  # an apostrophe before a formula belongs to the file and not to the text
    ) -> None:
        self.date_format = date_format
        self.is_escaped = is_escaped
        self.columns = columns
        self.options = options
        self.registrar = options.defaults.registrar or form.registrar
        self.currency = options.defaults.currency or form.currency or DEFAULT_CURRENCY
        self.row_currency = form.currency  # of a file whose header names it
        self.zero_is_blank = form.zero_is_blank
        self.blank_words = frozenset[str]() if form.is_exact else BLANK
        self.expiry_source = ExpirySource.MANUAL if form.registrar is None else ExpirySource.REGISTRAR
        self.simple = field_readers(date_format)
        self.purchase = purchase_readers(date_format)

    def read(self, position: int, written: Sequence[str] | None) -> Draft:
        """Return the draft of a row; None is a row that cannot be parted into cells."""
        if written is None:
            problem = RowProblem(code="csv_malformed", message=_OPEN_QUOTE)
            return Draft(position=position, written="", name=None, values={}, errors=[problem])
        row = _Row(self, written)
        name = row.read_name()
        row.refuse_surplus()
        row.read_values()
        row.read_money()
        return Draft(
            position=position,
            written=texts.printable(row.text(Field.DOMAIN)[:MAX_WRITTEN]),
            name=name,
            values=row.values,
            blank=frozenset(row.blank),
            defaulted=frozenset(row.defaulted),
            expiry_source=self.expiry_source,
            entries=row.entries,
            errors=row.errors,
            warnings=row.warnings,
        )


class _Row:
    """One row while it is read."""

    def __init__(self, reader: RowReader, written: Sequence[str]) -> None:
        self._reader = reader
        self._written = written
        self.values: dict[str, Any] = {}
        self.blank: set[str] = set()
        self.defaulted: set[str] = set()
        self.entries: list[DraftEntry] = []
        self.errors: list[RowProblem] = []
        self.warnings: list[RowProblem] = []

    def _cell(self, name: Field) -> tuple[str, int | None]:
        """Return the first cell of a field that is not blank, and its column; None when there is no column."""
        positions = self._reader.columns.columns.get(name, ())
        for position in positions:
            text = self._written[position].strip() if position < len(self._written) else ""
            if text and text.lower() not in self._reader.blank_words:
                return original_text(text) if self._reader.is_escaped else text, position
        return "", positions[0] if positions else None

    def text(self, name: Field) -> str:
        """Return the text of a field, blank without one."""
        return self._cell(name)[0]

    def _label(self, position: int | None) -> str | None:
        return None if position is None else self._reader.columns.labels[position]

    def read_name(self) -> DomainName | None:
        """Return the domain of the row."""
        text, position = self._cell(Field.DOMAIN)
        if not text:
            self._refuse(position, "domain_missing", "The row has no domain. Write one, or delete the row.")
            return None
        try:
            return names.parse_name(text)
        except NameInvalid as refusal:
            meant = refusal.did_you_mean
            hint = f" Did you mean {meant}?" if meant and meant not in refusal.message else ""
            self._refuse(position, "domain_invalid", f"{refusal.message}{hint}", did_you_mean=meant)
            return None

    def refuse_surplus(self) -> None:
        """Refuse a row with more cells than there are columns: its cells are under wrong headers."""
        width = len(self._reader.columns.labels)
        if any(cell.strip() for cell in self._written[width:]):
            message = f"{len(self._written)} cells under {width} columns. Put text with a separator in quotes."
            self._refuse(None, "too_many_cells", message)

    def read_values(self) -> None:
        """Read the fields of the domain, amounts excluded."""
        for name, read in self._reader.simple.items():
            value = self._value(name, read)
            if value is not None:
                self.values[name.value] = value
        defaults = self._reader.options.defaults
        self._default(Field.REGISTRAR, self._reader.registrar)
        self._default(Field.OWNERSHIP, defaults.ownership)
        if defaults.tags:
            own = self.values.get(Field.TAGS.value, ())
            self.values[Field.TAGS.value] = list(dict.fromkeys((*own, *defaults.tags)))[:MAX_TAGS]
        self.blank -= self.values.keys()

    def _default(self, name: Field, value: object) -> None:
        if value is not None and name.value not in self.values:
            self.values[name.value] = value
            self.defaulted.add(name.value)

    def read_money(self) -> None:
        """Read the prices of the domain and the entries of the ledger."""
        row_currency = self._currency(Field.CURRENCY) or self._reader.row_currency
        for name, currency_name in PRICES.items():
            money = self._amount(name, currency_name, row_currency)
            if money is not None:
                self.values[name.value] = money
        text, position = self._cell(Field.ENTRIES)
        if text:
            self._read_entries(text, position)
        else:
            self._read_purchase(row_currency)
            self._read_sale(row_currency)
        prices = [each for each in self.values.values() if isinstance(each, Money)]
        for currency in sorted({each.currency for each in (*prices, *(one.money for one in self.entries))}):
            if currency not in CURRENCIES:
                self.warnings.append(self._problem(None, "currency_unknown", UNKNOWN_CURRENCY.format(currency)))

    def _read_purchase(self, row_currency: str | None) -> None:
        money = self._amount(Field.PURCHASE_AMOUNT, Field.PURCHASE_CURRENCY, row_currency)
        kind, paid_on, years = map(self._purchase_value, _PURCHASE)
        if money is None:
            return
        paid_on = paid_on or self.values.get(Field.ACQUIRED_ON.value) or self.values.get(Field.REGISTERED_ON.value)
        if paid_on is None:
            self._warn_undated(Field.PURCHASE_AMOUNT, "purchase")
            return
        kind = kind or EntryKind.ACQUISITION
        self.entries.append(DraftEntry(kind=kind, money=money, occurred_on=paid_on, years=years))
        if kind is EntryKind.ACQUISITION:
            self._default(Field.ACQUIRED_ON, paid_on)

    def _read_sale(self, row_currency: str | None) -> None:
        money = self._amount(Field.SALE_AMOUNT, Field.SALE_CURRENCY, row_currency)
        sold_on = self._purchase_value(Field.SALE_DATE)
        if money is None:
            return
        self.values[Field.STATUS.value] = PortfolioDomainStatus.SOLD
        if sold_on is None:
            self._warn_undated(Field.SALE_AMOUNT, "sale")
            return
        self.entries.append(DraftEntry(kind=EntryKind.SALE, money=money, occurred_on=sold_on))

    def _warn_undated(self, name: Field, what: str) -> None:
        message = f"The {what} has no date, so it is not recorded. Give its date and import the row again."
        self.warnings.append(
            RowProblem(code=f"{what}_undated", message=message, field=self._label(self._cell(name)[1]))
        )

    def _read_entries(self, text: str, position: int | None) -> None:
        try:
            found, is_of_sale = read_entries(text)
        except CellRefused as refusal:
            self._refuse(position, refusal.code, str(refusal))
            return
        self.entries += found
        if is_of_sale:
            self.warnings.append(self._problem(position, "sale_costs", _SALE_COSTS))

    def _purchase_value(self, name: Field) -> Any:
        return self._value(name, self._reader.purchase[name])

    def _value(self, name: Field, read: Callable[[str], Any]) -> Any:
        text, position = self._cell(name)
        if position is None:
            return None
        if not text:
            self._note_blank(name)
            return None
        try:
            return read(text)
        except CellRefused as refusal:
            if name in LENIENT:
                self.warnings.append(self._problem(position, refusal.code, f"{refusal} It was ignored."))
            else:
                self._refuse(position, refusal.code, str(refusal))
            return None

    def _amount(self, name: Field, currency_name: Field, row_currency: str | None) -> Money | None:
        currency = self._currency(currency_name) or row_currency
        rules = AmountRules(currency, self._reader.currency, self._reader.zero_is_blank)
        money: Money | None = self._value(name, lambda text: read_amount(text, rules))
        return money

    def _currency(self, name: Field) -> str | None:
        found: str | None = self._value(name, read_currency)
        return found

    def _note_blank(self, name: Field) -> None:
        if name.value in FIELDS:
            self.blank.add(name.value)

    def _refuse(self, position: int | None, code: str, message: str, *, did_you_mean: str | None = None) -> None:
        self.errors.append(self._problem(position, code, message, did_you_mean=did_you_mean))

    def _problem(
        self, position: int | None, code: str, message: str, *, did_you_mean: str | None = None
    ) -> RowProblem:
        return RowProblem(code=code, message=message, field=self._label(position), did_you_mean=did_you_mean)


def cell_text(value: Any) -> str:
    """Return a JSON value of a row as the text of a cell."""
    match value:
        case None:
            text = ""
        case bool():
            text = "yes" if value else "no"
        case {"amount": amount, "currency": currency}:
            text = f"{amount} {currency}"
        case [*items] if not any(isinstance(each, Mapping) for each in items):
            text = ", ".join(map(cell_text, items))
        case str() | int() | float():
            text = str(value)
        case _:
            text = json.dumps(value)
    return text
