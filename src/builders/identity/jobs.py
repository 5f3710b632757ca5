"""Jobs of identity: emails of codes and of new keys, and deletion of old rows."""

from uuid import UUID

from procrastinate import JobContext

from builders.identity import drafts, issuer_sign_in, keys, leaks, mandates, sessions
from builders.identity.devices import service as devices
from builders.kit.db import batches
from builders.kit.jobs import queue
from builders.kit.values import ids


@queue.app.task(name=sessions.MAIL_CODE_TASK, retry=queue.RETRY, pass_context=True)
async def mail_code(context: JobContext, sign_in_id: str) -> None:
    """Send the requested code."""
    async with queue.database(context).transaction() as conn:
        await sessions.send_code(
            conn, keyring=queue.keyring(context), settings=queue.settings(context), sign_in_id=UUID(sign_in_id)
        )


@queue.app.task(name=keys.MAIL_NEW_KEY, retry=queue.RETRY, pass_context=True)
async def mail_new_key(context: JobContext, account_id: str, key_id: str, replaced_id: str) -> None:
    """Notify the account of its new API key."""
    async with queue.database(context).transaction() as conn:
        await keys.send_notice(
            conn,
            keyring=queue.keyring(context),
            account_id=UUID(account_id),
            key_id=UUID(key_id),
            replaced_id=ids.parse(replaced_id),
        )


@queue.app.task(name=leaks.MAIL_LEAKED_KEY, retry=queue.RETRY, pass_context=True)
async def mail_leaked_key(context: JobContext, account_id: str, key_id: str) -> None:
    """Notify the account of its key that was found."""
    async with queue.database(context).transaction() as conn:
        await leaks.send_notice(
            conn, keyring=queue.keyring(context), account_id=UUID(account_id), key_id=UUID(key_id)
        )


@queue.app.periodic(cron="43 * * * *")
@queue.app.task(name="identity.prune_sign_ins", queueing_lock="identity.prune_sign_ins", pass_context=True)
async def prune_sign_ins(context: JobContext, timestamp: int) -> None:
    """Delete requests to sign in that are older than a day, and forms that were kept for an hour."""
    del timestamp
    await drafts.prune(queue.database(context))
    await sessions.prune_requests(queue.database(context))
    await issuer_sign_in.prune(queue.database(context))


@queue.app.periodic(cron="51 3 * * *")
@queue.app.task(name="identity.prune_sessions", queueing_lock="identity.prune_sessions", pass_context=True)
async def prune_sessions(context: JobContext, timestamp: int) -> None:
    """Delete sessions that ended three months ago."""
    del timestamp
    await sessions.prune_sessions(queue.database(context))


@queue.app.periodic(cron="57 3 * * *")
@queue.app.task(name="identity.prune_keys", queueing_lock="identity.prune_keys", pass_context=True)
async def prune_keys(context: JobContext, timestamp: int) -> None:
    """Delete API keys that were revoked or expired 400 days ago, and uses of mandates that count no more."""
    del timestamp
    await batches.repeat(queue.database(context), keys.prune_keys, size=keys.PRUNE_BATCH)
    await batches.repeat(queue.database(context), mandates.prune, size=mandates.PRUNE_BATCH)


@queue.app.periodic(cron="*/10 * * * *")
@queue.app.task(name="identity.prune_devices", queueing_lock="identity.prune_devices", pass_context=True)
async def prune_devices(context: JobContext, timestamp: int) -> None:
    """Delete requests of machines for keys that ended an hour ago."""
    del timestamp
    await devices.prune(queue.database(context))
