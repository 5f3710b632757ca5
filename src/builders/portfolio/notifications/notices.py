"""Make notices of the expiry of domains, a limit on costs and published events; send samples; prune them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.events.outbox import Event
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.mail import addresses, service as mail
from builders.mail.templates import SampleNotice
from builders.portfolio.domains.records import ExpiringDomain
from builders.portfolio.domains.today import Today
from builders.portfolio.notifications import event_kinds, rules, store
from builders.portfolio.notifications.event_kinds import (
    EVENT_KINDS,
    OVERDUE,
    PREFERRED,
    PUBLISHED,
    UPCOMING,
)
from builders.portfolio.notifications.events import (
    RENEWAL_COST_EXCEEDED,
    RENEWAL_OVERDUE,
    RENEWAL_UPCOMING,
    CostExceededData,
    ExpiryNoticeData,
)
from builders.portfolio.notifications.preferences import get_preferences, list_recipients
from builders.portfolio.notifications.records import (
    COST_EXCEEDED,
    SAMPLE_EVENT,
    Channel,
    NewNotice,
    NoticeKind,
    Preferences,
    Recipient,
    Samples,
    Severity,
    Suppression,
    count_days,
)
from builders.portfolio.team.records import Access, TeamRole
from builders.webhooks import catalog, simulation
from builders.webhooks.records import AttemptedDelivery

RETENTION = timedelta(days=180)
KEY_RETENTION = timedelta(days=90)  # after the expiry; longer than MIN_DAYS and the retention of events
old_rows.declare("portfolio_notifications_notices", key="account_id, id", age="created_at", after=RETENTION)
old_rows.declare(
    "portfolio_notifications_keys",
    key="account_id, member_id, kind, subject_id, due_on, days",
    age="due_on",
    after=KEY_RETENTION.days,
)
_EVENTS: Mapping[str, Event] = {UPCOMING: RENEWAL_UPCOMING, OVERDUE: RENEWAL_OVERDUE}


def _new_notice(
    recipient: Recipient, *, event: str, severity: Severity, now: datetime, **about: Any
) -> NewNotice | None:
    """Return a notice through the channels of the member; None when they are not notified of the event."""
    channels = rules.channels_of(recipient.preferences, event=event)
    if not channels:
        return None
    email = rules.schedule_email(recipient.preferences, event=event, severity=severity, now=now)
    return NewNotice(
        id=ids.new(),
        account_id=recipient.account_id,
        member_id=recipient.member_id,
        event=event,
        severity=severity,
        in_app=Channel.IN_APP in channels,
        is_published=recipient.is_owner and Channel.WEBHOOK in channels,
        email_at=email.at if Channel.EMAIL in channels else None,
        held_by=email.by,
        **about,
    )


async def notify_of_expiry(
    conn: Conn,
    *,
    account_id: UUID,
    recipients: Sequence[Recipient],
    domains: Sequence[ExpiringDomain],
    decided: Collection[UUID],
    today: Today,
) -> int:
    """Create the due notices about the domains; return their number.

    Publish portfolio.renewal.upcoming and .overdue by the preferences of the portfolio's own account. Each
    threshold of a domain and its expiry counts once for a member, by a unique key; or once a day, for a member
    who has it repeated, until it is acknowledged or the domain is among those whose renewal is decided.
    """
    new = [each for recipient in recipients for each in _expiry_notices(recipient, domains, decided, today)]
    created = await store.insert_notices(conn, new=new, now=today.now)
    left = {each.id: today.days_until(each.expires_at) for each in domains}
    for name, event in _EVENTS.items():
        data = [
            ExpiryNoticeData(
                id=notice.subject_id,
                domain=notice.domain or "",
                expires_on=notice.due_on,
                days_left=left[notice.subject_id],
                threshold_days=notice.days,
                auto_renew=notice.auto_renew,
                severity=notice.severity,
            )
            for notice in new
            if notice.id in created and notice.is_published and notice.event == name
        ]
        await outbox.publish_many(conn, event, [(account_id, each) for each in data])
    return len(created)


def _expiry_notices(
    recipient: Recipient, domains: Sequence[ExpiringDomain], decided: Collection[UUID], today: Today
) -> Iterator[NewNotice]:
    preferences = recipient.preferences
    for domain in domains:
        days = today.days_until(domain.expires_at)
        threshold = rules.find_due_threshold(preferences.expiry, days_left=days, auto_renew=domain.auto_renew)
        if threshold is None or rules.is_muted(preferences, domain=domain.domain, tags=domain.tags):
            continue
        expires_on = today.day_of(domain.expires_at)
        when = "today" if days == 0 else f"in {count_days(days)}" if days > 0 else f"{count_days(-days)} ago"
        verb = "expired" if days < 0 else "renews automatically" if domain.auto_renew else "expires"
        price, currency = domain.renewal_price, domain.renewal_currency
        notice = _new_notice(
            recipient,
            event=UPCOMING if days >= 0 else OVERDUE,
            severity=rules.severity_of(threshold),
            now=today.now,
            kind=NoticeKind.EXPIRY,
            subject_id=domain.id,
            due_on=expires_on,
            days=threshold,
            is_repeated=preferences.expiry.repeat_until_ack and domain.id not in decided,
            domain_id=domain.id,
            domain=domain.domain,
            threshold_days=threshold,
            expires_on=expires_on,
            auto_renew=domain.auto_renew,
            amount=None if price is None or currency is None else Money(price, currency),
            title=f"{domain.domain} {verb} {when}.",
        )
        if notice is not None:
            yield notice


async def notify_of_costs(
    conn: Conn, *, costs: Sequence[tuple[Recipient, CostExceededData]], now: datetime
) -> int:
    """Create the notices about months that cost more than a member's limit, once for each month."""
    noticed = [
        (notice, cost)
        for recipient, cost in costs
        if (
            notice := _new_notice(
                recipient,
                event=COST_EXCEEDED,
                severity=EVENT_KINDS[COST_EXCEEDED].severity,
                now=now,
                kind=NoticeKind.COST,
                subject_id=ids.NIL,
                due_on=cost.month,
                month=cost.month,
                amount=cost.total,
                title=f"The renewals of {cost.month:%B %Y} cost more than your limit.",
            )
        )
    ]
    created = await store.insert_notices(conn, new=[notice for notice, _ in noticed], now=now)
    published = [
        (notice.account_id, cost) for notice, cost in noticed if notice.id in created and notice.is_published
    ]
    await outbox.publish_many(conn, RENEWAL_COST_EXCEEDED, published)
    return len(created)


