"""Records of finance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from builders.kit.pages import Page
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import Money
from builders.kit.values.patches import UNSET, Changes, Patch
from builders.kit.values.resources import MONEY, resource
from builders.portfolio.domains.records import Domain, DomainPatch
from builders.portfolio.finance.calculation import Figures, FigureWarning
from builders.portfolio.finance.recommendation import Recommendation
from builders.portfolio.ledger.records import (
    Entry,
    EntryFields,
    EntryKind,
    EntrySource,
    Installment,
    NewEntry,
    SaleTerms,
    Totals,
)

VALUES = ("estimated_value", "asking_price")  # prices at which a domain can be sold, the better one first
PRICES = (*VALUES, "renewal_price")
DOMAIN_MEMBERS = frozenset({*PRICES, "pinned", "notes"})  # of a patch
MAX_ENTRIES = 100  # entries of one request
MAX_MONTHS = 120  # of a summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Sale:
    """A recorded sale. Its amounts are entries of the ledger, each a line of it."""

    id: UUID
    domain_id: UUID
    sold_on: date
    commission_rate: Decimal | None = None
    venue: str | None = None
    buyer_ref: str | None = None
    own_share: Decimal  # of the net proceeds; less than 1 when the domain was consigned
    status_before: str  # of the domain, which has it again when the sale is voided
    created_at: datetime
    import_id: UUID | None = None  # that recorded it; None: a member
    awaits_day: bool = False  # its day has not come, so the domain is not sold yet
    # As agreed; those that were received are entries, too. Rows have them as JSON.
    installments: Sequence[Installment] = ()

    def __post_init__(self) -> None:
        parsed = [each if isinstance(each, Installment) else _read_installment(each) for each in self.installments]
        object.__setattr__(self, "installments", parsed)


def _read_installment(stored: Mapping[str, Any]) -> Installment:
    received_on = stored["received_on"]
    return Installment(
        money=Money.of(stored["amount"], stored["currency"]),
        on=date.fromisoformat(stored["on"]),
        received_on=None if received_on is None else date.fromisoformat(received_on),
    )


class PriceSource(StrEnum):
    """Source of a renewal price."""

    DOMAIN = "domain"  # it is set on the domain
    LAST_RENEWAL = "last_renewal"


@resource("NextRenewalReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class NextRenewal:
    """The next renewal."""

    on: Annotated[date, doc("Day of the expiry.")]
    price: Annotated[Money | None, doc("Price of one year; null when unknown."), MONEY]
    price_source: Annotated[
        PriceSource | None,
        doc("`domain`: set on the domain. `last_renewal`: the amount of the last renewal."),
        MONEY,
    ]
    years: Annotated[int, doc("Years of the price.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingPeriod:
    """What a domain cost and earned from a purchase to its sale: it can be bought back and sold again."""

    since: date | None  # from when entries are its own; None: the first one
    entries: Sequence[Entry]  # that are not void
    sale: Sale | None  # None: it is held
    terms: SaleTerms | None  # of the sale
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainFinance:
    """What a domain cost, earned and is worth on a day."""

    domain: Domain
    base_currency: str
    as_of: date
    entries: Sequence[Entry]  # by date, void ones too
    periods: Sequence[HoldingPeriod]  # at least one
    warnings: Sequence[FigureWarning] = ()
    next_renewal: NextRenewal | None = None  # None without an expiry, and for a domain that is not held
    recommendation: Recommendation | None = None  # None for a domain that is not held

    @property
    def begun(self) -> Sequence[HoldingPeriod]:
        """Return the holding periods that have begun."""
        return [each for each in self.periods if each.since is None or each.since <= self.as_of]

    @property
    def present(self) -> HoldingPeriod:
        """Return the present holding period: of a domain that is sold, the one that the sale ended."""
        return self.begun[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquisition:
    """How a domain was acquired."""

    money: Money
    on: date
    kind: EntryKind  # an acquisition or a registration
    venue: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinanceChange:
    """A merge patch of the finance of a domain."""

    acquisition: Patch[Changes[Acquisition] | None] = UNSET
    sale: Patch[Changes[SaleTerms] | None] = UNSET
    sale_id: UUID | None = None  # of the changed sale; None: that of the present holding period
    domain: DomainPatch = field(default_factory=lambda: DomainPatch({}))  # its DOMAIN_MEMBERS
    entries_add: Sequence[EntryFields] = ()
    entries_void: Sequence[UUID] = ()
    base_currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a change writes."""

    post: Sequence[NewEntry] = ()
    void: Sequence[UUID] = ()  # entries that the member voids
    replace: Sequence[UUID] = ()  # entries that those of `post` replace
    correction: tuple[UUID, NewEntry] | None = None  # the replaced acquisition, and the one of `post` in its place
    domain: Mapping[str, Any] = field(default_factory=dict)  # members of a DomainPatch, of as many types
    sale: Sale | None = None  # to record or change
    void_sales: Sequence[UUID] = ()

    def merged(self, other: "Plan") -> "Plan":
        """Return both."""
        return Plan(
            post=[*self.post, *other.post],
            void=[*self.void, *other.void],
            replace=[*self.replace, *other.replace],
            correction=other.correction or self.correction,
            domain={**self.domain, **other.domain},
            sale=other.sale or self.sale,
            void_sales=[*self.void_sales, *other.void_sales],
        )


