"""The cells of a row that have all entries, sales and parking revenue of a domain, as the export writes them."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field as Member,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from builders.kit.sheets.cells import CellRefused
from builders.kit.values import texts
from builders.kit.values.days import Day
from builders.kit.values.money import Money
from builders.portfolio.domain_files.records import DraftEntry, DraftRevenue, DraftSale
from builders.portfolio.domains.fields import MAX_TEXT
from builders.portfolio.ledger.records import (
    MAX_MEMO,
    MAX_REFERENCE,
    MAX_TERM_TEXT,
    MAX_TERMS,
    MAX_YEARS,
    EntryKind,
    EntrySource,
    Payment,
    SaleFee,
    SaleTerms,
)

MAX_ENTRIES = 10_000  # of a row; and sales, and days of parking
# As parking has them.
MAX_COUNT, MAX_PROVIDER, MAX_REVENUE_REFERENCE = 10**12, 50, 100
T = TypeVar("T")


def _none_if_blank(text: str | None) -> str | None:
    return text or None


def _line(limit: int) -> Any:
    return StringConstraints(strip_whitespace=True, max_length=limit)


_BLANK = AfterValidator(_none_if_blank)
_Registrar = Annotated[Annotated[str, _line(MAX_TEXT), texts.OneLine] | None, _BLANK]
_Memo = Annotated[Annotated[str, _line(MAX_MEMO), texts.OneLine] | None, _BLANK]
_Reference = Annotated[Annotated[str, _line(MAX_REFERENCE), texts.OneLine] | None, _BLANK]
_Text = Annotated[Annotated[str, _line(MAX_TERM_TEXT), texts.OneLine] | None, _BLANK]
_RevenueReference = Annotated[Annotated[str, _line(MAX_REVENUE_REFERENCE), texts.OneLine] | None, _BLANK]


class _MoneyCell(BaseModel):
    """An amount, whose members obey the rules of the API, as those of the cells below."""

    model_config = ConfigDict(frozen=True)

    amount: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}(\.[0-9]{1,4})?$")]
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]

    @property
    def money(self) -> Money:
        """Return the amount. Raise ValueError for too many decimals."""
        return Money.of(self.amount, self.currency)


class _EntryCell(_MoneyCell):
    """An entry of the ledger."""

    kind: EntryKind
    on: Day
    years: Annotated[int | None, Member(ge=1, le=MAX_YEARS)] = None
    registrar: _Registrar = None
    memo: _Memo = None
    source: EntrySource = EntrySource.IMPORT
    reference: _Reference = None
    order_ref: _Text = None

    def draft(self) -> DraftEntry:
        """Return the record. Raise ValueError for an entry of a sale or of parking, which have their own cells.

        An entry of a charge becomes one of the import.
        """
        if self.kind is EntryKind.SALE or self.source in {EntrySource.SALE, EntrySource.PARKING}:
            raise ValueError("Write a sale as one of `sales`, and parking revenue as one of `parking`")
        if self.reference is not None and self.order_ref is not None:
            raise ValueError("Write `reference` or `order_ref`, not both")
        return DraftEntry(
            kind=self.kind,
            money=self.money,
            occurred_on=self.on,
            years=self.years,
            registrar=self.registrar,
            memo=self.memo,
            source=EntrySource.MANUAL if self.source is EntrySource.MANUAL else EntrySource.IMPORT,
            reference=self.reference,
            order_ref=self.order_ref,
        )


class _PaymentCell(_MoneyCell):
    """An instalment of a sale."""

    on: Day


class _FeeCell(_MoneyCell):
    """A fee of a sale."""

    kind: Literal["marketplace_fee", "escrow_fee", "tax", "other_cost"]
    on: Day | None = None


_Part = Annotated[Decimal, Member(ge=0, le=1, max_digits=7, decimal_places=6)]


class _SaleCell(_MoneyCell):
    """A sale; its own amount is the price."""

    sold_on: Day
    commission: _MoneyCell | None = None
    commission_rate: _Part | None = None
    fees: Annotated[list[_FeeCell], Member(max_length=MAX_TERMS)] = []
    installments: Annotated[list[_PaymentCell], Member(max_length=MAX_TERMS)] = []
    venue: _Text = None
    buyer_ref: _Text = None
    own_share: _Part | None = None

    def draft(self) -> DraftSale:
        """Return the record. Raise ValueError."""
        terms = SaleTerms(
            gross=self.money,
            sold_on=self.sold_on,
            commission=None if self.commission is None else self.commission.money,
            commission_rate=self.commission_rate,
            fees=[SaleFee(kind=EntryKind(each.kind), money=each.money, on=each.on) for each in self.fees],
            installments=[Payment(money=each.money, on=each.on) for each in self.installments],
            venue=self.venue,
            buyer_ref=self.buyer_ref,
        )
        return DraftSale(terms=terms, own_share=self.own_share)


_Count = Annotated[int | None, Member(ge=0, le=MAX_COUNT)]


class _RevenueCell(_MoneyCell):
    """Parking revenue of a day."""

    on: Day
    provider: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_PROVIDER), texts.Plain
    ]
    reference: _RevenueReference = None
    visits: _Count = None
    clicks: _Count = None

    def draft(self) -> DraftRevenue:
        """Return the record. Raise ValueError."""
        return DraftRevenue(
            day=self.on,
            provider="-".join(self.provider.lower().split()),
            reference=self.reference or "",
            money=self.money,
            visits=self.visits,
            clicks=self.clicks,
        )


_entries = TypeAdapter(Annotated[list[_EntryCell], Member(max_length=MAX_ENTRIES)])
_sales = TypeAdapter(Annotated[list[_SaleCell], Member(max_length=MAX_ENTRIES)])
_parking = TypeAdapter(Annotated[list[_RevenueCell], Member(max_length=MAX_ENTRIES)])


def read_entries(cell: str) -> Sequence[DraftEntry]:
    """Return the entries of a cell. Raise CellRefused."""
    return _read("entries", lambda: [each.draft() for each in _entries.validate_json(cell)])


def read_sales(cell: str) -> Sequence[DraftSale]:
    """Return the sales of a cell. Raise CellRefused."""
    return _read("sales", lambda: [each.draft() for each in _sales.validate_json(cell)])


def read_parking(cell: str) -> Sequence[DraftRevenue]:
    """Return the parking revenue of a cell. Raise CellRefused."""
    return _read("parking", lambda: [each.draft() for each in _parking.validate_json(cell)])


def _read(name: str, read: Callable[[], Sequence[T]]) -> Sequence[T]:
    try:
        return read()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"{where}: {first['msg']}" if where else str(first["msg"])
    except ValueError as error:
        reason = str(error)
    raise CellRefused(f"{name}_invalid", f"{reason.rstrip('.')}. Write a JSON list as the export does.")
