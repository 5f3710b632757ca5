"""Email templates: one class per template, with the fields that its text and HTML files show.

Fields that hold a code or a secret link never show in a repr.
"""

from dataclasses import dataclass, field
from datetime import date
from enum import IntEnum
from typing import ClassVar

from builders.mail.records import Category, Topic


@dataclass(frozen=True)
class EmailTemplate:
    """An email template and its fields; a subclass for each template."""

    name: ClassVar[str]
    subject: ClassVar[str]  # with fields
    category: ClassVar[Category] = Category.TRANSACTIONAL
    topic: ClassVar[Topic | None] = None  # to unsubscribe from
    opens: ClassVar[bool] = False  # whether its link is a secret, which is never tracked


@dataclass(frozen=True, kw_only=True)
class VerifyEmail(EmailTemplate):
    """Asks the holder of an address to confirm it."""

    name: ClassVar[str] = "verify_email"
    subject: ClassVar[str] = "Confirm your email address"
    link: str = field(repr=False)
    address: str
    hours: int = 24  # until the link expires


@dataclass(frozen=True, kw_only=True)
class SignInCode(EmailTemplate):
    """Gives a one-time code to sign in, and a link with the same effect."""

    name: ClassVar[str] = "sign_in"
    subject: ClassVar[str] = "Your sign-in code is {code}"
    code: str = field(repr=False)
    link: str = field(repr=False)
    minutes: int


@dataclass(frozen=True, kw_only=True)
class EmailChanged(EmailTemplate):
    """Notifies the current address of a requested change of address."""

    name: ClassVar[str] = "email_changed"
    subject: ClassVar[str] = "A change of your account's email address was requested"
    new_address_masked: str


@dataclass(frozen=True, kw_only=True)
class EmailReplaced(EmailTemplate):
    """Notifies the previous address of a completed change of address."""

    name: ClassVar[str] = "email_replaced"
    subject: ClassVar[str] = "The email address of your account has changed"
    new_address_masked: str


@dataclass(frozen=True, kw_only=True)
class ApiKeyCreated(EmailTemplate):
    """Notifies an account of a new API key."""

    name: ClassVar[str] = "api_key_created"
    subject: ClassVar[str] = "A new {kind} API key: {label}"
    label: str
    kind: str
    preset: str
    prefix: str
    replaced: str | None  # the prefix of the key that was rotated
    made_at: str


@dataclass(frozen=True, kw_only=True)
class LeadConfirm(EmailTemplate):
    """Asks a lead to confirm its request."""

    name: ClassVar[str] = "lead_confirm"
    subject: ClassVar[str] = "Please confirm your request"
    category: ClassVar[Category] = Category.NOTICE
    topic: ClassVar[Topic | None] = Topic.LEADS
    opens: ClassVar[bool] = True
    link: str = field(repr=False)
    hours: int = 72


@dataclass(frozen=True, kw_only=True)
class VerifyDestination(EmailTemplate):
    """Asks a recipient to confirm that an alias may forward to the address."""

    name: ClassVar[str] = "verify_destination"
    subject: ClassVar[str] = "Confirm mail forwarding to your address"
    category: ClassVar[Category] = Category.NOTICE
    topic: ClassVar[Topic | None] = Topic.DESTINATIONS
    opens: ClassVar[bool] = True
    link: str = field(repr=False)
    address: str
    alias: str  # that forwards there
    hours: int = 72


@dataclass(frozen=True, kw_only=True)
class TeamInvite(EmailTemplate):
    """Invites a person to a portfolio team."""

    name: ClassVar[str] = "team_invite"
    subject: ClassVar[str] = "{inviter} invites you to the team {team}"
    team: str
    inviter: str
    role: str
    link: str = field(repr=False)
    expires_on: date
    message: str | None = None  # of the person who invites


@dataclass(frozen=True, kw_only=True)
class WebhookDisabled(EmailTemplate):
    """Notifies the owner of a disabled webhook destination."""

    name: ClassVar[str] = "webhook_disabled"
    subject: ClassVar[str] = "Your webhook {label} is disabled"
    category: ClassVar[Category] = Category.NOTICE
    topic: ClassVar[Topic | None] = Topic.WEBHOOKS
    label: str
    url: str
    reason: str  # a sentence
    sandbox: bool = False
    link: str | None = None


