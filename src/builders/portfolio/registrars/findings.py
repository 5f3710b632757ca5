"""Records of a comparison of a portfolio with its registrars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID, uuid5

from fastapi import Query

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
        return _RANKS[self]


_RANKS = {each: rank for rank, each in enumerate(reversed(FindingSeverity))}
BY_RANK = {rank: each for each, rank in _RANKS.items()}


class FindingCategory(StrEnum):
    """Kind of a difference. Findings of one severity are listed in this order."""

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
    SUSPICIOUS_DROP = "suspicious_drop"  # the last one, so that the places of the others stay


EXPIRY_TOLERANCE = timedelta(days=1)  # registrars round the expiry to a day, each in its own time zone
NEAR_EXPIRY = timedelta(days=30)  # auto-renew that is off is urgent
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

    def is_stale(self, now: datetime) -> bool:
        """Return whether the listing is too old to be compared."""
        known_at = self.complete_at or self.taken_at
        least = MANUAL_STALE_AFTER if self.is_manual else STALE_AFTER
        intervals = timedelta(hours=0 if self.is_manual else STALE_INTERVALS * self.sync_interval_hours)
        return known_at is not None and now - known_at > max(least, intervals)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """A connection that was not compared in some or all categories."""

    snapshot: ListedConnection
    reason: NotCheckedReason
    categories: Sequence[FindingCategory]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedAction:
    """A request that resolves a finding, ready to be sent."""

    method: str
    path: str
    body: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A finding as a statement returns it. Values are JSON: texts, flags, money, times."""

    category: FindingCategory
    severity: FindingSeverity
    domain: str | None  # lower-case A-label; None for a finding about a connection
    domain_id: UUID | None  # None: not in the portfolio
    connection_id: UUID
    portfolio_value: Any  # JSON
    registrar_value: Any  # JSON
    delta_days: int | None
    facts: Mapping[str, Any]  # further values for the suggestion

    @property
    def id(self) -> UUID:
        """Return the identifier, which does not depend on the values."""
        return uuid5(_NAMESPACE, f"{self.category} {self.domain or ''} {self.connection_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A difference, with a message and a suggestion."""

    difference: Difference
    portfolio_value: Any  # JSON, as shown
    registrar_value: Any  # JSON, as shown
    snapshot: ListedConnection  # of the connection that it is about
    message: str
    suggested_action: SuggestedAction | None  # None: no request resolves it
    dashboard_url: str | None  # where a person changes it
    severity: FindingSeverity | None  # None: it would show which price is higher


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which findings are wanted, as the query has it. None: all."""

    provider: Annotated[
        str | None, Query(max_length=80, description="Only findings about this registrar."), Lowered
    ] = None
    category: Annotated[FindingCategory | None, Query(description="Only findings of this category.")] = None
    min_severity: Annotated[FindingSeverity, Query(description="Only findings of at least this severity.")] = (
        FindingSeverity.INFO
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of findings of a category for one connection."""

    category: FindingCategory
    severity: FindingSeverity | None  # None: as in Finding
    connection_id: UUID
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A comparison of a portfolio with its registrars."""

    generated_at: datetime
    findings: Sequence[Finding]  # of this page
    next_cursor: str | None
    counts: Sequence[Count]  # of all pages
    snapshots: Sequence[ListedConnection]
    not_checked: Sequence[NotChecked]
    compared: int  # domains that the portfolio and a registrar have
    shows_finance: bool
