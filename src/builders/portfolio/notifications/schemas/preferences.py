"""Replies with notification preferences."""

from collections.abc import Sequence
from datetime import time
from itertools import islice
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.config import JsonDict

from builders.kit.http.bodies import MAX_WARNINGS, Reply, UnknownField, WriteReply, by_example
from builders.kit.values.money import Money
from builders.portfolio.notifications import rules
from builders.portfolio.notifications.event_kinds import list_kinds
from builders.portfolio.notifications.records import (
    EventPreference,
    Frequency,
    OwnPreferences,
    Preferences,
    QuietAction,
    Severity,
    Topic,
    Weekday,
)
from builders.portfolio.notifications.schemas.updates import (
    ALLOW_CRITICAL,
    CHANNELS,
    COST_ALERT,
    DIGEST,
    EMAIL,
    EXPIRY,
    FREQUENCY,
    HOUR,
    IN_APP,
    INCLUDE,
    INCLUDE_ON,
    LOCALE,
    MIN_SEVERITY,
    MUTED_DOMAINS,
    MUTED_TAGS,
    ONLY_OFF,
    QUIET_DAYS,
    QUIET_HOURS,
    RENEWALS_ABOVE,
    REPEAT,
    THEN,
    WEBHOOK,
    WEBHOOK_IDS,
    WEEKDAY,
    ChannelList,
    NotificationPreferencesUpdate,
)

_CHANNELS: JsonDict = {
    "email": {"enabled": True, "address": "ada@example.net", "verified": True},
    "webhook": {"enabled": True, "webhook_ids": []},
    "in_app": {"enabled": True},
}
_THRESHOLD: JsonDict = {"days": 30, "channels": None, "only_if_auto_renew_off": False, "severity": None}
_QUIET: JsonDict = {
    "enabled": True,
    "start": "22:00",
    "end": "07:00",
    "days": ["monday", "tuesday", "wednesday", "thursday"],
    "allow_critical": True,
    "then": "defer",
}
_DIGEST: JsonDict = {
    "enabled": False,
    "frequency": "weekly",
    "weekday": "monday",
    "hour": 8,
    "include": ["renewals", "parking"],
}
_EXAMPLE: JsonDict = {
    "enabled": True,
    "timezone": "Europe/Berlin",
    "locale": None,
    "channels": _CHANNELS,
    "expiry": {"thresholds": [_THRESHOLD], "include_auto_renew_on": True, "repeat_until_ack": False},
    "events": {"portfolio.team.joined": {"enabled": True, "channels": ["in_app"], "min_severity": None}},
    "quiet_hours": _QUIET,
    "digest": _DIGEST,
    "muted_domains": ["harbour.example"],
    "muted_tags": ["parked"],
    "cost_alert": {"monthly_renewals_above": {"amount": "500.00", "currency": "USD"}},
}

LocalTime = Annotated[
    time,
    PlainSerializer(lambda at: f"{at:%H:%M}", return_type=str),
    Field(description="Local time, `HH:MM`."),
]


class ChannelReply(Reply):
    """A channel."""

    enabled: Annotated[bool, Field(description="Whether the channel is used.")]


class EmailChannelReply(ChannelReply):
    """Email to your own account's address."""

    address: Annotated[str, Field(description="The address of your account.")]
    verified: Annotated[bool, Field(description="Only a verified address gets email.")]


class WebhookChannelReply(ChannelReply):
    """Webhooks of the portfolio's own account."""

    webhook_ids: Annotated[list[UUID], Field(description=WEBHOOK_IDS)]


class ChannelsReply(Reply):
    """The channels."""

    email: Annotated[EmailChannelReply, Field(description=EMAIL)]
    webhook: Annotated[WebhookChannelReply, Field(description=WEBHOOK)]
    in_app: Annotated[ChannelReply, Field(description=IN_APP)]


class ThresholdReply(Reply):
    """A number of days before the expiry of a domain at which a notice is due."""

    days: Annotated[int, Field(description="Days before the expiry; negative after it.")]
    channels: ChannelList
    only_if_auto_renew_off: Annotated[bool, Field(description=ONLY_OFF)]
    severity: Annotated[Severity | None, Field(description="Null: by the days.")]


class ExpiryReply(Reply):
    """When notices about expiring domains are due."""

    thresholds: Annotated[list[ThresholdReply], Field(description="The largest number of days first.")]
    include_auto_renew_on: Annotated[bool, Field(description=INCLUDE_ON)]
    repeat_until_ack: Annotated[bool, Field(description=REPEAT)]


class EventPreferenceReply(Reply):
    """Whether and how you are notified of an event."""

    enabled: Annotated[bool, Field(description="Whether you are notified of the event.")]
    channels: ChannelList
    min_severity: Annotated[Severity | None, Field(description=MIN_SEVERITY)]


