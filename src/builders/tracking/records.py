"""What tracking shows to others."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from builders.kit.http.visitors import Visitor
from builders.mail.records import Status


class HitKind(StrEnum):
    """What was done with a mail."""

    OPEN = "open"
    CLICK = "click"


class Hit(NamedTuple):
    """One request for a link of ours."""

    message_id: UUID
    kind: HitKind
    url: str | None  # where a click leads
    at: datetime
    visitor: Visitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often a message was opened, or its links were followed."""

    people: int = 0
    machines: int = 0
    proxied: int = 0  # of the machines: image proxies, which mostly fetch for a reader
    first_at: datetime | None = None  # by a person
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A message, and what became of it at its reader's."""

    id: UUID
    letter: str  # its kind
    recipient: str  # masked
    status: Status
    created_at: datetime
    sent_at: datetime | None
    opens: Count
    clicks: Count
