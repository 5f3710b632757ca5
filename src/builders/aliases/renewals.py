"""Names with a price per month or year are paid for anew, ahead of the day.

The invoice and the next renewal are written in one transaction, under the lock of the names: who comes second
finds nothing due, so that no period is billed twice. Names that cost nothing go on without an invoice, and so do
those of a sandbox, where nobody would pay. A suspended name waits until it is restored.
"""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.aliases.records import PriceInterval
from builders.aliases.rows import Renewing
from builders.aliases.store import renewals as store
from builders.identity import service as identity
from builders.invoices import service as invoices
from builders.invoices.records import NewLine, Seller
from builders.kit.db.connections import Conn
from builders.kit.values import clock

MONTHS = {PriceInterval.MONTH: 1, PriceInterval.YEAR: 12}
AHEAD_YEAR, AHEAD_MONTH = timedelta(days=30), timedelta(days=7)
TO_PAY = timedelta(days=7)  # at least, between an invoice and its due date
ACCOUNTS_AT_ONCE = 500
NAMES_AT_ONCE = 2_000  # of an account, and so the lines of an invoice


def add_months(at: datetime, months: int) -> datetime:
    """So many calendar months later, on the same day, or on the last one of a shorter month."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    return at.replace(year=year, month=month + 1, day=min(at.day, monthrange(year, month + 1)[1]))


def next_renewal(*, claimed_at: datetime, renews_at: datetime, interval: PriceInterval) -> datetime:
    """The renewal after this one, counted from the claim: after 28 February comes 31 March for a 31 January."""
    step = MONTHS[interval]
    passed = (renews_at.year - claimed_at.year) * 12 + renews_at.month - claimed_at.month
    periods = max(passed // step, 0)
    while (found := add_months(claimed_at, periods * step)) <= renews_at:
        periods += 1
    return found


async def list_due_accounts(conn: Conn, *, after: UUID) -> Sequence[UUID]:
    """Accounts with names that are to be paid for anew, some at a time, with ids beyond `after`."""
    now = clock.now()
    return await store.list_accounts(
        conn, after=after, year=now + AHEAD_YEAR, month=now + AHEAD_MONTH, limit=ACCOUNTS_AT_ONCE
    )


async def renew(conn: Conn, *, account_id: UUID, seller: Seller) -> int:
    """Renews names of the account that are due, with an invoice for each currency; their number."""
    now = clock.now()
    due = await store.lock_due(
        conn, account_id=account_id, year=now + AHEAD_YEAR, month=now + AHEAD_MONTH, limit=NAMES_AT_ONCE
    )
    until = {
        each.id: next_renewal(claimed_at=each.claimed_at, renews_at=each.renews_at, interval=each.interval)
        for each in due
    }
    await store.advance(conn, account_id=account_id, due=due, until=until)
    real = await identity.find_real_accounts(conn, account_ids=[account_id])
    if real.get(account_id) == account_id:
        await _bill(conn, account_id=account_id, seller=seller, due=due, until=until)
    return len(due)


async def _bill(
    conn: Conn, *, account_id: UUID, seller: Seller, due: Sequence[Renewing], until: dict[UUID, datetime]
) -> None:
    owed: defaultdict[str, list[Renewing]] = defaultdict(list)
    for each in due:
        if each.price.amount:
            owed[each.price.currency].append(each)
    for currency, names in sorted(owed.items()):
        await invoices.issue(
            conn,
            account_id=account_id,
            is_test=False,
            seller=seller,
            lines=[_line(each, until[each.id]) for each in names],
            currency=currency,
            due_at=max(min(each.renews_at for each in names), clock.now() + TO_PAY),
        )


def _line(name: Renewing, until: datetime) -> NewLine:
    return NewLine(
        description=f"{name.address}, 1 {name.interval}",
        alias_id=name.id,
        quantity=1,
        unit_amount=name.price,
        period_start=name.renews_at,
        period_end=until,
    )
