"""Emails of notices: the due notices of a member become one message, now, after quiet hours or as a digest."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from uuid import UUID

from builders.identity import accounts as identity_accounts
from builders.identity.records import Account
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.mail import service as mail
from builders.mail.templates import PortfolioEvent, Renewal, RenewalNotice
from builders.portfolio.domains import lookups
from builders.portfolio.domains.records import Domain
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.ledger import currencies, rates as ledger_rates
from builders.portfolio.notifications import store
from builders.portfolio.notifications.event_kinds import EVENT_KINDS
from builders.portfolio.notifications.preferences import list_recipients
from builders.portfolio.notifications.records import Channel, Notice, Recipient, Suppression, Topic
from builders.portfolio.registrars import providers
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
    if not await store.lock_delivery(conn, account_id=account_id):
        return 0
    due = await store.take_due(conn, account_id=account_id, now=now, limit=MAX_TAKEN)
    if not due:
        return 0
    today = await get_today(conn, account_id=account_id)
    due_to: dict[UUID, list[Notice]] = defaultdict(list)
    about = {each.domain_id for each in due if each.expires_on is not None and each.domain_id is not None}
    domains = await lookups.load_domains_by_id(conn, account_id=account_id, ids=sorted(about)) if about else {}
    outdated = _list_outdated(due, domains, today)
    prices = await _load_base_prices(conn, account_id, due, today)
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
            shown = _renewals(notices, domains, prices if _shows_finance(recipient) else None, today=today.day)
            message = _message(recipient, notices, shown, owner=accounts[owner_id], today=today)
            await mail.send(conn, keyring=keyring, account_id=member.id, to=member.email, template=message)
    return len(due)


async def _load_base_prices(
    conn: Conn, account_id: UUID, notices: Sequence[Notice], today: Today
) -> Mapping[Money, Money]:
    """Return the prices of notices about expiries in the base currency, at the rates of today, without others."""
    prices = {each.amount for each in notices if each.expires_on is not None and each.amount is not None}
    if not prices:
        return {}
    base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    amounts = {each: each for each in prices if each.currency != base_currency}
    found = await ledger_rates.convert(
        conn, account_id=account_id, base_currency=base_currency, amounts=amounts, on=today.day
    )
    return {price: converted for price, converted in found.items() if converted is not None}


def _list_outdated(notices: Sequence[Notice], domains: Mapping[UUID, Domain], today: Today) -> frozenset[UUID]:
    """Return the notices about expiries that no longer hold."""
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


def _shows_finance(recipient: Recipient) -> bool:
    return Permission.VIEW_FINANCE in roles.list_permissions(recipient.role)


def _message(
    recipient: Recipient, notices: Sequence[Notice], domains: Sequence[Renewal], *, owner: Account, today: Today
) -> RenewalNotice:
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


def _renewals(
    notices: Sequence[Notice],
    domains: Mapping[UUID, Domain],
    base_prices: Mapping[Money, Money] | None,
    *,
    today: date,
) -> list[Renewal]:
    """Return the domains of notices about an expiry, most urgent first; each once, by its latest notice.

    Without `base_prices` they have no prices.
    """
    expiring = [each for each in notices if each.expires_on is not None]
    latest = {each.domain_id: each for each in sorted(expiring, key=lambda each: each.id)}
    pages = providers.load_dashboards({each.registrar for each in domains.values() if each.registrar is not None})
    renewals = list[Renewal]()
    for notice in latest.values():
        domain = None if notice.domain_id is None else domains.get(notice.domain_id)
        if domain is None or notice.expires_on is None:
            continue
        price = None if base_prices is None else notice.amount
        base_price = None if price is None or base_prices is None else base_prices.get(price)
        renewals.append(
            Renewal(
                domain=domain.domain,
                unicode=None if domain.unicode == domain.domain else domain.unicode,
                expires_on=notice.expires_on,
                days=(notice.expires_on - today).days,
                auto_renew=bool(notice.auto_renew),
                price=None if price is None else str(price),
                base_price=None if base_price is None else str(base_price),
                registrar=domain.registrar,
                link=None if domain.registrar is None else pages.get(domain.registrar),
            )
        )
    return sorted(renewals, key=lambda each: (each.auto_renew, each.days, each.domain))
