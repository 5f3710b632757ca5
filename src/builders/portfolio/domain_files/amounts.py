"""The entries, sales, parking and decision of a domain in JSON: of exports, and of cells that an import reads."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from builders.kit.http.bodies import Reply
from builders.kit.sheets.cells import CellRefused
from builders.kit.values import texts
from builders.kit.values.days import Day
from builders.kit.values.docs import doc
from builders.kit.values.money import AMOUNT, MAX_DECIMALS, CurrencyCode, Money
from builders.portfolio.domains.fields import MAX_TEXT, Moment
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.ledger.records import (
    FEE_KINDS,
    MAX_MEMO,
    MAX_REFERENCE,
    MAX_TERM_TEXT,
    MAX_TERMS,
    MAX_YEARS,
    EntryFields,
    EntryKind,
    EntrySource,
    Installment,
    SaleFee,
    SaleTerms,
)

MAX_ENTRIES = 10_000  # of a row; and sales, and days of parking
# As parking has them.
MAX_COUNT, MAX_PROVIDER, MAX_REVENUE_REFERENCE = 10**12, 50, 100
MAX_DECIDED_YEARS, MAX_NOTE = 10, 500  # as renewals have them
T = TypeVar("T")


def _none_if_blank(text: str | None) -> str | None:
    return text or None


def _line(limit: int) -> Any:
    return StringConstraints(strip_whitespace=True, max_length=limit)


# The document of the export does not have the rules of cells.
_TEXT, _INTEGER = WithJsonSchema({"type": "string"}), WithJsonSchema({"type": "integer"})
_BLANK = AfterValidator(_none_if_blank)
_Registrar = Annotated[Annotated[str, _line(MAX_TEXT), texts.OneLine, _TEXT] | None, _BLANK]
_Memo = Annotated[Annotated[str, _line(MAX_MEMO), texts.OneLine, _TEXT] | None, _BLANK]
_Reference = Annotated[Annotated[str, _line(MAX_REFERENCE), texts.OneLine, _TEXT] | None, _BLANK]
_Term = Annotated[Annotated[str, _line(MAX_TERM_TEXT), texts.OneLine, _TEXT] | None, _BLANK]
_RevenueReference = Annotated[Annotated[str, _line(MAX_REVENUE_REFERENCE), texts.OneLine, _TEXT] | None, _BLANK]
_Provider = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_PROVIDER, to_lower=True),
    texts.Plain,
    _TEXT,
]
_Note = Annotated[Annotated[str, _line(MAX_NOTE), texts.OneLine, _TEXT] | None, _BLANK]
_Part = Annotated[Decimal, Field(ge=0, le=1, max_digits=7, decimal_places=6), _TEXT]
_Count = Annotated[int, Field(ge=0, le=MAX_COUNT), _INTEGER]


_SAME = ("years", "registrar", "memo", "reference", "order_ref", "voided_at", "void_reason")  # of entries


class _Amount(Reply):
    amount: Annotated[str, StringConstraints(pattern=AMOUNT)]
    currency: Annotated[CurrencyCode, doc("ISO 4217 code.")]

    @classmethod
    def of(cls, money: Money, **members: Any) -> Self:
        """Return the JSON form of a record, which is not checked again."""
        construct: Any = cls.model_construct  # whose type in the plugin of mypy is that of this class
        made: Self = construct(**money.to_wire(), **members)
        return made

    @property
    def money(self) -> Money:
        """Return the amount. Raise ValueError for too many decimals."""
        return Money.of(self.amount, self.currency)


class PortfolioExportEntry(_Amount):
    """An entry of the ledger."""

    model_config = ConfigDict(json_schema_extra={"required": ["amount", "currency", "kind", "on", "source"]})

    kind: Annotated[EntryKind, doc("Kind of the amount.")]
    on: Annotated[Day, doc("Day of the payment.")]
    years: Annotated[
        Annotated[int, Field(ge=1, le=MAX_YEARS), _INTEGER] | None,
        doc("Years that the amount pays for; absent when unknown."),
    ] = None
    registrar: Annotated[_Registrar, doc("The payee; absent when unknown.")] = None
    memo: Annotated[_Memo, doc("Note about the amount; absent without one.")] = None
    source: Annotated[EntrySource, doc("Source of the entry.")] = EntrySource.IMPORT
    reference: Annotated[_Reference, doc("Your own reference, recorded once; absent without one.")] = None
    order_ref: Annotated[_Term, doc("Number of the order or invoice; absent without one.")] = None
    charge: Annotated[
        Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$"), _TEXT] | None,
        doc("Reference of the registrar's charge that it books; a later sync recognizes it."),
    ] = None
    voided_at: Annotated[Moment | None, doc("When it was voided; absent otherwise.")] = None
    void_reason: Annotated[_Memo, doc("Why it was voided.")] = None

    @property
    def fields(self) -> EntryFields:
        """Return the record; an entry of a charge becomes one of the import.

        Raise ValueError for an entry of a sale or of parking, which have their own lists, unless it is void.
        """
        if (self.voided_at is None) is not (self.void_reason is None):
            raise ValueError("Write both `voided_at` and `void_reason`, or neither")
        is_of_list = self.kind is EntryKind.SALE or self.source in {EntrySource.SALE, EntrySource.PARKING}
        if is_of_list and self.voided_at is None:
            raise ValueError("Write a sale as one of `sales`, and parking revenue as one of `parking`")
        if self.reference is not None and self.order_ref is not None:
            raise ValueError("Write `reference` or `order_ref`, not both")
        return EntryFields(
            kind=self.kind,
            money=self.money,
            occurred_on=self.on,
            source=EntrySource.MANUAL if self.source is EntrySource.MANUAL else EntrySource.IMPORT,
            charge_key=None if self.charge is None else bytes.fromhex(self.charge),
            **{name: getattr(self, name) for name in _SAME},
        )


class PortfolioExportPayment(_Amount):
    """An instalment or a fee."""

    model_config = ConfigDict(json_schema_extra={"required": ["amount", "currency", "on"]})

    kind: Annotated[EntryKind | None, doc("Kind of a fee.")] = None
    on: Annotated[Day | None, doc("Day; null: that of the sale.")] = None
    received_on: Annotated[
        Day | None, doc("When an instalment was received; absent: it is planned, or this is a fee.")
    ] = None

    @property
    def fee(self) -> SaleFee:
        """Return it as a fee. Raise ValueError."""
        if self.kind not in FEE_KINDS:
            raise ValueError(f"A fee is one of {', '.join(sorted(FEE_KINDS))}")
        return SaleFee(kind=self.kind, money=self.money, on=self.on)

    @property
    def installment(self) -> Installment:
        """Return it as an instalment. Raise ValueError."""
        if self.on is None:
            raise ValueError("An instalment has a day")
        return Installment(money=self.money, on=self.on, received_on=self.received_on)


class PortfolioExportSale(_Amount):
    """A sale of the domain; its amount is the price."""

    model_config = ConfigDict(
        json_schema_extra={"required": ["amount", "currency", "sold_on", "fees", "installments", "own_share"]}
    )

    sold_on: Annotated[Day, doc("Day of the sale.")]
    commission: Annotated[Money | None, doc("A fixed commission.")] = None
    commission_rate: Annotated[_Part | None, doc("Part of the price that is the commission.")] = None
    fees: Annotated[list[PortfolioExportPayment], doc("Costs besides the commission.")] = []  # noqa: RUF012 - pydantic copies it
    installments: Annotated[list[PortfolioExportPayment], doc("Instalments.")] = []  # noqa: RUF012 - as above
    venue: Annotated[_Term, doc("The marketplace of the sale.")] = None
    buyer_ref: Annotated[_Term, doc("Your own reference to the buyer.")] = None
    own_share: Annotated[_Part | None, _TEXT, doc("Part of the net proceeds that is yours.")] = None

    @property
    def terms(self) -> SaleTerms:
        """Return the record. Raise ValueError."""
        if self.commission is not None and self.commission.amount < 0:
            raise ValueError("A commission is zero or more")
        if max(len(self.fees), len(self.installments)) > MAX_TERMS:
            raise ValueError(f"A sale has at most {MAX_TERMS} fees, and as many instalments")
        return SaleTerms(
            gross=self.money,
            sold_on=self.sold_on,
            commission=self.commission,
            commission_rate=self.commission_rate,
            fees=[each.fee for each in self.fees],
            installments=[each.installment for each in self.installments],
            venue=self.venue,
            buyer_ref=self.buyer_ref,
        )


class PortfolioExportRevenue(_Amount):
    """Parking revenue on a day, exactly as it was recorded."""

    on: Annotated[Day, doc("The day, in UTC.")]
    provider: Annotated[_Provider, doc("The parking provider.")]
    reference: Annotated[_RevenueReference, doc("Your own reference.")] = None
    visits: Annotated[_Count | None, doc("Counted visits.")] = None
    clicks: Annotated[_Count | None, doc("Clicks on advertisements.")] = None

    @property
    def money(self) -> Money:
        """Return the amount, which can be a fraction of the least unit of its currency."""
        return Money.of(self.amount, self.currency, decimals=MAX_DECIMALS)


class PortfolioExportDecision(Reply):
    """What was decided about the next expiry of the domain."""

    decision: Annotated[RenewalDecision, doc("The decision about the next expiry.")]
    years: Annotated[
        Annotated[int, Field(ge=1, le=MAX_DECIDED_YEARS), _INTEGER] | None,
        doc("Years to renew for; absent when not decided."),
    ] = None
    note: Annotated[_Note, doc("Your note.")] = None
    snooze_until: Annotated[Day | None, doc("No reminders before this day.")] = None
    expires_at: Annotated[Moment | None, doc("Expiry of the domain when it was decided.")] = None
    decided_at: Annotated[Moment, doc("When it was decided.")]


def _reader(name: str, cells: TypeAdapter[T], check: Callable[[T], object]) -> Callable[[str], T]:
    """Return the reader of cells with JSON, whose value is checked."""

    def read(cell: str) -> T:
        try:
            value = cells.validate_json(cell)
            check(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            reason = f"{where}: {first['msg']}" if where else str(first["msg"])
        except ValueError as error:
            reason = str(error)
        else:
            return value
        raise CellRefused(f"{name}_invalid", f"{reason.rstrip('.')}. Write JSON as the export does.")

    return read


_LIMIT = Field(max_length=MAX_ENTRIES)
read_entries = _reader(
    "entries",
    TypeAdapter(Annotated[list[PortfolioExportEntry], _LIMIT]),
    lambda entries: [each.fields for each in entries],
)
read_sales = _reader(
    "sales",
    TypeAdapter(Annotated[list[PortfolioExportSale], _LIMIT]),
    lambda sales: [each.terms for each in sales],
)
read_parking = _reader(
    "parking",
    TypeAdapter(Annotated[list[PortfolioExportRevenue], _LIMIT]),
    lambda days: [each.money for each in days],
)
read_decisions = _reader(
    "renewal_decisions",
    TypeAdapter(Annotated[list[PortfolioExportDecision], Field(max_length=1)]),
    lambda decisions: decisions,
)
