"""Records of renewals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from builders.kit.pages import Page
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.patches import UNSET, Patch
from builders.kit.values.resources import ONCE, resource
from builders.portfolio.domains.records import RENEWED, Domain, ExpiringDomain, RenewalDecision
from builders.portfolio.domains.today import Today
from builders.portfolio.finance.recommendation import Recommendation

MAX_DAYS = 365  # of the report
MAX_ROWS = 1_000  # of a bulk call
MAX_YEARS = 10  # that a domain is renewed for
MAX_NOTE = 500


class RenewalPriceSource(StrEnum):
    """Sources of a renewal price, the best first."""

    DOMAIN = "domain"  # set on the domain
    LAST_RENEWAL = "last_renewal"  # a year of the last renewal in the ledger
    MEDIAN = "median"  # of the portfolio's domains with the same suffix and registrar
    UNKNOWN = "unknown"


class PushState(StrEnum):
    """Result of a decision at the registrar."""

    PUSHED = "pushed"
    UNCHANGED = "unchanged"  # the registrar has the setting already
    QUEUED = "queued"  # a job tries again
    FAILED = "failed"
    UNSUPPORTED = "unsupported"  # the registrar's API does not offer it
    NOT_CONNECTED = "not_connected"  # no connected registrar holds the domain
    WOULD_PUSH = "would_push"  # in a dry run
    NOTHING_TO_PUSH = "nothing_to_push"  # the row decides nothing about auto-renew


@resource("PushedReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class PushedRow:
    """Result of a row at the registrar."""

    state: Annotated[
        PushState,
        doc(
            "`unchanged`: the registrar has the setting already; `queued`: a job sends it, again if "
            "it failed; `unsupported`: the registrar's API does not offer it; `not_connected`: no connected "
            "registrar holds the domain; `would_push`: in a dry run; `nothing_to_push`: the row implies no "
            "setting."
        ),
    ]
    auto_renew: Annotated[bool | None, doc("The setting of the row.")] = None
    provider: Annotated[str | None, doc("The registrar.")] = None
    dashboard_url: Annotated[str | None, doc("The registrar's website, to change it there.")] = None
    error: Annotated[str | None, doc("Why it is not set there, or not yet, in a sentence.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided about the next expiry of a domain."""

    domain_id: UUID
    decision: RenewalDecision = RenewalDecision.UNDECIDED
    years: int | None = None  # to renew for; None: not decided
    note: str | None = None
    snooze_until: date | None = None  # no reminders before
    expires_at: datetime | None = None  # of the domain when it was decided
    decided_at: datetime | None = None  # None: never

    def at_expiry(self, expires_at: datetime | None) -> "Decision":
        """Return the decision about this expiry: a renewal makes an earlier one obsolete, except its note."""
        if self.expires_at is None or expires_at is None or expires_at < self.expires_at + RENEWED:
            return self
        return Decision(domain_id=self.domain_id, note=self.note)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPatch:
    """New values of a decision, and of the domain's fields that belong to it."""

    decision: Patch[RenewalDecision] = UNSET
    years: Patch[int | None] = UNSET
    note: Patch[str | None] = UNSET
    snooze_until: Patch[date | None] = UNSET
    auto_renew: Patch[bool | None] = UNSET
    renewal_price: Patch[Money | None] = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """A row of a bulk call."""

    index: int
    domain: str  # as sent: a name in either form, or an id
    patch: DecisionPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalPrice:
    """What a year costs."""

    money: Money | None  # None: unknown, or not shown to the role
    source: RenewalPriceSource


@dataclass(frozen=True, slots=True)
class Due:
    """A domain with a due or overdue renewal, and what that depends on."""

    domain: ExpiringDomain
    price: RenewalPrice
    decision: Decision


@resource("RenewalCalendarLink", optional={"url": None})
@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarLink:
    """The link of a renewal calendar; it is shown once."""

    url: Annotated[
        str | None,
        doc(
            "Subscribe to it in a calendar program. It is the only credential. Absent if an "
            "Idempotency-Key repeats the response."
        ),
        ONCE,
    ] = field(repr=False)
    created_at: Annotated[datetime, doc("When the link was made.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarPeriod:
    """The expiries of a calendar: all by default."""

    year: int | None = None
    month: int | None = None  # of the year
    part: int = 1  # of a month with more expiries than a calendar holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What some renewals cost: each the price of a year for as many years as decided."""

    renewals: int
    base: Decimal  # in the base currency, unrounded
    amounts: Mapping[str, Decimal]  # by the currency of the prices

    @property
    def by_currency(self) -> Sequence[Money]:
        """Return the amount in each currency of the prices."""
        return [Money(amount, currency).quantized() for currency, amount in sorted(self.amounts.items())]


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSum:
    """What the due renewals of a month cost that have the same decision, setting and currency."""

    month: date  # of the expiry: its first day
    decision: RenewalDecision
    auto_renew: bool | None
    currency: str | None  # None: without a price
    amount: Decimal | None
    renewals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalTotals:
    """Sums of all due renewals, on all pages."""

    count: int
    by_currency: Sequence[Money]
    base: Decimal  # in the base currency, unrounded
    unconverted: int  # renewals with a price without an exchange rate, which the base sums leave out
    by_month: Mapping[str, Cost]  # `2026-01`: month of the expiry
    by_decision: Mapping[RenewalDecision, Cost]
    auto_renew_on: int
    auto_renew_off: int
    auto_renew_unknown: int
    auto_renew_contradicted: int  # to expire although auto-renew is on, or to renew although it is off
    unknown_price: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalReport:
    """A page of due renewals, with the sums of all pages."""

    today: Today
    base_currency: str
    page: Page[Due]
    domains: Mapping[UUID, Domain]  # of the page, without those that were removed concurrently
    prices: Mapping[
        UUID, Money | None
    ]  # of the page, in the base currency; None for none and for one without a rate
    advice: Mapping[UUID, Recommendation]  # none for a role that does not see money
    totals: RenewalTotals
