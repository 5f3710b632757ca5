"""What crosses the door of leads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

LINK_LIFE = timedelta(hours=72)
WAITLIST = "builders_waitlist"  # the source of leads from the waitlist


class Status(StrEnum):
    """Where a lead stands. Nothing leads out of the last one."""

    PENDING = "pending"  # a link is on its way
    CONFIRMED = "confirmed"
    UNSUBSCRIBED = "unsubscribed"
    EXPIRED = "expired"  # no link was followed in time
    BOUNCED = "bounced"  # no mail arrives there
    SUPPRESSED = "suppressed"  # wants no mail at all, not even to confirm


class Interest(StrEnum):
    """What a lead is interested in."""

    MAILBOX = "mailbox"
    ALIAS = "alias"
    DOMAIN = "domain"
    BUILDER = "builder"
    DOMAINER = "domainer"
    OTHER = "other"


class Volume(StrEnum):
    """How many names a builder expects to need."""

    BELOW_100 = "lt100"
    BELOW_1K = "100_1k"
    BELOW_10K = "1k_10k"
    ABOVE = "gt10k"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody sent who left an address; whether it is theirs is not known."""

    email: str  # in canonical form
    source: str | None = None
    interest: str | None = None
    marketing: bool = False  # whether they agreed to news
    text_version: str | None = None  # of the wording that they agreed to
    client: str | None = None  # the network that it came from
    details: Mapping[str, Any] = field(default_factory=dict)  # the other members, by name: JSON
    is_trapped: bool = False  # a machine filled in what no person sees


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The one answer to all who leave an address."""

    id: UUID  # of the request
    email_masked: str
    status: Status = Status.PENDING
    confirmation_required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What following a link has done."""

    repeated: bool
    email_masked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A lead as it is kept."""

    id: UUID
    email: str
    status: Status
    message_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A link's token, as it is kept: without what opens it."""

    lead_id: UUID
    request_id: UUID
    email: str
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which leads the operator asks for; None: whichever."""

    status: Status | None = None
    source: str | None = None
    interest: Interest | None = None
    since: datetime | None = None  # that somebody asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A lead, with the newest of its requests that is wanted; a confirmed one goes before others."""

    id: UUID
    email: str
    status: Status
    source: str | None
    interest: str | None
    marketing: bool
    text_version: str | None
    asked_at: datetime
    asked_from: str | None  # a network
    proved_at: datetime | None  # the link of this request's message was followed
    proved_from: str | None
    created_at: datetime
    confirmed_at: datetime | None
    unsubscribed_at: datetime | None
    last_sent_at: datetime | None
    send_count: int
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What was removed of an address."""

    leads: int
    requests: int
