"""Destinations: made, shown, changed, given a new secret, deleted."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.identity import service as identity
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.outbound.client import Outbound, Rule, UrlRefused
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.webhooks import catalog, signing
from builders.webhooks.errors import RotationUnderWay, WebhookLimit, WebhookNotFound
from builders.webhooks.events import WEBHOOK_CREATED, WEBHOOK_DELETED, WEBHOOK_UPDATED, WebhookData
from builders.webhooks.records import Destination, NewDestination
from builders.webhooks.store import destinations as store

MAX_DESTINATIONS = 50  # of one account
Error = dict[str, Any]  # of a 422: loc, msg, type


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
    """A destination; a secret that is not given is made, and stands in the answer. Publishes webhook.created.

    Raises Invalid at the members of the body, WebhookLimit.
    """
    judged = await _validate(outbound, url=url, events=events, secret=secret)
    destination_id, now, made = ids.new(), clock.now(), signing.generate_secret() if secret is None else secret
    async with database.transaction() as conn:
        await store.lock_account(conn, account_id=account_id)
        if await store.count(conn, account_id=account_id) >= MAX_DESTINATIONS:
            raise WebhookLimit(
                f"An account has up to {MAX_DESTINATIONS} webhook destinations.",
                next_action="Delete one that is not used.",
            )
        await store.insert(
            conn,
            account_id=account_id,
            destination_id=destination_id,
            label=label,
            url=judged or url,
            enabled=enabled,
            events=catalog.unique_names(events),
            secret=signing.seal_secret(keyring, made, account_id=account_id, destination_id=destination_id),
            secret_hint=signing.hint_of(made),
            now=now,
        )
        destination = await get_destination(conn, account_id=account_id, destination_id=destination_id)
        await _publish(conn, WEBHOOK_CREATED, destination)
    return NewDestination(destination=destination, secret=made if secret is None else None)


async def get_destination(conn: Conn, *, account_id: UUID, destination_id: UUID) -> Destination:
    """A destination of the account and how it is. Raises WebhookNotFound."""
    found = await store.find(conn, account_id=account_id, destination_id=destination_id, now=clock.now())
    if found is None:
        raise WebhookNotFound
    return found


async def find_enabled(conn: Conn, *, account_id: UUID, destination_id: UUID) -> tuple[UUID, bool]:
    """Its id, and whether it is enabled; nothing is counted. Raises WebhookNotFound."""
    enabled = await store.find_enabled(conn, account_id=account_id, destination_id=destination_id)
    if enabled is None:
        raise WebhookNotFound
    return destination_id, enabled


async def _locked(conn: Conn, *, account_id: UUID, destination_id: UUID) -> Destination:
    """As `get`, and nobody else changes it until the transaction ends."""
    await store.lock(conn, account_id=account_id, destination_id=destination_id)
    return await get_destination(conn, account_id=account_id, destination_id=destination_id)


async def list_all(conn: Conn, *, account_id: UUID) -> Sequence[Destination]:
    """The account's destinations, newest first; there are few."""
    return (await store.list_all(conn, account_id=account_id, now=clock.now()))[::-1]


