"""What a release means for what was charged, and when a released name is claimed again at no charge.

A name that its account claims again while its period is paid for continues the period: the alias is the same, with
the price and the renewal it had. A claim that is released within the cooling-off period is not owed, once for each
account and name.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from builders.aliases.errors import PricesChanged
from builders.aliases.records import Alias, AliasSpec, Name, PriceInterval
from builders.aliases.renewals import next_renewal
from builders.aliases.rows import Claim, ReleasedName
from builders.aliases.store import periods as store
from builders.invoices import service as invoices
from builders.invoices.records import Charge, InvoiceStatus
from builders.invoices.service import PaidPeriod
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.money import Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim:
    """A released name whose paid period goes on when its account claims it again."""

    alias_id: UUID
    period: PaidPeriod
    price: Money  # of the next renewal
    interval: PriceInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTerms:
    """What the release of a name means for what was charged for it."""

    charges: Sequence[Charge]  # that are owed or paid, oldest first
    period: PaidPeriod | None  # in which claiming it again is free
    undoable_until: datetime | None  # until when a release undoes the claim; None when it does not

    @property
    def is_told(self) -> bool:
        """Whether something is owed, paid for, or undone."""
        return bool(self.charges) or self.period is not None or self.undoable_until is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedTerms:
    """What the release of a name has meant for what was charged for it."""

    charges: Sequence[Charge]  # for periods that have not ended, oldest first
    is_undone: bool  # the claim
    period: PaidPeriod | None  # in which claiming it again is free


async def list_reclaims(
    conn: Conn, *, account_id: UUID, names: Collection[Name], lock: bool = False
) -> Mapping[Name, Reclaim]:
    """Return those of the names whose paid period the account can continue; two statements at most.

    With `lock` the released aliases and their invoices stay as they are until the transaction ends.
    """
    if not names:
        return {}
    now = clock.now()
    released = await store.list_released(conn, account_id=account_id, names=names, now=now, lock=lock)
    charges = await invoices.list_charges(
        conn, account_id=account_id, alias_ids=[each.id for each in released], lock=lock
    )
    found: dict[Name, Reclaim] = {}
    for each in released:
        period = _period(charges.get(each.id, ()), each, now)
        name = Name(each.domain, each.key)
        if period is not None and (name not in found or period.end > found[name].period.end):
            found[name] = Reclaim(alias_id=each.id, period=period, price=each.price, interval=each.interval)
    return found


def _period(charges: Sequence[Charge], name: Alias | ReleasedName, now: datetime) -> PaidPeriod | None:
    """Return the period that goes on for a name.

    One that is on no invoice yet does so too: its promotion could not be billed, and bills it when it is resumed.
    """
    period, begun = invoices.find_paid_period(charges, now=now), name.claimed_at
    if period is not None or any(each.period_start <= begun for each in charges):
        return period
    until = next_renewal(claimed_at=begun, renews_at=begun, interval=name.interval) if name.renews_at else None
    return PaidPeriod(until=until) if until is None or until > now else None


async def check_prices(conn: Conn, *, account_id: UUID, specs: Sequence[AliasSpec]) -> None:
    """Raise PricesChanged unless exactly those specs continue a paid period that can; locks what decides it."""
    priced = [each for each in specs if each.continues or each.price.amount]
    reclaims = await list_reclaims(conn, account_id=account_id, names={each.name for each in priced}, lock=True)
    wrong = {each.name for each in priced if _continued(each) != _continuable(reclaims.get(each.name))}
    if wrong:
        raise PricesChanged(frozenset(wrong))


def _continued(spec: AliasSpec) -> tuple[UUID, datetime | None] | None:
    return (spec.id, spec.paid_until) if spec.continues else None


def _continuable(reclaim: Reclaim | None) -> tuple[UUID, datetime | None] | None:
    return None if reclaim is None else (reclaim.alias_id, reclaim.period.until)


async def list_release_terms(
    conn: Conn, *, account_id: UUID, aliases: Collection[Alias], cooling_off: timedelta
) -> Mapping[UUID, ReleaseTerms]:
    """Return what releasing each of the aliases now would mean, of those with a price; two statements at most."""
    now = clock.now()
    priced = [each for each in aliases if each.price.amount]
    charges = await invoices.list_charges(conn, account_id=account_id, alias_ids=[each.id for each in priced])
    recent = {each.name for each in priced if each.claimed_at + cooling_off > now}
    used = await store.list_used(conn, account_id=account_id, names=recent) if recent else frozenset[Name]()
    terms: dict[UUID, ReleaseTerms] = {}
    for each in priced:
        found = charges.get(each.id, ())
        owed = [charge for charge in found if charge.status is not InvoiceStatus.VOID and not charge.is_credited]
        # One that was claimed a moment ago is on no invoice yet.
        is_undoable = each.name in recent - used and (not found or any(map(_is_withdrawable, owed)))
        terms[each.id] = ReleaseTerms(
            charges=owed,
            period=None if is_undoable else _period(found, each, now),
            undoable_until=each.claimed_at + cooling_off if is_undoable else None,
        )
    return terms


async def get_released_terms(conn: Conn, *, account_id: UUID, alias: Alias) -> ReleasedTerms:
    """Return what became of what was charged for a name that is released."""
    found = await invoices.list_charges(conn, account_id=account_id, alias_ids=[alias.id])
    charges = found.get(alias.id, ())
    is_undone = await store.is_undone(conn, account_id=account_id, alias_id=alias.id)
    goes_on = bool(alias.price.amount) and not is_undone
    period = _period(charges, alias, clock.now()) if goes_on else None
    return ReleasedTerms(charges=charges, is_undone=is_undone, period=period)


def _is_withdrawable(charge: Charge) -> bool:
    return charge.status in {InvoiceStatus.OPEN, InvoiceStatus.PAID}


async def withdraw_charges(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], undone: Collection[UUID] = ()
) -> None:
    """Withdraw what is not owed for names that were released in this transaction; call it last there.

    That is what was billed ahead, and all that was charged for the `undone` claims. Publishes what
    `invoices.withdraw_charges` does.
    """
    now = clock.now()
    if undone:
        undone = await store.mark_undone(conn, account_id=account_id, alias_ids=undone, now=now)
    if alias_ids:
        await invoices.withdraw_charges(conn, account_id=account_id, alias_ids=alias_ids, at=now, undone=undone)


async def lock_claims(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID]) -> Mapping[UUID, Claim]:
    """Return how names were claimed, also released ones; nobody else releases them until the transaction ends."""
    found = await store.lock_claims(conn, account_id=account_id, alias_ids=alias_ids)
    return {each.id: each for each in found}
