"""All signing secrets sealed anew, so that a secret key of the service may go."""

from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, Resealed, Unsealable
from builders.kit.values import clock
from builders.webhooks import sealing
from builders.webhooks.store import secrets as store
from builders.webhooks.store.secrets import Sealed

AT_ONCE = 200  # destinations in a transaction
FIRST = UUID(int=0), UUID(int=0)  # before every destination


async def reseal_secrets(database: Database, *, keyring: Keyring) -> Resealed:
    """Has the first secret key seal what others did; can be repeated. A rotation meanwhile is not undone."""
    done: list[bool | None] = []
    after: tuple[UUID, UUID] | None = FIRST
    while after is not None:
        async with database.transaction() as conn:
            batch = await store.list_stale(
                conn, header=keyring.seal_header, after=after, limit=AT_ONCE, now=clock.now()
            )
            done += [
                await _reseal(conn, keyring, each, secret)
                for each in batch
                for secret in (each.secret, each.old_secret)
                if secret is not None and keyring.needs_reseal(secret)
            ]
        after = (batch[-1].account_id, batch[-1].id) if batch else None
    return Resealed(renewed=done.count(True), lost=done.count(None))


async def _reseal(conn: Conn, keyring: Keyring, of: Sealed, secret: bytes) -> bool | None:
    """Whether it was; None when it cannot be opened."""
    try:
        text = sealing.unseal(keyring, secret, account_id=of.account_id, destination_id=of.id)
    except Unsealable:
        return None
    again = sealing.seal(keyring, text, account_id=of.account_id, destination_id=of.id)
    return await store.reseal(conn, account_id=of.account_id, destination_id=of.id, before=secret, after=again)