@dataclass(frozen=True, kw_only=True)
class InvoiceIssued(EmailTemplate):
    """Notifies an account of a new invoice; amounts are formatted, as 12.00 USD."""

    name: ClassVar[str] = "invoice_issued"
    subject: ClassVar[str] = "Invoice {number} from {seller}"
    number: str
    seller: str
    total: str
    credit: str | None  # of the account, applied to the invoice
    due: str | None  # None when it is paid
    due_on: date
    bank: str | None  # details for a transfer
    link: str


@dataclass(frozen=True, kw_only=True)
class InvoicePaid(EmailTemplate):
    """Notifies an account of a paid invoice."""

    name: ClassVar[str] = "invoice_paid"
    subject: ClassVar[str] = "Invoice {number} is paid: thank you"
    number: str
    total: str
    paid_on: date
    link: str


@dataclass(frozen=True, kw_only=True)
class InvoiceVoided(EmailTemplate):
    """Notifies an account of a void invoice, the reason and the replacement."""

    name: ClassVar[str] = "invoice_voided"
    subject: ClassVar[str] = "Invoice {number} is void"
    number: str
    total: str
    released: bool  # names on it were released; else the seller cancelled it
    returned: str | None  # the paid part, which became credit
    replacement: str | None  # the number of the replacement
    replacement_total: str | None
    due: str | None  # of the replacement; None when it is paid
    due_on: date | None
    link: str  # to the replacement, else to the invoice


class ReminderStage(IntEnum):
    """The stage of dunning that an email about an overdue invoice is about."""

    FIRST = 1
    SECOND = 2
    SUSPENDED = 3
    RELEASED = 4


@dataclass(frozen=True, kw_only=True)
class InvoiceReminder(EmailTemplate):
    """Notifies an account of an overdue invoice and the consequences for its names."""

    name: ClassVar[str] = "invoice_reminder"
    subject: ClassVar[str] = "{headline}: invoice {number}"
    stage: ReminderStage
    number: str
    due: str
    due_on: date
    suspends_on: date
    releases_on: date
    names: bool  # whether it charges for names
    bank: str | None
    link: str


@dataclass(frozen=True, kw_only=True)
class DomainUnproved(EmailTemplate):
    """Notifies an account of a suspended domain, whose DNS record is missing."""

    name: ClassVar[str] = "domain_unproved"
    subject: ClassVar[str] = "{domain} is suspended: its DNS record is missing"
    domain: str
    record: str  # the name of the TXT record
    value: str
    days: int  # since the record is missing


@dataclass(frozen=True, kw_only=True)
class SampleNotice(EmailTemplate):
    """Shows that notices arrive; sent on request."""

    name: ClassVar[str] = "sample_notice"
    subject: ClassVar[str] = "Sample notice"
    event: str | None = None  # the event of the sampled notice
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """A domain that renews or expires soon."""

    domain: str
    expires_on: date
    days: int  # until then; negative when it is over
    auto_renew: bool
    price: str | None = None  # formatted, as 12.00 USD


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioEvent:
    """Another event of the portfolio."""

    title: str
    on: date
    section: str = ""  # of the email
    name: str = ""  # of the event


@dataclass(frozen=True, kw_only=True)
class RenewalNotice(EmailTemplate):
    """Notifies a member of a portfolio of domains that renew soon, most urgent first, and of other events."""

    name: ClassVar[str] = "renewal_notice"
    subject: ClassVar[str] = "{headline}"
    category: ClassVar[Category] = Category.NOTICE
    topic: ClassVar[Topic | None] = Topic.RENEWALS
    domains: tuple[Renewal, ...]
    link: str | None = None
    events: tuple[PortfolioEvent, ...] = ()
    more: int = 0  # omitted domains and events
    digest: bool = False
    repeated: bool = False  # whether notices about an expiry are repeated until they are acknowledged
    portfolio: str | None = None  # the account whose portfolio it is, unless it is the recipient's own
    sandbox: bool = False

    @property
    def headline(self) -> str:
        """Return the subject."""
        count, events = len(self.domains), len(self.events)
        if count or not events:
            text = f"{'1 domain' if count == 1 else f'{count} domains'} to review before renewal"
        else:
            text = "1 event of your portfolio" if events == 1 else f"{events} events of your portfolio"
        return f"Digest: {text}" if self.digest else text


TEMPLATES: tuple[type[EmailTemplate], ...] = tuple(EmailTemplate.__subclasses__())
