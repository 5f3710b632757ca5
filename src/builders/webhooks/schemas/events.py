"""Schemas of the event catalog, the event feed and deliveries."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.kit.http.fields import CreatedAt, Livemode
from builders.kit.outbound.client import Failure
from builders.webhooks.catalog import MAX_EVENTS
from builders.webhooks.records import (
    Attempt,
    Delivery,
    DeliveryDetail,
    DeliveryStatus,
    RetriedDelivery,
    TestSend,
    Trigger,
)

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _instant(value: object) -> object:
    if not isinstance(value, datetime) and not (isinstance(value, str) and _RFC_3339.fullmatch(value)):
        raise PydanticCustomError("instant_form", "Write a time in RFC 3339 format: 2026-01-05T09:30:00Z.")
    return value


Instant = Annotated[AwareDatetime, BeforeValidator(_instant)]


class EventReply(Reply):
    """An event that a destination can subscribe to."""

    name: Annotated[str, Field(description="Name of the event, for `events` of a destination.")]
    area: Annotated[
        str, Field(description="Part of the name before the first dot; `area.*` subscribes to all of it.")
    ]
    version: Annotated[int, Field(description="Version of the event's data; grows with an incompatible change.")]
    description: Annotated[str, Field(description="When the event happens.")]
    data_schema: Annotated[dict[str, Any], Field(description="The JSON schema of the payload's `data`.")]
    example: Annotated[dict[str, Any], Field(description="An example payload.")]


class FeedEvent(Reply):
    """An event as a webhook destination receives it: the same members, the same id."""

    id: Annotated[
        UUID,
        Field(description="Identifier, also in the header `webhook-id`; ignore an event that you have processed."),
    ]
    type: Annotated[str, Field(description="The name of the event, such as `alias.created`.")]
    timestamp: Annotated[datetime, Field(description="Time of the event.")]
    account_id: Annotated[UUID, Field(description="The account, also for an event of its sandbox.")]
    livemode: Annotated[bool, Field(description="False for an event of the sandbox.")]
    data: Annotated[dict[str, Any], Field(description="Data of the event, by its schema.")]


class FeedReply(Reply):
    """Events of the account in the order of the feed, with the cursor to continue."""

    items: Annotated[list[FeedEvent], Field(description="Events, the oldest first; empty without new events.")]
    next_cursor: Annotated[
        str | None, Field(description="Cursor of the next page; null if there are no more events.")
    ]
    resume_cursor: Annotated[
        str,
        Field(description="Always set: store it after you process the items, and send it as `cursor` next time."),
    ]
    available_since: Annotated[datetime, Field(description="Time of the oldest event that is kept.")]


Replayable = Literal["failed", "cancelled", "succeeded"]


class AttemptReply(Reply):
    """One request to the receiver."""

    n: Annotated[int, Field(description="Number of the attempt, from 1.")]
    started_at: Annotated[datetime, Field(description="When the request was sent.")]
    duration_ms: Annotated[int | None, Field(description="Duration in milliseconds; null without a connection.")]
    status: Annotated[int | None, Field(description="HTTP status of the response; null without a response.")]
    error: Annotated[str | None, Field(description="Class of the failure; null for a 2xx response.")]
    response_excerpt: Annotated[str | None, Field(description="Beginning of the response body.")]


class DeliveryReply(Reply):
    """The delivery of an event to a destination."""

    id: Annotated[UUID, Field(description="Identifier of the delivery.")]
    webhook_id: Annotated[UUID, Field(description="The destination, which may have been deleted since.")]
    event_id: Annotated[UUID, Field(description="`webhook-id` in each attempt, and `id` in the payload.")]
    event: Annotated[str, Field(description="Name of the event.")]
    status: Annotated[
        DeliveryStatus, Field(description="Status; a `pending` delivery is attempted at `next_attempt_at`.")
    ]
    trigger: Annotated[Trigger, Field(description="Cause of the newest attempts.")]
    attempt_count: Annotated[int, Field(description="Attempts so far.")]
    next_attempt_at: Annotated[
        datetime | None, Field(description="Time of the next attempt; null if there is none.")
    ]
    last_attempt_at: Annotated[
        datetime | None, Field(description="Time of the last attempt; null before the first.")
    ]
    succeeded_at: Annotated[
        datetime | None, Field(description="When the receiver accepted the event; null before.")
    ]
    last_status: Annotated[int | None, Field(description="HTTP status of the newest response; null without one.")]
    last_error: Annotated[str | None, Field(description="Class of the newest failure; null after a success.")]
    livemode: Livemode
    simulated: Annotated[bool, Field(description="Whether the event was simulated.")]
    created_at: CreatedAt


class DeliveryDetailReply(DeliveryReply):
    """A delivery with its attempts and the sent text."""

    attempts: Annotated[
        list[AttemptReply],
        Field(description="The newest 100 attempts of the last 30 days, oldest first."),
    ]
    payload: Annotated[
        str | None, Field(description="The exact text that is signed and sent; null after its retention.")
    ]


class DeliveryRetried(DeliveryReply):
    """A delivery after a manual attempt, with the attempt."""

    attempt: Annotated[AttemptReply, Field(description="The attempt that was just made.")]


class WebhookReplay(Body):
    """The deliveries to send again."""

    since: Annotated[Instant, Field(description="Only events from this time on.")]
    until: Annotated[Instant | None, Field(description="Only events before this time; now by default.")] = None
    events: Annotated[
        list[str] | None,
        Field(
            min_length=1,
            max_length=MAX_EVENTS,
            description="Names of events, or `area.*`; by default all that the destination receives.",
        ),
    ] = None
    status: Annotated[Replayable, Field(description="Status of the deliveries to send again.")] = "failed"
    cursor: Annotated[UUID | None, Field(description="`next_cursor` of the previous response, to continue.")] = (
        None
    )


class WebhookReplayed(WriteReply):
    """Number of deliveries that will be sent again."""

    count: Annotated[int, Field(description="Number of deliveries that are sent again.")]
    more: Annotated[bool, Field(description="Whether more deliveries remain; call again with the cursor.")]
    next_cursor: Annotated[UUID | None, Field(description="Send it as `cursor` to continue; null at the end.")]


def delivery_detail_reply(found: DeliveryDetail, *, livemode: bool) -> DeliveryDetailReply:
    """Return a delivery with its attempts and payload."""
    attempts = [_attempt(each) for each in found.attempts]
    computed = _computed(found.delivery, livemode=livemode)
    return DeliveryDetailReply.from_record(found.delivery, **computed, attempts=attempts, payload=found.payload)


def delivery_retried_reply(found: RetriedDelivery, *, livemode: bool) -> DeliveryRetried:
    """Return a delivery after a manual retry."""
    computed = _computed(found.delivery, livemode=livemode)
    return DeliveryRetried.from_record(found.delivery, **computed, attempt=_attempt(found.attempt))


def test_send_reply(sample: TestSend, *, livemode: bool) -> DeliveryRetried:
    """Return the delivery and attempt of a test send."""
    assert sample.delivery is not None  # noqa: S101 - a test send to one destination is sent, or raises
    assert sample.attempt is not None  # noqa: S101 - a sample has an attempt
    return delivery_retried_reply(
        RetriedDelivery(delivery=sample.delivery, attempt=sample.attempt), livemode=livemode
    )


def _computed(delivery: Delivery, *, livemode: bool) -> dict[str, Any]:
    return {"webhook_id": delivery.destination_id, "attempt_count": delivery.attempts, "livemode": livemode}


def _attempt(attempt: Attempt) -> AttemptReply:
    # The time to a failed connection shows whether the port is closed or filtered: it would allow port scans.
    duration_ms = None if attempt.error == Failure.CONNECT else attempt.duration_ms
    return AttemptReply.from_record(attempt, duration_ms=duration_ms, response_excerpt=attempt.excerpt)
