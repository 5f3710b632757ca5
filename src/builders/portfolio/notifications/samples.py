"""Samples of notices: to one webhook, to all of them, by email and in the list."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.mail import addresses, renderer, service as mail
from builders.mail.templates import EmailTemplate, Renewal, RenewalNotice, SampleNotice
from builders.portfolio.notifications import inbox, rules
from builders.portfolio.notifications.event_kinds import EVENT_KINDS, OVERDUE, OWN_EVENTS, PREFERRED, UPCOMING
from builders.portfolio.notifications.preferences import get_preferences
from builders.portfolio.notifications.records import (
    Channel,
    MailSample,
    OwnPreferences,
    SampleRequest,
    Samples,
    Severity,
    Suppression,
    Threshold,
)
from builders.portfolio.team.records import Access
from builders.webhooks import catalog, simulation
from builders.webhooks.errors import WebhookNotFound
from builders.webhooks.records import TestSend

SAMPLE_DAYS = 30  # until the expiry in a sample, unless it is given
SAMPLE_DOMAIN = "harbour.example"


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

    Raise WebhookNotFound, TooManyTests, Invalid at the query's `event`.
    """
    return await simulation.send_test(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=account_id,
        destination_id=destination_id,
        event=event,
        prefer=PREFERRED,
    )


async def send_samples(
    database: Database, *, outbound: Outbound, keyring: Keyring, access: Access, request: SampleRequest
) -> Samples:
    """Send samples by one channel or by all: email, each webhook that lists the event, the list of notices.

    A named webhook is the only one, even if it is disabled or lists other events. Webhooks are those that the
    preferences select, of the caller's own portfolio. Raise WebhookNotFound, TooManyTests, Invalid for an unknown
    event.
    """
    message = _message(request)
    is_named = request.webhook_id is not None
    async with database.transaction() as conn:
        own = await get_preferences(conn, access=access)
        suppressed_by = find_suppression(own, request)
        email, notice_id = None, None
        if request.channel is Channel.EMAIL or (request.channel is None and not is_named):
            email = await _send_email(conn, keyring=keyring, access=access, own=own, message=message)
        if request.channel is Channel.IN_APP or (request.channel is None and not is_named):
            notice_id = await inbox.add_sample(conn, access=access)
    sent: Sequence[TestSend] = ()
    if request.channel in {None, Channel.WEBHOOK}:
        is_notice = request.event is None or request.event in OWN_EVENTS
        selected = own.preferences.channels.webhook.webhook_ids if is_notice else ()
        sent = await _send_to_webhooks(
            database, outbound, keyring, access=access, request=request, selected=selected
        )
    rendered = renderer.render(message)
    return Samples(
        email=email,
        webhooks=sent,
        notice_id=notice_id,
        suppressed_by=suppressed_by,
        subject=rendered.subject,
        body=rendered.text,
    )


def find_suppression(own: OwnPreferences, request: SampleRequest) -> Suppression | None:
    """Return why an email of the sampled notice would not be sent now; None when it would."""
    event = _event_of(request)
    if event not in EVENT_KINDS:
        return None  # preferences are about events of the portfolio
    preferences, severity = own.preferences, EVENT_KINDS[event].severity
    if request.threshold_days is not None:
        known = {each.days: each for each in preferences.expiry.thresholds}
        days = request.threshold_days
        severity = rules.severity_of(known.get(days, Threshold(days=days)))
    if Channel.EMAIL not in rules.channels_of(preferences, event=event, severity=severity):
        return Suppression.DISABLED
    is_muted = request.domain is not None and rules.is_muted(preferences, domain=request.domain, tags=())
    if is_muted and (event in OWN_EVENTS or severity is not Severity.CRITICAL):
        return Suppression.MUTED
    return rules.schedule_email(preferences, event=event, severity=severity, now=clock.now()).by


def _event_of(request: SampleRequest) -> str:
    if request.event is not None:
        return request.event
    return OVERDUE if (request.threshold_days or 0) < 0 else UPCOMING


def _message(request: SampleRequest) -> EmailTemplate:
    """Return the email of the sample. Raise Invalid for an unknown event."""
    known = None if request.event is None else catalog.get_event(request.event)
    is_expiry = request.domain is not None or request.threshold_days is not None
    if not is_expiry and known is None:
        return SampleNotice()
    if known is not None and known.name not in {UPCOMING, OVERDUE}:
        return SampleNotice(event=known.name, description=known.description)
    days = SAMPLE_DAYS if request.threshold_days is None else request.threshold_days
    domain = Renewal(
        domain=request.domain or SAMPLE_DOMAIN,
        expires_on=clock.now().date() + timedelta(days=days),
        days=days,
        auto_renew=False,
    )
    return RenewalNotice(domains=(domain,), sample=True)


async def _send_to_webhooks(
    database: Database,
    outbound: Outbound,
    keyring: Keyring,
    *,
    access: Access,
    request: SampleRequest,
    selected: Collection[UUID],
) -> Sequence[TestSend]:
    if access.member_id != access.owner_id:
        if request.webhook_id is not None:
            raise WebhookNotFound("Only the portfolio's own account can send samples to its webhooks.")
        return ()
    if request.webhook_id is None:
        return await simulation.send_tests(
            database,
            outbound=outbound,
            keyring=keyring,
            account_id=access.portfolio_id,
            event=request.event,
            prefer=PREFERRED,
            only=selected,
        )
    sent = await send_sample(
        database,
        outbound=outbound,
        keyring=keyring,
        account_id=access.portfolio_id,
        destination_id=ids.parse(request.webhook_id),
        event=request.event,
    )
    return [sent]


async def _send_email(
    conn: Conn, *, keyring: Keyring, access: Access, own: OwnPreferences, message: EmailTemplate
) -> MailSample:
    """Send a sample to the address of the caller's real account, if that is verified."""
    to = addresses.mask(own.address)
    if not own.is_verified:
        return MailSample(to=to, message_id=None, error="email_unverified")
    sent = await mail.send(conn, keyring=keyring, account_id=access.member_id, to=own.address, template=message)
    return MailSample(to=to, message_id=sent, error=None)
