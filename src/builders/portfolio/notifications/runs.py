"""The daily look through a portfolio: thresholds of its domains, and the cost of the next renewals.

A run can be repeated, late or on two workers at once: the keys of the notices decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.domains import renewal_facts
from builders.portfolio.domains.records import ExpiringDomain, RenewalDecision, RenewalSum
from builders.portfolio.domains.today import Today, get_today, list_today
from builders.portfolio.ledger import rates as ledger_rates
from builders.portfolio.notifications import store
from builders.portfolio.notifications.events import CostExceededData
from builders.portfolio.notifications.notices import notify_of_costs, notify_of_expiry
from builders.portfolio.notifications.preferences import list_recipients
from builders.portfolio.notifications.records import MIN_DAYS, Recipient
from builders.portfolio.renewals import report
from builders.portfolio.team import roles
from builders.portfolio.team.records import Permission

MAX_PORTFOLIOS = 500  # for which jobs are enqueued in one transaction
COST_DAYS = 62  # of two calendar months
FIRST_HOUR = 6  # of a day in which notices are made
BATCH = 1000  # domains whose notices are made in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is."""

    now: datetime  # its start: what is due is decided by one time
    after: tuple[datetime, UUID] | None = None  # expiry and id of the last domain that was looked at
    notices: int = 0  # that were made
    is_done: bool = False


async def list_portfolios(conn: Conn, *, after: UUID) -> tuple[Sequence[UUID], UUID | None]:
    """Return portfolios with ids after `after` that have had no run today, and the last id; None at the end.

    Today is a day of the portfolio, which begins with FIRST_HOUR: no notice is made in its night.
    """
    found = await renewal_facts.list_portfolios(conn, after=after, limit=MAX_PORTFOLIOS)
    today = await list_today(conn, account_ids=found)
    days = [today[each].day for each in found]
    run = await store.list_run(conn, account_ids=found, days=days)
    due = [each for each in found if each not in run and today[each].time.hour >= FIRST_HOUR]
    return due, found[-1] if found else None


async def run(
    database: Database,
    *,
    account_id: UUID,
    progress: Progress | None = None,
    time_slice: TimeSlice | None = None,
    batch_size: int = BATCH,
) -> Progress:
    """Read the domains of a portfolio, and make the notices that are due today, a batch per transaction.

    Return how far it came in the time slice. Without `progress` it begins.
    """
    progress = progress or Progress(now=clock.now())
    async with database.connection() as conn:
        recipients = (await list_recipients(conn, account_ids=[account_id]))[account_id]
        zone = (await get_today(conn, account_id=account_id)).zone
    today = Today(progress.now, zone)
    has_more = bool(recipients)
    while has_more:
        async with database.transaction() as conn:
            domains, created = await _notify(conn, account_id, recipients, progress.after, today, limit=batch_size)
        has_more = len(domains) == batch_size
        after = (domains[-1].expires_at, domains[-1].id) if domains else None
        progress = replace(progress, after=after, notices=progress.notices + created)
        if has_more and time_slice is not None and time_slice.is_over:
            return progress
    async with database.transaction() as conn:
        costs = await _list_costs(conn, account_id, recipients, today)
        created = await notify_of_costs(conn, costs=costs, now=progress.now)
        await store.record_run(conn, account_id=account_id, today=today.day)
    return replace(progress, notices=progress.notices + created, is_done=True)


async def _notify(
    conn: Conn,
    account_id: UUID,
    recipients: Sequence[Recipient],
    after: tuple[datetime, UUID] | None,
    today: Today,
    *,
    limit: int,
) -> tuple[Sequence[ExpiringDomain], int]:
    """Make the notices about up to `limit` further domains that a threshold of a recipient can be about.

    Domains whose reminders are snoozed have none. Return the domains and the number of notices.
    """
    days = [each for recipient in recipients for each in recipient.preferences.expiry.thresholds]
    domains = await renewal_facts.list_expiring(
        conn,
        account_id=account_id,
        today=today,
        since=today.in_days(MIN_DAYS),
        until=today.in_days(max([*days, MIN_DAYS])),
        after=after,
        limit=limit,
    )
    expiries = {each.id: each.expires_at for each in domains}
    decisions = await report.load_decisions(conn, account_id=account_id, expiries=expiries)
    snoozes = {key: each.snooze_until for key, each in decisions.items() if each.snooze_until is not None}
    awake = [each for each in domains if each.id not in snoozes or snoozes[each.id] <= today.day]
    decided = {key for key, each in decisions.items() if each.decision is not RenewalDecision.UNDECIDED}
    created = await notify_of_expiry(
        conn, account_id=account_id, recipients=recipients, domains=awake, decided=decided, today=today
    )
    return domains, created


async def _list_costs(
    conn: Conn, account_id: UUID, recipients: Sequence[Recipient], today: Today
) -> Sequence[tuple[Recipient, CostExceededData]]:
    """Return the months whose renewals cost more than the limits of members, with the members."""
    limits = [
        (each, limit)
        for each in recipients
        if (limit := each.preferences.cost_alert.monthly_renewals_above) is not None
        and Permission.VIEW_FINANCE in roles.list_permissions(each.role)
    ]
    if not limits:
        return ()
    sums = await renewal_facts.list_renewal_sums(
        conn, account_id=account_id, today=today, since=today.in_days(MIN_DAYS), until=today.in_days(COST_DAYS)
    )
    currencies = {each.currency for each in sums if each.currency is not None}
    first = today.day.replace(day=1)
    exceeded: list[tuple[Recipient, CostExceededData]] = []
    for recipient, limit in limits:
        rates = await ledger_rates.list_rates_on(
            conn, account_id=account_id, base_currency=limit.currency, currencies=currencies, on=today.day
        )
        for month in (first, (first + timedelta(days=31)).replace(day=1)):
            cost = _add_up([each for each in sums if each.month == month], month=month, limit=limit, rates=rates)
            if cost.total > limit:
                exceeded.append((recipient, cost))
    return exceeded


def _add_up(
    sums: Sequence[RenewalSum], *, month: date, limit: Money, rates: Mapping[str, Decimal]
) -> CostExceededData:
    """Return the prices of a month in the currency of the limit."""
    known = [(each, rates[each.currency]) for each in sums if each.currency is not None and each.currency in rates]
    count = sum(each.domains for each, _ in known)
    total = sum((each.amount * rate for each, rate in known), Decimal(0))
    return CostExceededData(
        month=month,
        total=Money(total, limit.currency).quantized(),
        limit=limit,
        domains=count,
        unknown=sum(each.domains for each in sums) - count,
    )
