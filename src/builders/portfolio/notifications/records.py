"""Records of a portfolio's notifications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, PlainSerializer

from builders.kit.values.docs import CreatedAt, doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import Money
from builders.kit.values.resources import HIDDEN, MONEY, resource
from builders.portfolio.team.records import TeamRole
from builders.webhooks.records import AttemptedDelivery

MIN_DAYS, MAX_DAYS = -30, 365  # of an expiry threshold
SAMPLE_EVENT = "portfolio.notification.test"  # of a sample in the list; it is not published
COST_EXCEEDED = "portfolio.renewal.cost_exceeded"


class Channel(StrEnum):
    """How a member is notified."""

    EMAIL = "email"
    WEBHOOK = "webhook"
    IN_APP = "in_app"


class Severity(StrEnum):
    """Severity of a notice, the lowest first."""

    INFO = "info"
    WARN = "warn"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Return the position in the order."""
        return list(Severity).index(self)


class Topic(StrEnum):
    """Topic of a notice."""

    RENEWALS = "renewals"
    PARKING = "parking"
    RECONCILE = "reconcile"
    CHARGES = "charges"
    DOMAINS = "domains"
    REGISTRARS = "registrars"
    TRANSFERS = "transfers"
    IMPORTS = "imports"
    TEAM = "team"


class Weekday(StrEnum):
    """A day of the week, in the order of `date.weekday()`."""

    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"
    THURSDAY = "thursday"
    FRIDAY = "friday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"


