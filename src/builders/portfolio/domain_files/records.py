"""Records of files that list domains: how they are read, and the drafts that their rows become."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from builders.kit.http.bulk import RowProblem
from builders.kit.sheets.dates import DateFormat
from builders.kit.values.money import Money
from builders.portfolio.domains.records import DomainName, ExpirySource, Ownership
from builders.portfolio.ledger.records import EntryKind, EntrySource

MAX_ROWS = 100_000
AUTO = "auto"  # the format is found by the header


class Source(StrEnum):
    """What an import reads."""

    FILE = "file"
    TEXT = "text"
    ROWS = "rows"
    NAMES = "names"

    @property
    def has_lines(self) -> bool:
        """Return whether rows have lines, from 1; else they have indexes, from 0."""
        return self in {Source.FILE, Source.TEXT}


class Field(StrEnum):
    """The field of a column. Fields of a domain have the same names as the members of the domain."""

    DOMAIN = "domain"
    STATUS = "status"
    OWNERSHIP = "ownership"
    COUNTERPARTY = "counterparty"
    REVENUE_SHARE = "revenue_share"
    REGISTRAR = "registrar"
    REGISTERED_ON = "registered_on"
    ACQUIRED_ON = "acquired_on"
    EXPIRES_AT = "expires_at"
    EXPIRY_SOURCE = "expiry_source"
    AUTO_RENEW = "auto_renew"
    LOCKED = "locked"
    PRIVACY = "privacy"
    NAMESERVERS = "nameservers"
    EPP_STATUSES = "epp_statuses"
    RENEWAL_PRICE = "renewal_price"
    RENEWAL_PRICE_CURRENCY = "renewal_price_currency"
    ASKING_PRICE = "asking_price"
    ASKING_PRICE_CURRENCY = "asking_price_currency"
    MIN_OFFER = "min_offer"
    MIN_OFFER_CURRENCY = "min_offer_currency"
    ESTIMATED_VALUE = "estimated_value"
    ESTIMATED_VALUE_CURRENCY = "estimated_value_currency"
    TAGS = "tags"
    FOLDER = "folder"
    NOTES = "notes"
    PINNED = "pinned"
    CURRENCY = "currency"  # of the row's amounts without a currency
    PURCHASE_KIND = "purchase_kind"
    PURCHASE_DATE = "purchase_date"
    PURCHASE_AMOUNT = "purchase_amount"
    PURCHASE_CURRENCY = "purchase_currency"
    PURCHASE_YEARS = "purchase_years"
    SALE_DATE = "sale_date"
    SALE_AMOUNT = "sale_amount"
    SALE_CURRENCY = "sale_currency"
    ENTRIES = "entries"  # all of the ledger, as the export writes them


# The amounts of a domain, and the field of the currency of each.
PRICES: Mapping[Field, Field] = {
    Field.RENEWAL_PRICE: Field.RENEWAL_PRICE_CURRENCY,
    Field.ASKING_PRICE: Field.ASKING_PRICE_CURRENCY,
    Field.MIN_OFFER: Field.MIN_OFFER_CURRENCY,
    Field.ESTIMATED_VALUE: Field.ESTIMATED_VALUE_CURRENCY,
}


class ImportConflict(StrEnum):
    """Effect of a row on an existing domain."""

    MERGE = "merge"  # a value replaces the domain's, a blank cell keeps it; tags are added
    SKIP = "skip"  # the domain does not change
    OVERWRITE = "overwrite"  # a blank cell of a column clears the domain's value


class DateNotation(StrEnum):
    """Order of day and month in numeric dates."""

    AUTO = "auto"
    YMD = "ymd"
    MDY = "mdy"
    DMY = "dmy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Values for rows that do not have them."""

    registrar: str | None = None
    ownership: Ownership | None = None
    tags: Sequence[str] = ()
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a file is to be imported."""

    format: str = AUTO
    mapping: Mapping[Field, str] = field(default_factory=dict)  # the header of each field
    defaults: Defaults = field(default_factory=Defaults)
    on_conflict: ImportConflict = ImportConflict.MERGE
    date_order: DateNotation = DateNotation.AUTO
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFormat:
    """A known kind of file."""

    id: str
    title: str
    requires: AbstractSet[str]  # normalized headers by which it is recognized
    columns: Mapping[Field, Sequence[str]]  # normalized headers, the preferred one first
    ignores: AbstractSet[str]  # normalized headers that mean nothing for a portfolio
    registrar: str | None = None  # whose list of domains it is
    currency: str | None = None
    date_format: DateFormat | None = None
    zero_is_blank: bool = False  # an amount of zero means that none is set
    is_exact: bool = False  # words such as "none" are text; else they are a blank cell


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmappedColumn:
    """A column that was not understood."""

    column: str
    did_you_mean: Field | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
    """Which columns of a file hold which field."""

    columns: Mapping[Field, Sequence[int]]  # positions, the preferred one first
    labels: Sequence[str]  # of all columns, as messages name them
    unmapped: Sequence[UnmappedColumn]
    dropped: Sequence[str]  # labels of columns with secrets or personal data


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """Detected properties of a file."""

    format: str  # id of the recognized format, `generic` for another sheet, `list` for names alone
    encoding: str | None = None
    delimiter: str | None = None
    header_line: int | None = None
    mapping: Mapping[Field, str] = field(default_factory=dict)  # the column of each field
    unmapped_columns: Sequence[UnmappedColumn] = ()
    dropped_columns: Sequence[str] = ()
    date_order: DateFormat | None = None  # None when no date needs it
    dates_ambiguous: bool = False  # some dates would be other days in the other order, and none proves it


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftEntry:
    """A ledger entry of a row."""

    kind: EntryKind
    money: Money
    occurred_on: date
    years: int | None = None
    registrar: str | None = None
    memo: str | None = None
    source: EntrySource = EntrySource.IMPORT
    reference: str | None = None  # None: derived from the values


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A row that was read. A row with errors is not imported."""

    position: int  # the line of a file or text, from 1; of another source the index, from 0
    written: str  # the domain as the row has it
    name: DomainName | None
    values: Mapping[str, Any]  # fields of a domain, by name; an expiry without a time of day is a date
    blank: AbstractSet[str] = frozenset()  # fields of a domain whose cells are blank
    defaulted: AbstractSet[str] = frozenset()  # names of `values` that the row does not have
    expiry_source: ExpirySource = ExpirySource.MANUAL  # of an expiry whose source the row does not say
    entries: Sequence[DraftEntry] = ()
    errors: Sequence[RowProblem] = ()
    warnings: Sequence[RowProblem] = ()
