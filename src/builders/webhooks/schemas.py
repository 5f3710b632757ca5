"""Requests and replies of webhooks."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

from pydantic import BeforeValidator, Field, SecretStr, StrictBool, StringConstraints
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody, Reply, WriteReply
from builders.kit.http.members import reply_members, with_members
from builders.kit.http.pagination import Cursor, NextCursor
from builders.kit.outbound.client import Failure
from builders.kit.values import texts
from builders.kit.values.docs import Livemode, doc
from builders.kit.values.instants import Instant
from builders.webhooks.catalog import MAX_EVENTS
from builders.webhooks.records import (
    Attempt,
    AttemptedDelivery,
    CatalogEvent,
    Delivery,
    Destination,
    LastFailure as LastFailureRecord,
    ReplayedDeliveries,
)

MAX_LABEL = 120  # characters
MAX_URL = 2048


def whole_number(value: object) -> object:
    """Refuse booleans and strings. Put it after the bounds, which the document omits otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


Label = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL, pattern=r"\S"), texts.Plain
]
Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL)]
Events = Annotated[list[str], Field(min_length=1, max_length=MAX_EVENTS)]
Secret = Annotated[
    SecretStr,
    doc(
        "`whsec_` and the base64 of 24 to 64 bytes, or 16 to 256 printable characters, 8 of them visible, "
        "whose UTF-8 bytes are the key. Default: a generated one."
    ),
]


class WebhookCreate(Body, extra="forbid"):
    """A webhook destination to create."""

    label: Annotated[Label, doc("Your name for the destination.")]
    url: Annotated[Url, doc("A public http or https address.")]
    enabled: Annotated[StrictBool, doc("Whether it receives events.")]
    events: Annotated[Events, doc("Names of events, `area.*`, or `*` for all.")]
    signing_secret: Annotated[
        Secret | None,
        doc(
            "`whsec_` and the base64 of 24 to 64 bytes, or 16 to 256 printable characters. "
            "Default: one is generated and shown once."
        ),
    ] = None


class WebhookUpdate(PatchBody, extra="forbid"):
    """Changes to a webhook destination: absent members do not change. At least one member."""

    label: Annotated[Label, NOT_NULL, doc("Your name for the destination; cannot be null.")] = ABSENT
    url: Annotated[Url, NOT_NULL, doc("Public http or https address that events are sent to; cannot be null.")] = (
        ABSENT
    )
    enabled: Annotated[
        StrictBool, NOT_NULL, doc("Whether it receives events; `true` enables it again after `gone` or `failing`.")
    ] = ABSENT
    events: Annotated[Events, NOT_NULL, doc("Names of events, `area.*`, or `*` for all; replaces the list.")] = (
        ABSENT
    )


class WebhookRotate(Body, extra="forbid"):
    """The overlap of a rotation, and optionally the new secret."""

    overlap_hours: Annotated[
        int, Field(ge=0, le=168, description="Both secrets sign during this time."), BeforeValidator(whole_number)
    ] = 24
    signing_secret: Annotated[
        Secret | None,
        doc(
            "The new secret, in the form of `signing_secret` at creation. Default: one is "
            "generated and shown once."
        ),
    ] = None


@with_members(reply_members(LastFailureRecord))
class LastFailure(Reply):
    """The last failed attempt."""


@with_members(reply_members(Destination, omit={"account_id", "disabled_reason", "last_failure"}))
class WebhookReply(Reply):
    """A webhook destination with its health."""

    status: Annotated[
        Literal["enabled", "disabled", "failing"],
        doc("`failing`: enabled, and every attempt since `failing_since` failed."),
    ]
    disabled_reason: Annotated[
        Literal["gone", "failing", "manual"] | None,
        doc("`gone`: the receiver answered 410; `failing`: attempts failed for days; `manual`: by you."),
    ]
    last_failure: Annotated[LastFailure | None, doc("The newest failed attempt; null without one.")]
    livemode: Livemode

    @classmethod
    def of(cls, destination: Destination, *, livemode: bool, **computed: Any) -> Self:
        """Return the reply about a destination."""
        failing = "failing" if destination.failing_since else "enabled"
        status = failing if destination.enabled else "disabled"
        return cls.from_record(destination, livemode=livemode, status=status, **computed)


class WebhookWritten(WebhookReply, WriteReply):
    """A webhook destination after a change."""


class WebhookSecretReply(WebhookWritten):
    """A webhook destination with its new secret. Store it at once: it is never shown again."""

    shown_once: ClassVar[frozenset[str]] = frozenset({"signing_secret"})

    signing_secret: Annotated[
        str | None, doc("The generated secret; null if you set it. An idempotent repetition omits it.")
    ] = None