class Frequency(StrEnum):
    """How often a digest is sent."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class Suppression(StrEnum):
    """The reason why an email would be delayed or dropped."""

    DISABLED = "disabled"
    QUIET_HOURS = "quiet_hours"
    DIGEST = "digest"


LocalTime = Annotated[time, PlainSerializer(lambda at: f"{at:%H:%M}", return_type=str)]
ChannelList = Annotated[list[Channel] | None, doc("The channels to use, if they are enabled; null: all.")]


class _Options(BaseModel):
    """Options of a member. Replies show them, and the body of a patch has the same descriptions."""

    model_config = ConfigDict(frozen=True)


class ChannelPreference(_Options):
    """A channel."""

    enabled: Annotated[bool, doc("Whether the channel is used.")]


class Channels(_Options):
    """The channels."""

    email: Annotated[ChannelPreference, doc("Email to the address of your own account.")]
    webhook: Annotated[
        ChannelPreference,
        doc("Events to the webhooks of the portfolio's own account, which alone can enable them."),
    ]
    in_app: Annotated[ChannelPreference, doc("The list `GET /v1/portfolio/notifications`.")]

    @property
    def enabled(self) -> frozenset[Channel]:
        """Return the channels that are used."""
        return frozenset(channel for channel in Channel if getattr(self, channel).enabled)


class Expiry(_Options):
    """When notices about expiring domains are due."""

    thresholds: Annotated[list[int], doc("Days before the expiry, negative after it; the largest number first.")]
    include_auto_renew_on: Annotated[bool, doc("Whether to notify about domains that renew automatically.")]
    repeat_until_ack: Annotated[
        bool,
        doc(
            "Repeat a notice each day, until you acknowledge it, the renewal is decided, or 30 days have "
            "passed since the expiry."
        ),
    ]


class EventPreference(_Options):
    """Whether and how you are notified of an event."""

    enabled: Annotated[bool, doc("Whether you are notified of the event.")]
    channels: ChannelList


class QuietHours(_Options):
    """A part of the day without email."""

    enabled: Annotated[bool, doc("Whether there are quiet hours.")]
    start: Annotated[LocalTime, doc("Local time, `HH:MM`.")]
    end: Annotated[LocalTime, doc("Local time, `HH:MM`; of the next day if it is not later.")]


class Digest(_Options):
    """One email with the notices of a day, a week or a month."""

    enabled: Annotated[bool, doc("Whether notices wait for a digest.")]
    frequency: Annotated[Frequency, doc("A monthly digest is sent on the first day of the month.")]
    weekday: Annotated[Weekday, doc("Day of a weekly digest.")]
    hour: Annotated[int, doc("Local hour of the digest, 0 to 23.")]
    include: Annotated[list[Topic], doc("Topics whose notices wait for the digest.")]


class CostAlert(_Options):
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: Annotated[
        Money | None,
        doc("Notify when the renewals of the current or the next month exceed this amount; null: never."),
    ]


class Preferences(_Options):
    """What a member of a portfolio is notified of, and how."""

    enabled: Annotated[bool, doc("By default true for the portfolio's own account, false for other members.")]
    timezone: Annotated[str, doc("Name in the IANA time zone database.")]
    channels: Annotated[Channels, doc("The channels of notices.")]
    expiry: Annotated[Expiry, doc("Thresholds of the notices about expiring domains.")]
    events: Annotated[dict[str, EventPreference], doc("Every event, by its name.")]
    quiet_hours: Annotated[
        QuietHours,
        doc(
            "A part of the day without email, except critical notices. It does not affect webhooks and the "
            "list in the application."
        ),
    ]
    digest: Annotated[
        Digest,
        doc(
            "One email with the notices of a day, a week or a month, by topic; critical ones are sent at "
            "once. Parking revenue, recorded renewals and matched charges are notified of too, unless "
            "`events` turns them off."
        ),
    ]
    muted_domains: Annotated[
        list[str], doc("Domains whose expiry has no notices, and whose events have only critical ones; A-labels.")
    ]
    muted_tags: Annotated[list[str], doc("Tags whose domains are muted in the same way, in lower case.")]
    cost_alert: Annotated[CostAlert, doc("Alert when the renewals of a month cost more than a limit.")]

    @cached_property
    def muted(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the muted domains and the muted tags, for many look-ups."""
        return frozenset(self.muted_domains), frozenset(self.muted_tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPreferences:
    """Preferences with the address that email goes to."""

    preferences: Preferences
    address: str
    is_verified: bool


@dataclass(frozen=True, slots=True)
class Recipient:
    """A member of a portfolio that can be notified."""

    account_id: UUID  # of the portfolio
    member_id: UUID
    role: TeamRole
    is_owner: bool  # whether it is the portfolio's own account
    preferences: Preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The results of samples by each channel."""

    to: str  # the masked address of the email
    message_id: UUID | None  # None when it was not sent: the address is not verified
    webhooks: Mapping[UUID, AttemptedDelivery | None]  # by destination; None: it is at its limit
    notice_id: UUID  # of the sample in the list
    suppressed_by: Suppression | None


class NoticeKind(StrEnum):
    """What decides that a notice is made once."""

    EXPIRY = "expiry"
    COST = "cost"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What a notice says, and when its email is due."""

    id: Annotated[UUID, doc("Identifier of the notice.")]
    member_id: Annotated[UUID, HIDDEN]
    event: Annotated[str, doc("Name of the event that the notice is about.")]
    severity: Annotated[Severity, doc("Severity of the notice.")]
    title: Annotated[str, doc("The notice in a sentence, as of `created_at`.")]
    domain_id: Annotated[UUID | None, doc("The portfolio domain; null for other notices.")] = None
    domain: Annotated[DomainName | None, doc("The domain as an A-label; null for other notices.")] = None
    threshold_days: Annotated[int | None, doc("Threshold of a notice about an expiry; else null.")] = None
    expires_on: Annotated[date | None, doc("The expiry when the notice was made; else null.")] = None
    auto_renew: Annotated[bool | None, doc("Whether the registrar renews it; null when unknown.")] = None
    month: Annotated[date | None, doc("First day of the month of a cost alert; else null.")] = None
    amount: Annotated[
        Money | None,
        doc("Renewal price of the domain, or renewals of the month; null if unknown."),
        MONEY,
    ] = None
    email_at: Annotated[datetime | None, doc("When its email will be sent; null when none is pending.")] = None
    held_by: Annotated[Suppression | None, doc("Why the email is or was delayed; null without a delay.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotice(_Content):
    """A notice to create, unless the member has one of the same portfolio, kind, subject, date and days."""

    account_id: UUID  # of the portfolio
    kind: NoticeKind
    subject_id: UUID  # of the domain or the event
    due_on: date
    days: int = 0
    in_app: bool = True
    is_published: bool = False  # whether webhooks get an event
    is_repeated: bool = False  # whether one with the same key is made on a later day, until it is acknowledged


def count_days(days: int) -> str:
    """Return a number of days in words."""
    return f"{days} day{'' if days == 1 else 's'}"


@resource(
    "PortfolioNoticeReply",
    computed={"why": "Reason of the notice, and the preference that disables such notices."},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(_Content):
    """A notice to you about the portfolio."""

    emailed_at: Annotated[datetime | None, HIDDEN]
    created_at: CreatedAt
    read_at: Annotated[datetime | None, doc("When it was marked as read; null while unread.")]
    acknowledged_at: Annotated[
        datetime | None, doc("When it was acknowledged, which ends its repetition; null before.")
    ]
    redacted: Annotated[Sequence[Literal["finance"]], doc("`finance` when your role does not see `amount`.")] = ()

    @property
    def why(self) -> str:
        """Return why it was made, and which preference stops others like it."""
        if self.event == SAMPLE_EVENT:
            return "A sample was requested with a key of your account."
        if self.event == COST_EXCEEDED:
            return "`cost_alert.monthly_renewals_above` is set; null stops these notices."
        if self.threshold_days is not None:
            stop = "`expiry.thresholds`, `muted_domains` and `muted_tags` stop these notices"
            return f"The threshold of {count_days(self.threshold_days)} in your preferences is reached; {stop}."
        return f"You are notified of {self.event}; `events.{self.event}.enabled` false stops these notices."