class QuietHoursReply(Reply):
    """A part of the day without email."""

    enabled: Annotated[bool, Field(description="Whether there are quiet hours.")]
    start: LocalTime
    end: LocalTime
    days: Annotated[list[Weekday], Field(description=QUIET_DAYS)]
    allow_critical: Annotated[bool, Field(description=ALLOW_CRITICAL)]
    then: Annotated[QuietAction, Field(description=THEN)]


class DigestReply(Reply):
    """One email with the notices of a day, a week or a month."""

    enabled: Annotated[bool, Field(description="Whether notices wait for a digest.")]
    frequency: Annotated[Frequency, Field(description=FREQUENCY)]
    weekday: Annotated[Weekday, Field(description=WEEKDAY)]
    hour: Annotated[int, Field(description=HOUR)]
    include: Annotated[list[Topic], Field(description=INCLUDE)]


class CostAlertReply(Reply):
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: Annotated[Money | None, Field(description=RENEWALS_ABOVE)]


class NotificationPreferencesReply(Reply):
    """Your preferences in the portfolio, with the defaults of what you have not set."""

    model_config = ConfigDict(json_schema_extra=by_example(_EXAMPLE))

    enabled: Annotated[
        bool, Field(description="By default true for the portfolio's own account, false for other members.")
    ]
    timezone: Annotated[str, Field(description="Name in the IANA time zone database.")]
    locale: Annotated[str | None, Field(description=LOCALE)]
    channels: Annotated[ChannelsReply, Field(description=CHANNELS)]
    expiry: Annotated[ExpiryReply, Field(description=EXPIRY)]
    events: Annotated[dict[str, EventPreferenceReply], Field(description="Every event, by its name.")]
    quiet_hours: Annotated[QuietHoursReply, Field(description=QUIET_HOURS)]
    digest: Annotated[DigestReply, Field(description=DIGEST)]
    muted_domains: Annotated[list[str], Field(description=MUTED_DOMAINS)]
    muted_tags: Annotated[list[str], Field(description=MUTED_TAGS)]
    cost_alert: Annotated[CostAlertReply, Field(description=COST_ALERT)]


class MergedThreshold(BaseModel):
    """Duplicate thresholds, which were merged."""

    field: Annotated[str, Field(description="Always `expiry.thresholds`.")] = "expiry.thresholds"
    code: Annotated[Literal["threshold_merged"], Field(description="Always `threshold_merged`.")] = (
        "threshold_merged"
    )
    message: Annotated[str, Field(description="The same in a sentence, for people.")]


class NotificationPreferencesWritten(NotificationPreferencesReply, WriteReply):
    """Your preferences after a change."""

    model_config = ConfigDict(json_schema_extra=by_example({**_EXAMPLE, "warnings": []}))

    # Of more kinds than the kit's, which only adds to the list.
    warnings: Annotated[
        Sequence[UnknownField | MergedThreshold],
        Field(description="Unknown members of the body, which were ignored, and thresholds that were merged."),
    ] = ()  # type: ignore[assignment] # the kit declares one kind


def preferences_reply(own: OwnPreferences) -> NotificationPreferencesReply:
    """Return preferences for display."""
    return NotificationPreferencesReply.model_validate(_members(own))


def preferences_written(
    own: OwnPreferences, body: NotificationPreferencesUpdate
) -> NotificationPreferencesWritten:
    """Return changed preferences with the warnings about the patch."""
    merged = [
        MergedThreshold(message=f"{days} days occurred more than once; the thresholds were merged.")
        for days in own.merged_days
    ]
    found = _members(own) | {"warnings": [*merged, *islice(body.warnings(), MAX_WARNINGS)]}
    return NotificationPreferencesWritten.model_validate(found)


def _members(own: OwnPreferences) -> dict[str, Any]:
    preferences = own.preferences
    channels = preferences.channels
    email = {"enabled": channels.email.enabled, "address": own.address, "verified": own.is_verified}
    webhook = {"enabled": channels.webhook.enabled, "webhook_ids": sorted(channels.webhook.webhook_ids)}
    return {
        "enabled": preferences.enabled,
        "timezone": preferences.timezone,
        "locale": preferences.locale,
        "channels": {"email": email, "webhook": webhook, "in_app": channels.in_app},
        "expiry": preferences.expiry,
        "events": {name: _event(preferences, name) for name in list_kinds()},
        "quiet_hours": preferences.quiet_hours,
        "digest": preferences.digest,
        "muted_domains": sorted(preferences.muted_domains),
        "muted_tags": sorted(preferences.muted_tags),
        "cost_alert": preferences.cost_alert,
    }


def _event(preferences: Preferences, name: str) -> EventPreference:
    preference = preferences.events.get(name) or EventPreference()
    is_on = rules.is_on(preferences, event=name)
    return EventPreference(enabled=is_on, channels=preference.channels, min_severity=preference.min_severity)
