"""Replies with notification preferences."""

from itertools import islice
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from builders.kit.http.bodies import MAX_WARNINGS, Reply, WriteReply
from builders.portfolio.notifications.records import ChannelPreference, Channels, OwnPreferences, Preferences
from builders.portfolio.notifications.schemas.updates import NotificationPreferencesUpdate


class EmailChannelReply(ChannelPreference):
    """Email to your own account's address."""

    address: Annotated[str, Field(description="The address of your account.")]
    verified: Annotated[bool, Field(description="Only a verified address gets email.")]


class ChannelsReply(Channels):
    """The channels."""

    email: Annotated[EmailChannelReply, Field(description=Channels.model_fields["email"].description)]


class NotificationPreferencesReply(Preferences, Reply):
    """Your preferences in the portfolio, with the defaults of what you have not set."""

    model_config = ConfigDict(frozen=False)

    channels: Annotated[ChannelsReply, Field(description=Preferences.model_fields["channels"].description)]


class NotificationPreferencesWritten(NotificationPreferencesReply, WriteReply):
    """Your preferences after a change."""


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
