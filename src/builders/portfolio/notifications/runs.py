"""The daily look through a portfolio: thresholds of its domains, and the cost of the next renewals.

A run can be repeated, late or on two workers at once: the keys of the notices decide.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.portfolio.domains import service as portfolio_domains
from builders.portfolio.domains.records import ExpiringDomain, RenewalDecision
from builders.portfolio.ledger import service as ledger
from builders.portfolio.notifications import rules
from builders.portfolio.notifications.event_kinds import COST_EXCEEDED, EVENT_KINDS
from builders.portfolio.notifications.events import RENEWAL_COST_EXCEEDED, CostExceededData
from builders.portfolio.notifications.notices import notify_of_expiry
from builders.portfolio.notifications.preferences import Recipient, list_recipients
from builders.portfolio.notifications.records import MIN_DAYS, Channel, NewNotice, NoticeKind
from builders.portfolio.notifications.store import notices as store
from builders.portfolio.renewals import service as renewals
from builders.portfolio.renewals.records import Decision
from builders.portfolio.team import service as team
from builders.portfolio.team.records import Permission

MAX_PORTFOLIOS = 500  # for which jobs are enqueued in one transaction
COST_DAYS = 62  # of two calendar months
BATCH = 1000  # domains whose notices are made in one transaction


@dataclass(slots=True)
class _Costs:
    """The renewal prices of domains, added by month of the expiry and currency."""

    amounts: dict[tuple[date, str], Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    priced: Counter[tuple[date, str]] = field(default_factory=Counter)
    domains: Counter[date] = field(default_factory=Counter)

    @property
    def currencies(self) -> Collection[str]:
        """Return the currencies of the prices."""
        return {currency for _, currency in self.amounts}

    def add(self, domains: Sequence[ExpiringDomain]) -> None:
        """Add the prices of domains."""
        for each in domains:
            month = each.expires_at.date().replace(day=1)
            self.domains[month] += 1
            if each.renewal_price is not None:
                key = (month, each.renewal_currency or "")
                self.amounts[key] += each.renewal_price
                self.priced[key] += 1

    def sum_up(self, *, month: date, limit: Money, rates: Mapping[str, Decimal]) -> CostExceededData:
        """Return the prices of a month in the currency of the limit."""
        known = {key: rates[key[1]] for key in self.amounts if key[0] == month and key[1] in rates}
        count = sum(self.priced[key] for key in known)
        total = sum((self.amounts[key] * rate for key, rate in known.items()), Decimal(0))
        return CostExceededData(
            month=month,
            total=Money(total, limit.currency).quantized(),
            limit=limit,
            domains=count,
            unknown=self.domains[month] - count,
        )


async def list_portfolios(conn: Conn, *, after: UUID) -> tuple[Sequence[UUID], UUID | None]:
    """Return portfolios with ids after `after` that have had no run today, and the last id; None at the end."""
    found = await portfolio_domains.list_portfolios(conn, after=after, limit=MAX_PORTFOLIOS)
    run = await store.list_run(conn, account_ids=found, today=clock.now().date())
    return [each for each in found if each not in run], found[-1] if found else None


async def run(database: Database, *, account_id: UUID, batch_size: int = BATCH) -> int:
    """Read the domains of a portfolio, and make the notices that are due today, a batch per transaction.

    Return their number.
    """
    now, made, costs = clock.now(), 0, _Costs()
    async with database.connection() as conn:
        recipients = (await list_recipients(conn, account_ids=[account_id]))[account_id]
    has_more, after = bool(recipients), None
    while has_more:
        async with database.transaction() as conn:
            domains = await _list_expiring(conn, account_id, recipients, now, after=after, limit=batch_size)
            made += await _notify(conn, account_id, recipients, domains, now)
        costs.add(domains)
        has_more = len(domains) == batch_size
        after = (domains[-1].expires_at, domains[-1].id) if domains else None
    async with database.transaction() as conn:
        made += await _notify_of_costs(conn, recipients, costs, now)
        await store.record_run(conn, account_id=account_id, today=now.date())
    return made


async def _notify(
    conn: Conn,
    account_id: UUID,
    recipients: Sequence[Recipient],
    domains: Sequence[ExpiringDomain],
    now: datetime,
) -> int:
    """Make the notices about a batch of domains, except those whose reminders are snoozed."""
    expiries = {each.id: each.expires_at for each in domains}
    decisions = await renewals.find_decisions(conn, account_id=account_id, expiries=expiries)
    awake = [each for each in domains if not _is_snoozed(decisions[each.id], today=now.date())]
    decided = {key for key, each in decisions.items() if each.decision is not RenewalDecision.UNDECIDED}
    return await notify_of_expiry(
        conn, account_id=account_id, recipients=recipients, domains=awake, decided=decided, now=now
    )


async def _list_expiring(
    conn: Conn,
    account_id: UUID,
    recipients: Sequence[Recipient],
    now: datetime,
    *,
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> Sequence[ExpiringDomain]:
    """Return up to `limit` domains that a threshold or a cost alert of a recipient can be about."""
    days = [each.days for recipient in recipients for each in recipient.preferences.expiry.thresholds]
    is_limited = any(each.preferences.cost_alert.monthly_renewals_above for each in recipients)
    longest = max([*days, COST_DAYS if is_limited else MIN_DAYS])
    return await portfolio_domains.list_expiring(
        conn,
        account_id=account_id,
        since=now + timedelta(days=MIN_DAYS),
        until=now + timedelta(days=longest + 1),
        after=after,
        limit=limit,
    )


def _is_snoozed(decision: Decision, *, today: date) -> bool:
    return decision.snooze_until is not None and decision.snooze_until > today


async def _notify_of_costs(conn: Conn, recipients: Sequence[Recipient], costs: _Costs, now: datetime) -> int:
    """Notify members of months whose renewals cost more than their limit, once for each month."""
    new: list[tuple[NewNotice, CostExceededData]] = []
    for recipient in recipients:
        limit = recipient.preferences.cost_alert.monthly_renewals_above
        if limit is None or Permission.VIEW_FINANCE not in team.list_permissions(recipient.role):
            continue
        rates = await _list_rates(conn, costs.currencies, base_currency=limit.currency, today=now.date())
        for month in _months(now.date()):
            cost = costs.sum_up(month=month, limit=limit, rates=rates)
            channels = rules.channels_of(
                recipient.preferences, event=COST_EXCEEDED, severity=EVENT_KINDS[COST_EXCEEDED].severity
            )
            if channels and cost.total > limit:
                new.append((_cost_notice(recipient, cost, channels, now), cost))
    made = await store.insert_notices(conn, new=[notice for notice, _ in new], now=now)
    published = [(notice.account_id, cost) for notice, cost in new if notice.id in made and notice.is_published]
    await outbox.publish_many(conn, RENEWAL_COST_EXCEEDED, published)
    return len(made)


def _months(today: date) -> Iterator[date]:
    """Yield the first days of this month and of the next one."""
    first = today.replace(day=1)
    yield first
    yield (first + timedelta(days=31)).replace(day=1)


async def _list_rates(
    conn: Conn, currencies: Collection[str], *, base_currency: str, today: date
) -> Mapping[str, Decimal]:
    """Return the rate of today of each of the currencies that has one."""
    needed = {(each, today) for each in currencies}
    found = await ledger.list_rates(conn, base_currency=base_currency, needed=needed)
    return {**{currency: rate for (currency, _), rate in found.items()}, base_currency: Decimal(1)}


def _cost_notice(
    recipient: Recipient, cost: CostExceededData, channels: frozenset[Channel], now: datetime
) -> NewNotice:
    severity = EVENT_KINDS[COST_EXCEEDED].severity
    email = rules.schedule_email(recipient.preferences, event=COST_EXCEEDED, severity=severity, now=now)
    return NewNotice(
        account_id=recipient.account_id,
        member_id=recipient.member_id,
        kind=NoticeKind.COST,
        subject_id=ids.NIL,
        due_on=cost.month,
        days=0,
        id=ids.new(),
        event=COST_EXCEEDED,
        severity=severity,
        in_app=Channel.IN_APP in channels,
        is_published=recipient.is_owner and Channel.WEBHOOK in channels,
        email_at=email.at if Channel.EMAIL in channels else None,
        held_by=email.by,
        month=cost.month,
        money=cost.total,
    )
