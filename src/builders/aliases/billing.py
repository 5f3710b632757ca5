"""Prices of names: renewals, the terms of a release, and free reclaims of released names.

Renewal: the invoice and the next renewal are written in one transaction, under the lock of the names, so that no
period is billed twice. Free names renew without an invoice, and so do those of a sandbox. A suspended name is
renewed after it is restored.

Release: an account that claims its released name again within the paid period continues the period; the alias
keeps its id, price and renewal. A release within the cooling-off period undoes the claim, which is then not owed;
this is possible once for each account and name.
"""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.aliases.errors import PricesChanged
from builders.aliases.records import Alias, AliasSpec, Claim, Name, PriceInterval
from builders.aliases.store import billing as store
from builders.identity import accounts, mandates
from builders.invoices import issuance
from builders.invoices.issuance import PaidPeriod
from builders.invoices.records import Charge, InvoiceStatus, NewInvoice, NewLine, Seller
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.money import Money

MONTHS = {PriceInterval.MONTH: 1, PriceInterval.YEAR: 12}
AHEAD_YEAR, AHEAD_MONTH = timedelta(days=30), timedelta(days=7)
TO_PAY = timedelta(days=7)  # at least, between an invoice and its due date
ACCOUNTS_AT_ONCE = 500
WITHDRAWABLE = {InvoiceStatus.OPEN, InvoiceStatus.PAID}
NAMES_AT_ONCE = 2_000  # of an account, and so lines of an invoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim:
    """A released name whose paid period continues if its account claims it again."""

    alias_id: UUID
    period: PaidPeriod
    price: Money  # of the next renewal
    interval: PriceInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTerms:
    """The consequences of a release for the charges of a name."""

    charges: Sequence[Charge]  # owed or paid, oldest first
    period: PaidPeriod | None  # in which a reclaim is free
    undoable_until: datetime | None  # the end of the cooling-off period; None if a release does not undo the claim

    @property
    def affects_charges(self) -> bool:
        """Return whether the release affects a charge or undoes the claim."""
        return bool(self.charges) or self.period is not None or self.undoable_until is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedTerms:
    """The consequences of a past release for the charges of a name."""

    charges: Sequence[Charge]  # for periods that have not ended, oldest first
    is_undone: bool  # the claim
    period: PaidPeriod | None  # in which a reclaim is free


