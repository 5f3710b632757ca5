"""What pages tell of their visitors, and what becomes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from builders.kit.visitors import Visitor


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelEvent:
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
    utm: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Why an event cannot be taken."""

    field: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Beacon:
    """An event as it is written."""

    key: bytes | None  # the same for repeats; None when nothing tells them apart
    at: datetime  # when we heard of it
    occurred_at: datetime
    event: FunnelEvent
    visitor: Visitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is said of one event, or of a batch."""

    id: UUID | None
    accepted: bool
    duplicate: bool
    results: Sequence["Receipt"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of an event."""

    id: UUID | None = None  # of the first, for a repeat
    duplicate: bool = False
    error: Flaw | None = None

    @property
    def accepted(self) -> bool:
        """Whether it is in the record, by now or since before."""
        return self.error is None
