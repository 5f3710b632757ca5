"""Records of leads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from builders.kit.values.docs import doc

LINK_LIFE = timedelta(hours=72)
WAITLIST = "builders_waitlist"  # the source of leads from the waitlist


class Status(StrEnum):
    """State of a lead; the last one is final."""

    PENDING = "pending"  # a link was sent or is queued
    CONFIRMED = "confirmed"
    UNSUBSCRIBED = "unsubscribed"
    EXPIRED = "expired"  # not confirmed in time
    BOUNCED = "bounced"  # email to the address bounced
    SUPPRESSED = "suppressed"  # receives no email, not even to confirm


class Interest(StrEnum):
    """The interest of a lead."""

    MAILBOX = "mailbox"
    ALIAS = "alias"
    DOMAIN = "domain"
    BUILDER = "builder"
    DOMAINER = "domainer"
    OTHER = "other"


class Volume(StrEnum):
    """The number of names that a builder expects to need."""

    BELOW_100 = "lt100"
    BELOW_1K = "100_1k"
    BELOW_10K = "1k_10k"
    ABOVE = "gt10k"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A submitted form; the address may not belong to the sender."""

    email: str  # in canonical form
    source: str | None = None
    interest: str | None = None
    marketing: bool = False  # whether they agreed to marketing email
    text_version: str | None = None  # version of the wording that they agreed to
    client: str | None = None  # network of the client
    details: Mapping[str, Any] = field(default_factory=dict)  # the other members, as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Receipt of a form, the same for known and unknown addresses."""

    id: Annotated[UUID, doc("Identifier of the request.")]
    email_masked: Annotated[str, doc("The address, masked: `a***@example.net`.")]
    status: Annotated[Literal["pending"], doc("Always `pending`: a confirmation link is sent.")] = "pending"
    confirmation_required: Annotated[bool, doc("Always true: the lead counts after its confirmation.")] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadState:
    """The state of a lead that the opt-in needs."""

    id: UUID
    email: str
    status: Status
    message_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """The token of a link, without its secret."""

    lead_id: UUID
    request_id: UUID
    email: str
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadFilter:
    """A filter of leads; None matches all."""

    status: Status | None = None
    source: str | None = None
    interest: Interest | None = None
    since: datetime | None = None  # the time of the request


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A lead with the newest of its matching requests, a confirmed one first."""

    id: UUID
    email: str
    status: Status
    source: str | None
    interest: str | None
    marketing: bool
    text_version: str | None
    asked_at: datetime
    asked_from: str | None  # a network
    proved_at: datetime | None  # when the request was confirmed
    proved_from: str | None
    created_at: datetime
    confirmed_at: datetime | None
    unsubscribed_at: datetime | None
    last_sent_at: datetime | None
    send_count: int
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """The number of deleted rows of an address."""

    leads: int
    requests: int
