"""An account's address: confirmed, and changed for another one that was."""

from uuid import UUID

from builders.identity.errors import AccountNotFound, EmailTaken
from builders.identity.events import EMAIL_CHANGED, EMAIL_VERIFIED, EmailChanged, EmailVerified
from builders.identity.store import accounts as store
from builders.kit import clock, outbox
from builders.kit.db import Conn


async def verify_email(conn: Conn, *, account_id: UUID, email: str) -> bool:
    """Takes the real account's address as confirmed, if it still is this one; publishes email.verified, once.

    Whether the account's address is this one, and so confirmed now.
    """
    now, address = clock.now(), email.strip().lower()
    if await store.verify_email(conn, account_id=account_id, email=address, now=now):
        data = EmailVerified(email=address, verified_at=now)
        await outbox.publish(conn, EMAIL_VERIFIED, account_id=account_id, data=data)
        return True
    account = await store.find_account(conn, account_id=account_id)
    return account is not None and account.email == address


async def change_email(conn: Conn, *, account_id: UUID, email: str) -> None:
    """Gives the real account another address, which its holder has confirmed; the unique key decides.

    Publishes email.changed and email.verified. Raises EmailTaken, AccountNotFound.
    """
    now, address = clock.now(), email.strip().lower()
    before = await store.find_account(conn, account_id=account_id)
    if before is None:
        raise AccountNotFound("There is no such account.")
    if not await store.change_email(conn, account_id=account_id, email=address, now=now):
        raise EmailTaken("An account has this address already.", next_action="Ask for a change to another one.")
    changed = EmailChanged(email=address, previous_email=before.email)
    await outbox.publish(conn, EMAIL_CHANGED, account_id=account_id, data=changed)
    verified = EmailVerified(email=address, verified_at=now)
    await outbox.publish(conn, EMAIL_VERIFIED, account_id=account_id, data=verified)