def secret_of(body: WebhookCreate | WebhookRotate) -> str | None:
    """Return the secret in the body, even an empty one, which the service refuses."""
    return None if body.signing_secret is None else body.signing_secret.get_secret_value()


@with_members(reply_members(CatalogEvent))
class EventReply(Reply):
    """An event that a destination can subscribe to."""


class FeedEvent(Reply):
    """An event as a webhook destination receives it: the same members, the same id."""

    id: Annotated[
        UUID, doc("Identifier, also in the header `webhook-id`; ignore an event that you have processed.")
    ]
    type: Annotated[str, doc("The name of the event, such as `alias.created`.")]
    timestamp: Annotated[datetime, doc("Time of the event.")]
    account_id: Annotated[UUID, doc("The account, also for an event of its sandbox.")]
    livemode: Annotated[bool, doc("False for an event of the sandbox.")]
    data: Annotated[dict[str, Any], doc("Data of the event, by its schema.")]


class FeedReply(Reply):
    """Events of the account in the order of the feed, with the cursor to continue."""

    items: Annotated[list[FeedEvent], doc("Events, the oldest first; empty without new events.")]
    next_cursor: NextCursor
    resume_cursor: Annotated[
        Cursor, doc("Always set: store it after you process the items, and send it as `cursor` next time.")
    ]
    available_since: Annotated[datetime, doc("Time of the oldest event that is kept.")]


@with_members(reply_members(Attempt, omit={"duration_ms", "excerpt"}))
class AttemptReply(Reply):
    """One request to the receiver."""

    duration_ms: Annotated[int | None, doc("Duration in milliseconds; null without a connection.")]
    response_excerpt: Annotated[str | None, doc("Beginning of the response body.")]

    @classmethod
    def of(cls, attempt: Attempt) -> Self:
        """Return the reply about an attempt."""
        # The time to a failed connection shows whether the port is closed or filtered: it would allow port scans.
        duration_ms = None if attempt.error == Failure.CONNECT else attempt.duration_ms
        return cls.from_record(attempt, duration_ms=duration_ms, response_excerpt=attempt.excerpt)


@with_members(reply_members(Delivery, omit={"destination_id", "attempts"}))
class DeliveryReply(Reply):
    """The delivery of an event to a destination."""

    webhook_id: Annotated[UUID, doc("The destination, which may have been deleted since.")]
    attempt_count: Annotated[int, doc("Attempts so far.")]
    livemode: Livemode

    @classmethod
    def of(cls, delivery: Delivery, *, livemode: bool, **computed: Any) -> Self:
        """Return the reply about a delivery."""
        known = {"webhook_id": delivery.destination_id, "attempt_count": delivery.attempts, "livemode": livemode}
        return cls.from_record(delivery, **known, **computed)


class DeliveryDetailReply(DeliveryReply):
    """A delivery with its attempts and the sent text."""

    attempts: Annotated[list[AttemptReply], doc("The newest 100 attempts of the last 30 days, oldest first.")]
    payload: Annotated[str | None, doc("The exact text that is signed and sent; null after its retention.")]


class DeliveryRetried(DeliveryReply):
    """A delivery after a manual attempt, with the attempt."""

    attempt: Annotated[AttemptReply, doc("The attempt that was just made.")]


class WebhookReplay(Body, extra="forbid"):
    """The deliveries to send again."""

    since: Annotated[Instant, doc("Only events from this time on.")]
    until: Annotated[Instant | None, doc("Only events before this time; now by default.")] = None
    events: Annotated[
        list[str] | None,
        Field(
            min_length=1,
            max_length=MAX_EVENTS,
            description="Names of events, or `area.*`; by default all that the destination receives.",
        ),
    ] = None
    status: Annotated[
        Literal["failed", "cancelled", "succeeded"], doc("Status of the deliveries to send again.")
    ] = "failed"
    cursor: Annotated[UUID | None, doc("`next_cursor` of the previous response, to continue.")] = None


@with_members(reply_members(ReplayedDeliveries))
class WebhookReplayed(WriteReply):
    """Number of deliveries that will be sent again."""

    more: Annotated[bool, doc("Whether more deliveries remain; call again with the cursor.")]


def delivery_attempted_reply(found: AttemptedDelivery, *, livemode: bool) -> DeliveryRetried:
    """Return a delivery after a manual retry or a test send."""
    return DeliveryRetried.of(found.delivery, livemode=livemode, attempt=AttemptReply.of(found.attempt))