def add_months(at: datetime, months: int) -> datetime:
    """Return the same day a number of calendar months later, or the last day of a shorter month."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    return at.replace(year=year, month=month + 1, day=min(at.day, monthrange(year, month + 1)[1]))


def next_renewal(*, claimed_at: datetime, renews_at: datetime, interval: PriceInterval) -> datetime:
    """Return the next renewal, counted from the claim: 31 January, 28 February, 31 March."""
    step = MONTHS[interval]
    passed = (renews_at.year - claimed_at.year) * 12 + renews_at.month - claimed_at.month
    periods = max(passed // step, 0)
    while (found := add_months(claimed_at, periods * step)) <= renews_at:
        periods += 1
    return found


async def list_due_accounts(conn: Conn, *, after: UUID) -> Sequence[UUID]:
    """Return up to ACCOUNTS_AT_ONCE accounts with names to renew and ids after `after`."""
    now = clock.now()
    return await store.list_due_accounts(
        conn, after=after, year=now + AHEAD_YEAR, month=now + AHEAD_MONTH, limit=ACCOUNTS_AT_ONCE
    )


async def renew_aliases(conn: Conn, *, account_id: UUID, seller: Seller) -> int:
    """Renew names of the account that are due, with one invoice per currency; return their number."""
    now = clock.now()
    due = await store.lock_due(
        conn, account_id=account_id, year=now + AHEAD_YEAR, month=now + AHEAD_MONTH, limit=NAMES_AT_ONCE
    )
    renewals = {each.id: each.renews_at for each in due if each.renews_at is not None}
    until = {
        each.id: next_renewal(claimed_at=each.claimed_at, renews_at=renewals[each.id], interval=each.interval)
        for each in due
    }
    await store.set_renewals(conn, account_id=account_id, alias_ids=until, untils=until.values())
    real = await accounts.load_real_accounts(conn, account_ids=[account_id])
    owed: defaultdict[str, list[NewLine]] = defaultdict(list)
    for alias in due if real.get(account_id) == account_id else ():
        if alias.price.amount:
            line = NewLine(
                description=f"{alias.address}, 1 {alias.interval}",
                alias_id=alias.id,
                quantity=1,
                unit_amount=alias.price,
                period_start=renewals[alias.id],
                period_end=until[alias.id],
            )
            owed[alias.price.currency].append(line)
    for currency, lines in sorted(owed.items()):
        first = min(each.period_start for each in lines)
        new = NewInvoice(
            is_test=False, seller=seller, lines=lines, currency=currency, due_at=max(first, now + TO_PAY)
        )
        invoice = await issuance.issue(conn, account_id=account_id, new=new)
        await _count_for_buyers(conn, account_id=account_id, invoice_id=invoice.id, lines=lines)
    return len(due)


async def _count_for_buyers(conn: Conn, *, account_id: UUID, invoice_id: UUID, lines: Sequence[NewLine]) -> None:
    """Count the renewals of names that machines bought on what their mandates allow."""
    clients = await store.list_buyers(conn, account_id=account_id, alias_ids=[each.alias_id for each in lines])
    owed: dict[str, Money] = {}
    for line in lines:
        if line.alias_id is not None and (client := clients.get(line.alias_id)) is not None:
            owed[client] = line.unit_amount + owed.get(client, Money.zero(line.unit_amount.currency))
    await mandates.count_renewals(conn, account_id=account_id, invoice_id=invoice_id, owed=owed)


async def note_buyer(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], client: str) -> None:
    """Remember that a machine buys these names under its mandate."""
    await store.note_buyer(conn, account_id=account_id, alias_ids=alias_ids, client=client)


async def list_reclaims(
    conn: Conn, *, account_id: UUID, released: Sequence[Alias], lock: bool = False
) -> Mapping[Name, Reclaim]:
    """Return the names whose paid period the account can continue, of its released aliases.

    With `lock`, their invoices cannot change until the transaction ends.
    """
    now = clock.now()
    charges = await issuance.list_charges(
        conn, account_id=account_id, alias_ids=[each.id for each in released], lock=lock
    )
    reclaims: dict[Name, Reclaim] = {}
    for each in released:
        period = _period(charges.get(each.id, ()), each, now)
        if period is not None and (each.name not in reclaims or period.end > reclaims[each.name].period.end):
            reclaims[each.name] = Reclaim(
                alias_id=each.id, period=period, price=each.price, interval=each.interval
            )
    return reclaims


def _period(charges: Sequence[Charge], name: Alias, now: datetime) -> PaidPeriod | None:
    """Return the current period of a name.

    A name without an invoice has one too: its promotion was not billed yet, and is billed when it resumes.
    """
    period, start = issuance.find_paid_period(charges, now=now), name.claimed_at
    if period is not None or any(each.period_start <= start for each in charges):
        return period
    until = next_renewal(claimed_at=start, renews_at=start, interval=name.interval) if name.renews_at else None
    return PaidPeriod(until=until) if until is None or until > now else None


async def check_prices(conn: Conn, *, account_id: UUID, specs: Sequence[AliasSpec]) -> None:
    """Lock the paid periods of the specs. Raise PricesChanged unless exactly the specs with one continue it."""
    priced = [each for each in specs if each.continues or each.price.amount]
    if not priced:
        return
    names = {each.name for each in priced}
    released = await store.lock_released(conn, account_id=account_id, names=names, now=clock.now())
    reclaims = await list_reclaims(conn, account_id=account_id, released=released, lock=True)
    wrong = set()
    for each in priced:
        found = reclaims.get(each.name)
        continued = (each.id, each.paid_until) if each.continues else None
        if continued != (found and (found.alias_id, found.period.until)):
            wrong.add(each.name)
    if wrong:
        raise PricesChanged(frozenset(wrong))


async def list_release_terms(
    conn: Conn, *, account_id: UUID, aliases: Collection[Alias], cooling_off: timedelta
) -> Mapping[UUID, ReleaseTerms]:
    """Return the terms of a release now for each alias with a price, in at most two statements."""
    now = clock.now()
    priced = [each for each in aliases if each.price.amount]
    charges = await issuance.list_charges(conn, account_id=account_id, alias_ids=[each.id for each in priced])
    recent = {each.name for each in priced if each.claimed_at + cooling_off > now}
    used = await store.list_used(conn, account_id=account_id, names=recent) if recent else frozenset[Name]()
    terms: dict[UUID, ReleaseTerms] = {}
    for alias in priced:
        invoiced = charges.get(alias.id, ())
        owed = [
            charge for charge in invoiced if charge.status is not InvoiceStatus.VOID and not charge.is_credited
        ]
        # A name that was claimed a moment ago has no invoice yet.
        is_undoable = alias.name in recent - used and (
            not invoiced or any(charge.status in WITHDRAWABLE for charge in owed)
        )
        terms[alias.id] = ReleaseTerms(
            charges=owed,
            period=None if is_undoable else _period(invoiced, alias, now),
            undoable_until=alias.claimed_at + cooling_off if is_undoable else None,
        )
    return terms


async def get_released_terms(conn: Conn, *, account_id: UUID, alias: Alias) -> ReleasedTerms:
    """Return the terms of a past release, with the outcome of each charge."""
    found = await issuance.list_charges(conn, account_id=account_id, alias_ids=[alias.id])
    charges = found.get(alias.id, ())
    is_undone = alias.id in await store.list_undone(conn, account_id=account_id, alias_ids=[alias.id])
    continues = bool(alias.price.amount) and not is_undone
    period = _period(charges, alias, clock.now()) if continues else None
    return ReleasedTerms(charges=charges, is_undone=is_undone, period=period)


async def withdraw_charges(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], undone: Collection[UUID] = ()
) -> None:
    """Withdraw the charges that are not owed for released names; call it last in the transaction of the release.

    These are charges for later periods, and all charges of the `undone` claims. Publish the events of
    `issuance.withdraw_charges`.
    """
    now = clock.now()
    if undone:
        undone = await store.mark_undone(conn, account_id=account_id, alias_ids=undone)
    if alias_ids:
        await issuance.withdraw_charges(conn, account_id=account_id, alias_ids=alias_ids, at=now, undone=undone)


async def lock_claims(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID]) -> Mapping[UUID, Claim]:
    """Return the claims of aliases, active or released; block other releases until the transaction ends."""
    claims = await store.lock_claims(conn, account_id=account_id, alias_ids=alias_ids)
    if not (released := [each.id for each in claims.values() if each.is_released]):
        return claims
    # Only a release undoes a claim. This statement sees rows that were committed while the first one waited.
    undone = await store.list_undone(conn, account_id=account_id, alias_ids=released)
    return {each.id: replace(each, is_undone=each.id in undone) for each in claims.values()}
