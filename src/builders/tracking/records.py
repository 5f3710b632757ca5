"""Records of tracking."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import WithJsonSchema

from builders.kit.values.docs import doc
from builders.kit.values.resources import resource
from builders.kit.visitors import Visitor
from builders.mail.records import Status

_COUNTED = "the first 1,000 opens and clicks together count."


class TrackingEventKind(StrEnum):
    """The kind of a tracking event."""

    OPEN = "open"
    CLICK = "click"


class TrackingEvent(NamedTuple):
    """One request for a tracked link."""

    message_id: UUID
    kind: TrackingEventKind
    url: str | None  # the target of a click
    at: datetime
    visitor: Visitor


@resource("CountReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often a message was opened, or its links were clicked."""

    people: Annotated[int, doc("Events that are not attributed to a machine.")] = 0
    machines: Annotated[int, doc("Scanners, previews, prefetching proxies and programs.")] = 0
    proxied: Annotated[
        int, doc("Machine events of the image proxies of Gmail and Yahoo, which mostly act for a person.")
    ] = 0
    first_at: Annotated[datetime | None, doc("Time of the first event of a person.")] = None
    last_at: Annotated[datetime | None, doc("Time of the latest event of a person.")] = None


@resource("LinkReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTarget:
    """The target of a tracked link, for clients other than browsers."""

    target: Annotated[str, doc("Target of the link.")]


@resource("MessageReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedMessage:
    """A notice that was emailed for the account."""

    id: Annotated[UUID, doc("Identifier of the message.")]
    template: Annotated[str, doc("Email template of the message.")]
    recipient: Annotated[str, doc("Address of the recipient, masked.")]
    status: Annotated[
        Status,
        WithJsonSchema({"type": "string", "enum": [each.value for each in Status]}),
        doc("Delivery state of the message."),
    ]
    created_at: Annotated[datetime, doc("When the message was queued.")]
    sent_at: Annotated[datetime | None, doc("When the mail server accepted it; null before.")]
    opens: Annotated[Count, doc(f"Opens of the message; {_COUNTED}")]
    clicks: Annotated[Count, doc(f"Clicks on links of the message; {_COUNTED}")]
