"""Records of the public interface of webhooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, StrictBool, StringConstraints

from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.outbound.client import Failure
from builders.kit.values import texts
from builders.kit.values.docs import CreatedAt, Livemode, UpdatedAt, Version, doc
from builders.kit.values.resources import HIDDEN, OF_CALLER, ONCE, resource

MAX_LABEL = 120  # characters
MAX_URL = 2048
MAX_EVENTS = 100  # event names of a destination
Label = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL, pattern=r"\S"), texts.Plain
]
Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL)]
Events = Annotated[list[str], Field(min_length=1, max_length=MAX_EVENTS)]


class DisabledReason(StrEnum):
    """Why a webhook destination is disabled."""

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

    at: Annotated[datetime, doc("When the attempt failed.")]
    status: Annotated[int | None, doc("HTTP status of the response; null without a response.")]
    error: Annotated[str, doc("Class of the failure, such as `http_status` or `timeout`.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationFields:
    """The id of a destination, and the fields that its account sets."""

    id: Annotated[UUID, doc("Identifier of the destination.")]
    label: Annotated[Label, doc("Your name for the destination.")]
    url: Annotated[Url, doc("Public http or https address that events are sent to.")]
    enabled: Annotated[StrictBool, doc("Whether it receives events.")]
    events: Annotated[Events, doc("Names of events, `area.*`, or `*` for all.")]


@resource(
    "WebhookReply",
    computed={
        "status": "`failing`: enabled, and every attempt since `failing_since` failed.",
        "last_failure": "The newest failed attempt; null without one.",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Destination(DestinationFields):
    """A webhook destination with its health."""

    account_id: Annotated[UUID, HIDDEN]  # with a test key, the sandbox account
    livemode: Annotated[Livemode, OF_CALLER] = True
    disabled_reason: Annotated[
        DisabledReason | None,
        doc("`gone`: the receiver answered 410; `failing`: attempts failed for days; `manual`: by you."),
    ]
    disabled_at: Annotated[datetime | None, doc("When it was disabled; null while enabled.")]
    failing_since: Annotated[
        datetime | None, doc("Time of the first failure since the last success; null while deliveries succeed.")
    ]
    last_success_at: Annotated[datetime | None, doc("When a delivery last succeeded; null: never.")]
    last_failure_at: Annotated[datetime | None, HIDDEN]
    last_failure_status: Annotated[int | None, HIDDEN]
    last_failure_error: Annotated[str | None, HIDDEN]
    pending: Annotated[int, doc("Deliveries that are not finished.")]  # 10,000 at most
    success_rate_24h: Annotated[
        float | None, doc("Share of successful attempts of the last day, of at most 1,000; null without attempts.")
    ]
    secret_hint: Annotated[
        str, doc("The last characters of the signing secret; empty for a secret of fewer than 32 characters.")
    ]
    old_secret_until: Annotated[datetime | None, doc("Time until which the previous secret also signs.")]
    version: Version
    created_at: CreatedAt
    updated_at: UpdatedAt

    @property
    def status(self) -> Literal["enabled", "disabled", "failing"]:
        """Return whether it is enabled, and whether deliveries succeed."""
        if not self.enabled:
            return "disabled"
        return "enabled" if self.failing_since is None else "failing"

    @property
    def last_failure(self) -> LastFailure | None:
        """Return the newest failed attempt."""
        if self.last_failure_at is None:
            return None
        return LastFailure(
            at=self.last_failure_at, status=self.last_failure_status, error=self.last_failure_error or ""
        )


@resource("WebhookSecretReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class NewDestination(Destination):
    """A webhook destination with its new secret. Store it at once: it is never shown again."""

    signing_secret: Annotated[
        str | None, doc("The generated secret; null if you set it. An idempotent repetition omits it."), ONCE
    ] = field(default=None, repr=False)


@resource("AttemptReply", computed={"duration_ms": "Duration in milliseconds; null without a connection."})
@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request to the receiver."""

    n: Annotated[int, doc("Number of the attempt, from 1.")]
    started_at: Annotated[datetime, doc("When the request was sent.")]
    took_ms: Annotated[int, HIDDEN]
    status: Annotated[int | None, doc("HTTP status of the response; null without a response.")]
    error: Annotated[str | None, doc("Class of the failure; null for a 2xx response.")]
    response_excerpt: Annotated[str | None, doc("Beginning of the response body.")]

    @property
    def duration_ms(self) -> int | None:
        """Return the duration. The time to a failed connection would show which ports are closed or filtered."""
        return None if self.error == Failure.CONNECT else self.took_ms


