"""The records of funnel events: the sent event, the stored event, and its receipt."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from builders.kit.http.visitors import Visitor


class EventKind(StrEnum):
    """A step of the funnel."""

    VIEW = "view"
    CHECK = "check"
    CLAIM = "claim"


class EventResult(StrEnum):
    """The result of a step: the first two of a check, the others of a claim."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class FunnelEvent(NamedTuple):
    """An event as a page sends it."""

    kind: EventKind
    domain: str | None = None  # Unicode or A-label
    local_part: str | None = None
    category: str | None = None
    event_id: str | None = None  # the page's own; a repeat has the same one
    session_id: str | None = None
    occurred_at: datetime | None = None
    result: EventResult | None = None
    referrer: str | None = None
    utm: Mapping[str, str] = MappingProxyType({})
    metadata: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class EventError:
    """The error of an invalid event."""

    field: str
    code: str
    message: str


class StoredEvent(NamedTuple):
    """A stored event."""

    key: bytes | None  # the same for repeats; None when a repeat cannot be recognized
    at: datetime  # when it was received
    occurred_at: datetime
    event: FunnelEvent
    visitor: Visitor


class Receipt(NamedTuple):
    """A recorded event."""

    id: UUID  # of the first event with its key
    duplicate: bool = False
