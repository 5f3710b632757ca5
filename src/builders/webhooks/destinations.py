"""Destinations of an account: validate, create, read, update, rotate the secret, delete."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid, RotationInProgress
from builders.kit.events import outbox
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.outbound.client import Outbound, Rule, UrlRefused
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.patches import UNSET, patched
from builders.webhooks import batches, catalog, signing
from builders.webhooks.errors import WebhookNotFound
from builders.webhooks.events import WEBHOOK_UPDATED, webhook_data
from builders.webhooks.records import (
    Destination,
    DestinationChange,
    DestinationPatch,
    DestinationSpec,
    NewDestination,
    ValidatedUrls,
)
from builders.webhooks.store import destinations as store, secrets as secret_store
from builders.webhooks.store.destinations import LockedDestination

MAX_LOOKUPS = 10  # concurrent DNS queries of one batch, so that the times of slow ones do not add up
Error = dict[str, Any]  # of a 422 response: loc, msg, type


async def create_destination(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    label: str,
    url: str,
    enabled: bool,
    events: Sequence[str],
    secret: str | None,
) -> NewDestination:
    """Create a destination; publish webhook.created. Without `secret`, generate one and return it.

    Raise Invalid for members of the body, WebhookLimit.
    """
    validated = await _validate(outbound, url=url, events=events, secret=secret)
    used = signing.generate_secret() if secret is None else secret
    spec = DestinationSpec(
        id=ids.new(), label=label, url=validated or url, enabled=enabled, events=catalog.unique_names(events)
    )
    async with database.transaction() as conn:
        await batches.check_limit(conn, account_id=account_id, new=1)
        await batches.insert(
            conn, keyring=keyring, account_id=account_id, specs=[spec], secrets={spec.id: used}, unseen=()
        )
        destination = await get_destination(conn, account_id=account_id, destination_id=spec.id)
    return NewDestination(destination=destination, secret=used if secret is None else None)


async def get_destination(conn: Conn, *, account_id: UUID, destination_id: UUID) -> Destination:
    """Return a destination of the account with its health. Raise WebhookNotFound."""
    found = await store.find(conn, account_id=account_id, destination_id=destination_id, now=clock.now())
    if found is None:
        raise WebhookNotFound
    return found


async def is_enabled(conn: Conn, *, account_id: UUID, destination_id: UUID) -> bool:
    """Return whether the destination is enabled, without its health. Raise WebhookNotFound."""
    enabled = await store.find_enabled(conn, account_id=account_id, destination_id=destination_id)
    if enabled is None:
        raise WebhookNotFound
    return enabled


async def list_all(conn: Conn, *, account_id: UUID) -> Sequence[Destination]:
    """Return all destinations of the account, newest first; at most `batches.MAX_DESTINATIONS`."""
    return (await store.list_all(conn, account_id=account_id, now=clock.now()))[::-1]


async def list_destinations(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[Destination]:
    """Return a page of the account's destinations, newest first."""
    rows = [each for each in await list_all(conn, account_id=account_id) if each.id < page.before_id]
    return page.cut(rows, lambda each: [str(each.id)])


async def update_destination(
    database: Database,
    *,
    outbound: Outbound,
    account_id: UUID,
    destination_id: UUID,
    patch: DestinationPatch,
    expected: WriteCondition,
) -> Destination:
    """Apply a patch; publish webhook.updated. Enabling a destination again resets its failures.

    Raise WebhookNotFound, VersionMismatch, Invalid for members of the body.
    """
    async with database.connection() as conn:
        await is_enabled(conn, account_id=account_id, destination_id=destination_id)
    url = await _validate(outbound, url=patched(patch.url, None), events=patched(patch.events, ()), secret=None)
    async with database.transaction() as conn:
        before = await _lock(conn, account_id=account_id, destination_id=destination_id)
        expected.check(of=before.id, version=before.version)
        change = DestinationChange(
            id=before.id,
            version=before.version,
            label=patched(patch.label, before.label),
            url=before.url if url is None else url,
            enabled=patched(patch.enabled, before.enabled),
            events=before.events if patch.events is UNSET else catalog.unique_names(patch.events),
            manifest=before.manifest,
            manifest_key=before.manifest_key,
        )
        await batches.update_locked(conn, account_id=account_id, changes=[change])
        return await get_destination(conn, account_id=account_id, destination_id=destination_id)


