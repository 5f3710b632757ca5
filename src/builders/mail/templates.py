"""Email templates: one class per template, with the fields that its text and HTML files show.

Fields that hold a code or a secret link never show in a repr.
"""

from dataclasses import dataclass, field
from datetime import date
from enum import IntEnum, StrEnum
from typing import ClassVar

from builders.mail.records import Category, Topic


@dataclass(frozen=True)
class EmailTemplate:
    """An email template and its fields; a subclass for each template."""

    name: ClassVar[str]
    subject: ClassVar[str]  # with fields
    category: ClassVar[Category]
    topic: ClassVar[Topic | None]  # to unsubscribe from
    opens: ClassVar[bool]  # whether its link is a secret, which is never tracked
    to_suspended: ClassVar[bool]  # whether it is sent about a suspended account

    def __init_subclass__(
        cls,
        *,
        name: str,
        subject: str,
        topic: Topic | None = None,
        opens: bool = False,
        to_suspended: bool = False,
    ) -> None:
        """Set what all emails of the template share."""
        cls.name, cls.subject, cls.topic, cls.opens, cls.to_suspended = name, subject, topic, opens, to_suspended
        cls.category = Category.TRANSACTIONAL if topic is None else Category.NOTICE


@dataclass(frozen=True, kw_only=True)
class VerifyEmail(EmailTemplate, name="verify_email", subject="Confirm your email address"):
    """Asks the holder of an address to confirm it."""

    link: str = field(repr=False)
    address: str
    hours: int = 24  # until the link expires


@dataclass(frozen=True, kw_only=True)
class SignInCode(EmailTemplate, name="sign_in", subject="Your sign-in code is {code}", to_suspended=True):
    """Gives a one-time code to sign in, and a link with the same effect."""

    code: str = field(repr=False)
    link: str = field(repr=False)
    minutes: int


@dataclass(frozen=True, kw_only=True)
class EmailChanged(
    EmailTemplate, name="email_changed", subject="A change of your account's email address was requested"
):
    """Notifies the current address of a requested change of address."""

    new_address_masked: str


@dataclass(frozen=True, kw_only=True)
class EmailReplaced(EmailTemplate, name="email_replaced", subject="The email address of your account has changed"):
    """Notifies the previous address of a completed change of address."""

    new_address_masked: str


@dataclass(frozen=True, kw_only=True)
class AccountSuspended(
    EmailTemplate, name="account_suspended", subject="Your account is suspended", to_suspended=True
):
    """Notifies an account that the operator suspended it."""

    account: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class AccountRestored(EmailTemplate, name="account_restored", subject="Your account is restored"):
    """Notifies an account that the operator restored it."""

    account: str


@dataclass(frozen=True, kw_only=True)
class ErasureRequested(
    EmailTemplate, name="erasure_requested", subject="The account {account} is to be erased", opens=True
):
    """Notifies the addresses of an account and its deciders of its erasure; the link cancels it."""

    account: str
    link: str = field(repr=False)
    review: str
    due_on: date | None  # None: not confirmed


@dataclass(frozen=True, kw_only=True)
class ApiKeyCreated(EmailTemplate, name="api_key_created", subject="A new {kind} API key: {label}"):
    """Notifies an account of a new API key."""

    label: str
    kind: str
    preset: str
    prefix: str
    replaced: str | None  # the prefix of the key that was rotated
    made_at: str


@dataclass(frozen=True, kw_only=True)
class ApiKeyLeaked(EmailTemplate, name="api_key_leaked", subject="Revoked because it was found: {label}"):
    """Notifies an account of an API key that somebody found and reported."""

    label: str
    kind: str
    prefix: str
    last_used: str | None
    revoked_at: str


@dataclass(frozen=True, kw_only=True)
class DeviceKeysCreated(EmailTemplate, name="device_keys_created", subject="Keys for {host} were made"):
    """Notifies an account of the keys of a machine that a person connected."""

    host: str  # as the machine claims
    address: str  # that the machine asked from
    keys: tuple[str, ...]  # the kind and the preset of each
    made_at: str
    expires_on: date


@dataclass(frozen=True, kw_only=True)
class ConnectionCreated(EmailTemplate, name="connection_created", subject="A program was connected: {client}"):
    """Notifies an account and its deciders of a client that a person connected."""

    account: str
    client: str  # as the client claims
    host: str  # of its description
    rights: str  # the kind and the toolsets
    made_at: str
    expires_on: date


@dataclass(frozen=True, kw_only=True)
class ConnectionEnded(EmailTemplate, name="connection_ended", subject="A connection was ended: {client}"):
    """Notifies an account of a connection that ended because its tokens may be stolen."""

    client: str  # as the client claims
    reason: str
    ended_at: str


@dataclass(frozen=True, kw_only=True)
class LeadConfirm(
    EmailTemplate, name="lead_confirm", subject="Please confirm your request", topic=Topic.LEADS, opens=True
):
    """Asks a lead to confirm its request."""

    link: str = field(repr=False)
    hours: int = 72


