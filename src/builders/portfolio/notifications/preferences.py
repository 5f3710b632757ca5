"""Preferences of the members of a portfolio: the settings of a member over the defaults."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail import optouts
from builders.mail.records import Topic as MailTopic
from builders.portfolio.notifications import store
from builders.portfolio.notifications.event_kinds import EVENT_KINDS
from builders.portfolio.notifications.records import OwnPreferences, Preferences, Recipient, Topic, Weekday
from builders.portfolio.notifications.store import Settings
from builders.portfolio.team import members as team_members
from builders.portfolio.team.records import Access, TeamRole
from builders.profile import profiles

# Those of `enabled`, `timezone`, `channels` and `events` depend on the member, the portfolio and the digest.
DEFAULTS: Settings = MappingProxyType(
    {
        "channels": {"in_app": {"enabled": True}},
        "expiry": {
            "thresholds": [90, 60, 30, 14, 7, 3, 1, 0, -1],
            "include_auto_renew_on": True,
            "repeat_until_ack": False,
        },
        "quiet_hours": {"enabled": False, "start": "22:00", "end": "07:00"},
        "digest": {
            "enabled": False,
            "frequency": "daily",
            "weekday": Weekday.MONDAY,
            "hour": 8,
            "include": list(Topic),
        },
        "muted_domains": [],
        "muted_tags": [],
        "cost_alert": {"monthly_renewals_above": None},
    }
)
_OWNER_DECIDES = "Only the portfolio's own account can change the events of its webhooks."


async def get_preferences(conn: Conn, *, access: Access) -> OwnPreferences:
    """Return the preferences of the caller in the portfolio."""
    found = await store.find_settings(conn, account_id=access.portfolio_id, member_id=access.member_id)
    return await _own(conn, access, found or {})


async def change_preferences(conn: Conn, *, keyring: Keyring, access: Access, patch: Settings) -> OwnPreferences:
    """Merge a patch into the preferences of the caller; null resets a member to its default, arrays replace.

    Enabling email ends an opt-out. Raise Invalid for a setting without effect.
    """
    row = {"account_id": access.portfolio_id, "member_id": access.member_id, "now": clock.now()}
    settings = merge(await store.lock_settings(conn, **row), patch)
    own = await _own(conn, access, settings)
    if own.preferences.quiet_hours.start == own.preferences.quiet_hours.end:
        message = "The start and the end of quiet hours must differ."
        raise Invalid(("body", "quiet_hours", "end"), message, "quiet_hours_empty")
    if own.preferences.channels.webhook.enabled and access.member_id != access.owner_id:
        raise Invalid(("body", "channels", "webhook", "enabled"), _OWNER_DECIDES, "owner_decides")
    await store.save_settings(conn, **row, settings=Jsonb(settings))
    email = (patch.get("channels") or {}).get("email") or {}
    if own.is_verified and email.get("enabled"):
        await optouts.subscribe(conn, keyring=keyring, address=own.address, topic=MailTopic.RENEWALS)
    return own


def merge(settings: Settings, patch: Settings) -> dict[str, Any]:
    """Return the settings with a patch (RFC 7396); an object that has become empty is removed."""
    merged = dict(settings)
    for name, value in patch.items():
        if isinstance(value, Mapping):
            inner = merged.get(name)
            value = merge(inner if isinstance(inner, Mapping) else {}, value) or None  # noqa: PLW2901 - the merged value
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


async def list_recipients(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, Sequence[Recipient]]:
    """Return the members of portfolios with enabled notices, by the account of the portfolio."""
    owners = await accounts.load_real_accounts(conn, account_ids=account_ids)
    roles = await team_members.list_roles(conn, account_ids=account_ids)
    found = await store.list_settings(conn, account_ids=account_ids)
    stored = {(account_id, member_id): settings for account_id, member_id, settings in found}
    members = dict.fromkeys(owners.items(), TeamRole.OWNER)
    # Notices are off for others until they turn them on.
    members |= {key: role for key, role in roles.items() if key in stored and key[0] in owners}
    zones = await profiles.list_time_zones(conn, account_ids={member_id for _, member_id in members})
    recipients: dict[UUID, list[Recipient]] = {each: [] for each in account_ids}
    for (account_id, member_id), role in members.items():
        is_owner = owners[account_id] == member_id
        preferences = with_defaults(
            stored.get((account_id, member_id), {}),
            is_owner=is_owner,
            is_sandbox=owners[account_id] != account_id,
            zone=zones.get(member_id),
        )
        if preferences.enabled:
            recipients[account_id].append(Recipient(account_id, member_id, role, is_owner, preferences))
    return recipients


async def _own(conn: Conn, access: Access, settings: Settings) -> OwnPreferences:
    account = await accounts.get_account(conn, account_id=access.member_id)
    zones = await profiles.list_time_zones(conn, account_ids=[access.member_id])
    preferences = with_defaults(
        settings,
        is_owner=access.member_id == access.owner_id,
        is_sandbox=access.is_sandbox,
        zone=zones.get(access.member_id),
    )
    is_verified = account.email_verified_at is not None
    return OwnPreferences(preferences=preferences, address=account.email, is_verified=is_verified)


def with_defaults(settings: Settings, *, is_owner: bool, is_sandbox: bool, zone: str | None) -> Preferences:
    """Return preferences with their defaults."""
    of_member = {
        "enabled": is_owner,
        "timezone": zone or "UTC",
        "channels": {"email": {"enabled": not is_sandbox}, "webhook": {"enabled": is_owner}},
    }
    known = merge(merge(DEFAULTS, of_member), settings)
    digest, chosen = known["digest"], known.get("events", {})
    events = {
        name: {
            "enabled": kind.is_on or (kind.in_digest and digest["enabled"] and kind.topic in digest["include"]),
            "channels": None,
            **chosen.get(name, {}),
        }
        for name, kind in EVENT_KINDS.items()
    }
    return Preferences.model_validate({**known, "events": events})