async def notify_of_events(conn: Conn, *, events: Sequence[PublishedEvent]) -> int:
    """Create the notices about published events for the members that select them; return their number.

    Idempotent.
    """
    relevant = [each for each in events if each.name in PUBLISHED]
    if not relevant:
        return 0
    recipients = await list_recipients(conn, account_ids={each.account_id for each in relevant})
    now = clock.now()
    new = [
        notice
        for event in relevant
        for recipient in recipients.get(event.account_id, ())
        if (notice := _event_notice(recipient, event, now)) is not None
    ]
    return len(await store.insert_notices(conn, new=new, now=now))


def _event_notice(recipient: Recipient, event: PublishedEvent, now: datetime) -> NewNotice | None:
    """Return the notice about an event; webhooks get the event itself."""
    kind, data = PUBLISHED[event.name], event.read()
    severity = event_kinds.severity_of(event.name, data)
    domain, names, tags = data.get("domain"), event_kinds.domains_of(data), data.get("tags") or ()
    is_muted = names and all(rules.is_muted(recipient.preferences, domain=each, tags=tags) for each in names)
    if is_muted and severity is not Severity.CRITICAL:
        return None
    if kind.owners_only and recipient.role is not TeamRole.OWNER:
        return None
    domain_id = data.get("domain_id") or (data.get("id") if isinstance(domain, str) else None)
    notice = _new_notice(
        recipient,
        event=event.name,
        severity=severity,
        now=now,
        kind=NoticeKind.EVENT,
        subject_id=event.id,
        due_on=event.created_at.date(),
        domain_id=ids.find(str(domain_id)),
        domain=domain if isinstance(domain, str) else None,
        title=event_kinds.title_of(event.name, data),
    )
    return notice if notice is not None and (notice.in_app or notice.email_at is not None) else None


async def add_sample(conn: Conn, *, account_id: UUID, member_id: UUID) -> UUID:
    """Add a sample to the notices of a member; return its id."""
    now, notice_id = clock.now(), ids.new()
    sample = NewNotice(
        account_id=account_id,
        member_id=member_id,
        kind=NoticeKind.EVENT,
        subject_id=notice_id,
        due_on=now.date(),
        id=notice_id,
        event=SAMPLE_EVENT,
        severity=Severity.INFO,
        title="This is a sample of a notice.",
    )
    await store.insert_notices(conn, new=[sample], now=now)
    return notice_id


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
        notice_id = await add_sample(conn, account_id=access.portfolio_id, member_id=access.member_id)
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
