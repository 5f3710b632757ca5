"""The report of renewals that are due and overdue."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock
from builders.portfolio.domains import lifecycle, lookups, renewal_facts
from builders.portfolio.domains.filters import ALL_DOMAINS, DomainFilters
from builders.portfolio.domains.records import ExpiringDomain
from builders.portfolio.finance import advice as finance_advice
from builders.portfolio.finance.recommendation import Recommendation
from builders.portfolio.ledger import currencies
from builders.portfolio.renewals import prices, store
from builders.portfolio.renewals.prices import Due
from builders.portfolio.renewals.records import Decision, DueRenewal, RenewalReport


async def get_report(
    conn: Conn,
    *,
    account_id: UUID,
    within_days: int,
    page: PageRequest,
    shows_finance: bool,
    filters: DomainFilters = ALL_DOMAINS,
) -> RenewalReport:
    """Return a page of the held domains that expire within some days or have expired, the earliest expiry first.

    Prices are converted at the rate of today. Without finance nothing has a price, nor a recommendation. The
    number of statements is constant, and only sums are read of the domains on other pages.
    """
    now = clock.now()
    until = now + timedelta(days=within_days)
    base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    chosen: dict[str, Any] = {"account_id": account_id, "filters": filters, "until": until}
    chosen["shows_finance"] = shows_finance
    due = await list_due(conn, **chosen, after=_position(page), limit=page.limit + 1)
    cut = page.cut(due, lambda each: _sort_key(each.domain))
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
        totals=await prices.sum_up(conn, **chosen, base_currency=base_currency),
        shows_finance=shows_finance,
    )


async def list_due(
    conn: Conn,
    *,
    account_id: UUID,
    until: datetime,
    shows_finance: bool,
    limit: int,
    after: tuple[datetime, UUID] | None = None,
    filters: DomainFilters = ALL_DOMAINS,
) -> Sequence[Due]:
    """Return up to `limit` domains that expire before a time or have expired, with price and decision.

    The earliest expiry is first; `after` is the expiry and the id behind which they begin.
    """
    expiring = await renewal_facts.list_expiring(
        conn, account_id=account_id, filters=filters, until=until, after=after, limit=limit
    )
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


def _position(page: PageRequest) -> tuple[datetime, UUID] | None:
    """Return the content of the cursor."""
    if page.after is None:
        return None
    expires_at, domain_id = page.after
    return datetime.fromisoformat(str(expires_at)), UUID(str(domain_id))


async def _items(
    conn: Conn, *, account_id: UUID, due: Sequence[Due], base_currency: str, now: datetime, shows_finance: bool
) -> Sequence[DueRenewal]:
    found = await lookups.find_domains_by_id(conn, account_id=account_id, ids=[each.domain.id for each in due])
    advice: Mapping[UUID, Recommendation] = {}
    if shows_finance:
        known = {each.domain.id: each.price.money for each in due if each.price.money is not None}
        advice = await finance_advice.list_recommendations(
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
            lifecycle=lifecycle.lifecycle_of(domain, now),
            drop_dates=lifecycle.drop_dates(domain),
            price=each.price,
            decision=each.decision,
            recommendation=advice.get(domain.id),
        )
        for each in due
        if (domain := found.get(each.domain.id)) is not None  # or it was removed concurrently
    ]
