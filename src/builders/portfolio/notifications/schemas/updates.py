"""The PATCH body of notification preferences."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictInt

from builders.kit.http.bodies import Body, PatchBody, UnknownField, by_example, unknown_fields
from builders.kit.http.fields import IdText
from builders.kit.values import domain_names, texts
from builders.kit.values.money import Money
from builders.kit.values.texts import checked
from builders.portfolio.notifications.event_kinds import list_kinds
from builders.portfolio.notifications.records import (
    MAX_DAYS,
    MAX_THRESHOLDS,
    MIN_DAYS,
    Channel,
    Frequency,
    QuietAction,
    Severity,
    Topic,
    Weekday,
)
from builders.webhooks.batches import MAX_DESTINATIONS

MAX_MUTED = 1000
# Descriptions of members that the body and the reply have.
EMAIL = "Email to the address of your own account."
WEBHOOK = "Events to the webhooks of the portfolio's own account, which alone can enable them."
WEBHOOK_IDS = (
    "The only destinations that get the events of notices (portfolio.renewal.upcoming, .overdue, .cost_exceeded), "
    "if they subscribe to them; empty: all that subscribe. Other events go to every destination that subscribes."
)
IN_APP = "The list `GET /v1/portfolio/notifications`."
ONLY_OFF = "Whether to exclude domains that renew automatically."
REPEAT = (
    "Repeat a notice each day, until you acknowledge it, the renewal is decided, or 30 days have passed since the "
    "expiry."
)
INCLUDE_ON = "Whether to notify about domains that renew automatically."
MIN_SEVERITY = "Minimum severity of notices; null: all."
QUIET_DAYS = "Days on which they start."
ALLOW_CRITICAL = "Whether critical notices are sent during quiet hours."
THEN = "`defer` sends the email after the quiet hours, `drop` does not send it."
FREQUENCY = "A monthly digest is sent on the first day of the month."
WEEKDAY = "Day of a weekly digest."
HOUR = "Local hour of the digest, 0 to 23."
INCLUDE = "Topics whose notices wait for the digest."
RENEWALS_ABOVE = "Notify when the renewals of the current or the next month exceed this amount; null: never."
LOCALE = "BCP 47 tag of the language you prefer. Notices are in English so far."
CHANNELS = "The channels of notices."
EXPIRY = "Thresholds of the notices about expiring domains."
QUIET_HOURS = "A part of the day without email. It does not affect webhooks and the list in the application."
DIGEST = (
    "One email with the notices of a day, a week or a month, by topic; critical ones are sent at once. "
    "Parking revenue, recorded renewals and matched charges are notified of too, unless `events` turns them off."
)
MUTED_DOMAINS = "Domains whose expiry has no notices, and whose events have only critical ones; A-labels."
MUTED_TAGS = "Tags whose domains are muted in the same way, in lower case."
COST_ALERT = "Alert when the renewals of a month cost more than a limit."


def _domain(text: str) -> str:
    found = domain_names.find_a_label(text)
    if found is None:
        raise ValueError("Not a domain name; send one such as harbour.example.")
    return found


DomainText = Annotated[str, checked(_domain, "domain_form")]
Days = Annotated[
    StrictInt, Field(ge=MIN_DAYS, le=MAX_DAYS, description="Days before the expiry; negative after it.")
]
HourMinute = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Tag = Annotated[str, Field(min_length=1, max_length=100)]
ChannelList = Annotated[
    list[Channel] | None, Field(description="The channels to use, if they are enabled; null: all.")
]


class ChannelUpdate(Body):
    """A channel."""

    enabled: Annotated[StrictBool | None, Field(description="Whether the channel is used.")] = None


class WebhookChannelUpdate(ChannelUpdate):
    """Webhooks."""

    webhook_ids: Annotated[list[IdText] | None, Field(max_length=MAX_DESTINATIONS, description=WEBHOOK_IDS)] = None


class ChannelsUpdate(Body):
    """The channels."""

    email: Annotated[ChannelUpdate | None, Field(description=EMAIL)] = None
    webhook: Annotated[WebhookChannelUpdate | None, Field(description=WEBHOOK)] = None
    in_app: Annotated[ChannelUpdate | None, Field(description=IN_APP)] = None


class ThresholdUpdate(Body):
    """A number of days before the expiry of a domain at which a notice is due."""

    days: Days
    channels: ChannelList = None
    only_if_auto_renew_off: Annotated[StrictBool, Field(description=ONLY_OFF)] = False
    severity: Annotated[Severity | None, Field(description="Null: by the days.")] = None


def _as_objects(thresholds: list[ThresholdUpdate | int]) -> list[ThresholdUpdate]:
    return [ThresholdUpdate(days=each) if isinstance(each, int) else each for each in thresholds]


class ExpiryUpdate(Body):
    """When notices about expiring domains are due."""

    thresholds: Annotated[
        Annotated[list[ThresholdUpdate | Days], Field(max_length=MAX_THRESHOLDS), AfterValidator(_as_objects)]
        | None,
        Field(description="Objects, or only their numbers of days. Duplicates are merged."),
    ] = None
    include_auto_renew_on: Annotated[StrictBool | None, Field(description=INCLUDE_ON)] = None
    repeat_until_ack: Annotated[StrictBool | None, Field(description=REPEAT)] = None


class EventUpdate(Body):
    """Whether and how you are notified of an event."""

    enabled: Annotated[StrictBool | None, Field(description="Null: the default of the event.")] = None
    channels: ChannelList = None
    min_severity: Annotated[Severity | None, Field(description=MIN_SEVERITY)] = None


class QuietHoursUpdate(Body):
    """A part of the day without email."""

    enabled: Annotated[StrictBool | None, Field(description="Whether there are quiet hours.")] = None
    start: Annotated[HourMinute | None, Field(description="Local time, `HH:MM`.")] = None
    end: Annotated[HourMinute | None, Field(description="Local time, `HH:MM`; of the next day if earlier.")] = None
    days: Annotated[list[Weekday] | None, Field(max_length=7, description=QUIET_DAYS)] = None
    allow_critical: Annotated[StrictBool | None, Field(description=ALLOW_CRITICAL)] = None
    then: Annotated[QuietAction | None, Field(description=THEN)] = None


class DigestUpdate(Body):
    """One email with the notices of a day, a week or a month."""

    enabled: Annotated[StrictBool | None, Field(description="Whether notices wait for a digest.")] = None
    frequency: Annotated[Frequency | None, Field(description=FREQUENCY)] = None
    weekday: Annotated[Weekday | None, Field(description=WEEKDAY)] = None
    hour: Annotated[StrictInt | None, Field(ge=0, le=23, description=HOUR)] = None
    include: Annotated[list[Topic] | None, Field(max_length=20, description=INCLUDE)] = None


class CostAlertUpdate(Body):
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: Annotated[Money | None, Field(description=RENEWALS_ABOVE)] = None


class NotificationPreferencesUpdate(PatchBody):
    """A merge patch of your preferences: objects merge, arrays replace, null resets to the default."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "timezone": "Europe/Berlin",
                "expiry": {"thresholds": [60, 30, 7, 1]},
                "quiet_hours": {"enabled": True, "start": "22:00", "end": "07:00"},
            }
        )
    )

    enabled: Annotated[StrictBool | None, Field(description="Whether you are notified at all.")] = None
    timezone: Annotated[
        Annotated[str, Field(max_length=64), checked(texts.timezone, "timezone")] | None,
        Field(description="IANA name; by default that of your profile, else UTC."),
    ] = None
    locale: Annotated[
        Annotated[str, Field(max_length=64), checked(texts.locale, "locale")] | None,
        Field(description=LOCALE),
    ] = None
    channels: Annotated[ChannelsUpdate | None, Field(description=CHANNELS)] = None
    expiry: Annotated[ExpiryUpdate | None, Field(description=EXPIRY)] = None
    events: Annotated[
        dict[str, EventUpdate | None] | None, Field(max_length=100, description="By name of the event.")
    ] = None
    quiet_hours: Annotated[QuietHoursUpdate | None, Field(description=QUIET_HOURS)] = None
    digest: Annotated[DigestUpdate | None, Field(description=DIGEST)] = None
    muted_domains: Annotated[
        list[DomainText] | None,
        Field(max_length=MAX_MUTED, description=MUTED_DOMAINS),
    ] = None
    muted_tags: Annotated[list[Tag] | None, Field(max_length=MAX_MUTED, description=MUTED_TAGS)] = None
    cost_alert: Annotated[CostAlertUpdate | None, Field(description=COST_ALERT)] = None

    def patch(self) -> dict[str, Any]:
        """Return the known members as JSON values, without unknown events."""
        found, known = self.sent_members(), list_kinds()
        if self.events is not None:
            found["events"] = {name: each for name, each in found["events"].items() if name in known}
        if self.muted_tags is not None:
            found["muted_tags"] = sorted({each.strip().casefold() for each in self.muted_tags})
        if self.muted_domains is not None:
            found["muted_domains"] = sorted(set(self.muted_domains))
        return found

    def warnings(self) -> Iterator[UnknownField]:
        """Yield the unknown events, and the unknown members of known ones."""
        known = list_kinds()
        for name, each in (self.events or {}).items():
            if name in known:
                yield from unknown_fields(each, f"events.{name}.")
                continue
            meant = next(iter(get_close_matches(name[:80], known, n=1)), None)
            hint = f" Did you mean {meant!r}?" if meant else ""
            message = f"{name[:80]!r} is not an event of a portfolio; ignored.{hint}"
            yield UnknownField(field=f"events.{name[:80]}", did_you_mean=meant, message=message)
