"""A sample mail, to the account's own address and no other."""

from uuid import UUID

from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.mail import service as mail
from builders.mail.records import SampleNotice
from builders.portfolio.notifications.records import MailSample
from builders.webhooks.records import CatalogEvent


async def send_sample(conn: Conn, *, keyring: Keyring, account_id: UUID, event: CatalogEvent | None) -> MailSample:
    """Sends a sample notice to the real account's address, if that is verified."""
    account = await identity.get_account(conn, account_id=account_id)
    to = mail.mask(account.email)
    if account.email_verified_at is None:
        return MailSample(to=to, message_id=None, error="email_unverified")
    letter = SampleNotice()
    if event is not None:
        letter = SampleNotice(event=event.name, description=event.description)
    sent = await mail.send(conn, keyring=keyring, account_id=account_id, to=account.email, letter=letter)
    return MailSample(to=to, message_id=sent, error=None)