@dataclass(frozen=True, kw_only=True)
class VerifyDestination(
    EmailTemplate,
    name="verify_destination",
    subject="Confirm mail forwarding to your address",
    topic=Topic.DESTINATIONS,
    opens=True,
):
    """Asks a recipient to confirm that an alias may forward to the address."""

    link: str = field(repr=False)
    address: str
    alias: str  # that forwards there
    hours: int = 72


@dataclass(frozen=True, kw_only=True)
class DestinationBounced(EmailTemplate, name="destination_bounced", subject="No mail is forwarded to {address}"):
    """Notifies an account of a destination that refused mail and is paused."""

    address: str
    aliases: int  # that forward there


@dataclass(frozen=True, kw_only=True)
class TeamInvite(EmailTemplate, name="team_invite", subject="{inviter} invites you to the team {team}"):
    """Invites a person to a portfolio team."""

    team: str
    inviter: str
    role: str
    link: str = field(repr=False)
    expires_on: date
    message: str | None = None  # of the person who invites


@dataclass(frozen=True, kw_only=True)
class WebhookDisabled(
    EmailTemplate, name="webhook_disabled", subject="Your webhook {label} is disabled", topic=Topic.WEBHOOKS
):
    """Notifies the owner of a disabled webhook destination."""

    label: str
    url: str
    reason: str  # a sentence
    sandbox: bool = False
    link: str | None = None


@dataclass(frozen=True, kw_only=True)
class InvoiceIssued(EmailTemplate, name="invoice_issued", subject="Invoice {number} from {seller}"):
    """Notifies an account of a new invoice; amounts are formatted, as 12.00 USD."""

    number: str
    seller: str
    total: str
    credit: str | None  # of the account, applied to the invoice
    due: str | None  # None when it is paid
    due_on: date
    bank: str | None  # details for a transfer
    link: str


@dataclass(frozen=True, kw_only=True)
class InvoicePaid(EmailTemplate, name="invoice_paid", subject="Invoice {number} is paid: thank you"):
    """Notifies an account of a paid invoice."""

    number: str
    total: str
    paid_on: date
    link: str


@dataclass(frozen=True, kw_only=True)
class InvoiceVoided(EmailTemplate, name="invoice_voided", subject="Invoice {number} is void"):
    """Notifies an account of a void invoice, the reason and the replacement."""

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
class InvoiceReminder(EmailTemplate, name="invoice_reminder", subject="{headline}: invoice {number}"):
    """Notifies an account of an overdue invoice and the consequences for its names."""

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
class DomainUnproved(
    EmailTemplate, name="domain_unproved", subject="{domain} is suspended: its DNS record is missing"
):
    """Notifies an account of a suspended domain, whose DNS record is missing."""

    domain: str
    record: str  # the name of the TXT record
    value: str
    days: int  # since the record is missing


@dataclass(frozen=True, kw_only=True)
class SampleNotice(EmailTemplate, name="sample_notice", subject="Sample notice"):
    """Shows that notices arrive; sent on request."""

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
    base_price: str | None = None  # in the base currency of the portfolio, if that is another one
    unicode: str | None = None  # the name as people read it, if that is another one
    registrar: str | None = None
    link: str | None = None  # where a person renews it; never from a member, as it is shown unchanged


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioEvent:
    """Another event of the portfolio."""

    title: str
    on: date
    section: str = ""  # of the email
    name: str = ""  # of the event


@dataclass(frozen=True, kw_only=True)
class RenewalNotice(EmailTemplate, name="renewal_notice", subject="{headline}", topic=Topic.RENEWALS):
    """Notifies a member of a portfolio of domains that renew soon, most urgent first, and of other events."""

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


@dataclass(frozen=True, kw_only=True)
class PlanApprovalRequested(
    EmailTemplate,
    name="plan_approval_requested",
    subject="A plan of {account} waits for your decision: {manifest}",
):
    """Asks a decider to review a plan; its link opens nothing without signing in."""

    account: str
    manifest: str
    changes: str  # as 2 create, 1 delete
    total: str  # as 12.00 USD; empty for a free plan
    reasons: tuple[str, ...]  # sentences
    link: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ApprovalSummary(
    EmailTemplate, name="approval_summary", subject="More plans of {account} wait for your decision"
):
    """Notifies a decider of the requests of a day that were not mailed alone."""

    account: str
    count: int
    link: str = field(repr=False)


class PolicyStep(StrEnum):
    """The step of a change of an approval policy."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    DISCARDED = "discarded"
    CHANGED = "changed"


@dataclass(frozen=True, kw_only=True)
class ApprovalPolicyChanged(
    EmailTemplate, name="approval_policy_changed", subject="The approval policy of {account} was {step}"
):
    """Notifies deciders of a change of the policy, or of a proposal to change it."""

    step: PolicyStep
    account: str
    person: str  # the address of who did it
    policy: tuple[str, ...]  # sentences
    link: str = field(repr=False)


TEMPLATES: tuple[type[EmailTemplate], ...] = tuple(EmailTemplate.__subclasses__())
