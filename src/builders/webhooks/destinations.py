"""Destinations of an account: validate, create, read, update, rotate the secret, delete; also many at once."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid, RotationInProgress
from builders.kit.events import outbox
from builders.kit.http import idempotency
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import PageRequest
from builders.kit.limits import maximums
from builders.kit.mandates import Mandate
from builders.kit.outbound.client import Outbound, Rule, UrlRefused
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.kit.values.conflicts import KeysTaken, ResourcesChanged
from builders.webhooks import catalog, signatures
from builders.webhooks.errors import SecretsGone, WebhookLimit, WebhookNotFound
from builders.webhooks.events import WEBHOOK_CREATED, WEBHOOK_DELETED, WEBHOOK_UPDATED, webhook_data
from builders.webhooks.records import (
    Destination,
    DestinationSpec,
    DisabledReason,
    ManagedDestination,
    ManagedFields,
    NewDestination,
    ValidatedUrls,
)
from builders.webhooks.store import destinations as store

MAX_DESTINATIONS = maximums.declare(
    "webhooks", 50, of="account", counts="Webhook destinations.", code="webhook_limit"
)
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
    mandate: Mandate | None = None,
) -> NewDestination:
    """Create a destination; publish webhook.created. Without `secret`, generate one and return it.

    A repetition with the same Idempotency-Key returns the destination without its secret.
    Raise Invalid for members of the body, WebhookLimit, MandateExceeded.
    """
    validated = await _validate(outbound, url=url, events=events, secret=secret)
    spec = DestinationSpec(
        id=idempotency.new_id(),
        label=label,
        url=validated or url,
        enabled=enabled,
        events=list(dict.fromkeys(events)),
        secret=secret or signatures.generate_secret(),
    )
    async with database.transaction() as conn:
        made = await store.find(conn, account_id=account_id, destination_id=spec.id, now=clock.now())
        if made is not None:
            return NewDestination(**asdict(made))
        if mandate is not None:
            await _require_allowed(conn, mandate, account_id, spec)
        await create_destinations(conn, keyring=keyring, account_id=account_id, specs=[spec])
        destination = await get_destination(conn, account_id=account_id, destination_id=spec.id)
    return NewDestination(**asdict(destination), signing_secret=spec.secret if secret is None else None)


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
    """Return all destinations of the account, newest first; at most `MAX_DESTINATIONS`."""
    return await store.list_all(conn, account_id=account_id, now=clock.now())


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
    patch: Mapping[str, Any],
    expected: WriteCondition,
    mandate: Mandate | None = None,
) -> Destination:
    """Change the members in the patch; publish webhook.updated. Enabling a destination again resets its failures.

    Raise WebhookNotFound, VersionMismatch, Invalid for members of the body, MandateExceeded.
    """
    async with database.connection() as conn:
        await is_enabled(conn, account_id=account_id, destination_id=destination_id)
    url = await _validate(outbound, url=patch.get("url"), events=patch.get("events"), secret=None)
    async with database.transaction() as conn:
        before = await _lock(conn, account_id=account_id, destination_id=destination_id)
        expected.check(of=before.id, version=before.version)
        events = list(dict.fromkeys(patch.get("events", before.events)))
        change = replace(before, **{**patch, "url": url or before.url, "events": events})
        if mandate is not None:
            await _require_allowed(conn, mandate, account_id, change)
        await _update(conn, account_id, [change])
        return await get_destination(conn, account_id=account_id, destination_id=destination_id)


async def list_new_hosts(conn: Conn, *, account_id: UUID, urls: Iterable[str]) -> set[str]:
    """Return the hosts of the URLs to which the account sends no events: of none of its enabled destinations."""
    hosts = {host_of(url) for url in urls}
    if not hosts:
        return set()
    return hosts - {host_of(each.url) for each in await list_managed(conn, account_id=account_id) if each.enabled}


def host_of(url: str) -> str:
    """Return the host of a URL, with its port if the URL names one."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


