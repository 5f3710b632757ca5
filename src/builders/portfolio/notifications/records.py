"""Records of a portfolio's notifications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from enum import StrEnum
from uuid import UUID

from builders.kit.values.money import Money
from builders.webhooks.records import TestSend

MIN_DAYS, MAX_DAYS = -30, 365  # of an expiry threshold
MAX_THRESHOLDS = 50
DEFAULT_DAYS = (90, 60, 30, 14, 7, 3, 1, 0, -1)
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


class QuietAction(StrEnum):
    """Treatment of an email during quiet hours."""

    DEFER = "defer"
    DROP = "drop"


class Frequency(StrEnum):
    """How often a digest is sent."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class Suppression(StrEnum):
    """The reason why an email would be delayed or dropped."""

    DISABLED = "disabled"
    MUTED = "muted"
    QUIET_HOURS = "quiet_hours"
    DIGEST = "digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPreference:
    """Whether a channel is used."""

    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPreference:
    """Whether webhooks are used, and which."""

    enabled: bool = True
    webhook_ids: frozenset[UUID] = frozenset()  # none: all that subscribe


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The channels of a member."""

    email: ChannelPreference = ChannelPreference()
    webhook: WebhookPreference = WebhookPreference()
    in_app: ChannelPreference = ChannelPreference()

    @property
    def enabled(self) -> frozenset[Channel]:
        """Return the channels that are used."""
        used = {
            Channel.EMAIL: self.email.enabled,
            Channel.WEBHOOK: self.webhook.enabled,
            Channel.IN_APP: self.in_app.enabled,
        }
        return frozenset(channel for channel, is_used in used.items() if is_used)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number of days before the expiry of a domain at which a notice is due; negative: after it."""

    days: int
    channels: Sequence[Channel] | None = None  # None: all enabled channels
    only_if_auto_renew_off: bool = False
    severity: Severity | None = None  # None: by the days


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """When notices about the expiry of domains are due."""

    thresholds: Sequence[Threshold] = tuple(Threshold(days=each) for each in DEFAULT_DAYS)
    include_auto_renew_on: bool = True
    repeat_until_ack: bool = False  # daily, until the member acknowledges it or the renewal is decided


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPreference:
    """Whether and how a member is notified of an event; None is the default of the event."""

    enabled: bool | None = None
    channels: Sequence[Channel] | None = None
    min_severity: Severity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """A part of the day, in the member's time zone, in which no email is sent."""

    enabled: bool = False
    start: time = time(22)
    end: time = time(7)  # of the next day when it is not after the start
    days: Sequence[Weekday] = tuple(Weekday)  # on which they start
    allow_critical: bool = True
    then: QuietAction = QuietAction.DEFER


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """Whether notices are collected into one email, and when it is sent in the member's time zone."""

    enabled: bool = False
    frequency: Frequency = Frequency.DAILY
    weekday: Weekday = Weekday.MONDAY  # of a weekly digest
    hour: int = 8
    include: Sequence[Topic] = tuple(Topic)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAlert:
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """What a member of a portfolio is notified of, and how."""

    enabled: bool
    timezone: str
    locale: str | None = None
    channels: Channels = Channels()
    expiry: Expiry = Expiry()
    events: Mapping[str, EventPreference] = field(default_factory=dict)
    quiet_hours: QuietHours = QuietHours()
    digest: Digest = Digest()
    muted_domains: frozenset[str] = frozenset()  # A-labels
    muted_tags: frozenset[str] = frozenset()  # in lower case
    cost_alert: CostAlert = CostAlert()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPreferences:
    """Preferences with the address that email goes to."""

    preferences: Preferences
    address: str
    is_verified: bool
    merged_days: Sequence[int] = ()  # thresholds that a patch held more than once


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSample:
    """The result of a sample email."""

    to: str  # masked
    message_id: UUID | None  # None when it was not sent
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """Which samples are sent."""

    channel: Channel | None = None  # None: all
    webhook_id: str | None = None  # the only one
    event: str | None = None
    threshold_days: int | None = None
    domain: str | None = None  # A-label


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The results of samples by each channel."""

    email: MailSample | None  # None when that channel was not selected
    webhooks: Sequence[TestSend]
    notice_id: UUID | None  # of the sample in the list
    suppressed_by: Suppression | None
    subject: str  # of the email
    body: str


class NoticeKind(StrEnum):
    """What decides that a notice is made once."""

    EXPIRY = "expiry"
    COST = "cost"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotice:
    """A notice to create, unless the member has one with the same key: the fields before the id."""

    account_id: UUID  # of the portfolio
    member_id: UUID
    kind: NoticeKind
    subject_id: UUID  # of the domain or the event
    due_on: date
    days: int
    id: UUID
    event: str
    severity: Severity
    in_app: bool
    is_published: bool  # whether webhooks get an event
    is_repeated: bool = False  # whether one with the same key is made on a later day, until it is acknowledged
    email_at: datetime | None
    held_by: Suppression | None
    domain_id: UUID | None = None
    domain: str | None = None
    threshold_days: int | None = None
    expires_on: date | None = None
    auto_renew: bool | None = None
    month: date | None = None
    money: Money | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notice to a member."""

    id: UUID
    member_id: UUID
    event: str
    severity: Severity
    domain_id: UUID | None
    domain: str | None
    threshold_days: int | None
    expires_on: date | None
    auto_renew: bool | None
    month: date | None
    money: Money | None
    title: str | None  # None: by the other members
    held_by: Suppression | None
    email_at: datetime | None
    emailed_at: datetime | None
    created_at: datetime
    read_at: datetime | None
    acknowledged_at: datetime | None
