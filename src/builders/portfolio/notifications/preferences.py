"""Preferences of the members of a portfolio: the settings of a member over the defaults."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.mail import service as mail
from builders.mail.records import Topic as MailTopic
from builders.portfolio.notifications import rules
from builders.portfolio.notifications.event_kinds import OWN_EVENTS
from builders.portfolio.notifications.records import OwnPreferences, Preferences, Threshold
from builders.portfolio.notifications.store import preferences as store
from builders.portfolio.team import members as team_members
from builders.portfolio.team.records import Access, TeamRole
from builders.profile import profiles
from builders.webhooks import batches, catalog

Settings = Mapping[str, Any]  # the settings of a member: the JSON of preferences without defaults

_OWNER_DECIDES = "Only the portfolio's own account can change the events of its webhooks."
_preferences = TypeAdapter(Preferences)
_thresholds = TypeAdapter(list[Threshold])


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """A member of a portfolio that can be notified."""

    account_id: UUID  # of the portfolio
    member_id: UUID
    role: TeamRole
    is_owner: bool  # whether it is the portfolio's own account
    preferences: Preferences


async def get_preferences(conn: Conn, *, access: Access) -> OwnPreferences:
    """Return the preferences of the caller in the portfolio."""
    settings = await store.find_settings(conn, account_id=access.portfolio_id, member_id=access.member_id)
    return await _own(conn, access, settings or {})


async def change_preferences(conn: Conn, *, keyring: Keyring, access: Access, patch: Settings) -> OwnPreferences:
    """Merge a patch into the preferences of the caller; null resets a member to its default, arrays replace.

    Enabling email ends an opt-out. Raise Invalid for a setting without effect.
    """
    now = clock.now()
    stored = await store.lock_settings(conn, account_id=access.portfolio_id, member_id=access.member_id, now=now)
    patch, merged_days = _merge_thresholds(patch)
    await _check_webhooks(conn, access, _get(patch, "channels", "webhook", "webhook_ids") or ())
    settings = merge(stored, patch)
    own = await _own(conn, access, settings)
    _check(own.preferences, is_owner=access.member_id == access.owner_id)
    await store.save_settings(
        conn, account_id=access.portfolio_id, member_id=access.member_id, settings=settings, now=now
    )
    if own.is_verified and _get(patch, "channels", "email", "enabled"):
        await mail.subscribe(conn, keyring=keyring, address=own.address, topic=MailTopic.RENEWALS)
    return replace(own, merged_days=merged_days)


def _merge_thresholds(patch: Settings) -> tuple[Settings, Sequence[int]]:
    """Return the patch with one threshold for each number of days, and the days that it held more than once."""
    sent = _get(patch, "expiry", "thresholds")
    if sent is None:
        return patch, ()
    merged, merged_days = rules.merge_thresholds(_thresholds.validate_python(sent))
    stored = _thresholds.dump_python(merged, mode="json", exclude_defaults=True)
    return {**patch, "expiry": {**patch["expiry"], "thresholds": stored}}, merged_days


def _get(settings: Settings, *path: str) -> Any:  # a value of JSON
    found: Any = settings
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _check(preferences: Preferences, *, is_owner: bool) -> None:
    if preferences.quiet_hours.start == preferences.quiet_hours.end:
        message = "The start and the end of quiet hours must differ."
        raise Invalid(("body", "quiet_hours", "end"), message, "quiet_hours_empty")
    if preferences.channels.webhook.enabled and not is_owner:
        raise Invalid(("body", "channels", "webhook", "enabled"), _OWNER_DECIDES, "owner_decides")


async def _check_webhooks(conn: Conn, access: Access, webhook_ids: Sequence[str]) -> None:
    if webhook_ids and access.member_id != access.owner_id:
        raise Invalid(("body", "channels", "webhook", "webhook_ids"), _OWNER_DECIDES, "owner_decides")
    found = await batches.list_managed(conn, account_id=access.portfolio_id) if webhook_ids else ()
    known = {each.id for each in found}
    for at, text in enumerate(webhook_ids):
        if ids.find(text) not in known:
            raise Invalid(
                ("body", "channels", "webhook", "webhook_ids", at),
                "The account has no such webhook destination.",
                "webhook_unknown",
            )


@catalog.filter_destinations(*OWN_EVENTS)
async def list_webhook_ids(conn: Conn, account_ids: Collection[UUID]) -> Mapping[UUID, Collection[UUID]]:
    """Return the destinations that the accounts of portfolios have selected for notices, of those that have."""
    owners = await accounts.find_real_accounts(conn, account_ids=account_ids)
    stored = await store.list_settings(conn, account_ids=account_ids)
    selected = {
        account_id: _get(settings, "channels", "webhook", "webhook_ids")
        for (account_id, member_id), settings in stored.items()
        if owners.get(account_id) == member_id
    }
    return {account_id: [UUID(each) for each in found] for account_id, found in selected.items() if found}


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
    owners = await accounts.find_real_accounts(conn, account_ids=account_ids)
    roles = await team_members.list_roles(conn, account_ids=account_ids)
    stored = await store.list_settings(conn, account_ids=account_ids)
    members = dict.fromkeys(owners.items(), TeamRole.OWNER)
    # Notices are off for others until they turn them on.
    members |= {key: role for key, role in roles.items() if key in stored and key[0] in owners}
    zones = await profiles.list_time_zones(conn, account_ids={member_id for _, member_id in members})
    recipients: dict[UUID, list[Recipient]] = {each: [] for each in account_ids}
    for (account_id, member_id), role in members.items():
        preferences = _read(
            stored.get((account_id, member_id), {}),
            is_owner=owners[account_id] == member_id,
            is_sandbox=owners[account_id] != account_id,
            zone=zones.get(member_id),
        )
        if preferences.enabled:
            recipients[account_id].append(
                Recipient(
                    account_id=account_id,
                    member_id=member_id,
                    role=role,
                    is_owner=owners[account_id] == member_id,
                    preferences=preferences,
                )
            )
    return recipients


async def _own(conn: Conn, access: Access, settings: Settings) -> OwnPreferences:
    account = await accounts.get_account(conn, account_id=access.member_id)
    zones = await profiles.list_time_zones(conn, account_ids=[access.member_id])
    preferences = _read(
        settings,
        is_owner=access.member_id == access.owner_id,
        is_sandbox=access.is_sandbox,
        zone=zones.get(access.member_id),
    )
    is_verified = account.email_verified_at is not None
    return OwnPreferences(preferences=preferences, address=account.email, is_verified=is_verified)


def _read(settings: Settings, *, is_owner: bool, is_sandbox: bool, zone: str | None) -> Preferences:
    """Return preferences with their defaults, some of which depend on the member and on the portfolio."""
    defaults = {
        "enabled": is_owner,
        "timezone": zone or "UTC",
        "channels": {"email": {"enabled": not is_sandbox}, "webhook": {"enabled": is_owner}},
    }
    return _preferences.validate_python(merge(defaults, settings))