async def _require_allowed(conn: Conn, mandate: Mandate, account_id: UUID, wanted: ManagedFields) -> None:
    """Raise MandateExceeded: a webhook is of no project, and its host can be new."""
    mandate.require_project(None)
    if wanted.enabled:
        mandate.require_known(await list_new_hosts(conn, account_id=account_id, urls=[wanted.url]))


async def rotate_secret(
    conn: Conn, *, keyring: Keyring, account_id: UUID, destination_id: UUID, overlap: timedelta, secret: str | None
) -> NewDestination:
    """Replace the secret; publish webhook.updated. The previous one also signs until the overlap ends.

    Raise WebhookNotFound, Invalid, RotationInProgress when two secrets sign already.
    """
    if errors := _secret_errors(secret):
        raise Invalid.many(errors)
    now, used = clock.now(), signatures.generate_secret() if secret is None else secret
    await _lock(conn, account_id=account_id, destination_id=destination_id)
    before = await get_destination(conn, account_id=account_id, destination_id=destination_id)
    if before.old_secret_until is not None and overlap:
        raise RotationInProgress(
            f"The previous secret signs until {before.old_secret_until:%Y-%m-%dT%H:%M:%SZ}.",
            next_action="Wait until then, or send overlap_hours 0, which ends both secrets immediately.",
        )
    await store.rotate(
        conn,
        account_id=account_id,
        destination_id=before.id,
        secret=signatures.seal_secret(keyring, used, account_id=account_id, destination_id=before.id),
        secret_hint=signatures.hint_of(used),
        old_secret_until=now + overlap,
        now=now,
    )
    after = await get_destination(conn, account_id=account_id, destination_id=destination_id)
    data = webhook_data(after, after.disabled_reason)
    await outbox.publish(conn, WEBHOOK_UPDATED, account_id=account_id, data=data)
    return NewDestination(**asdict(after), signing_secret=used if secret is None else None)


async def delete_destination(
    conn: Conn, *, account_id: UUID, destination_id: UUID, expected: WriteCondition
) -> Destination:
    """Delete a destination and its pending deliveries; publish webhook.deleted; return the deleted destination.

    Raise WebhookNotFound, VersionMismatch.
    """
    locked = await _lock(conn, account_id=account_id, destination_id=destination_id)
    before = await get_destination(conn, account_id=account_id, destination_id=destination_id)
    expected.check(of=before.id, version=before.version)
    await _delete(conn, account_id, [locked])
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


async def _lock(conn: Conn, *, account_id: UUID, destination_id: UUID) -> ManagedDestination:
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
    if errors:
        raise Invalid.many(errors)
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
                if len(wanted) > MAX_DESTINATIONS:
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
    message = None if secret is None else signatures.find_secret_error(secret)
    if message is None:
        return []
    return [{"loc": ("body", "signing_secret"), "msg": message, "type": "secret_not_allowed"}]


async def list_managed(conn: Conn, *, account_id: UUID) -> list[ManagedDestination]:
    """Return all destinations of the account with their manifest keys, oldest first; at most MAX_DESTINATIONS."""
    return await store.list_managed(conn, account_id=account_id)


async def create_destinations(
    conn: Conn, *, keyring: Keyring, account_id: UUID, specs: Sequence[DestinationSpec]
) -> None:
    """Insert destinations with validated URLs; publish webhook.created for each.

    Each gets the secret of its specification, of an existing destination or of another one in the batch, or a
    generated one, which can be revealed once. Raise WebhookLimit, KeysTaken, SecretsGone.
    """
    await store.lock_account(conn, account_id=account_id)
    if await store.count(conn, account_id=account_id) + len(specs) > MAX_DESTINATIONS:
        raise WebhookLimit(f"An account has up to {MAX_DESTINATIONS} webhook destinations.")
    await _check_keys(conn, account_id, specs)
    secrets = await _secrets(conn, keyring, account_id, specs)
    stored = [
        signatures.stored_secret(
            keyring,
            secrets[each.id],
            account_id=account_id,
            destination_id=each.id,
            is_unseen=each.secret is None and each.secret_from is None,
        )
        for each in specs
    ]
    await store.insert(conn, account_id=account_id, specs=specs, secrets=stored, now=clock.now())
    data = [webhook_data(each, None if each.enabled else DisabledReason.MANUAL) for each in specs]
    await outbox.publish_many(conn, WEBHOOK_CREATED, [(account_id, each) for each in data])


