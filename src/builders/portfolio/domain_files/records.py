"""Records of tables with domains: how they are imported, and the drafts that their rows become."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

from builders.kit.http.bulk import RowProblem
from builders.kit.sheets.reading import TableOptions
from builders.kit.values.money import Money
from builders.portfolio.domains.records import DomainName, ExpirySource, Ownership
from builders.portfolio.ledger.records import EntryKind, EntrySource, SaleTerms


class ImportConflict(StrEnum):
    """Effect of a row on an existing domain."""

    MERGE = "merge"  # a value replaces the domain's, a blank cell keeps it; tags are added
    SKIP = "skip"  # the domain does not change
    OVERWRITE = "overwrite"  # a blank cell of a column clears the domain's value


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Values for rows that do not have them."""

    registrar: str | None = None
    ownership: Ownership | None = None
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(TableOptions):
    """How a table with domains is to be imported."""

    defaults: Defaults = field(default_factory=Defaults)
    on_conflict: ImportConflict = ImportConflict.MERGE
    dry_run: bool = False


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
    reference: str | None = None
    order_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSale:
    """A sale of a row."""

    terms: SaleTerms
    own_share: Decimal | None = None  # None: that of the domain


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRevenue:
    """Parking revenue of a row on a day."""

    day: date
    provider: str
    reference: str  # empty for none
    money: Money
    visits: int | None
    clicks: int | None


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
    sales: Sequence[DraftSale] = ()
    parking: Sequence[DraftRevenue] = ()
    errors: Sequence[RowProblem] = ()
    warnings: Sequence[RowProblem] = ()
