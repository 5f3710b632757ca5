"""Records of syncs of charges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from uuid import UUID

from builders.kit.values.money import Money
from builders.portfolio.runs.records import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOptions:
    """Which charges a sync reads, and whether it books them."""

    since: date | None = None  # None: where the last sync ended, with an overlap
    until: date | None = None  # None: today
    applies: bool = True
    dry_run: bool = False
    member_id: UUID | None = None  # None: a job


class FreshnessReason(StrEnum):
    """Why data is refreshed, or not."""

    FRESH = "fresh"
    STALE = "stale"
    FORCED = "forced"
    NEVER = "never"  # it was never synced
    COOLDOWN = "cooldown"  # it was just synced, or the registrar accepts no request for now


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How old the data of a connection is."""

    connection_id: UUID
    provider: str
    is_stale: bool
    age: timedelta | None  # of the oldest part; None: never synced
    reason: FreshnessReason

    @property
    def is_refreshed(self) -> bool:
        """Return whether the data is refreshed."""
        return self.reason not in {FreshnessReason.FRESH, FreshnessReason.COOLDOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """Age of the data of each connection, and the runs that refresh it."""

    connections: Sequence[Freshness]
    inventory: Run | None = None
    billing: Run | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedRun:
    """The state of a sync of charges after some time."""

    run: Run
    totals: Sequence[Money]  # the sum of the new charges of each currency
    next_since: Mapping[UUID, date]  # the first day of the next sync, by connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """The state of a refresh after some time."""

    connections: Sequence[Freshness]
    inventory: Run | None
    billing: SyncedRun | None
