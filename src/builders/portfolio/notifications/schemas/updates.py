"""The PATCH body of notification preferences."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from builders.kit.http.bodies import Body, UnknownField, by_example, unknown_fields
from builders.kit.http.merge_patches import PatchBody
from builders.kit.values import domain_names, texts
from builders.kit.values.money import Money
from builders.kit.values.texts import checked
from builders.portfolio.notifications.event_kinds import EVENT_KINDS
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

MAX_MUTED = 1000


def _domain(text: str) -> str:
    found = domain_names.find_a_label(text)
    if found is None:
        raise ValueError("Not a domain name; send one such as harbour.example.")
    return found


Days = Annotated[
    StrictInt, Field(ge=MIN_DAYS, le=MAX_DAYS, description="Days before the expiry; negative after it.")
]
HourMinute = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description="Local time, `HH:MM`.")]
Tag = Annotated[str, Field(min_length=1, max_length=100)]
ChannelList = Annotated[
    list[Channel] | None, Field(description="Through which of the enabled channels; null: through all.")
]


class ChannelUpdate(Body):
    """A channel."""

    enabled: Annotated[StrictBool | None, Field(description="Whether the channel is used.")] = None


class ChannelsUpdate(Body):
    """The channels."""

    email: Annotated[ChannelUpdate | None, Field(description="Email to your own account's address.")] = None
    webhook: Annotated[
        ChannelUpdate | None, Field(description="Events to the webhooks of the portfolio's own account.")
    ] = None
    in_app: Annotated[ChannelUpdate | None, Field(description="The list `GET /v1/portfolio/notifications`.")] = (
        None
    )


class ThresholdUpdate(Body):
    """A number of days before the expiry of a domain at which a notice is due."""

    days: Days
    channels: ChannelList = None
    only_if_auto_renew_off: Annotated[
        StrictBool, Field(description="Leave out domains that renew automatically.")
    ] = False
    severity: Annotated[Severity | None, Field(description="Null: by the days.")] = None


def _as_objects(thresholds: list[ThresholdUpdate | int] | None) -> list[ThresholdUpdate] | None:
    if thresholds is None:
        return None
    return [ThresholdUpdate(days=each) if isinstance(each, int) else each for each in thresholds]


class ExpiryUpdate(Body):
    """When notices about expiring domains are due."""

    thresholds: Annotated[
        list[ThresholdUpdate | Days] | None,
        AfterValidator(_as_objects),
        Field(max_length=MAX_THRESHOLDS, description="Objects, or just their days. Equal days are merged."),
    ] = None
    include_auto_renew_on: Annotated[
        StrictBool | None, Field(description="Whether domains that renew automatically have notices too.")
    ] = None


class EventUpdate(Body):
    """Whether and how you are notified of an event."""

    enabled: Annotated[StrictBool | None, Field(description="Null: the default of the event.")] = None
    channels: ChannelList = None
    min_severity: Annotated[Severity | None, Field(description="Only notices at least this severe.")] = None


class QuietHoursUpdate(Body):
    """A part of the day in which no email is sent. Webhooks and the list in the application do not wait."""

    enabled: StrictBool | None = None
    start: HourMinute | None = None
    end: HourMinute | None = None
    days: Annotated[list[Weekday] | None, Field(max_length=7, description="Days on which they start.")] = None
    allow_critical: Annotated[
        StrictBool | None, Field(description="Whether a critical notice is sent all the same.")
    ] = None
    then: Annotated[QuietAction | None, Field(description="`defer` sends the email afterwards.")] = None


class DigestUpdate(Body):
    """One email with the notices of a day, a week or a month; critical ones are sent at once."""

    enabled: StrictBool | None = None
    frequency: Annotated[Frequency | None, Field(description="`monthly`: on the first day of the month.")] = None
    weekday: Annotated[Weekday | None, Field(description="Day of a weekly digest.")] = None
    hour: Annotated[StrictInt | None, Field(ge=0, le=23, description="Local hour.")] = None
    include: Annotated[
        list[Topic] | None, Field(max_length=20, description="Topics that wait for the digest.")
    ] = None


class CostAlertUpdate(Body):
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: Annotated[
        Money | None, Field(description="Notify when the renewals of this or the next month cost more.")
    ] = None


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
        Field(description="BCP 47 tag of the language you prefer. Notices are in English so far."),
    ] = None
    channels: ChannelsUpdate | None = None
    expiry: ExpiryUpdate | None = None
    events: Annotated[
        dict[str, EventUpdate | None] | None, Field(max_length=100, description="By name of the event.")
    ] = None
    quiet_hours: QuietHoursUpdate | None = None
    digest: DigestUpdate | None = None
    muted_domains: Annotated[
        list[Annotated[str, checked(_domain, "domain_form")]] | None,
        Field(max_length=MAX_MUTED, description="Domains without notices; stored as A-labels."),
    ] = None
    muted_tags: Annotated[
        list[Tag] | None, Field(max_length=MAX_MUTED, description="Tags whose domains have no notices.")
    ] = None
    cost_alert: CostAlertUpdate | None = None

    def patch(self) -> dict[str, Any]:
        """Return the known members as JSON values; unknown events are left out."""
        found: dict[str, Any] = _sent(self)
        if self.events is not None:
            found["events"] = {name: each for name, each in found["events"].items() if name in EVENT_KINDS}
        if self.muted_tags is not None:
            found["muted_tags"] = sorted({each.strip().casefold() for each in self.muted_tags})
        if self.muted_domains is not None:
            found["muted_domains"] = sorted(set(self.muted_domains))
        return found

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


def _sent(value: object) -> Any:  # a JSON value
    if isinstance(value, BaseModel):
        # Of a threshold the rest is not a default of the account: arrays replace.
        names = type(value).model_fields.keys()
        kept = names if isinstance(value, ThresholdUpdate) else names & value.model_fields_set
        return {name: _sent(getattr(value, name)) for name in kept}
    if isinstance(value, Mapping):
        return {name: _sent(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_sent(each) for each in value]
    return value.to_wire() if isinstance(value, Money) else value