async def _secrets(
    conn: Conn, keyring: Keyring, account_id: UUID, specs: Sequence[DestinationSpec]
) -> dict[UUID, str]:
    """Return given, generated and copied secrets by destination id; follow copies of copies within the batch."""
    known = {each.id: each.secret or signatures.generate_secret() for each in specs if each.secret_from is None}
    copies = {each.id: each.secret_from for each in specs if each.secret_from}
    if sources := set(copies.values()) - known.keys():
        sealed = await store.list_secrets(conn, account_id=account_id, destination_ids=list(sources))
        known |= {
            each: signatures.unseal_secret(keyring, secret, account_id=account_id, destination_id=each)
            for each, secret in sealed.items()
        }
    while ready := {each: source for each, source in copies.items() if each not in known and source in known}:
        known |= {each: known[source] for each, source in ready.items()}
    if lost := copies.keys() - known.keys():
        raise SecretsGone(lost)
    return known


async def update_destinations(conn: Conn, *, account_id: UUID, changes: Sequence[ManagedDestination]) -> None:
    """Update destinations that still have the given version; publish webhook.updated for each.

    Two destinations can swap their manifest keys in one batch. Raise ResourcesChanged, KeysTaken.
    """
    await _lock_unchanged(conn, account_id, {change.id: change.version for change in changes})
    await _check_keys(conn, account_id, changes)
    await _update(conn, account_id, changes)


async def _update(conn: Conn, account_id: UUID, changes: Sequence[ManagedDestination]) -> None:
    """Update destinations that this transaction has locked; publish webhook.updated for each."""
    reasons = await store.update(conn, account_id=account_id, changes=changes, now=clock.now())
    data = [webhook_data(each, reasons[each.id]) for each in changes]
    await outbox.publish_many(conn, WEBHOOK_UPDATED, [(account_id, each) for each in data])


async def delete_destinations(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> None:
    """Delete destinations that still have the given version; publish webhook.deleted for each.

    Raise ResourcesChanged.
    """
    await _delete(conn, account_id, await _lock_unchanged(conn, account_id, versions))


async def _delete(conn: Conn, account_id: UUID, destinations: Sequence[ManagedDestination]) -> None:
    """Delete destinations that this transaction has locked; publish webhook.deleted for each."""
    await store.delete(conn, account_id=account_id, destination_ids=[each.id for each in destinations])
    data = [webhook_data(each, each.disabled_reason) for each in destinations]
    await outbox.publish_many(conn, WEBHOOK_DELETED, [(account_id, each) for each in data])


async def reveal_secrets(
    conn: Conn, *, keyring: Keyring, account_id: UUID, destination_ids: Sequence[UUID]
) -> Mapping[UUID, str]:
    """Return generated secrets that were never shown, by destination id. Each secret is returned once."""
    unseen = await store.take_unseen(conn, account_id=account_id, destination_ids=destination_ids)
    return {
        each: signatures.unseal_secret(keyring, secret, account_id=account_id, destination_id=each)
        for each, secret in unseen.items()
    }


async def _lock_unchanged(
    conn: Conn, account_id: UUID, versions: Mapping[UUID, int]
) -> Sequence[ManagedDestination]:
    locked = await store.lock(conn, account_id=account_id, destination_ids=list(versions))
    unchanged = [each for each in locked if each.version == versions[each.id]]
    if changed := versions.keys() - {each.id for each in unchanged}:
        raise ResourcesChanged(changed)
    return unchanged


async def _check_keys(
    conn: Conn, account_id: UUID, wanted: Sequence[DestinationSpec | ManagedDestination]
) -> None:
    if taken := await store.list_taken_keys(conn, account_id=account_id, wanted=wanted):
        raise KeysTaken(taken)
