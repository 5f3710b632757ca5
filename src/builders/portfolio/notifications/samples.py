"""Samples of notices: by email, to the webhooks that list the event, and in the list of notices."""

from collections.abc import Mapping
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail import addresses, service as mail
from builders.mail.templates import SampleNotice
from builders.portfolio.notifications import notices, rules
from builders.portfolio.notifications.event_kinds import EVENT_KINDS, PREFERRED, UPCOMING
from builders.portfolio.notifications.preferences import get_preferences
from builders.portfolio.notifications.records import Channel, Preferences, Samples, Suppression
from builders.portfolio.team.records import Access
from builders.webhooks import catalog, simulation
from builders.webhooks.records import AttemptedDelivery


async def send_samples(
    database: Database, *, outbound: Outbound, keyring: Keyring, access: Access, event: str | None
) -> Samples:
    """Send samples by all channels: email, the list, and each webhook of the caller's own portfolio.

    An address that is not verified gets no email. With an event only the webhooks that list it receive one. Raise
    Invalid for an unknown event.
    """
    known = None if event is None else catalog.get_public_event(event, loc=("body", "event"))
    message = SampleNotice() if known is None else SampleNotice(event=known.name, description=known.description)
    async with database.transaction() as conn:
        own = await get_preferences(conn, access=access)
        message_id = None
        if own.is_verified:
            message_id = await mail.send(
                conn, keyring=keyring, account_id=access.member_id, to=own.address, template=message
            )
        notice_id = await notices.add_sample(conn, account_id=access.portfolio_id, member_id=access.member_id)
    sent: Mapping[UUID, AttemptedDelivery | None] = {}
    if access.member_id == access.owner_id:
        sent = await simulation.send_tests(
            database,
            outbound=outbound,
            keyring=keyring,
            account_id=access.portfolio_id,
            event=event,
            prefer=PREFERRED,
        )
    return Samples(
        to=addresses.mask(own.address),
        message_id=message_id,
        webhooks=sent,
        notice_id=notice_id,
        suppressed_by=find_suppression(own.preferences, event=event or UPCOMING),
    )


def find_suppression(preferences: Preferences, *, event: str) -> Suppression | None:
    """Return why an email of a notice of the event would not be sent now; None when it would."""
    kind = EVENT_KINDS.get(event)
    if kind is None:
        return None  # preferences are about events of the portfolio
    if Channel.EMAIL not in rules.channels_of(preferences, event=event):
        return Suppression.DISABLED
    return rules.schedule_email(preferences, event=event, severity=kind.severity, now=clock.now()).by
