"""Emails of notices: the due notices of a member become one message, now, after quiet hours or as a digest."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from uuid import UUID

from builders.identity import accounts as identity_accounts
from builders.identity.records import Account
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.templates import PortfolioEvent, Renewal, RenewalNotice
from builders.portfolio.domains import lookups
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.notifications import store
from builders.portfolio.notifications.event_kinds import EVENT_KINDS
from builders.portfolio.notifications.preferences import list_recipients
from builders.portfolio.notifications.records import Channel, Notice, Recipient, Suppression, Topic
from builders.portfolio.team import roles
from builders.portfolio.team.records import Permission

MAX_TAKEN = 20_000  # notices in one transaction
DAY = timedelta(days=1)
MAX_LINES = 100  # domains, and events, in one email
# The sections of an email in their order.
_SECTIONS = (
    Topic.RENEWALS,
    Topic.TRANSFERS,
    Topic.RECONCILE,
    Topic.REGISTRARS,
    Topic.CHARGES,
    Topic.PARKING,
    Topic.DOMAINS,
    Topic.IMPORTS,
    Topic.TEAM,
)


async def deliver(conn: Conn, *, keyring: Keyring, account_id: UUID) -> int:
    """Send the emails of a portfolio that are due, one for each member; return the number of notices taken.

    The notices are marked in the transaction that adds the messages, so that a worker that is killed sends
    nothing twice. Notices of a member who has left or has turned email off meanwhile are not sent, nor those of
    domains that were renewed, sold or dropped meanwhile.
    """
    now = clock.now()
    due = await store.take_due(conn, account_id=account_id, now=now, limit=MAX_TAKEN)
    if not due:
        return 0
    today = await get_today(conn, account_id=account_id)
    due_to: dict[UUID, list[Notice]] = defaultdict(list)
    outdated = await _list_outdated(conn, account_id, due, today)
    for notice in due:
        if notice.id not in outdated:
            due_to[notice.member_id].append(notice)
    recipients = (await list_recipients(conn, account_ids=[account_id]))[account_id]
    owner_id = (await identity_accounts.load_real_accounts(conn, account_ids=[account_id]))[account_id]
    accounts = await identity_accounts.list_accounts_by_id(conn, account_ids={owner_id, *due_to})
    for recipient in recipients:
        member, notices = accounts.get(recipient.member_id), due_to.get(recipient.member_id)
        is_on = Channel.EMAIL in recipient.preferences.channels.enabled
        if notices and is_on and member is not None and member.email_verified_at is not None:
            message = _message(recipient, notices, owner=accounts[owner_id], today=today)
            await mail.send(conn, keyring=keyring, account_id=member.id, to=member.email, template=message)
    return len(due)


async def _list_outdated(conn: Conn, account_id: UUID, notices: Sequence[Notice], today: Today) -> frozenset[UUID]:
    """Return the notices about expiries that no longer hold."""
    about = {each.domain_id for each in notices if each.expires_on is not None and each.domain_id is not None}
    if not about:
        return frozenset()
    domains = await lookups.load_domains_by_id(conn, account_id=account_id, ids=sorted(about))
    expiries: dict[UUID | None, date] = {
        each.id: today.day_of(each.expires_at)
        for each in domains.values()
        if each.status.is_held and each.expires_at is not None
    }
    return frozenset(
        each.id
        for each in notices
        if each.expires_on is not None and not _is_present(each.expires_on, expiries.get(each.domain_id))
    )


def _is_present(expires_on: date, expiry: date | None) -> bool:
    """Return whether an expiry is still that of a notice. Another time zone moves it by a day."""
    return expiry is not None and abs(expires_on - expiry) <= DAY


def _message(recipient: Recipient, notices: Sequence[Notice], *, owner: Account, today: Today) -> RenewalNotice:
    shows_finance = Permission.VIEW_FINANCE in roles.list_permissions(recipient.role)
    domains = _renewals(notices, today=today.day, shows_finance=shows_finance)
    others = [each for each in notices if each.expires_on is None and each.event in EVENT_KINDS]
    others.sort(key=lambda each: (_SECTIONS.index(EVENT_KINDS[each.event].topic), each.id))
    events = [
        PortfolioEvent(
            title=each.title,
            on=today.day_of(each.created_at),
            section=EVENT_KINDS[each.event].topic.capitalize(),
            name=each.event,
        )
        for each in others
    ]
    return RenewalNotice(
        domains=tuple(domains[:MAX_LINES]),
        events=tuple(events[:MAX_LINES]),
        more=max(len(domains) - MAX_LINES, 0) + max(len(events) - MAX_LINES, 0),
        repeated=recipient.preferences.expiry.repeat_until_ack,
        digest=any(each.held_by is Suppression.DIGEST for each in notices),
        portfolio=None if recipient.is_owner else owner.name,
        sandbox=owner.id != recipient.account_id,
    )


def _renewals(notices: Sequence[Notice], *, today: date, shows_finance: bool) -> list[Renewal]:
    """Return the domains of notices about an expiry, most urgent first; each once, by its latest notice."""
    expiring = [each for each in notices if each.expires_on is not None]
    latest = {each.domain_id: each for each in sorted(expiring, key=lambda each: each.id)}
    renewals = [
        Renewal(
            domain=notice.domain or "",
            expires_on=notice.expires_on,
            days=(notice.expires_on - today).days,
            auto_renew=bool(notice.auto_renew),
            price=str(notice.money) if shows_finance and notice.money is not None else None,
        )
        for notice in latest.values()
        if notice.expires_on is not None
    ]
    return sorted(renewals, key=lambda each: (each.auto_renew, each.days, each.domain))
