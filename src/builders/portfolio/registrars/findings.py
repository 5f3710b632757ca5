"""Records of a comparison of a portfolio with its registrars."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from pydantic import Field

from builders.kit.http.pagination import NextCursor
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.texts import Lowered

# A finding keeps its id while it exists.
_NAMESPACE = UUID("5d0c6c0e-6a4e-5f8b-9a36-2f5d1b7c4e10")


class FindingSeverity(StrEnum):
    """Severity of a finding, the lowest first."""

    INFO = "info"
    WARN = "warn"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Return the place in the order of findings: 0 for the most urgent."""
        return BY_RANK.index(self)


BY_RANK = list(reversed(FindingSeverity))


class FindingCategory(StrEnum):
    """Kind of a difference. Findings of one severity are listed in this order."""

    # A cursor contains the place of a category, so a new one is the last.
    PENDING_TRANSFER_OUT_UNEXPECTED = "pending_transfer_out_unexpected"
    REDEMPTION = "redemption"
    EXPIRED_AT_REGISTRAR = "expired_at_registrar"
    MISSING_AT_REGISTRAR = "missing_at_registrar"
    EXPIRY_MISMATCH = "expiry_mismatch"
    AUTO_RENEW_MISMATCH = "auto_renew_mismatch"
    DROPPED_BUT_ACTIVE = "dropped_but_active"
    SOLD_BUT_STILL_HELD = "sold_but_still_held"
    DUPLICATE_ACROSS_REGISTRARS = "duplicate_across_registrars"
    REGISTRAR_MISMATCH = "registrar_mismatch"
    IDN_FORM_MISMATCH = "idn_form_mismatch"
    MISSING_IN_PORTFOLIO = "missing_in_portfolio"
    STALE_SNAPSHOT = "stale_snapshot"
    PRICE_CHANGED = "price_changed"
    LOCK_OFF = "lock_off"
    PRIVACY_OFF = "privacy_off"
    SUSPICIOUS_DROP = "suspicious_drop"


EXPIRY_TOLERANCE = timedelta(days=1)  # registrars round the expiry to a day, each in its own time zone
NEAR_EXPIRY = 30  # days; auto-renew that is off is urgent
STALE_AFTER, MANUAL_STALE_AFTER = timedelta(hours=48), timedelta(days=35)  # at least, since a complete listing
STALE_INTERVALS = 2  # of the connection's sync, if that is longer


