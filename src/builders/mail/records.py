"""Categories, topics and delivery states of email, and messages as other packages see them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

RETENTION = timedelta(days=90)  # of messages
VENDOR = UUID(int=0)  # the account of the vendor's own mail, as to leads


class Category(StrEnum):
    """The category of an email. Recipients can unsubscribe from the last two, whose links are tracked."""

    TRANSACTIONAL = "transactional"
    NOTICE = "notice"
    MARKETING = "marketing"


class Topic(StrEnum):
    """A topic that a recipient can unsubscribe from."""

    RENEWALS = "renewals"
    WEBHOOKS = "webhooks"
    LEADS = "leads"  # for addresses entered on the vendor's pages
    DESTINATIONS = "destinations"  # requests to confirm a forwarding destination
    NEWSLETTER = "news"


class Status(StrEnum):
    """Delivery state of a message; all but the first two are final."""

    QUEUED = "queued"
    DEFERRED = "deferred"
    SENT = "sent"
    BOUNCED = "bounced"
    EXPIRED = "expired"
    SUPPRESSED = "suppressed"


OPEN = frozenset({Status.QUEUED, Status.DEFERRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as its account may see it."""

    id: UUID
    account_id: UUID
    template: str
    category: Category
    recipient: str  # masked
    status: Status
    attempts: int
    last_code: int | None  # of the server's last reply
    last_error: str | None
    header_id: str | None  # Message-ID, from the first attempt on
    created_at: datetime
    expires_at: datetime | None
    next_try_at: datetime | None
    sent_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The data of a message that tracking needs."""

    account_id: UUID
    sent_at: datetime | None  # None before it is sent
