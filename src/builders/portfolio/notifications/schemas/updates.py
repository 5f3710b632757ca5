"""The PATCH body of notification preferences."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, StrictBool, StrictInt

from builders.kit.http.bodies import Body, PatchBody, UnknownField, unknown_fields
from builders.kit.values import domain_names, texts
from builders.kit.values.money import Money
from builders.kit.values.texts import checked
from builders.portfolio.notifications.event_kinds import EVENT_KINDS
from builders.portfolio.notifications.records import (
    MAX_DAYS,
    MIN_DAYS,
    ChannelList,
    ChannelPreference,
    Channels,
    CostAlert,
    Digest,
    Expiry,
    Frequency,
    Preferences,
    QuietHours,
    Topic,
    Weekday,
)

MAX_MUTED = 1000
MAX_THRESHOLDS = 50


def _domain(text: str) -> str:
    found = domain_names.find_a_label(text)
    if found is None:
        raise ValueError("Not a domain name; send one such as harbour.example.")
    return found


def _in_order(values: list[Any]) -> list[Any]:
    return sorted(set(values))


def _same(model: type[BaseModel], name: str, **limits: Any) -> Any:
    """Return the description of the option with this name, and limits of its value."""
    return Field(description=model.model_fields[name].description, **limits)


DomainText = Annotated[str, checked(_domain, "domain_form")]
Days = Annotated[StrictInt, Field(ge=MIN_DAYS, le=MAX_DAYS)]
HourMinute = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Tag = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(lambda tag: tag.strip().casefold())]


class ChannelUpdate(Body):
    """A channel."""

    enabled: Annotated[StrictBool | None, _same(ChannelPreference, "enabled")] = None


class ChannelsUpdate(Body):
    """The channels."""

    email: Annotated[ChannelUpdate | None, _same(Channels, "email")] = None
    webhook: Annotated[ChannelUpdate | None, _same(Channels, "webhook")] = None
    in_app: Annotated[ChannelUpdate | None, _same(Channels, "in_app")] = None


class ExpiryUpdate(Body):
    """When notices about expiring domains are due."""

    thresholds: Annotated[
        Annotated[
            list[Days],
            Field(max_length=MAX_THRESHOLDS),
            AfterValidator(lambda days: sorted(set(days), reverse=True)),
        ]
        | None,
        _same(Expiry, "thresholds"),
    ] = None
    include_auto_renew_on: Annotated[StrictBool | None, _same(Expiry, "include_auto_renew_on")] = None
    repeat_until_ack: Annotated[StrictBool | None, _same(Expiry, "repeat_until_ack")] = None


class EventUpdate(Body):
    """Whether and how you are notified of an event."""

    enabled: Annotated[StrictBool | None, Field(description="Null: the default of the event.")] = None
    channels: ChannelList = None


class QuietHoursUpdate(Body):
    """A part of the day without email."""

    enabled: Annotated[StrictBool | None, _same(QuietHours, "enabled")] = None
    start: Annotated[HourMinute | None, _same(QuietHours, "start")] = None
    end: Annotated[HourMinute | None, _same(QuietHours, "end")] = None


class DigestUpdate(Body):
    """One email with the notices of a day, a week or a month."""

    enabled: Annotated[StrictBool | None, _same(Digest, "enabled")] = None
    frequency: Annotated[Frequency | None, _same(Digest, "frequency")] = None
    weekday: Annotated[Weekday | None, _same(Digest, "weekday")] = None
    hour: Annotated[StrictInt | None, _same(Digest, "hour", ge=0, le=23)] = None
    include: Annotated[list[Topic] | None, _same(Digest, "include", max_length=20)] = None


class CostAlertUpdate(Body):
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: Annotated[Money | None, _same(CostAlert, "monthly_renewals_above")] = None


class NotificationPreferencesUpdate(PatchBody):
    """A merge patch of your preferences: objects merge, arrays replace, null resets to the default."""

    enabled: Annotated[StrictBool | None, Field(description="Whether you are notified at all.")] = None
    timezone: Annotated[
        Annotated[str, Field(max_length=64), checked(texts.timezone, "timezone")] | None,
        Field(description="IANA name; by default that of your profile, else UTC."),
    ] = None
    channels: Annotated[ChannelsUpdate | None, _same(Preferences, "channels")] = None
    expiry: Annotated[ExpiryUpdate | None, _same(Preferences, "expiry")] = None
    events: Annotated[
        dict[str, EventUpdate | None] | None, Field(max_length=100, description="By name of the event.")
    ] = None
    quiet_hours: Annotated[QuietHoursUpdate | None, _same(Preferences, "quiet_hours")] = None
    digest: Annotated[DigestUpdate | None, _same(Preferences, "digest")] = None
    muted_domains: Annotated[
        Annotated[list[DomainText], Field(max_length=MAX_MUTED), AfterValidator(_in_order)] | None,
        _same(Preferences, "muted_domains"),
    ] = None
    muted_tags: Annotated[
        Annotated[list[Tag], Field(max_length=MAX_MUTED), AfterValidator(_in_order)] | None,
        _same(Preferences, "muted_tags"),
    ] = None
    cost_alert: Annotated[CostAlertUpdate | None, _same(Preferences, "cost_alert")] = None

    def patch(self) -> dict[str, Any]:
        """Return the known members as JSON values, without unknown events."""
        sent = self.sent_members()
        if self.events is not None:
            sent["events"] = {name: each for name, each in sent["events"].items() if name in EVENT_KINDS}
        return sent

    def warnings(self) -> Iterator[UnknownField]:
        """Yield the unknown events, and the unknown members of known ones."""
        for name, each in (self.events or {}).items():
            if name in EVENT_KINDS:
                yield from unknown_fields(each, f"events.{name}.")
                continue
            meant = next(iter(get_close_matches(name[:80], EVENT_KINDS, n=1)), None)
            hint = f" Did you mean {meant!r}?" if meant else ""
            message = f"{name[:80]!r} is not an event of a portfolio; ignored.{hint}"
            yield UnknownField(field=f"events.{name[:80]}", did_you_mean=meant, message=message)
