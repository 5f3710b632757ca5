"""Until when names are paid for, from the lines of issued invoices."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from builders.invoices.records import Charge, InvoiceStatus, Stage
from builders.invoices.store import charges as store
from builders.kit.db.connections import Conn
from builders.kit.values import clock

_FOREVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidPeriod:
    """A period that is paid for, or whose invoice is open within its grace."""

    until: datetime | None  # None for what is paid once and kept
    unpaid: Sequence[str] = ()  # numbers of the open invoices that it depends on

    @property
    def end(self) -> datetime:
        """`until`, so that it can be compared."""
        return self.until or _FOREVER


def paid_period(charges: Iterable[Charge], *, now: datetime) -> PaidPeriod | None:
    """Return the period that goes on for a released name; None when nothing covers the time after `now`.

    A period that is billed ahead and not paid does not count: the release withdraws it.
    """
    covering = [
        each
        for each in charges
        if not each.is_credited
        and (each.period_end is None or each.period_end > now)
        and (each.status is InvoiceStatus.PAID or (_is_in_grace(each) and each.period_start <= now))
    ]
    if not covering:
        return None
    ends = [each.period_end for each in covering if each.period_end is not None]
    unpaid = sorted({each.number for each in covering if each.status is InvoiceStatus.OPEN})
    return PaidPeriod(until=max(ends) if len(ends) == len(covering) else None, unpaid=unpaid)


def _is_in_grace(charge: Charge) -> bool:
    return charge.status is InvoiceStatus.OPEN and charge.stage < Stage.GRACE_ENDED


async def list_charges(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], lock: bool = False
) -> Mapping[UUID, Sequence[Charge]]:
    """Return the issued lines for periods of the names that have not ended, by name, void ones too.

    With `lock` their invoices stay as they are until the transaction ends.
    """
    if not alias_ids:
        return {}
    now = clock.now()
    if lock:
        await store.take_turn(conn, account_id=account_id)
        await store.lock_invoices(conn, account_id=account_id, alias_ids=alias_ids, now=now)
    found: defaultdict[UUID, list[Charge]] = defaultdict(list)
    for charge in await store.list_charges(conn, account_id=account_id, alias_ids=alias_ids, now=now):
        found[charge.alias_id].append(charge)
    return found


async def list_open(conn: Conn, *, account_id: UUID, invoice_ids: Collection[UUID]) -> frozenset[UUID]:
    """Return those of the invoices that are open: something is still to be paid."""
    return await store.list_open(conn, account_id=account_id, invoice_ids=invoice_ids)
