"""What crosses the door of webhooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from builders.kit.http.pagination import JsonPage


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
class Retried:
    """A delivery after an attempt by hand."""

    delivery: Delivery
    attempt: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What came of a sample sent to a destination."""

    destination: Destination
    delivery: Delivery | None  # None when it was not sent
    attempt: Attempt | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
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
class Claim:
    """A delivery that is ours to send, until its lease ends."""

    account_id: UUID
    delivery_id: UUID
    created_at: datetime  # of the event
    destination_id: UUID
    event_id: UUID
    lease_until: datetime  # who holds it: a claim that was taken over has another one
    attempts: int
    step: int
    once: bool
    resume_at: datetime | None
    test: bool
    replayed: bool
    url: str
    secret: bytes = field(repr=False)  # sealed
    old_secret: bytes | None = field(repr=False)  # sealed; None when its time is over
    troubled: bool  # its receiver fails or is slow: such share a part of the room there is
    body: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A destination with something due."""

    account_id: UUID
    destination_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a claim."""

    claim: Claim
    attempt: Attempt
    status: DeliveryStatus  # pending: to be tried again at `next_attempt_at`
    next_attempt_at: datetime | None
    step: int
    hold_until: datetime | None  # the receiver asked for no request before
    is_gone: bool  # the receiver said that it wants no more


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a batch of attempts says of the receiver at a destination's URL."""

    account_id: UUID
    id: UUID
    url: str  # that was called: the destination may have another one by now
    has_success: bool
    is_gone: bool
    failures: int  # in a row, at the end of the batch
    hold_until: datetime | None
    duration_ms: int  # of the last attempt
    success_at: datetime | None
    failure_at: datetime | None
    failure_status: int | None
    failure_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """How much waits."""

    due: int  # of more than 100,000 that many
    pending: int  # as above, also what is due later
    oldest_due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubled:
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
    troubled: Sequence[Troubled]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage(JsonPage):
    """Some events of an account's feed, written as webhook payloads are."""

    resume_cursor: str  # also when nothing more is there: whatever comes later comes behind it
    available_since: datetime

    def json(self) -> bytes:
        """Return the whole reply; cursors are base64url and need no escapes."""
        since = self.available_since.isoformat().replace("+00:00", "Z")
        page = JsonPage.json(self).removesuffix(b"}").decode()
        return f'{page},"resume_cursor":"{self.resume_cursor}","available_since":"{since}"}}'.encode()
