"""Samples of notices: to one webhook, to all of them, and by email."""

from collections.abc import Sequence
from uuid import UUID

from builders.identity import service as identity
from builders.kit.db.connections import Conn, Database
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import ids
from builders.mail import service as mail
from builders.mail.records import SampleNotice
from builders.portfolio.notifications.event_kinds import PREFERRED
from builders.portfolio.notifications.records import Channel, MailSample, Samples
from builders.webhooks import service as webhooks
from builders.webhooks.records import CatalogEvent, TestSend


async def send_sample(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    destination_id: UUID,
    event: str | None,
) -> TestSend:
    """Send a sample to one webhook destination, of an event of the portfolio if the destination lists one.

    Raises WebhookNotFound, TooManyTests, Invalid at the query's `event`.
    """
    return await webhooks.send_test(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=account_id,
        destination_id=destination_id,
        event=event,
        prefer=PREFERRED,
    )


async def send_samples(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    live_account_id: UUID,
    channel: Channel | None,
    webhook_id: str | None,
    event: str | None,
) -> Samples:
    """Send samples by one channel or by all: to the account's address, and to each webhook that lists the event.

    A named webhook is the only one, even if it is disabled or lists other events. Raises WebhookNotFound,
    TooManyTests, Invalid for an unknown event.
    """
    known = None if event is None else webhooks.get_event(event)
    email: MailSample | None = None
    sent: Sequence[TestSend] = ()
    if channel is Channel.EMAIL or (channel is None and webhook_id is None):
        async with database.transaction() as conn:
            email = await _send_email(conn, keyring=keyring, account_id=live_account_id, event=known)
    if channel in {None, Channel.WEBHOOK} and webhook_id is not None:
        to = ids.parse(webhook_id)
        one = await send_sample(
            database, outbound=outbound, keyring=keyring, account_id=account_id, destination_id=to, event=event
        )
        sent = [one]
    elif channel in {None, Channel.WEBHOOK}:
        sent = await webhooks.send_tests(
            database, outbound=outbound, keyring=keyring, account_id=account_id, event=event, prefer=PREFERRED
        )
    return Samples(email=email, webhooks=sent)


async def _send_email(conn: Conn, *, keyring: Keyring, account_id: UUID, event: CatalogEvent | None) -> MailSample:
    """Send a sample notice to the address of the real account, if that is verified."""
    account = await identity.get_account(conn, account_id=account_id)
    to = mail.mask(account.email)
    if account.email_verified_at is None:
        return MailSample(to=to, message_id=None, error="email_unverified")
    message = SampleNotice()
    if event is not None:
        message = SampleNotice(event=event.name, description=event.description)
    sent = await mail.send(conn, keyring=keyring, account_id=account_id, to=account.email, letter=message)
    return MailSample(to=to, message_id=sent, error=None)
