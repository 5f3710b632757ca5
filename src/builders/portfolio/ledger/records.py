"""Records of the ledger."""

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from enum import StrEnum
from typing import Annotated, TypeAlias
from uuid import UUID

from pydantic import Field, field_serializer

from builders.kit.errors import CURRENCY_PATTERN
from builders.kit.limits import maximums
from builders.kit.values.days import Day
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.resources import HIDDEN, resource

MAX_OWN_RATES = maximums.declare(
    "own_rates", 1_000, of="portfolio", counts="Exchange rates of your own.", code="too_long"
)
DEFAULT_BASE_CURRENCY = "USD"
EURO = "EUR"  # the rates are quoted per euro
MAX_YEARS = 100  # that an entry pays for
MAX_REFERENCE = 200
MAX_MEMO = 500
MAX_TERMS = 100  # fees or instalments of a sale
MAX_TERM_TEXT = 200  # characters of a venue or of a reference to the buyer
MAX_ENTRIES = maximums.declare(
    "domain_entries",
    5_000,
    of="domain",
    counts="Entries of the ledger, void ones too.",
    code="entry_limit",
)


class EntryKind(StrEnum):
    """Kind of an amount, which decides the sign."""

    ACQUISITION = "acquisition"
    REGISTRATION = "registration"
    RENEWAL = "renewal"
    TRANSFER_FEE = "transfer_fee"
    REDEMPTION = "redemption"
    PRIVACY = "privacy"
    PREMIUM_FEE = "premium_fee"
    TAX = "tax"
    MARKETPLACE_FEE = "marketplace_fee"
    COMMISSION = "commission"
    ESCROW_FEE = "escrow_fee"
    OTHER_COST = "other_cost"
    BUYER_REFUND = "buyer_refund"  # the seller returned of the price
    CHARGEBACK = "chargeback"  # the buyer's bank took back of the price
    SALE = "sale"
    SALE_INSTALLMENT = "sale_installment"
    LEASE_INCOME = "lease_income"
    PARKING_REVENUE = "parking_revenue"
    REFUND = "refund"
    OTHER_INCOME = "other_income"

    @property
    def is_income(self) -> bool:
        """Return whether the amount was received."""
        return self in INCOME_KINDS


INCOME_KINDS: AbstractSet[EntryKind] = frozenset(
    {
        EntryKind.SALE,
        EntryKind.SALE_INSTALLMENT,
        EntryKind.LEASE_INCOME,
        EntryKind.PARKING_REVENUE,
        EntryKind.REFUND,
        EntryKind.OTHER_INCOME,
    }
)
RETURNED_KINDS: AbstractSet[EntryKind] = frozenset({EntryKind.BUYER_REFUND, EntryKind.CHARGEBACK})
START_KINDS: AbstractSet[EntryKind] = frozenset({EntryKind.ACQUISITION, EntryKind.REGISTRATION})
SALE_KINDS: AbstractSet[EntryKind] = RETURNED_KINDS | {
    *(EntryKind.SALE, EntryKind.SALE_INSTALLMENT, EntryKind.COMMISSION, EntryKind.MARKETPLACE_FEE)
}


class EntrySource(StrEnum):
    """Source of an entry."""

    MANUAL = "manual"
    IMPORT = "import"
    SYNC = "sync"  # charges of a registrar
    SALE = "sale"  # the sale of the domain: price, instalments and the seller's costs
    PARKING = "parking"


class SaleRole(StrEnum):
    """What a line of a sale is."""

    PRICE = "price"  # its part without instalments
    INSTALLMENT = "installment"
    COMMISSION = "commission"
    FEE = "fee"
    SHARE = "share"  # of the consignor


class RateSource(StrEnum):
    """Who gave an exchange rate."""

    BANK = "bank"
    OWN = "own"


