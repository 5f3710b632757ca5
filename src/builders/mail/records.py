"""What mail is about: letters, which other rooms fill in, and messages, which are letters on their way.

What a link or a code opens never shows in a repr.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum, StrEnum
from typing import ClassVar
from uuid import UUID

VENDOR = UUID(int=0)  # the account of the vendor's own mail, as to leads


class Category(StrEnum):
    """Why somebody gets a letter. The last two can be ended by the reader, and their links are tracked."""

    TRANSACTIONAL = "transactional"
    NOTICE = "notice"
    MARKETING = "marketing"


class Topic(StrEnum):
    """What a reader can want no more of."""

    RENEWALS = "renewals"
    WEBHOOKS = "webhooks"
    LEADS = "leads"  # what an address was left for on the vendor's pages
    DESTINATIONS = "destinations"  # to be asked whether names may forward to an address
    NEWS = "news"


class Status(StrEnum):
    """Where a message stands; all but the first two are final."""

    QUEUED = "queued"
    DEFERRED = "deferred"
    SENT = "sent"
    BOUNCED = "bounced"
    EXPIRED = "expired"
    SUPPRESSED = "suppressed"


OPEN = frozenset({Status.QUEUED, Status.DEFERRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as it may be shown to its account."""

    id: UUID
    account_id: UUID
    letter: str
    category: Category
    recipient: str  # masked
    status: Status
    attempts: int
    last_code: int | None  # of the server's last reply
    last_error: str | None
    header_id: str | None  # Message-ID, once it was tried
    created_at: datetime
    expires_at: datetime | None
    next_try_at: datetime | None
    sent_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a tracked link needs to know of its message."""

    account_id: UUID
    sent_at: datetime | None  # None while it is on its way


@dataclass(frozen=True, slots=True)
class Letter:
    """What is to be said to one reader; a subclass for each kind."""

    name: ClassVar[str]
    category: ClassVar[Category] = Category.TRANSACTIONAL
    topic: ClassVar[Topic | None] = None  # of what the reader can end
    opens: ClassVar[bool] = False  # whether its link opens something: a secret, so it is never tracked


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyEmail(Letter):
    """Asks the holder of an address to confirm it."""

    name: ClassVar[str] = "verify_email"
    link: str = field(repr=False)
    address: str
    hours: int = 24  # that the link is good for


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInCode(Letter):
    """A one-time code to sign in with, and the same as a link."""

    name: ClassVar[str] = "sign_in"
    code: str = field(repr=False)
    link: str = field(repr=False)
    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailChanged(Letter):
    """Tells the present address, at the request, that another one is to take its place."""

    name: ClassVar[str] = "email_changed"
    new_address_masked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailReplaced(Letter):
    """Tells the address of before that another one has taken its place."""

    name: ClassVar[str] = "email_replaced"
    new_address_masked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyCreated(Letter):
    """Notifies an account of a new API key."""

    name: ClassVar[str] = "api_key_created"
    label: str
    kind: str
    preset: str
    prefix: str
    replaced: str | None  # the prefix of the key that was rotated
    made_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadConfirm(Letter):
    """Asks a lead to confirm that it was them who asked."""

    name: ClassVar[str] = "lead_confirm"
    category: ClassVar[Category] = Category.NOTICE
    topic: ClassVar[Topic | None] = Topic.LEADS
    opens: ClassVar[bool] = True
    link: str = field(repr=False)
    hours: int = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyDestination(Letter):
    """Asks the reader of an address whether a name may forward to it."""

    name: ClassVar[str] = "verify_destination"
    category: ClassVar[Category] = Category.NOTICE
    topic: ClassVar[Topic | None] = Topic.DESTINATIONS
    opens: ClassVar[bool] = True
    link: str = field(repr=False)
    address: str
    alias: str  # that forwards there
    hours: int = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamInvite(Letter):
    """Invites somebody into a portfolio team."""

    name: ClassVar[str] = "team_invite"
    team: str
    inviter: str
    role: str
    link: str = field(repr=False)
    expires_on: date
    message: str | None = None  # of the person who invites


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDisabled(Letter):
    """Tells the owner that a webhook destination gets nothing any more."""

    name: ClassVar[str] = "webhook_disabled"
    category: ClassVar[Category] = Category.NOTICE
    topic: ClassVar[Topic | None] = Topic.WEBHOOKS
    label: str
    url: str
    reason: str  # a sentence
    sandbox: bool = False
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceIssued(Letter):
    """Tells of a new invoice; amounts as they are to be read, such as 12.00 USD."""

    name: ClassVar[str] = "invoice_issued"
    number: str
    seller: str
    total: str
    credit: str | None  # of the account, that was used for it
    due: str | None  # None when it is paid
    due_on: date
    bank: str | None  # where a transfer goes
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoicePaid(Letter):
    """Tells that an invoice is paid."""

    name: ClassVar[str] = "invoice_paid"
    number: str
    total: str
    paid_on: date
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceVoided(Letter):
    """Tells why an invoice is void, and which invoice replaces it."""

    name: ClassVar[str] = "invoice_voided"
    number: str
    total: str
    released: bool  # names on it were released; else the seller cancelled it
    returned: str | None  # what was paid of it, and is credit
    replacement: str | None  # the number of the invoice with its other lines
    replacement_total: str | None
    due: str | None  # of the replacement; None when it is paid
    due_on: date | None
    link: str  # to the replacement, else to the invoice


class ReminderStage(IntEnum):
    """What a letter about an overdue invoice tells."""

    FIRST = 1
    SECOND = 2
    SUSPENDED = 3
    RELEASED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceReminder(Letter):
    """Tells that an invoice is overdue, and what becomes of the names on it."""

    name: ClassVar[str] = "invoice_reminder"
    stage: ReminderStage
    number: str
    due: str
    due_on: date
    suspends_on: date
    releases_on: date
    names: bool  # whether it charges for names
    bank: str | None
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainUnproved(Letter):
    """Tells an account that a domain's proof is gone, and no new names can be had on it."""

    name: ClassVar[str] = "domain_unproved"
    domain: str
    record: str  # the name of the TXT record
    value: str
    days: int  # that it has been gone


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleNotice(Letter):
    """Shows that notices arrive, to somebody who asked for it."""

    name: ClassVar[str] = "sample_notice"
    event: str | None = None  # that the notice would be of
    description: str | None = None
