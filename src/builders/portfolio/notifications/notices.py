"""Making notices: from the expiry of domains, from a limit on costs, and from published events."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.events.outbox import Event
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.portfolio.domains.records import ExpiringDomain
from builders.portfolio.notifications import event_texts, rules
from builders.portfolio.notifications.event_kinds import OVERDUE, PUBLISHED, UPCOMING
from builders.portfolio.notifications.events import RENEWAL_OVERDUE, RENEWAL_UPCOMING, ExpiryNoticeData
from builders.portfolio.notifications.preferences import Recipient, list_recipients
from builders.portfolio.notifications.records import (
    Channel,
    NewNotice,
    NoticeKind,
    Severity,
)
from builders.portfolio.notifications.store import notices as store
from builders.portfolio.team.records import TeamRole

_EVENTS: Mapping[str, Event] = {UPCOMING: RENEWAL_UPCOMING, OVERDUE: RENEWAL_OVERDUE}


async def notify_of_expiry(
    conn: Conn,
    *,
    account_id: UUID,
    recipients: Sequence[Recipient],
    domains: Sequence[ExpiringDomain],
    decided: Collection[UUID],
    now: datetime,
) -> int:
    """Create the due notices about the domains; return their number.

    Publish portfolio.renewal.upcoming and .overdue by the preferences of the portfolio's own account. Each
    threshold of a domain and its expiry counts once for a member, by a unique key; or once a day, for a member
    who has it repeated, until it is acknowledged or the domain is among those whose renewal is decided.
    """
    new = [each for recipient in recipients for each in _expiry_notices(recipient, domains, decided, now)]
    made = await store.insert_notices(conn, new=new, now=now)
    left = {each.id: (each.expires_at - now).days for each in domains}
    for name, event in _EVENTS.items():
        published = [each for each in new if each.id in made and each.is_published and each.event == name]
        data = [(account_id, _expiry_data(each, left[each.subject_id])) for each in published]
        await outbox.publish_many(conn, event, data)
    return len(made)


def _expiry_notices(
    recipient: Recipient, domains: Sequence[ExpiringDomain], decided: Collection[UUID], now: datetime
) -> Iterator[NewNotice]:
    preferences = recipient.preferences
    for domain in domains:
        days_left = (domain.expires_at - now).days
        threshold = rules.find_due_threshold(preferences.expiry, days_left=days_left, auto_renew=domain.auto_renew)
        if threshold is None or rules.is_muted(preferences, domain=domain.domain, tags=domain.tags):
            continue
        event = UPCOMING if days_left >= 0 else OVERDUE
        severity = rules.severity_of(threshold)
        channels = rules.channels_of(preferences, event=event, severity=severity)
        if threshold.channels is not None:
            channels &= set(threshold.channels)
        if channels:
            email = rules.schedule_email(preferences, event=event, severity=severity, now=now)
            yield NewNotice(
                id=ids.new(),
                account_id=recipient.account_id,
                member_id=recipient.member_id,
                kind=NoticeKind.EXPIRY,
                subject_id=domain.id,
                due_on=domain.expires_at.date(),
                days=threshold.days,
                event=event,
                severity=severity,
                in_app=Channel.IN_APP in channels,
                is_published=recipient.is_owner and Channel.WEBHOOK in channels,
                is_repeated=preferences.expiry.repeat_until_ack and domain.id not in decided,
                email_at=email.at if Channel.EMAIL in channels else None,
                held_by=email.by,
                domain_id=domain.id,
                domain=domain.domain,
                threshold_days=threshold.days,
                expires_on=domain.expires_at.date(),
                auto_renew=domain.auto_renew,
                money=_price(domain),
            )


def _price(domain: ExpiringDomain) -> Money | None:
    if domain.renewal_price is None or domain.renewal_currency is None:
        return None
    return Money(domain.renewal_price, domain.renewal_currency)


def _expiry_data(notice: NewNotice, days_left: int) -> ExpiryNoticeData:
    return ExpiryNoticeData(
        id=notice.subject_id,
        domain=notice.domain or "",
        expires_on=notice.due_on,
        days_left=days_left,
        threshold_days=notice.days,
        auto_renew=notice.auto_renew,
        severity=notice.severity,
    )


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
    preferences, data = recipient.preferences, event.read()
    severity = event_texts.severity_of(event.name, data)
    channels = rules.channels_of(preferences, event=event.name, severity=severity) - {Channel.WEBHOOK}
    if not channels or (PUBLISHED[event.name].owners_only and recipient.role is not TeamRole.OWNER):
        return None
    domain, names, tags = data.get("domain"), event_texts.domains_of(data), data.get("tags") or ()
    is_muted = names and all(rules.is_muted(preferences, domain=each, tags=tags) for each in names)
    if is_muted and severity is not Severity.CRITICAL:
        return None
    email = rules.schedule_email(preferences, event=event.name, severity=severity, now=now)
    domain_id = data.get("domain_id") or (data.get("id") if isinstance(domain, str) else None)
    return NewNotice(
        id=ids.new(),
        account_id=recipient.account_id,
        member_id=recipient.member_id,
        kind=NoticeKind.EVENT,
        subject_id=event.id,
        due_on=event.created_at.date(),
        days=0,
        event=event.name,
        severity=severity,
        in_app=Channel.IN_APP in channels,
        is_published=False,
        email_at=email.at if Channel.EMAIL in channels else None,
        held_by=email.by,
        domain_id=ids.find(str(domain_id)),
        domain=domain if isinstance(domain, str) else None,
        title=event_texts.find_title(event.name, data),
    )
