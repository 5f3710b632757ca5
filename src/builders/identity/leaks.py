"""Keys that somebody found: whoever has the secret of a key can revoke it."""

from uuid import UUID

from builders.identity import keys
from builders.identity.records import ApiKey, KeyKind, LeakReport
from builders.identity.store import accounts as account_store, keys as store
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.templates import ApiKeyLeaked

MAIL_LEAKED_KEY = "identity.mail_leaked_key"  # the task


async def revoke_leaked(conn: Conn, *, text: str) -> LeakReport:
    """Revoke the key with this secret, publish api_key.revoked and email the account; say whether it worked."""
    secret = keys.parse_secret(text)
    if secret is None:
        return LeakReport(revoked=False, prefix=None)
    holder = await store.find_holder(conn, account_id=secret.account_id, digest=secret.digest, now=clock.now())
    if holder is None or holder.is_revoked or holder.is_expired:
        return LeakReport(revoked=False, prefix=None if holder is None else secret.prefix)
    # Of two reports at once, one revokes the key.
    if not await store.lock_key(conn, account_id=holder.account_id, key_id=holder.key_id):
        return LeakReport(revoked=False, prefix=secret.prefix)
    actor = Actor(type="key", id=holder.key_id)
    await keys.revoke_key(
        conn,
        account_id=holder.account_id,
        key_id=holder.key_id,
        revoked_by=KeyKind.LIVE,
        actor=actor,
        reason="reported as leaked",
    )
    await queue.defer(conn, MAIL_LEAKED_KEY, account_id=str(holder.account_id), key_id=str(holder.key_id))
    return LeakReport(revoked=True, prefix=secret.prefix)


async def send_notice(conn: Conn, *, keyring: Keyring, account_id: UUID, key_id: UUID) -> None:
    """Notify the account of the key that was reported and revoked, if its address is verified."""
    account = await account_store.find_account(conn, account_id=account_id)
    key = await store.find_key(conn, account_id=account_id, key_id=key_id)
    # A stranger may own a mailbox that was never verified.
    if account is None or key is None or key.revoked_at is None or account.email_verified_at is None:
        return
    await mail.send(conn, keyring=keyring, account_id=account_id, to=account.email, template=_message(key))


def _message(key: ApiKey) -> ApiKeyLeaked:
    return ApiKeyLeaked(
        label=key.label,
        kind=key.key_kind.value,
        prefix=key.prefix,
        last_used=None if key.last_used_at is None else f"{key.last_used_at:%Y-%m-%d %H:%M} UTC",
        revoked_at=f"{key.revoked_at:%Y-%m-%d %H:%M} UTC",
    )
