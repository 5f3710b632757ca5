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
from builders.webhooks import destinations, matching, sealing
from builders.webhooks.errors import SecretsGone, WebhookKeysTaken, WebhookLimit, WebhooksChanged
from builders.webhooks.events import WEBHOOK_CREATED, WEBHOOK_DELETED, WEBHOOK_UPDATED, WebhookData
from builders.webhooks.managed import JudgedUrls, Managed, WebhookChange, WebhookSpec
from builders.webhooks.store import applying as store, destinations as single

MOST = destinations.MOST
AT_ONCE = 10  # names that name servers are asked about, so that a few slow ones do not add up


async def judge_urls(outbound: Outbound, urls: Iterable[str]) -> JudgedUrls:
    """Which of the URLs can be one of a destination. Asks name servers, so no transaction is open.

    Of more than an account may have only the form is judged: they cannot all be had, and nobody should make us ask
    thousands of questions.
    """
    wanted = sorted(set(urls))
    turn = asyncio.Semaphore(AT_ONCE)

    async def judge(url: str) -> str | UrlRefused:
        async with turn:
            try:
                if len(wanted) > MOST:
                    return outbound.judge_url(url).url
                return await destinations.judge_url(outbound, url)
            except UrlRefused as refusal:
                return refusal

    found = dict(zip(wanted, await asyncio.gather(*map(judge, wanted)), strict=True))
    return JudgedUrls(
        kept={url: judged for url, judged in found.items() if isinstance(judged, str)},
        refused={url: judged.message for url, judged in found.items() if isinstance(judged, UrlRefused)},
    )


def judge_events(events: Sequence[str]) -> Sequence[str]:
    """What is wrong with names of events that a destination is to get."""
    return [str(error["msg"]) for error in matching.refusals(events)]


async def list_managed(conn: Conn, *, account_id: UUID) -> list[Managed]:
    """All destinations of the account, with what manages them; there are few."""
    return await store.list_managed(conn, account_id=account_id)


async def create_many(conn: Conn, *, keyring: Keyring, account_id: UUID, specs: Sequence[WebhookSpec]) -> None:
    """Makes destinations, all or none; publishes webhook.created for each. Their URLs are taken as judged.

    A secret is made, or copied from a destination that is there or among those made. Raises WebhookLimit,
    WebhookKeysTaken, SecretsGone.
    """
    if await single.count(conn, account_id=account_id) + len(specs) > MOST:
        raise WebhookLimit(f"An account has up to {MOST} webhook destinations.", next_action="Delete one.")
    await _check_keys(conn, account_id, specs)
    secrets = await _secrets(conn, keyring, account_id, specs)
    sealed = {
        each.id: (
            sealing.seal(keyring, secrets[each.id], account_id=account_id, destination_id=each.id),
            sealing.hint(secrets[each.id]),
        )
        for each in specs
    }
    await store.insert(conn, account_id=account_id, specs=specs, sealed=sealed, now=clock.now())
    await _tell(conn, WEBHOOK_CREATED, account_id, specs)


async def _secrets(
    conn: Conn, keyring: Keyring, account_id: UUID, specs: Sequence[WebhookSpec]
) -> dict[UUID, str]:
    made = {each.id: sealing.generate() for each in specs if each.is_generated}
    sources = {each.secret_from for each in specs if each.secret_from} - made.keys()
    sealed = await store.list_secrets(conn, account_id=account_id, destination_ids=list(sources))
    there = made | {
        each: sealing.unseal(keyring, secret, account_id=account_id, destination_id=each)
        for each, secret in sealed.items()
    }
    copies = {each.id: each.secret_from for each in specs if each.secret_from}
    while waiting := {each: of for each, of in copies.items() if each not in there and of in there}:
        there |= {each: there[of] for each, of in waiting.items()}
    if lost := copies.keys() - there.keys():
        raise SecretsGone(lost)
    return there


async def update_many(conn: Conn, *, account_id: UUID, changes: Sequence[WebhookChange]) -> None:
    """Changes destinations that still have their version, all or none; publishes webhook.updated for each.

    Keys of a manifest can be swapped within one call. Raises WebhooksChanged, WebhookKeysTaken.
    """
    await _locked(conn, account_id, {change.id: change.version for change in changes})
    await _check_keys(conn, account_id, changes)
    await store.update(conn, account_id=account_id, changes=changes, now=clock.now())
    await _tell(conn, WEBHOOK_UPDATED, account_id, changes)


async def delete_many(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> None:
    """Removes destinations that still have their version, all or none; publishes webhook.deleted for each.

    Raises WebhooksChanged.
    """
    gone = await _locked(conn, account_id, versions)
    await store.delete(conn, account_id=account_id, destination_ids=list(versions))
    await _tell(conn, WEBHOOK_DELETED, account_id, gone)


async def reveal_secrets(
    conn: Conn, *, keyring: Keyring, account_id: UUID, destination_ids: Sequence[UUID]
) -> Mapping[UUID, str]:
    """The secrets that were made here and that nobody was shown, once: of two who ask, one gets them."""
    unseen = await store.take_unseen(conn, account_id=account_id, destination_ids=destination_ids)
    return {
        each: sealing.unseal(keyring, secret, account_id=account_id, destination_id=each)
        for each, secret in unseen.items()
    }


async def _locked(conn: Conn, account_id: UUID, versions: Mapping[UUID, int]) -> list[Managed]:
    found = await store.lock_unchanged(conn, account_id=account_id, versions=versions)
    if changed := versions.keys() - {each.id for each in found}:
        raise WebhooksChanged(changed)
    return found


async def _check_keys(conn: Conn, account_id: UUID, wanted: Sequence[WebhookSpec | WebhookChange]) -> None:
    if taken := await store.list_taken_keys(conn, account_id=account_id, wanted=wanted):
        raise WebhookKeysTaken(taken)


async def _tell(
    conn: Conn, event: Event, account_id: UUID, told: Sequence[WebhookSpec | WebhookChange | Managed]
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
