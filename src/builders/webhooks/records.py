"""What crosses the door of webhooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class DisabledReason(StrEnum):
    """Why a destination receives nothing."""

    GONE = "gone"  # it answered 410
    FAILING = "failing"  # nothing but failures, for days
    MANUAL = "manual"  # its owner wants nothing


class DeliveryStatus(StrEnum):
    """How far a delivery is."""

    PENDING = "pending"
    DELIVERING = "delivering"  # pending, and being sent right now
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"  # its destination was disabled or deleted


class Trigger(StrEnum):
    """Why a delivery was last set on its way."""

    EVENT = "event"
    MANUAL = "manual"
    TEST = "test"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastFailure:
    """What went wrong last at a destination."""

    at: datetime
    status: int | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where an account wants events to be sent."""

    account_id: UUID  # whose row it is: with a test key the sandbox twin's
    id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    secret_hint: str
    old_secret_until: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime
    disabled_at: datetime | None
    disabled_reason: DisabledReason | None
    failing_since: datetime | None
    last_success_at: datetime | None
    last_failure: LastFailure | None
    pending: int  # deliveries still to be tried; of more than 10,000 that many
    success_rate_24h: float | None  # of the last day's attempts, the newest 1,000 at most


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDestination:
    """A destination with the secret that was made for it, which is shown once."""

    destination: Destination
    secret: str | None = field(repr=False)  # None when it was given


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request to a receiver."""

    n: int
    started_at: datetime
    duration_ms: int
    status: int | None
    error: str | None  # None for an answer of 2xx
    excerpt: str | None  # the beginning of the answer's body


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event for one destination."""

    id: UUID
    destination_id: UUID
    event_id: UUID
    event: str
    status: DeliveryStatus
    trigger: Trigger
    attempts: int
    next_attempt_at: datetime | None  # None while it is being sent, and when it is over
    last_attempt_at: datetime | None
    last_status: int | None
    last_error: str | None
    succeeded_at: datetime | None
    simulated: bool  # of no event, but of what one would tell
    created_at: datetime  # of the event


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDetail:
    """A delivery, what was tried, and what is sent."""

    delivery: Delivery
    attempts: Sequence[Attempt]  # of the last 30 days
    payload: str | None = field(repr=False)  # None when it is too old


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedDelivery:
    """A delivery after an attempt by hand."""

    delivery: Delivery
    attempt: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSend:
    """What came of a sample sent to a destination."""

    destination: Destination
    delivery: Delivery | None  # None when it was not sent
    attempt: Attempt | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDeliveries:
    """How many deliveries a replay set on their way again."""

    count: int
    next_cursor: UUID | None  # where to go on; None when there are no more

    @property
    def more(self) -> bool:
        """There are more than one call takes."""
        return self.next_cursor is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogVersion:
    """A version of an event that is told no more."""

    version: int
    data_schema: Mapping[str, Any]
    example: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEvent:
    """An event that a destination may want."""

    name: str
    area: str
    version: int
    description: str
    data_schema: Mapping[str, Any]
    example: Mapping[str, Any]
    earlier: Sequence[CatalogVersion]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnhealthyDestination:
    """A destination whose last attempt failed."""

    account_id: UUID
    id: UUID
    url: str
    failures: int  # in a row
    failing_since: datetime | None
    open_until: datetime | None  # nothing is sent before
    last_failure_status: int | None
    last_failure_error: str | None
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What waits, of all accounts."""

    outbox_s: int  # that the oldest event waits for its fan-out
    due: int  # deliveries that could be sent now
    pending: int  # with those that are due later
    overdue_s: int  # of the delivery that has been due longest
    troubled: Sequence[UnhealthyDestination]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """A signed request. The HTTP client adds what is the connection's: Host, User-Agent, Content-Length."""

    webhook_id: UUID
    method: str
    url: str
    headers: dict[str, str] = field(repr=False)
    body: str = field(repr=False)


class SkipReason(StrEnum):
    """Why a destination would not get an event."""

    DISABLED = "disabled"
    NOT_SUBSCRIBED = "not_subscribed"
    UNSEALABLE = "unsealable"  # the secret keys of the service lack the one that its secret was sealed with


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Whether a destination would get an event."""

    webhook_id: UUID
    label: str
    skip_reason: SkipReason | None

    @property
    def would_deliver(self) -> bool:
        """It would be sent."""
        return self.skip_reason is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What a simulated event would do, or did."""

    event: str
    event_id: UUID
    matched: Sequence[Match]
    rendered: Sequence[SignedRequest]
    delivery_ids: Sequence[UUID]  # of what is really sent


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedDestination:
    """A destination as a manifest sees it."""

    id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    manifest: str | None
    manifest_key: str | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationSpec:
    """A destination to make, its URL judged."""

    id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    secret_from: UUID | None  # the destination whose secret it gets; None: one is made
    manifest: str | None
    manifest_key: str | None

    @property
    def is_generated(self) -> bool:
        """Whether its secret is made."""
        return self.secret_from is None


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationChange:
    """What a destination is to be, if it still has the version; its secret stays."""

    id: UUID
    version: int
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    manifest: str | None
    manifest_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedUrls:
    """What became of URLs that were judged."""

    kept: Mapping[str, str] = field(default_factory=dict)  # as they are to be kept, by how they were written
    refused: Mapping[str, str] = field(default_factory=dict)  # what is wrong with them
