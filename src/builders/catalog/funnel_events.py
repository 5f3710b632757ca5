"""What pages tell of their visitors, and what becomes of it."""

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
    """How a step ended: the first two of a check, the others of a claim."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class FunnelEvent(NamedTuple):
    """What a page tells."""

    kind: EventKind
    domain: str | None = None  # in either form
    local_part: str | None = None
    category: str | None = None
    event_id: str | None = None  # the page's own, by which a repeat is known
    session_id: str | None = None
    occurred_at: datetime | None = None
    result: EventResult | None = None
    referrer: str | None = None
    utm: Mapping[str, str] = MappingProxyType({})
    metadata: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class EventError:
    """Why an event cannot be taken."""

    field: str
    code: str
    message: str


class StoredEvent(NamedTuple):
    """An event as it is written."""

    key: bytes | None  # the same for repeats; None when nothing tells them apart
    at: datetime  # when we heard of it
    occurred_at: datetime
    event: FunnelEvent
    visitor: Visitor


class Receipt(NamedTuple):
    """What became of an event."""

    id: UUID | None = None  # of the first, for a repeat
    duplicate: bool = False
    error: EventError | None = None

    @property
    def accepted(self) -> bool:
        """Whether it is in the record, by now or since before."""
        return self.error is None