async def rotate_secret(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    destination_id: UUID,
    overlap: timedelta,
    secret: str | None,
) -> NewDestination:
    """Replace the secret; publish webhook.updated. The previous one also signs until the overlap ends.

    Raise WebhookNotFound, Invalid, RotationInProgress when two secrets sign already.
    """
    _raise_invalid(_secret_errors(secret))
    now, used = clock.now(), signing.generate_secret() if secret is None else secret
    await _lock(conn, account_id=account_id, destination_id=destination_id)
    before = await get_destination(conn, account_id=account_id, destination_id=destination_id)
    if before.old_secret_until is not None and overlap:
        raise RotationInProgress(
            f"The previous secret signs until {before.old_secret_until:%Y-%m-%dT%H:%M:%SZ}.",
            next_action="Wait until then, or send overlap_hours 0, which ends both secrets immediately.",
        )
    await secret_store.rotate(
        conn,
        account_id=account_id,
        destination_id=before.id,
        secret=signing.seal_secret(keyring, used, account_id=account_id, destination_id=before.id),
        secret_hint=signing.hint_of(used),
        old_secret_until=now + overlap,
        now=now,
    )
    after = await get_destination(conn, account_id=account_id, destination_id=destination_id)
    data = webhook_data(after, after.disabled_reason)
    await outbox.publish(conn, WEBHOOK_UPDATED, account_id=account_id, data=data)
    return NewDestination(destination=after, secret=used if secret is None else None)


async def delete_destination(
    conn: Conn, *, account_id: UUID, destination_id: UUID, expected: WriteCondition
) -> Destination:
    """Delete a destination and its pending deliveries; publish webhook.deleted; return the deleted destination.

    Raise WebhookNotFound, VersionMismatch.
    """
    locked = await _lock(conn, account_id=account_id, destination_id=destination_id)
    before = await get_destination(conn, account_id=account_id, destination_id=destination_id)
    expected.check(of=before.id, version=before.version)
    await batches.delete_locked(conn, account_id=account_id, destinations=[locked])
    return before


async def count_destinations(conn: Conn, *, account_id: UUID) -> int:
    """Return the number of the account's destinations, in one statement."""
    return await store.count(conn, account_id=account_id)


async def clear_destinations(conn: Conn, *, account_id: UUID) -> tuple[int, int]:
    """Delete the destinations and deliveries of a sandbox account; return the number of each.

    A request in progress still reaches its receiver, but is not recorded. Raise ValueError for a live account.
    """
    await accounts.require_sandbox_account(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)


async def _lock(conn: Conn, *, account_id: UUID, destination_id: UUID) -> LockedDestination:
    locked = await store.lock(conn, account_id=account_id, destination_ids=[destination_id])
    if not locked:
        raise WebhookNotFound
    return locked[0]


async def _validate(
    outbound: Outbound, *, url: str | None, events: Sequence[str] | None, secret: str | None
) -> str | None:
    """Return the normalized URL, if one is given. Raise Invalid with all errors of the body."""
    errors: list[Error] = [*catalog.event_errors(events or ()), *_secret_errors(secret)]
    validated = None
    try:
        validated = None if url is None else await validate_url(outbound, url)
    except UrlRefused as refused:
        errors.append({"loc": ("body", "url"), "msg": refused.message, "type": "url_not_allowed"})
    _raise_invalid(errors)
    return validated


async def validate_url(outbound: Outbound, url: str) -> str:
    """Return the normalized URL of a destination; resolve its host. Raise UrlRefused."""
    target = outbound.validate_url(url)
    try:
        await outbound.validate_host(target)
    except UrlRefused as refused:
        # A receiver that is not set up yet may have no DNS record. Each delivery checks the host again.
        if refused.rule is not Rule.UNRESOLVED:
            raise
    return target.url


async def validate_urls(outbound: Outbound, urls: Iterable[str]) -> ValidatedUrls:
    """Return which URLs a destination can have. Resolves hosts, so the caller holds no transaction.

    More URLs than an account can have destinations are not resolved: only their form is checked.
    """
    wanted = sorted(set(urls))
    slots = asyncio.Semaphore(MAX_LOOKUPS)

    async def validate(url: str) -> str | UrlRefused:
        async with slots:
            try:
                if len(wanted) > batches.MAX_DESTINATIONS:
                    return outbound.validate_url(url).url
                return await validate_url(outbound, url)
            except UrlRefused as refusal:
                return refusal

    found = dict(zip(wanted, await asyncio.gather(*map(validate, wanted)), strict=True))
    return ValidatedUrls(
        kept={url: result for url, result in found.items() if isinstance(result, str)},
        refused={url: result.message for url, result in found.items() if isinstance(result, UrlRefused)},
    )


def validate_events(events: Sequence[str]) -> Sequence[str]:
    """Return the errors of the event names and patterns of a destination."""
    return [str(error["msg"]) for error in catalog.event_errors(events)]


def _secret_errors(secret: str | None) -> list[Error]:
    message = None if secret is None else signing.find_secret_error(secret)
    if message is None:
        return []
    return [{"loc": ("body", "signing_secret"), "msg": message, "type": "secret_not_allowed"}]


def _raise_invalid(errors: Sequence[Error]) -> None:
    if errors:
        raise Invalid.many(errors)
