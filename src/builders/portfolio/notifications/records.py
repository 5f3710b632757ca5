"""Records of a portfolio's notifications."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from functools import cached_property
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from builders.kit.http.bodies import CreatedAt
from builders.kit.values.money import Money
from builders.portfolio.team.records import TeamRole
from builders.webhooks.records import AttemptedDelivery

MIN_DAYS, MAX_DAYS = -30, 365  # of an expiry threshold
SAMPLE_EVENT = "portfolio.notification.test"  # of a sample in the list; it is not published


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
ChannelList = Annotated[
    list[Channel] | None, Field(description="The channels to use, if they are enabled; null: all.")
]


class _Options(BaseModel):
    """Options of a member. Replies show them, and the body of a patch has the same descriptions."""

    model_config = ConfigDict(frozen=True)


class ChannelPreference(_Options):
    """A channel."""

    enabled: Annotated[bool, Field(description="Whether the channel is used.")]


class Channels(_Options):
    """The channels."""

    email: Annotated[ChannelPreference, Field(description="Email to the address of your own account.")]
    webhook: Annotated[
        ChannelPreference,
        Field(description="Events to the webhooks of the portfolio's own account, which alone can enable them."),
    ]
    in_app: Annotated[ChannelPreference, Field(description="The list `GET /v1/portfolio/notifications`.")]

    @property
    def enabled(self) -> frozenset[Channel]:
        """Return the channels that are used."""
        return frozenset(channel for channel in Channel if getattr(self, channel).enabled)


class Expiry(_Options):
    """When notices about expiring domains are due."""

    thresholds: Annotated[
        list[int], Field(description="Days before the expiry, negative after it; the largest number first.")
    ]
    include_auto_renew_on: Annotated[
        bool, Field(description="Whether to notify about domains that renew automatically.")
    ]
    repeat_until_ack: Annotated[
        bool,
        Field(
            description=(
                "Repeat a notice each day, until you acknowledge it, the renewal is decided, or 30 days have "
                "passed since the expiry."
            )
        ),
    ]


class EventPreference(_Options):
    """Whether and how you are notified of an event."""

    enabled: Annotated[bool, Field(description="Whether you are notified of the event.")]
    channels: ChannelList


class QuietHours(_Options):
    """A part of the day without email."""

    enabled: Annotated[bool, Field(description="Whether there are quiet hours.")]
    start: Annotated[LocalTime, Field(description="Local time, `HH:MM`.")]
    end: Annotated[LocalTime, Field(description="Local time, `HH:MM`; of the next day if it is not later.")]


class Digest(_Options):
    """One email with the notices of a day, a week or a month."""

    enabled: Annotated[bool, Field(description="Whether notices wait for a digest.")]
    frequency: Annotated[Frequency, Field(description="A monthly digest is sent on the first day of the month.")]
    weekday: Annotated[Weekday, Field(description="Day of a weekly digest.")]
    hour: Annotated[int, Field(description="Local hour of the digest, 0 to 23.")]
    include: Annotated[list[Topic], Field(description="Topics whose notices wait for the digest.")]


class CostAlert(_Options):
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: Annotated[
        Money | None,
        Field(
            description=(
                "Notify when the renewals of the current or the next month exceed this amount; null: never."
            )
        ),
    ]


class Preferences(_Options):
    """What a member of a portfolio is notified of, and how."""

    enabled: Annotated[
        bool, Field(description="By default true for the portfolio's own account, false for other members.")
    ]
    timezone: Annotated[str, Field(description="Name in the IANA time zone database.")]
    channels: Annotated[Channels, Field(description="The channels of notices.")]
    expiry: Annotated[Expiry, Field(description="Thresholds of the notices about expiring domains.")]
    events: Annotated[dict[str, EventPreference], Field(description="Every event, by its name.")]
    quiet_hours: Annotated[
        QuietHours,
        Field(
            description=(
                "A part of the day without email, except critical notices. It does not affect webhooks and the "
                "list in the application."
            )
        ),
    ]
    digest: Annotated[
        Digest,
        Field(
            description=(
                "One email with the notices of a day, a week or a month, by topic; critical ones are sent at "
                "once. Parking revenue, recorded renewals and matched charges are notified of too, unless "
                "`events` turns them off."
            )
        ),
    ]
    muted_domains: Annotated[
        list[str],
        Field(
            description="Domains whose expiry has no notices, and whose events have only critical ones; A-labels."
        ),
    ]
    muted_tags: Annotated[
        list[str], Field(description="Tags whose domains are muted in the same way, in lower case.")
    ]
    cost_alert: Annotated[
        CostAlert, Field(description="Alert when the renewals of a month cost more than a limit.")
    ]

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


class Mark(StrEnum):
    """What a member marks a notice as."""

    READ = "read"
    ACKNOWLEDGED = "acknowledged"


class NoticeKind(StrEnum):
    """What decides that a notice is made once."""

    EXPIRY = "expiry"
    COST = "cost"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What a notice says, and when its email is due."""

    id: Annotated[UUID, Field(description="Identifier of the notice.")]
    member_id: UUID
    event: Annotated[str, Field(description="Name of the event that the notice is about.")]
    severity: Annotated[Severity, Field(description="Severity of the notice.")]
    title: Annotated[str, Field(description="The notice in a sentence, as of `created_at`.")]
    domain_id: Annotated[UUID | None, Field(description="The portfolio domain; null for other notices.")] = None
    domain: Annotated[str | None, Field(description="The domain as an A-label; null for other notices.")] = None
    threshold_days: Annotated[
        int | None, Field(description="Threshold of a notice about an expiry; else null.")
    ] = None
    expires_on: Annotated[date | None, Field(description="The expiry when the notice was made; else null.")] = None
    auto_renew: Annotated[
        bool | None, Field(description="Whether the registrar renews it; null when unknown.")
    ] = None
    month: Annotated[date | None, Field(description="First day of the month of a cost alert; else null.")] = None
    money: Money | None = None
    email_at: Annotated[
        datetime | None, Field(description="When its email will be sent; null when none is pending.")
    ] = None
    held_by: Annotated[
        Suppression | None, Field(description="Why the email is or was delayed; null without a delay.")
    ] = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(_Content):
    """A notice to a member."""

    emailed_at: datetime | None
    created_at: CreatedAt
    read_at: Annotated[datetime | None, Field(description="When it was marked as read; null while unread.")]
    acknowledged_at: Annotated[
        datetime | None, Field(description="When it was acknowledged, which ends its repetition; null before.")
    ]
