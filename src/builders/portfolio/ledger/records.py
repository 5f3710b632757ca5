"""Records of the ledger."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Self
from uuid import UUID

from builders.kit.limits import maximums
from builders.kit.values.money import Money

DEFAULT_BASE_CURRENCY = "USD"
EURO = "EUR"  # the rates are quoted per euro
MAX_YEARS = 100  # that an entry pays for
MAX_REFERENCE = 200
MAX_MEMO = 500
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

    @property
    def is_cost(self) -> bool:
        """Return whether the amount was paid."""
        return self not in INCOME_KINDS


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
SALE_KINDS: AbstractSet[EntryKind] = frozenset(
    {EntryKind.SALE, EntryKind.SALE_INSTALLMENT, EntryKind.COMMISSION, EntryKind.MARKETPLACE_FEE}
)


class EntrySource(StrEnum):
    """Source of an entry."""

    MANUAL = "manual"
    IMPORT = "import"
    SYNC = "sync"  # charges of a registrar
    SALE = "sale"  # the sale of the domain: price, instalments and the seller's costs
    PARKING = "parking"


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
class NewEntry:
    """An amount to record on a domain."""

    domain_id: UUID
    kind: EntryKind
    money: Money  # zero or more; the kind decides the sign
    occurred_on: date
    source: EntrySource
    reference: str | None = None  # of the source; the same one is recorded once
    years: int | None = None  # that the amount pays for
    registrar: str | None = None
    memo: str | None = None
    created_by: UUID | None = None  # the member; None for a job

    def __post_init__(self) -> None:
        if self.money.amount < 0:
            raise ValueError("The amount of an entry is not negative: its kind decides the sign.")

    @property
    def key(self) -> tuple[UUID, EntryKind, date, Decimal, str]:
        """Return what is equal for two entries that are the same."""
        return (self.domain_id, self.kind, self.occurred_on, self.money.amount, self.money.currency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An amount recorded on a domain."""

    id: UUID
    domain_id: UUID
    kind: EntryKind
    amount: Decimal
    currency: str
    occurred_on: date
    years: int | None
    registrar: str | None
    memo: str | None
    source: EntrySource
    reference: str | None
    created_by: UUID | None
    created_at: datetime
    base_currency: str
    fx_rate: Decimal | None  # units of the base currency per unit of the currency; None: not converted
    fx_date: date | None  # the day of the rate
    base_amount: Decimal | None
    voided_at: datetime | None
    voided_by: UUID | None
    void_reason: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", EntryKind(self.kind))
        object.__setattr__(self, "source", EntrySource(self.source))

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
    def signed_money(self) -> Money:
        """Return the amount, negative for a cost."""
        return self.money if self.kind.is_income else -self.money

    @property
    def base_money(self) -> Money | None:
        """Return the amount in the base currency; None when it is not converted."""
        return None if self.base_amount is None else Money(self.base_amount, self.base_currency).quantized()

    @property
    def signed_base_money(self) -> Money | None:
        """Return the amount in the base currency, negative for a cost; None when it is not converted."""
        base = self.base_money
        return base if base is None or self.kind.is_income else -base


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums of the entries of a domain that are not void, in the base currency."""

    base_currency: str
    cost: Decimal  # EntryGroup.COST, positive for a cost
    income: Decimal  # EntryGroup.INCOME
    sale: Decimal  # EntryGroup.SALE
    entries: int
    unconverted: int  # entries without a rate, which no sum contains

    @classmethod
    def zero(cls, base_currency: str) -> Self:
        """Return the totals of no entries."""
        nothing = Decimal(0)
        return cls(
            base_currency=base_currency, cost=nothing, income=nothing, sale=nothing, entries=0, unconverted=0
        )

    def __add__(self, other: "Totals") -> Self:
        if other.base_currency != self.base_currency:
            raise ValueError(f"Sums in {self.base_currency} and {other.base_currency} cannot be combined.")
        return type(self)(
            base_currency=self.base_currency,
            cost=self.cost + other.cost,
            income=self.income + other.income,
            sale=self.sale + other.sale,
            entries=self.entries + other.entries,
            unconverted=self.unconverted + other.unconverted,
        )

    @property
    def total_cost(self) -> Money:
        """Return what buying and holding the domain cost, less refunds."""
        return Money(self.cost, self.base_currency).quantized()

    @property
    def net_position(self) -> Money:
        """Return income and proceeds less costs: the sum of all signed amounts."""
        return Money(self.income + self.sale - self.cost, self.base_currency).quantized()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySum:
    """The sum of the entries of one kind and source."""

    kind: EntryKind
    source: EntrySource
    month: date | None = None  # its first day; None: of several, as in the next one
    currency: str | None = None
    amount: Decimal | None = None  # in the currency
    base_amount: Decimal | None  # in the base currency, of the entries that are converted
    entries: int
    converted: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", EntryKind(self.kind))
        object.__setattr__(self, "source", EntrySource(self.source))


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodTotals:
    """Totals of the entries of a portfolio in a period."""

    total: Totals
    by_month: Mapping[date, Totals]  # each month of the period by its first day
    by_currency: Mapping[str, Totals]  # each in its own currency


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTotal:
    """The sum of the entries of a domain of one kind and source, in the base currency."""

    domain_id: UUID
    kind: EntryKind
    source: EntrySource
    amount: Decimal  # zero or more; the kind decides the sign
    amount_since: Decimal  # of it, what occurred after a day

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", EntryKind(self.kind))
        object.__setattr__(self, "source", EntrySource(self.source))
