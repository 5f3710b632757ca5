"""Samples of notices: to a webhook, to all of them, by mail."""

from collections.abc import Sequence
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import ids
from builders.portfolio.notifications import mails
from builders.portfolio.notifications.areas import PREFERRED
from builders.portfolio.notifications.records import Channel, MailSample, Samples
from builders.webhooks import service as webhooks
from builders.webhooks.records import TestSend


async def send_sample(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    destination_id: UUID,
    event: str | None,
) -> TestSend:
    """Sends a sample to one webhook destination, of a portfolio's event if it wants one.

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
    """Sends samples by the channel or by both: to the account's address, to each webhook that wants the event.

    A webhook that is named is the only one, though it be disabled or want other events. Raises WebhookNotFound,
    TooManyTests, Invalid for an event that there is not.
    """
    known = None if event is None else webhooks.get_event(event)
    mailed: MailSample | None = None
    sent: Sequence[TestSend] = ()
    if channel is Channel.EMAIL or (channel is None and webhook_id is None):
        async with database.transaction() as conn:
            mailed = await mails.send_sample(conn, keyring=keyring, account_id=live_account_id, event=known)
    if channel is not Channel.EMAIL and webhook_id is not None:
        to = ids.parse(webhook_id)
        one = await send_sample(
            database, outbound=outbound, keyring=keyring, account_id=account_id, destination_id=to, event=event
        )
        sent = [one]
    elif channel is not Channel.EMAIL:
        sent = await webhooks.send_tests(
            database, outbound=outbound, keyring=keyring, account_id=account_id, event=event, prefer=PREFERRED
        )
    return Samples(email=mailed, webhooks=sent)