class NotCheckedReason(StrEnum):
    """Why something was not compared."""

    NEVER_SYNCED = "never_synced"
    INCOMPLETE = "incomplete"  # no listing was complete yet
    STALE = "stale"
    FAILED = "failed"  # the last sync
    DISABLED = "disabled"  # no sync, and the last listing is old


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedConnection:
    """A connection, and the age of its listings."""

    connection_id: UUID
    provider: str
    name: str  # of the connection
    is_manual: bool
    is_enabled: bool
    has_failed: bool  # the last sync failed, or the registrar refuses the credentials
    sync_interval_hours: int
    taken_at: datetime | None  # the last listing, complete or not; None: never
    complete_at: datetime | None  # the last complete one; None: never
    suspected_drop: int  # domains that are held back
    suspected_drop_at: datetime | None

    @property
    def known_at(self) -> datetime | None:
        """Return when the domains were listed last, if possible completely."""
        return self.complete_at or self.taken_at

    def is_stale(self, now: datetime) -> bool:
        """Return whether the listing is too old to be compared."""
        least = MANUAL_STALE_AFTER if self.is_manual else STALE_AFTER
        intervals = timedelta(hours=0 if self.is_manual else STALE_INTERVALS * self.sync_interval_hours)
        return self.known_at is not None and now - self.known_at > max(least, intervals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A finding as a statement returns it. Values are JSON: texts, flags, money, times."""

    category: FindingCategory
    severity: FindingSeverity
    domain: str | None = None  # lower-case A-label; None for a finding about a connection
    domain_id: UUID | None = None  # None: not in the portfolio
    connection_id: UUID
    portfolio_value: Any = None  # JSON
    registrar_value: Any  # JSON
    delta_days: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # further values for the suggestion

    @property
    def id(self) -> UUID:
        """Return the identifier, which does not depend on the values."""
        return uuid5(_NAMESPACE, f"{self.category} {self.domain or ''} {self.connection_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which findings are wanted, as the query has it. None: all."""

    provider: Annotated[str | None, Field(max_length=80), doc("Only findings about this registrar."), Lowered] = (
        None
    )
    category: Annotated[FindingCategory | None, doc("Only findings of this category.")] = None
    min_severity: Annotated[FindingSeverity, doc("Only findings of at least this severity.")] = (
        FindingSeverity.INFO
    )


# The report is the reply: its records have the members of the response.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileAction:
    """A request that resolves a finding, after its manual step. Send it unchanged, with sufficient rights."""

    method: Annotated[Literal["GET", "POST", "PATCH"], doc("HTTP method.")]
    path: Annotated[str, doc("Path of this API.")]
    body: Annotated[dict[str, Any] | None, doc("JSON body; null for none.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileFinding:
    """A difference between the portfolio and a registrar."""

    id: Annotated[UUID, doc("Identifier, stable while the difference exists.")]
    category: Annotated[FindingCategory, doc("What differs.")]
    severity: Annotated[
        FindingSeverity | None,
        doc("Severity of the finding; null for a changed price when your role does not see money."),
    ]
    domain: Annotated[DomainName | None, doc("Lower-case A-label; null: it is about the connection.")]
    domain_id: Annotated[UUID | None, doc("The portfolio domain; null when there is none.")]
    provider: Annotated[str, doc("The registrar.")]
    connection: Annotated[str, doc("Name of the connection to it.")]
    connection_id: Annotated[UUID, doc("Identifier of the connection.")]
    portfolio_value: Annotated[
        bool | str | list[str] | dict[str, Any] | None,
        doc("Value in the portfolio: a time, flag, text or money; null if there is none."),
    ]
    registrar_value: Annotated[
        bool | str | list[str] | dict[str, Any] | None,
        doc("Value at the registrar; a list for several registrars."),
    ]
    delta_days: Annotated[
        int | None, doc("Days from the portfolio's time to the registrar's; null for other values.")
    ]
    message: Annotated[str, doc("The finding in a sentence, for people.")]
    suggested_action: Annotated[
        ReconcileAction | None,
        doc("A request that resolves it, with `manual_step` after that; null when no request can."),
    ]
    manual_step: Annotated[
        str | None,
        doc("What only a person can do, outside of this API; null: the suggested action resolves the finding."),
    ]
    dashboard_url: Annotated[str | None, doc("The registrar's website, for what its API does not offer.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileNotChecked:
    """A connection that could not be compared in all categories."""

    provider: Annotated[str, doc("The registrar.")]
    connection: Annotated[str, doc("Name of the connection to it.")]
    connection_id: Annotated[UUID, doc("Identifier of the connection.")]
    reason: Annotated[
        NotCheckedReason,
        doc(
            "`never_synced`; `incomplete`: no listing was complete yet; `stale`: the last is too old "
            "(48 hours or two sync intervals, 35 days for a registrar without an API); `failed`: the last sync; "
            "`disabled`: the connection is, and its listing is old."
        ),
    ]
    categories: Annotated[list[FindingCategory], doc("The categories that were not compared.")]
    listed_at: Annotated[datetime | None, doc("When the domains were listed last; null: never.")]
    complete_at: Annotated[datetime | None, doc("When a listing was last complete; null: never.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileSummary:
    """Counts of all pages."""

    by_category: Annotated[dict[FindingCategory, int], doc("Findings by category, without zeros.")]
    by_severity: Annotated[
        dict[FindingSeverity, int], doc("Findings by severity, without zeros and those without one.")
    ]
    by_provider: Annotated[dict[str, int], doc("Findings by registrar, without zeros.")]
    compared: Annotated[int, doc("Domains that the portfolio and a registrar both have.")]
    ok: Annotated[bool, doc("Whether registrars are connected, everything was compared, and nothing was found.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileReport:
    """The differences between a portfolio and its registrars."""

    generated_at: Annotated[datetime, doc("When the report was made.")]
    writes: Annotated[Literal[False], doc("Always false: the report changes nothing.")] = False
    summary: Annotated[ReconcileSummary, doc("How many findings there are on all pages.")]
    findings: Annotated[list[ReconcileFinding], doc("Of this page, the most urgent first.")]
    not_checked: Annotated[list[ReconcileNotChecked], doc("What could not be compared, and why.")]
    redacted: Annotated[list[Literal["finance"]], doc("`finance`: your role does not see money, so it is null.")]
    count: Annotated[int, doc("Number of findings on this page.")]
    next_cursor: NextCursor
