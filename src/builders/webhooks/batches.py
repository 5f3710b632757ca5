"""Write destinations in batches, all or none; a single write is a batch of one."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.limits import maximums
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.webhooks import signing
from builders.webhooks.errors import SecretsGone, WebhookKeysTaken, WebhookLimit, WebhooksChanged
from builders.webhooks.events import WEBHOOK_CREATED, WEBHOOK_DELETED, WEBHOOK_UPDATED, webhook_data
from builders.webhooks.records import DestinationChange, DestinationSpec, DisabledReason, ManagedDestination
from builders.webhooks.store import destinations as store, secrets as secret_store
from builders.webhooks.store.destinations import LockedDestination

MAX_DESTINATIONS = maximums.declare(
    "webhooks", 50, of="account", counts="Webhook destinations.", code="webhook_limit"
)


async def list_managed(conn: Conn, *, account_id: UUID) -> list[ManagedDestination]:
    """Return all destinations of the account with their manifest keys, oldest first; at most MAX_DESTINATIONS."""
    return await store.list_managed(conn, account_id=account_id)


async def create_destinations(
    conn: Conn, *, keyring: Keyring, account_id: UUID, specs: Sequence[DestinationSpec]
) -> None:
    """Insert destinations with validated URLs; publish webhook.created for each.

    Each gets a generated secret, or the secret of an existing destination or of another one in the batch. Raise
    WebhookLimit, WebhookKeysTaken, SecretsGone.
    """
    await check_limit(conn, account_id=account_id, new=len(specs))
    await _check_keys(conn, account_id, specs)
    secrets = await _secrets(conn, keyring, account_id, specs)
    unseen = {each.id for each in specs if each.secret_from is None}
    await insert(conn, keyring=keyring, account_id=account_id, specs=specs, secrets=secrets, unseen=unseen)


async def check_limit(conn: Conn, *, account_id: UUID, new: int) -> None:
    """Raise WebhookLimit when the account cannot have `new` more destinations; lock their number."""
    await store.lock_account(conn, account_id=account_id)
    if await store.count(conn, account_id=account_id) + new > MAX_DESTINATIONS:
        raise WebhookLimit(f"An account has up to {MAX_DESTINATIONS} webhook destinations.")


async def insert(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    specs: Sequence[DestinationSpec],
    secrets: Mapping[UUID, str],
    unseen: Collection[UUID],
) -> None:
    """Insert destinations; publish webhook.created for each. Secrets in `unseen` can be revealed once."""
    stored = {
        each.id: signing.stored_secret(
            keyring, secrets[each.id], account_id=account_id, destination_id=each.id, is_unseen=each.id in unseen
        )
        for each in specs
    }
    await store.insert(conn, account_id=account_id, specs=specs, secrets=stored, now=clock.now())
    data = [webhook_data(each, None if each.enabled else DisabledReason.MANUAL) for each in specs]
    await outbox.publish_many(conn, WEBHOOK_CREATED, [(account_id, each) for each in data])


async def _secrets(
    conn: Conn, keyring: Keyring, account_id: UUID, specs: Sequence[DestinationSpec]
) -> dict[UUID, str]:
    """Return generated secrets and copies by destination id; follow copies of copies within the batch."""
    known = {each.id: signing.generate_secret() for each in specs if each.secret_from is None}
    sources = {each.secret_from for each in specs if each.secret_from} - known.keys()
    sealed = await secret_store.list_secrets(conn, account_id=account_id, destination_ids=list(sources))
    known |= {
        each: signing.unseal_secret(keyring, secret, account_id=account_id, destination_id=each)
        for each, secret in sealed.items()
    }
    copies = {each.id: each.secret_from for each in specs if each.secret_from}
    while ready := {each: source for each, source in copies.items() if each not in known and source in known}:
        known |= {each: known[source] for each, source in ready.items()}
    if lost := copies.keys() - known.keys():
        raise SecretsGone(lost)
    return known


async def update_destinations(conn: Conn, *, account_id: UUID, changes: Sequence[DestinationChange]) -> None:
    """Update destinations that still have the given version; publish webhook.updated for each.

    Two destinations can swap their manifest keys in one batch. Raise WebhooksChanged, WebhookKeysTaken.
    """
    await _lock_unchanged(conn, account_id, {change.id: change.version for change in changes})
    await _check_keys(conn, account_id, changes)
    await update_locked(conn, account_id=account_id, changes=changes)


async def update_locked(conn: Conn, *, account_id: UUID, changes: Sequence[DestinationChange]) -> None:
    """Update destinations that this transaction has locked; publish webhook.updated for each."""
    reasons = await store.update(conn, account_id=account_id, changes=changes, now=clock.now())
    data = [webhook_data(each, reasons[each.id]) for each in changes]
    await outbox.publish_many(conn, WEBHOOK_UPDATED, [(account_id, each) for each in data])


async def delete_destinations(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> None:
    """Delete destinations that still have the given version; publish webhook.deleted for each.

    Raise WebhooksChanged.
    """
    locked = await _lock_unchanged(conn, account_id, versions)
    await delete_locked(conn, account_id=account_id, destinations=locked)


async def delete_locked(conn: Conn, *, account_id: UUID, destinations: Sequence[LockedDestination]) -> None:
    """Delete destinations that this transaction has locked; publish webhook.deleted for each."""
    await store.delete(conn, account_id=account_id, destination_ids=[each.id for each in destinations])
    data = [webhook_data(each, each.disabled_reason) for each in destinations]
    await outbox.publish_many(conn, WEBHOOK_DELETED, [(account_id, each) for each in data])


async def reveal_secrets(
    conn: Conn, *, keyring: Keyring, account_id: UUID, destination_ids: Sequence[UUID]
) -> Mapping[UUID, str]:
    """Return generated secrets that were never shown, by destination id. Each secret is returned once."""
    unseen = await secret_store.take_unseen(conn, account_id=account_id, destination_ids=destination_ids)
    return {
        each: signing.unseal_secret(keyring, secret, account_id=account_id, destination_id=each)
        for each, secret in unseen.items()
    }


async def _lock_unchanged(
    conn: Conn, account_id: UUID, versions: Mapping[UUID, int]
) -> Sequence[LockedDestination]:
    locked = await store.lock(conn, account_id=account_id, destination_ids=list(versions))
    unchanged = [each for each in locked if each.version == versions[each.id]]
    if changed := versions.keys() - {each.id for each in unchanged}:
        raise WebhooksChanged(changed)
    return unchanged


async def _check_keys(conn: Conn, account_id: UUID, wanted: Sequence[DestinationSpec | DestinationChange]) -> None:
    if taken := await store.list_taken_keys(conn, account_id=account_id, wanted=wanted):
        raise WebhookKeysTaken(taken)
