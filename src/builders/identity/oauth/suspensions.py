"""Suspend an account and restore it, as the operator.

A suspension refuses each credential of the account with its reason. Sessions, connections and what waits to become
one end, and do not come back when the account is restored; keys do. Jobs wait, as do the reminders of invoices;
email and webhooks are not sent. What mail servers look up stays: the mail of other people would be lost.
"""

from uuid import UUID

from builders.identity import accounts, sessions
from builders.identity.devices import store as devices
from builders.identity.oauth import connections
from builders.identity.records import Account, AuditAction
from builders.kit.callers import OPERATOR
from builders.kit.db import suspensions as store
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.templates import AccountRestored, AccountSuspended


async def find_reason(conn: Conn, *, account_id: UUID) -> str | None:
    """Return why the account is suspended; None if it is not."""
    return await store.find_reason(conn, account_id)


async def suspend(conn: Conn, *, keyring: Keyring, account: Account, reason: str) -> bool:
    """Suspend the account; return False if it was suspended before, which changes nothing. Audited and mailed."""
    now = clock.now()
    if not await store.insert(conn, account_ids=[account.id, account.sandbox_id], reason=reason, now=now):
        return False
    await end_credentials(conn, account_id=account.id)
    about = {"reason": reason}
    await accounts.record_audit(
        conn, account_id=account.id, actor=OPERATOR, action=AuditAction.ACCOUNT_SUSPENDED, about=about
    )
    message = AccountSuspended(account=account.email, reason=reason)
    await mail.send(conn, keyring=keyring, account_id=account.id, to=account.email, template=message)
    return True


async def end_credentials(conn: Conn, *, account_id: UUID) -> None:
    """End the sessions and connections of the account, and the requests of machines and clients for them."""
    await sessions.end_other_sessions(conn, account_id=account_id, actor=OPERATOR)
    await connections.revoke_others(conn, account_id=account_id, kept=(), actor=OPERATOR)
    await devices.end_requests(conn, account_id=account_id, now=clock.now())


async def restore(conn: Conn, *, keyring: Keyring, account: Account) -> bool:
    """Restore the account; return False if it was not suspended. Audited and mailed."""
    if not await store.delete(conn, account_ids=[account.id, account.sandbox_id]):
        return False
    accounts.forget_callers(account_id=account.id)
    await accounts.record_audit(
        conn, account_id=account.id, actor=OPERATOR, action=AuditAction.ACCOUNT_RESTORED, about={}
    )
    await mail.send(
        conn,
        keyring=keyring,
        account_id=account.id,
        to=account.email,
        template=AccountRestored(account=account.email),
    )
    return True