class EntryGroup(StrEnum):
    """Which total an entry counts in. Each entry is in exactly one group."""

    COST = "cost"  # of buying and holding the domain, less refunds
    INCOME = "income"  # of holding it: leases, parking, other
    SALE = "sale"  # proceeds of the sale, less the seller's costs


def group_of(kind: EntryKind, source: EntrySource) -> EntryGroup:
    """Return the group of an entry.

    Everything of the source `sale` belongs to the sale: its tax and escrow fee are not costs of buying.
    """
    if kind in SALE_KINDS or source == EntrySource.SALE:
        return EntryGroup.SALE
    if kind.is_income and kind != EntryKind.REFUND:
        return EntryGroup.INCOME
    return EntryGroup.COST


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """An exchange rate of a day."""

    currency: str
    quoted_on: date
    rate: Decimal  # units of the currency per euro


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRate:
    """A rate of a portfolio's own, for a currency that the bank does not quote."""

    currency: str
    since: date  # it counts from this day until the next one
    rate: Decimal  # units of the quote currency per unit of the currency
    quote_currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """An amount on a day."""

    money: Money
    on: date


@resource("FinancePaymentReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Installment(Payment):
    """An instalment of the buyer."""

    money: Annotated[Money, Field(serialization_alias="amount", description="The agreed amount.")]
    on: Annotated[date, doc("Day on which it is due.")]
    # One that is planned counts nowhere.
    received_on: Annotated[date | None, doc("Day on which it was received; null: it is planned.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaleFee:
    """Costs of the seller besides the commission."""

    kind: EntryKind  # one of FEE_KINDS
    money: Money
    on: date | None  # None: the day of the sale


FEE_KINDS = frozenset({EntryKind.MARKETPLACE_FEE, EntryKind.ESCROW_FEE, EntryKind.TAX, EntryKind.OTHER_COST})


@dataclass(frozen=True, slots=True, kw_only=True)
class SaleTerms:
    """What was agreed with the buyer and the marketplace."""

    gross: Money
    sold_on: date
    commission: Money | None = None  # fixed; or a rate
    commission_rate: Decimal | None = None
    fees: Sequence[SaleFee] = ()
    installments: Sequence[Installment] = ()  # the remainder is paid on the day of the sale
    venue: str | None = None
    buyer_ref: str | None = None


EntryKey: TypeAlias = tuple[UUID, EntryKind, date, Decimal, str, bool]  # domain, kind, day, amount, whether void
UniqueKey: TypeAlias = tuple[object, ...]


def unique_key(entry: "NewEntry | Entry") -> UniqueKey | None:
    """Return the values of the unique index that the entry is in: what is recorded once. None for none."""
    if entry.is_void:
        return None
    if entry.sale_id is not None:
        return (entry.sale_id, entry.sale_line)
    if entry.charge_id is not None:
        return (entry.charge_id,)
    return None if entry.reference is None else (entry.source, entry.reference)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFields:
    """An amount that was paid or received, as members and files give it."""

    kind: EntryKind
    money: Money  # zero or more; the kind decides the sign
    occurred_on: date
    source: EntrySource = EntrySource.MANUAL
    years: int | None = None  # that the amount pays for
    registrar: str | None = None
    memo: str | None = None
    reference: str | None = None  # the user's own; one source records it once
    order_ref: str | None = None  # number of an order or invoice, which several entries can have
    charge_key: bytes | None = None  # of the registrar's charge that it books, also of another portfolio
    voided_at: datetime | None = None  # of an entry that was void in another portfolio
    void_reason: str | None = None

    @property
    def amount(self) -> Decimal:
        """Return the amount with the decimals of its currency."""
        return self.money.quantized().amount

    @property
    def currency(self) -> str:
        """Return the currency of the amount."""
        return self.money.currency

    def entry(self, domain_id: UUID, *, created_by: UUID | None) -> "NewEntry":
        """Return the entry of a domain that records the amount."""
        given = {each.name: getattr(self, each.name) for each in fields(EntryFields)}
        return NewEntry(domain_id=domain_id, created_by=created_by, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry(EntryFields):
    """An amount to record on a domain."""

    domain_id: UUID
    charge_id: UUID | None = None  # of a registrar; it is recorded once
    sale_id: UUID | None = None
    sale_line: int | None = None  # position in the sale
    sale_role: SaleRole | None = None
    created_by: UUID | None = None  # the member; None for a job

    def __post_init__(self) -> None:
        if self.money.amount < 0:
            raise ValueError("The amount of an entry is not negative: its kind decides the sign.")

    @property
    def is_void(self) -> bool:
        """Return whether the entry is recorded as void."""
        return self.voided_at is not None

    @property
    def key(self) -> EntryKey:
        """Return what is equal for two entries that are the same."""
        return (self.domain_id, self.kind, self.occurred_on, self.amount, self.currency, self.is_void)


@resource(
    "FinanceEntryReply",
    computed={
        "signed_amount": "The same amount, negative for a cost.",
        "fx_source": "`bank`: the European Central Bank. `own`: a rate of your own.",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the ledger of a domain."""

    id: Annotated[UUID, doc("Identifier of the entry.")]
    domain_id: Annotated[UUID, HIDDEN]
    kind: Annotated[EntryKind, doc("Kind of the amount.")]
    amount: Annotated[Decimal, doc("The amount in the currency of the payment.")]
    currency: Annotated[str, HIDDEN]
    occurred_on: Annotated[date, doc("Day of the payment.")]
    years: Annotated[int | None, doc("Years that it pays for.")]
    registrar: Annotated[str | None, doc("The registrar that was paid.")]
    memo: Annotated[str | None, doc("Text about it.")]
    source: Annotated[EntrySource, doc("Source of the entry.")]
    reference: Annotated[str | None, doc("Number of the order or invoice.")]
    order_ref: Annotated[str | None, HIDDEN] = None
    charge_id: Annotated[UUID | None, doc("The registrar's charge that it comes from.")] = None
    charge_key: Annotated[bytes | None, HIDDEN] = None
    sale_id: Annotated[UUID | None, doc("The sale that it is part of.")] = None
    sale_line: Annotated[int | None, HIDDEN] = None
    sale_role: Annotated[SaleRole | None, HIDDEN] = None
    created_by: Annotated[UUID | None, HIDDEN]
    created_at: Annotated[datetime, HIDDEN]
    base_currency: Annotated[str, HIDDEN]
    fx_rate: Annotated[
        Decimal | None, doc("Units of the base currency per unit of the currency; null: there is none.")
    ]
    fx_date: Annotated[date | None, doc("Day of the rate, on or before the day of the entry.")]
    is_own_rate: Annotated[bool, HIDDEN] = False  # the rate is of the portfolio's own
    base_amount: Annotated[Decimal | None, doc("The amount in the base currency.")]
    voided_at: Annotated[datetime | None, doc("When it was voided; void entries are excluded from all figures.")]
    voided_by: Annotated[UUID | None, HIDDEN]
    void_reason: Annotated[str | None, doc("Why it was voided.")]

    @field_serializer("amount")
    def _show_amount(self, _: Decimal) -> Money:
        return self.money

    @field_serializer("base_amount")
    def _show_base_amount(self, _: Decimal | None) -> Money | None:
        return self.base_money

    @field_serializer("fx_rate")
    def _show_rate(self, rate: Decimal | None) -> str | None:
        return None if rate is None else f"{rate.normalize():f}"

    @field_serializer("reference")
    def _show_reference(self, reference: str | None) -> str | None:
        return reference or self.order_ref

    @property
    def is_void(self) -> bool:
        """Return whether the entry is void, and counts in no total."""
        return self.voided_at is not None

    @property
    def group(self) -> EntryGroup:
        """Return which total the entry counts in."""
        return group_of(self.kind, self.source)

    @property
    def money(self) -> Money:
        """Return the amount."""
        return Money(self.amount, self.currency).quantized()

    @property
    def signed_amount(self) -> Money:
        """Return the amount, negative for a cost."""
        return self.money if self.kind.is_income else -self.money

    @property
    def fx_source(self) -> RateSource | None:
        """Return whose the rate is; None without one, and in the base currency."""
        if self.fx_rate is None or self.currency == self.base_currency:
            return None
        return RateSource.OWN if self.is_own_rate else RateSource.BANK

    @property
    def base_money(self) -> Money | None:
        """Return the amount in the base currency; None when it is not converted."""
        return None if self.base_amount is None else Money(self.base_amount, self.base_currency).quantized()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFilters:
    """Which entries are listed, as the query has it. None: any."""

    since: Annotated[Day | None, Field(alias="from", description="Only entries from this day on.")] = None
    until: Annotated[Day | None, Field(alias="to", description="Only entries up to this day.")] = None
    kind: Annotated[EntryKind | None, doc("Only entries of this kind.")] = None
    source: Annotated[EntrySource | None, doc("Only entries of this source.")] = None
    currency: Annotated[str | None, Field(pattern=CURRENCY_PATTERN), doc("Only entries in this currency.")] = None
    voided: Annotated[bool | None, doc("Only void entries, or only those that count.")] = None


class EntrySort(StrEnum):
    """The order of a list of entries; a leading minus reverses it."""

    DAY = "occurred_on"
    DAY_DESC = "-occurred_on"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedEntry:
    """An entry, and whether it was recorded by this call."""

    entry: Entry | None  # None: refused, because the domain has MAX_ENTRIES
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The entries of a domain and the value of prices, in one currency."""

    base_currency: str
    is_quoted: bool  # there are exchange rates of the currency
    entries: Sequence[Entry]  # by date, void ones too
    prices: Sequence[Decimal | None]  # unrounded; None for no price and for one without a rate


_precise = Context(prec=34)
_wide = Context(prec=60)  # digits of a rate with all decimals, which the default context refuses
_RATE = Decimal("0.000001")  # decimals of a rate


def roi(profit: Decimal, *, total_cost: Decimal) -> Decimal | None:
    """Return the profit per unit of cost, not rounded; None without a cost."""
    return _precise.divide(profit, total_cost) if total_cost > 0 else None


def rounded_rate(rate: Decimal | None) -> float | None:
    """Return a rate as replies show it."""
    return None if rate is None else float(rate.quantize(_RATE, context=_wide))


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums of entries that are not void, in the base currency."""

    base_currency: str
    cost: Decimal  # EntryGroup.COST, positive for a cost
    income: Decimal  # EntryGroup.INCOME
    sale: Decimal  # EntryGroup.SALE
    entries: int
    unconverted: int  # entries without a rate, which no sum contains

    @property
    def total_cost(self) -> Money:
        """Return what buying and holding the domain cost, less refunds."""
        return Money(self.cost, self.base_currency).quantized()

    @property
    def net_position(self) -> Money:
        """Return income and proceeds less costs: the sum of all signed amounts."""
        return Money(self.income + self.sale - self.cost, self.base_currency).quantized()

    @property
    def total_income(self) -> Money:
        """Return the income of holding the domain."""
        return Money(self.income, self.base_currency).quantized()

    @property
    def roi(self) -> float | None:
        """Return the net position per unit of cost, as replies show it; None without a cost."""
        return rounded_rate(roi(self.income + self.sale - self.cost, total_cost=self.cost))


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Which present entries are like a new one, besides the same domain, currency and years."""

    sources: AbstractSet[EntrySource]
    same_kinds: AbstractSet[EntryKind]  # that are like each other; any kind is like itself
    period: timedelta  # before and after its day
    share: Decimal  # of its amount that they differ by
