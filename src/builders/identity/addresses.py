"""An account's address: confirmed, and changed for another one that was."""

from uuid import UUID

from builders.identity import audit
from builders.identity.accounts import kept_form
from builders.identity.errors import AccountNotFound, EmailTaken
from builders.identity.events import EMAIL_CHANGED, EMAIL_VERIFIED, EmailChanged, EmailVerified
from builders.identity.records import AuditAction
from builders.identity.store import accounts as store
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.callers import Actor
from builders.kit.values import clock
from builders.mail import service as mail

READER = Actor(type="user")  # who proves to have the mailbox, by a link or a code: whoever reads its mail


async def verify_email(conn: Conn, *, account_id: UUID, email: str) -> bool:
    """Takes the real account's address as confirmed, if it still is this one: told and written down once.

    Whether the account's address is this one, and so confirmed now. Publishes email.verified.
    """
    now, address = clock.now(), kept_form(email)
    if await store.verify_email(conn, account_id=account_id, email=address, now=now):
        data = EmailVerified(email=address, verified_at=now)
        await outbox.publish(conn, EMAIL_VERIFIED, account_id=account_id, data=data)
        about = {"email": mail.mask(address)}
        await audit.record_audit(
            conn, account_id=account_id, actor=READER, action=AuditAction.EMAIL_VERIFIED, about=about
        )
        return True
    account = await store.find_account(conn, account_id=account_id)
    return account is not None and account.email == address


async def change_email(conn: Conn, *, account_id: UUID, email: str) -> None:
    """Gives the real account another address, which its holder has confirmed; the unique key decides.

    Publishes email.changed and email.verified. Raises EmailTaken, AccountNotFound.
    """
    now, address = clock.now(), kept_form(email)
    before = await store.find_account(conn, account_id=account_id)
    if before is None:
        raise AccountNotFound
    if not await store.change_email(conn, account_id=account_id, email=address, now=now):
        raise EmailTaken("An account has this address already.", next_action="Ask for a change to another one.")
    changed = EmailChanged(email=address, previous_email=before.email)
    await outbox.publish(conn, EMAIL_CHANGED, account_id=account_id, data=changed)
    verified = EmailVerified(email=address, verified_at=now)
    await outbox.publish(conn, EMAIL_VERIFIED, account_id=account_id, data=verified)
