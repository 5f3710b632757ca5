"""Records of tracking."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from builders.kit.http.visitors import Visitor
from builders.mail.records import Status


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

    people: int = 0
    machines: int = 0
    proxied: int = 0  # of the machines: image proxies, which mostly load for a recipient
    first_at: datetime | None = None  # by a person
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedMessage:
    """A message with its opens and clicks."""

    id: UUID
    template: str
    recipient: str  # masked
    status: Status
    created_at: datetime
    sent_at: datetime | None
    opens: Count
    clicks: Count