async def list_destinations(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[Destination]:
    """Some of the account's destinations, newest first."""
    rows = [each for each in await list_all(conn, account_id=account_id) if each.id < page.before_id]
    return page.cut(rows, lambda each: [str(each.id)])


async def update_destination(
    database: Database,
    *,
    outbound: Outbound,
    account_id: UUID,
    destination_id: UUID,
    expected: WriteCondition,
    label: str | None = None,
    url: str | None = None,
    enabled: bool | None = None,
    events: Sequence[str] | None = None,
) -> Destination:
    """Changes what is given; one that is enabled again begins anew. Publishes webhook.updated.

    Raises WebhookNotFound, VersionMismatch, Invalid at the members of the body.
    """
    async with database.connection() as conn:
        await find_enabled(conn, account_id=account_id, destination_id=destination_id)
    judged = await _validate(outbound, url=url, events=events, secret=None)
    async with database.transaction() as conn:
        before = await _locked(conn, account_id=account_id, destination_id=destination_id)
        expected.check(of=before.id, version=before.version)
        await store.update(
            conn,
            account_id=account_id,
            destination_id=before.id,
            label=label,
            url=judged,
            enabled=enabled,
            events=None if events is None else catalog.unique_names(events),
            now=clock.now(),
        )
        after = await get_destination(conn, account_id=account_id, destination_id=destination_id)
        await _publish(conn, WEBHOOK_UPDATED, after)
    return after


async def rotate_secret(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    destination_id: UUID,
    overlap: timedelta,
    secret: str | None,
) -> NewDestination:
    """A new secret; the one before signs too for the overlap. Publishes webhook.updated.

    Raises WebhookNotFound, Invalid, RotationUnderWay: of two that were there before, one would end unasked.
    """
    _raise_invalid(_secret_errors(secret))
    now, made = clock.now(), signing.generate_secret() if secret is None else secret
    before = await _locked(conn, account_id=account_id, destination_id=destination_id)
    if before.old_secret_until is not None and overlap:
        raise RotationUnderWay(
            f"The secret before the present one signs until {before.old_secret_until.isoformat()}.",
            next_action="Wait until then, or say overlap_hours 0, which ends both at once.",
        )
    await store.rotate(
        conn,
        account_id=account_id,
        destination_id=before.id,
        secret=signing.seal_secret(keyring, made, account_id=account_id, destination_id=before.id),
        secret_hint=signing.hint_of(made),
        old_secret_until=now + overlap,
        now=now,
    )
    after = await get_destination(conn, account_id=account_id, destination_id=destination_id)
    await _publish(conn, WEBHOOK_UPDATED, after)
    return NewDestination(destination=after, secret=made if secret is None else None)


async def delete_destination(
    conn: Conn, *, account_id: UUID, destination_id: UUID, expected: WriteCondition
) -> Destination:
    """Removes a destination, and what is pending for it; the destination as it was. Publishes webhook.deleted.

    Raises WebhookNotFound, also the second time, VersionMismatch.
    """
    before = await _locked(conn, account_id=account_id, destination_id=destination_id)
    expected.check(of=before.id, version=before.version)
    await store.delete(conn, account_id=account_id, destination_id=before.id)
    await _publish(conn, WEBHOOK_DELETED, before)
    return before


async def _validate(
    outbound: Outbound, *, url: str | None, events: Sequence[str] | None, secret: str | None
) -> str | None:
    """The URL as it is to be kept, if one is given; asks name servers. Raises Invalid for all that is wrong."""
    errors: list[Error] = [*catalog.event_errors(events or ()), *_secret_errors(secret)]
    judged = None
    try:
        judged = None if url is None else await validate_url(outbound, url)
    except UrlRefused as refused:
        errors.append({"loc": ("body", "url"), "msg": refused.message, "type": "url_not_allowed"})
    _raise_invalid(errors)
    return judged


async def validate_url(outbound: Outbound, url: str) -> str:
    """The URL as it is to be kept; asks name servers. Raises UrlRefused."""
    target = outbound.judge_url(url)
    try:
        await outbound.judge_host(target)
    except UrlRefused as refused:
        # Of a receiver that is not up yet its name may not be either, and each delivery looks again.
        if refused.rule is not Rule.UNRESOLVED:
            raise
    return target.url


def _secret_errors(secret: str | None) -> list[Error]:
    said = None if secret is None else signing.find_secret_error(secret)
    return [] if said is None else [{"loc": ("body", "signing_secret"), "msg": said, "type": "secret_not_allowed"}]


def _raise_invalid(errors: Sequence[Error]) -> None:
    if errors:
        raise Invalid.many(errors)


async def _publish(conn: Conn, event: Event, destination: Destination) -> None:
    data = WebhookData(
        id=destination.id,
        label=destination.label,
        url=destination.url,
        enabled=destination.enabled,
        events=list(destination.events),
        disabled_reason=destination.disabled_reason,
    )
    await outbox.publish(conn, event, account_id=destination.account_id, data=data)


async def count_destinations(conn: Conn, *, account_id: UUID) -> int:
    """How many destinations the account has. One statement."""
    return await store.count(conn, account_id=account_id)


async def clear_destinations(conn: Conn, *, account_id: UUID) -> tuple[int, int]:
    """Deletes a sandbox account's destinations and all deliveries; how many of each there were.

    What is being sent right now arrives, and is written down nowhere. Raises ValueError for a live account.
    """
    await identity.require_sandbox_account(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)