@resource("FinanceChangeReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedField:
    """A member that the patch changed."""

    field: Annotated[str, doc("Name of the member.")]
    before: Annotated[Any, Field(serialization_alias="from", description="Its value before; null for none.")]
    after: Annotated[Any, Field(serialization_alias="to", description="Its value now; null for none.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRenewal(EntryFields):
    """A renewal or redemption that was paid."""

    years: int = 1
    new_expires_at: datetime | None = None  # None: the years are added to the expiry


class RenewalNotice(StrEnum):
    """What to check in a recorded renewal."""

    LIKELY_DUPLICATE = "likely_duplicate"
    EXPIRY_UNKNOWN = "expiry_unknown"
    EXPIRY_CAPPED = "expiry_capped"
    EXPIRY_EARLIER = "expiry_earlier"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRenewal:
    """A recorded renewal."""

    entry: Entry
    domain: Domain  # with the new expiry
    previous_expires_at: datetime | None
    duplicate_of: UUID | None  # the entry of an earlier renewal that is likely the same
    notices: Sequence[RenewalNotice]


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingSums:
    """On what advice depends: sums of the present holding period in the base currency, and the visits."""

    domain_id: UUID
    cost_basis: Decimal
    income_12m: Decimal
    is_premium: bool  # the registry charged a premium fee
    traffic: "Traffic"


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


class LabelKind(StrEnum):
    """What the domains of a portfolio are grouped by."""

    TLD = "tld"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A public suffix or a tag, and how many domains have it."""

    kind: LabelKind
    label: str
    domains: int
    of: int | None  # domains of the portfolio; None for a tag


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTotals:
    """The totals of the domains with a public suffix, or with a tag."""

    label: str
    domains: int
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSum:
    """The held domains with an estimated value in one currency, or without one; or what a month added to them."""

    month: date | None  # its first day; None: the sum of today
    currency: str | None  # None: without an estimate
    amount: Decimal | None
    domains: int  # 0 for a month, as the next one
    unpriced: int  # without a renewal price of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthValue:
    """The estimated value of the domains that were held at the end of a month."""

    base: Decimal  # in the base currency at the rates of today
    by_currency: Mapping[str, Decimal]
    unconverted: int  # currencies without a rate, which the base sum leaves out


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioSummary:
    """Costs and income of the domains of a portfolio in a period."""

    since: date
    until: date
    domains: int
    values: Sequence[ValueSum]  # of today, by currency
    total: Totals
    by_month: Mapping[date, Totals]  # each month of the period by its first day, in order
    value_by_month: Mapping[date, MonthValue]  # without months that ended before the first estimate
    by_currency: Mapping[str, Totals]  # each in its own currency
    by_tld: Sequence[LabelledTotals]
    by_tag: Sequence[LabelledTotals]  # a domain with several tags counts in each


@resource("LedgerEntryReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(Entry):
    """An entry of the ledger, with its domain."""

    domain_id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: Annotated[DomainName | None, doc("Its name as a lower-case A-label; null when it was removed.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntries:
    """A page of ledger entries."""

    page: Page[LedgerEntry]
    total: int | None  # of all pages; None: not requested


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The visits of a domain that parking providers have counted."""

    domain_id: UUID
    reported_on: date | None  # the last day with a count; None: no recent one
    visited_on: date | None  # the last day with a visit; None: no recent one

    def is_present(self, as_of: date) -> bool | None:
        """Return whether the domain had visits in the 12 months before a day; None when visits are unknown."""
        since = as_of - timedelta(days=365)
        if self.reported_on is None or self.reported_on <= since:
            return None
        return self.visited_on is not None and self.visited_on > since
