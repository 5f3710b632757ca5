"""Jobs of identity: emails of codes and of new keys, and deletion of old rows."""

from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext

from builders.identity import drafts, keys, leaks, sessions
from builders.identity.oauth import tokens
from builders.kit.db import old_rows
from builders.kit.jobs import queue
from builders.kit.values import ids

DAY = timedelta(days=1)
old_rows.declare("identity_drafts", key="account_id, id", age="created_at", after=drafts.LIFETIME)
# Longer than a sign-in can last.
old_rows.declare("identity_issuer_sign_ins", key="id", age="used_at", after=DAY)
old_rows.declare("identity_devices_requests", key="id", age="expires_at", after=timedelta(hours=1))
# A code that is presented again still ends its connection.
old_rows.declare("identity_oauth_requests", key="id", age="expires_at", after=DAY)
old_rows.declare("identity_oauth_codes", key="account_id, digest", age="expires_at", after=DAY)


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


@queue.app.task(name=tokens.MAIL_ENDED, retry=queue.RETRY, pass_context=True)
async def mail_connection_ended(context: JobContext, account_id: str, key_id: str, reason: str) -> None:
    """Notify the account of its connection that was ended."""
    async with queue.database(context).transaction() as conn:
        await tokens.send_notice(
            conn,
            keyring=queue.keyring(context),
            account_id=UUID(account_id),
            key_id=UUID(key_id),
            reason=reason,
        )
