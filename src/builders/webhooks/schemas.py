"""Requests and replies of webhooks."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody, Reply
from builders.kit.http.members import create_of, patch_of, written_of
from builders.kit.http.pagination import Cursor, NextCursor
from builders.kit.values.docs import doc
from builders.kit.values.instants import Instant
from builders.webhooks.records import MAX_EVENTS, Destination, Events, NewDestination, ReplayedDeliveries

WebhookWritten = written_of(Destination)
WebhookSecretReply = written_of(NewDestination, "WebhookSecretReply")
WebhookReplayed = written_of(ReplayedDeliveries, "WebhookReplayed")


def whole_number(value: object) -> object:
    """Refuse booleans and strings. Put it after the bounds, which the document omits otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


Secret = Annotated[
    SecretStr,
    doc(
        "`whsec_` and the base64 of 24 to 64 bytes, or 16 to 256 printable characters, 8 of them visible, "
        "whose UTF-8 bytes are the key. Default: a generated one."
    ),
]


@create_of(Destination, "label", "url", "enabled", "events")
class WebhookCreate(Body, extra="forbid"):
    """A webhook destination to create."""

    signing_secret: Annotated[
        Secret | None,
        doc(
            "`whsec_` and the base64 of 24 to 64 bytes, or 16 to 256 printable characters. "
            "Default: one is generated and shown once."
        ),
    ] = None


@patch_of(Destination, "label", "url", "enabled")
class WebhookUpdate(PatchBody, extra="forbid"):
    """Changes to a webhook destination: absent members do not change. At least one member.

    `enabled: true` enables it again after `gone` or `failing`.
    """

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


def secret_of(body: WebhookCreate | WebhookRotate) -> str | None:
    """Return the secret in the body, even an empty one, which the service refuses."""
    return None if body.signing_secret is None else body.signing_secret.get_secret_value()


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
