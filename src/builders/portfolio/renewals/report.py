"""The report of renewals that are due and overdue."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock
from builders.portfolio.domains import service as domains
from builders.portfolio.domains.records import ExpiringDomain
from builders.portfolio.finance import service as finance
from builders.portfolio.finance.service import Recommendation
from builders.portfolio.ledger import service as ledger
from builders.portfolio.renewals import prices, store
from builders.portfolio.renewals.prices import Due
from builders.portfolio.renewals.records import Decision, DueRenewal, RenewalReport


async def get_report(
    conn: Conn, *, account_id: UUID, within_days: int, page: PageRequest, shows_finance: bool
) -> RenewalReport:
    """Return a page of the held domains that expire within some days or have expired, the earliest expiry first.

    Prices are converted at the rate of today. Without finance nothing has a price, nor a recommendation.
    """
    now = clock.now()
    base_currency = await ledger.get_base_currency(conn, account_id=account_id)
    due = await list_due(
        conn, account_id=account_id, until=now + timedelta(days=within_days), shows_finance=shows_finance
    )
    rates = await prices.convert_prices(
        conn, base_currency=base_currency, prices=[each.price for each in due], on=now.date()
    )
    cut = page.cut(_rows_after(due, page)[: page.limit + 1], lambda each: _sort_key(each.domain))
    items = await _items(
        conn,
        account_id=account_id,
        due=cut.items,
        base_currency=base_currency,
        now=now,
        shows_finance=shows_finance,
    )
    return RenewalReport(
        base_currency=base_currency,
        within_days=within_days,
        page=Page(items=items, next_cursor=cut.next_cursor),
        totals=prices.sum_up(due, rates),
        shows_finance=shows_finance,
    )


async def list_due(conn: Conn, *, account_id: UUID, until: datetime, shows_finance: bool) -> Sequence[Due]:
    """Return what expires before a time or has expired, the earliest expiry first, with price and decision."""
    expiring = await domains.list_expiring(conn, account_id=account_id, until=until)
    found = await prices.list_prices(conn, account_id=account_id, due=expiring) if shows_finance else {}
    decisions = await find_decisions(
        conn, account_id=account_id, expiries={each.id: each.expires_at for each in expiring}
    )
    return [Due(each, found.get(each.id, prices.UNKNOWN), decisions[each.id]) for each in expiring]


async def find_decisions(
    conn: Conn, *, account_id: UUID, expiries: Mapping[UUID, datetime | None]
) -> Mapping[UUID, Decision]:
    """Return the decision about the expiry of each domain: undecided unless there is another."""
    stored = await store.list_decisions(conn, account_id=account_id, domain_ids=list(expiries))
    found = {each.domain_id: each.at_expiry(expiries[each.domain_id]) for each in stored}
    return {each: found.get(each) or Decision(domain_id=each) for each in expiries}


def _sort_key(domain: ExpiringDomain) -> tuple[str, str]:
    return domain.expires_at.isoformat(), str(domain.id)


def _rows_after(due: Sequence[Due], page: PageRequest) -> Sequence[Due]:
    """Return the content of the cursor."""
    if page.after is None:
        return due
    expires_at, domain_id = page.after
    position = datetime.fromisoformat(str(expires_at)), UUID(str(domain_id))
    return [each for each in due if (each.domain.expires_at, each.domain.id) > position]


async def _items(
    conn: Conn, *, account_id: UUID, due: Sequence[Due], base_currency: str, now: datetime, shows_finance: bool
) -> Sequence[DueRenewal]:
    found = await domains.find_domains_by_id(conn, account_id=account_id, ids=[each.domain.id for each in due])
    advice: Mapping[UUID, Recommendation] = {}
    if shows_finance:
        known = {each.domain.id: each.price.money for each in due if each.price.money is not None}
        advice = await finance.list_recommendations(
            conn,
            account_id=account_id,
            base_currency=base_currency,
            domains=list(found.values()),
            renewal_prices=known,
            as_of=now.date(),
        )
    return [
        DueRenewal(
            domain=domain,
            expires_at=each.domain.expires_at,
            days_left=(each.domain.expires_at - now).days,
            lifecycle=domains.lifecycle_of(domain, now),
            drop_dates=domains.drop_dates(domain),
            price=each.price,
            decision=each.decision,
            recommendation=advice.get(domain.id),
        )
        for each in due
        if (domain := found.get(each.domain.id)) is not None  # or it was removed concurrently
    ]
