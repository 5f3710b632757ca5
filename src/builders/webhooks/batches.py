"""Destinations in sets, as a manifest has them: all or none, in a handful of statements for any number."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.outbound.client import Outbound, UrlRefused
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.webhooks import catalog, destinations, signing
from builders.webhooks.errors import SecretsGone, WebhookKeysTaken, WebhookLimit, WebhooksChanged
from builders.webhooks.events import WEBHOOK_CREATED, WEBHOOK_DELETED, WEBHOOK_UPDATED, WebhookData
from builders.webhooks.records import DestinationChange, DestinationSpec, ManagedDestination, ValidatedUrls
from builders.webhooks.store import batches as store, destinations as single

MAX_DESTINATIONS = destinations.MAX_DESTINATIONS
MAX_LOOKUPS = 10  # names that name servers are asked about, so that a few slow ones do not add up


async def validate_urls(outbound: Outbound, urls: Iterable[str]) -> ValidatedUrls:
    """Which of the URLs can be one of a destination. Asks name servers, so no transaction is open.

    Of more than an account may have only the form is judged: they cannot all be had, and nobody should make us ask
    thousands of questions.
    """
    wanted = sorted(set(urls))
    turn = asyncio.Semaphore(MAX_LOOKUPS)

    async def judge(url: str) -> str | UrlRefused:
        async with turn:
            try:
                if len(wanted) > MAX_DESTINATIONS:
                    return outbound.judge_url(url).url
                return await destinations.validate_url(outbound, url)
            except UrlRefused as refusal:
                return refusal

    found = dict(zip(wanted, await asyncio.gather(*map(judge, wanted)), strict=True))
    return ValidatedUrls(
        kept={url: judged for url, judged in found.items() if isinstance(judged, str)},
        refused={url: judged.message for url, judged in found.items() if isinstance(judged, UrlRefused)},
    )


def validate_events(events: Sequence[str]) -> Sequence[str]:
    """What is wrong with names of events that a destination is to get."""
    return [str(error["msg"]) for error in catalog.event_errors(events)]


async def list_managed(conn: Conn, *, account_id: UUID) -> list[ManagedDestination]:
    """All destinations of the account, with what manages them; there are few."""
    return await store.list_managed(conn, account_id=account_id)


async def create_destinations(
    conn: Conn, *, keyring: Keyring, account_id: UUID, specs: Sequence[DestinationSpec]
) -> None:
    """Makes destinations, all or none; publishes webhook.created for each. Their URLs are taken as judged.

    A secret is made, or copied from a destination that is there or among those made. Raises WebhookLimit,
    WebhookKeysTaken, SecretsGone.
    """
    await single.lock_account(conn, account_id=account_id)
    if await single.count(conn, account_id=account_id) + len(specs) > MAX_DESTINATIONS:
        raise WebhookLimit(
            f"An account has up to {MAX_DESTINATIONS} webhook destinations.", next_action="Delete one."
        )
    await _check_keys(conn, account_id, specs)
    secrets = await _secrets(conn, keyring, account_id, specs)
    sealed = {
        each.id: (
            signing.seal_secret(keyring, secrets[each.id], account_id=account_id, destination_id=each.id),
            signing.hint_of(secrets[each.id]),
        )
        for each in specs
    }
    await store.insert(conn, account_id=account_id, specs=specs, sealed=sealed, now=clock.now())
    await _publish(conn, WEBHOOK_CREATED, account_id, specs)


async def _secrets(
    conn: Conn, keyring: Keyring, account_id: UUID, specs: Sequence[DestinationSpec]
) -> dict[UUID, str]:
    made = {each.id: signing.generate_secret() for each in specs if each.is_generated}
    sources = {each.secret_from for each in specs if each.secret_from} - made.keys()
    sealed = await store.list_secrets(conn, account_id=account_id, destination_ids=list(sources))
    there = made | {
        each: signing.unseal_secret(keyring, secret, account_id=account_id, destination_id=each)
        for each, secret in sealed.items()
    }
    copies = {each.id: each.secret_from for each in specs if each.secret_from}
    while waiting := {each: of for each, of in copies.items() if each not in there and of in there}:
        there |= {each: there[of] for each, of in waiting.items()}
    if lost := copies.keys() - there.keys():
        raise SecretsGone(lost)
    return there


async def update_destinations(conn: Conn, *, account_id: UUID, changes: Sequence[DestinationChange]) -> None:
    """Changes destinations that still have their version, all or none; publishes webhook.updated for each.

    Keys of a manifest can be swapped within one call. Raises WebhooksChanged, WebhookKeysTaken.
    """
    await _locked(conn, account_id, {change.id: change.version for change in changes})
    await _check_keys(conn, account_id, changes)
    await store.update(conn, account_id=account_id, changes=changes, now=clock.now())
    await _publish(conn, WEBHOOK_UPDATED, account_id, changes)


async def delete_destinations(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> None:
    """Removes destinations that still have their version, all or none; publishes webhook.deleted for each.

    Raises WebhooksChanged.
    """
    gone = await _locked(conn, account_id, versions)
    await store.delete(conn, account_id=account_id, destination_ids=list(versions))
    await _publish(conn, WEBHOOK_DELETED, account_id, gone)


async def reveal_secrets(
    conn: Conn, *, keyring: Keyring, account_id: UUID, destination_ids: Sequence[UUID]
) -> Mapping[UUID, str]:
    """The secrets that were made here and that nobody was shown, once: of two who ask, one gets them."""
    unseen = await store.take_unseen(conn, account_id=account_id, destination_ids=destination_ids)
    return {
        each: signing.unseal_secret(keyring, secret, account_id=account_id, destination_id=each)
        for each, secret in unseen.items()
    }


async def _locked(conn: Conn, account_id: UUID, versions: Mapping[UUID, int]) -> list[ManagedDestination]:
    found = await store.lock_unchanged(conn, account_id=account_id, versions=versions)
    if changed := versions.keys() - {each.id for each in found}:
        raise WebhooksChanged(changed)
    return found


async def _check_keys(conn: Conn, account_id: UUID, wanted: Sequence[DestinationSpec | DestinationChange]) -> None:
    if taken := await store.list_taken_keys(conn, account_id=account_id, wanted=wanted):
        raise WebhookKeysTaken(taken)


async def _publish(
    conn: Conn,
    event: Event,
    account_id: UUID,
    told: Sequence[DestinationSpec | DestinationChange | ManagedDestination],
) -> None:
    news = [
        WebhookData(
            id=each.id,
            label=each.label,
            url=each.url,
            enabled=each.enabled,
            events=list(each.events),
            disabled_reason=None if each.enabled else "manual",
        )
        for each in told
    ]
    await outbox.publish_many(conn, event, [(account_id, data) for data in news])
