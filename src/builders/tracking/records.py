"""Records of tracking."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple
from uuid import UUID

from builders.kit.values.docs import doc
from builders.kit.visitors import Visitor
from builders.mail.records import Message


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


class TrackedMessage(NamedTuple):
    """A message with its opens and clicks."""

    message: Message
    opens: Count
    clicks: Count
