"""Replies with notification preferences."""

from itertools import islice
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import MAX_WARNINGS, Reply, WriteReply, by_example
from builders.portfolio.notifications.records import ChannelPreference, Channels, OwnPreferences, Preferences
from builders.portfolio.notifications.schemas.updates import NotificationPreferencesUpdate

_EXAMPLE: JsonDict = {
    "enabled": True,
    "timezone": "Europe/Berlin",
    "channels": {
        "email": {"enabled": True, "address": "ada@example.net", "verified": True},
        "webhook": {"enabled": True},
        "in_app": {"enabled": True},
    },
    "expiry": {"thresholds": [30, 7, 0], "include_auto_renew_on": True, "repeat_until_ack": False},
    "events": {"portfolio.team.joined": {"enabled": True, "channels": ["in_app"]}},
    "quiet_hours": {"enabled": True, "start": "22:00", "end": "07:00"},
    "digest": {
        "enabled": False,
        "frequency": "weekly",
        "weekday": "monday",
        "hour": 8,
        "include": ["renewals", "parking"],
    },
    "muted_domains": ["harbour.example"],
    "muted_tags": ["parked"],
    "cost_alert": {"monthly_renewals_above": {"amount": "500.00", "currency": "USD"}},
}


class EmailChannelReply(ChannelPreference):
    """Email to your own account's address."""

    address: Annotated[str, Field(description="The address of your account.")]
    verified: Annotated[bool, Field(description="Only a verified address gets email.")]


class ChannelsReply(Channels):
    """The channels."""

    email: Annotated[EmailChannelReply, Field(description=Channels.model_fields["email"].description)]


class NotificationPreferencesReply(Preferences, Reply):
    """Your preferences in the portfolio, with the defaults of what you have not set."""

    model_config = ConfigDict(json_schema_extra=by_example(_EXAMPLE), frozen=False)

    channels: Annotated[ChannelsReply, Field(description=Preferences.model_fields["channels"].description)]


class NotificationPreferencesWritten(NotificationPreferencesReply, WriteReply):
    """Your preferences after a change."""

    model_config = ConfigDict(json_schema_extra=by_example({**_EXAMPLE, "warnings": []}))


def preferences_reply(own: OwnPreferences) -> NotificationPreferencesReply:
    """Return preferences for display."""
    return NotificationPreferencesReply.model_validate(_members(own))


def preferences_written(
    own: OwnPreferences, body: NotificationPreferencesUpdate
) -> NotificationPreferencesWritten:
    """Return changed preferences with the warnings about the patch."""
    warnings = list(islice(body.warnings(), MAX_WARNINGS))
    return NotificationPreferencesWritten.model_validate({**_members(own), "warnings": warnings})


def _members(own: OwnPreferences) -> dict[str, Any]:
    members = own.preferences.model_dump()
    members["channels"]["email"] |= {"address": own.address, "verified": own.is_verified}
    return members