@resource("DeliveryReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The delivery of an event to a destination."""

    id: Annotated[UUID, doc("Identifier of the delivery.")]
    webhook_id: Annotated[UUID, doc("The destination, which may have been deleted since.")]
    livemode: Annotated[Livemode, OF_CALLER] = True
    event_id: Annotated[UUID, doc("`webhook-id` in each attempt, and `id` in the payload.")]
    event: Annotated[str, doc("Name of the event.")]
    status: Annotated[DeliveryStatus, doc("Status; a `pending` delivery is attempted at `next_attempt_at`.")]
    trigger: Annotated[Trigger, doc("Cause of the newest attempts.")]
    attempt_count: Annotated[int, doc("Attempts so far.")]
    # None also while a request is in flight.
    next_attempt_at: Annotated[datetime | None, doc("Time of the next attempt; null if there is none.")]
    last_attempt_at: Annotated[datetime | None, doc("Time of the last attempt; null before the first.")]
    last_status: Annotated[int | None, doc("HTTP status of the newest response; null without one.")]
    last_error: Annotated[str | None, doc("Class of the newest failure; null after a success.")]
    succeeded_at: Annotated[datetime | None, doc("When the receiver accepted the event; null before.")]
    simulated: Annotated[bool, doc("Whether the event was simulated.")]
    created_at: CreatedAt  # when the event was published


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFilter:
    """The conditions of a list of deliveries; None is no condition."""

    destination_id: UUID | None = None
    event: str | None = None
    status: DeliveryStatus | None = None
    since: datetime | None = None  # of the event
    until: datetime | None = None  # before this time
    is_test: bool | None = None


@resource("DeliveryDetailReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDetail(Delivery):
    """A delivery with its attempts and the sent text."""

    attempts: Annotated[
        list[Attempt], doc("The newest 100 attempts that are kept, by default for 30 days, oldest first.")
    ]
    payload: Annotated[str | None, doc("The exact text that is signed and sent; null after its retention.")] = (
        field(repr=False)
    )


@resource("DeliveryRetried")
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptedDelivery(Delivery):
    """A delivery after a manual attempt, with the attempt."""

    attempt: Annotated[Attempt, doc("The attempt that was just made.")]


@resource("WebhookReplayed", computed={"more": "Whether more deliveries remain; call again with the cursor."})
@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDeliveries:
    """Number of deliveries that will be sent again."""

    count: Annotated[int, doc("Number of deliveries that are sent again.")]
    next_cursor: Annotated[UUID | None, doc("Send it as `cursor` to continue; null at the end.")]

    @property
    def more(self) -> bool:
        """Whether another call is needed."""
        return self.next_cursor is not None


@resource("EventReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEvent:
    """An event that a destination can subscribe to."""

    name: Annotated[str, doc("Name of the event, for `events` of a destination.")]
    area: Annotated[str, doc("Part of the name before the first dot; `area.*` subscribes to all of it.")]
    version: Annotated[int, doc("Version of the event's data; grows with an incompatible change.")]
    description: Annotated[str, doc("When the event happens.")]
    data_schema: Annotated[dict[str, Any], doc("The JSON schema of the payload's `data`.")]
    example: Annotated[dict[str, Any], doc("An example payload.")]


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
    oldest_event: PublishedEvent | None
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
class ManagedFields(DestinationFields):
    """The fields of a destination, with its manifest key."""

    manifest: str | None = None
    manifest_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedDestination(ManagedFields):
    """A destination as it is locked and changed."""

    version: int
    disabled_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationSpec(ManagedFields):
    """A destination to insert; its URL is validated."""

    secret: str | None = field(default=None, repr=False)  # None: copy or generate one
    secret_from: UUID | None = None  # the destination whose secret is copied


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedUrls:
    """Which URLs are valid."""

    kept: Mapping[str, str] = field(default_factory=dict)  # normalized URL by the URL as written
    refused: Mapping[str, str] = field(default_factory=dict)  # error message by the URL as written
