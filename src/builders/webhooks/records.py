"""Records of the public interface of webhooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from builders.kit.values.patches import UNSET, Patch


class DisabledReason(StrEnum):
    """Why a destination is disabled."""

    GONE = "gone"  # the receiver answered 410
    FAILING = "failing"  # every attempt failed for days
    MANUAL = "manual"  # by its owner


class DeliveryStatus(StrEnum):
    """The state of a delivery."""

    PENDING = "pending"
    DELIVERING = "delivering"  # pending, and a request is in flight
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"  # its destination was disabled or deleted


class Trigger(StrEnum):
    """Cause of the last attempts of a delivery."""

    EVENT = "event"
    MANUAL = "manual"
    TEST = "test"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastFailure:
    """The last failed attempt at a destination."""

    at: datetime
    status: int | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationFields:
    """The id of a destination, and the fields that its account sets."""

    id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination(DestinationFields):
    """A URL that an account's events are sent to, with its health."""

    account_id: UUID  # with a test key, the sandbox account
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
    pending: int  # deliveries to attempt; 10,000 at most
    success_rate_24h: float | None  # of the attempts of the last day, at most the newest 1,000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDestination:
    """A destination with its generated secret, which is shown once."""

    destination: Destination
    secret: str | None = field(repr=False)  # None: the owner set it


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request to a receiver."""

    n: int
    started_at: datetime
    duration_ms: int
    status: int | None
    error: str | None  # None: the response was 2xx
    excerpt: str | None  # of the response body


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
    next_attempt_at: datetime | None  # None while a request is in flight, and when no attempt follows
    last_attempt_at: datetime | None
    last_status: int | None
    last_error: str | None
    succeeded_at: datetime | None
    simulated: bool  # nothing happened: the event was simulated
    created_at: datetime  # when the event was published


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFilter:
    """The conditions of a list of deliveries; None is no condition."""

    destination_id: UUID | None = None
    event: str | None = None
    status: DeliveryStatus | None = None
    since: datetime | None = None  # of the event
    until: datetime | None = None  # before this time


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDetail:
    """A delivery with its attempts and its payload."""

    delivery: Delivery
    attempts: Sequence[Attempt]  # of the last 30 days
    payload: str | None = field(repr=False)  # None: no longer kept


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedDelivery:
    """A delivery after a manual retry."""

    delivery: Delivery
    attempt: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSend:
    """The result of a test send to a destination."""

    destination: Destination
    delivery: Delivery | None  # None: not sent
    attempt: Attempt | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDeliveries:
    """How many deliveries a replay made due again."""

    count: int
    next_cursor: UUID | None  # None: there are no more

    @property
    def more(self) -> bool:
        """Whether another call is needed."""
        return self.next_cursor is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEvent:
    """An event that a destination can subscribe to."""

    name: str
    area: str
    version: int
    description: str
    data_schema: Mapping[str, Any]
    example: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnhealthyDestination:
    """A destination whose last attempt failed."""

    account_id: UUID
    id: UUID
    url: str
    failures: int  # consecutive
    failing_since: datetime | None
    paused_until: datetime | None  # no attempt starts before
    last_failure_status: int | None
    last_failure_error: str | None
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """The number and age of waiting events and deliveries of all accounts."""

    outbox_s: int  # age of the oldest event that is not fanned out
    due: int  # deliveries that can be sent now
    pending: int  # with those that are due later
    overdue_s: int  # of the longest due delivery
    unhealthy: Sequence[UnhealthyDestination]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """A signed request. The HTTP client adds Host, User-Agent and Content-Length."""

    webhook_id: UUID
    method: str
    url: str
    headers: dict[str, str] = field(repr=False)
    body: str = field(repr=False)


class SkipReason(StrEnum):
    """Why a destination would not get an event."""

    DISABLED = "disabled"
    NOT_SUBSCRIBED = "not_subscribed"
    UNSEALABLE = "unsealable"  # no secret key of the service unseals its signing secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Whether a destination would get an event."""

    webhook_id: UUID
    label: str
    skip_reason: SkipReason | None

    @property
    def would_deliver(self) -> bool:
        """Whether the event would be sent."""
        return self.skip_reason is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The result of a simulated event."""

    event: str
    event_id: UUID
    matched: Sequence[Match]
    rendered: Sequence[SignedRequest]
    delivery_ids: Sequence[UUID]  # of deliveries that were inserted


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedDestination(DestinationFields):
    """A destination with its manifest key."""

    manifest: str | None
    manifest_key: str | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationSpec(DestinationFields):
    """A destination to insert; its URL is validated."""

    secret_from: UUID | None = None  # the destination whose secret is copied; None: generate one
    manifest: str | None = None
    manifest_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationChange(ManagedDestination):
    """The new state of a destination that still has this version; its secret stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationPatch:
    """A merge patch of a destination."""

    label: Patch[str] = UNSET
    url: Patch[str] = UNSET
    enabled: Patch[bool] = UNSET
    events: Patch[Sequence[str]] = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedUrls:
    """Which URLs are valid."""

    kept: Mapping[str, str] = field(default_factory=dict)  # normalized URL by the URL as written
    refused: Mapping[str, str] = field(default_factory=dict)  # error message by the URL as written
