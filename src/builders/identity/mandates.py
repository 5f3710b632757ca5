"""What the machines of an account have used of their mandates: amounts and deletions of the last 30 days.

The sum belongs to the account and the client of the key or connection, so it continues after a rotation, a
revocation or another consent. Nothing is given back. A use has a subject, of which it counts once: a plan, also if
its promotion is resumed; an invoice of renewals; a request that deletes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from builders.identity import accounts
from builders.identity.records import AuditAction
from builders.identity.store import mandates as store
from builders.identity.store.mandates import Used
from builders.kit.callers import Actor, require_fresh_person
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn
from builders.kit.mandates import Amounts, Limit, Mandate, MandateExceeded, limit_of
from builders.kit.values import clock, ids
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.resources import resource

MONTH = timedelta(days=30)
DELETES = "deletes"  # the unit of deletions; the other units are currencies
old_rows.declare("identity_mandate_uses", key="account_id, client, subject, unit", age="used_at", after=MONTH)


@resource("MachinesReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """What all machines with a mandate may cost together, and have cost."""

    max_total_per_30_days: Annotated[
        Amounts | None, doc("What they may cost in 30 days; a currency without an amount is zero. Null: no limit.")
    ]
    spent: Annotated[Sequence[Money], doc("What they have cost in the last 30 days.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """A key or a connection with a mandate, as a use is counted."""

    account_id: UUID  # the real account
    client: str
    mandate: Mandate


async def get_machines(conn: Conn, *, account_id: UUID) -> Machines:
    """Return the limit of all machines of a real account, and what they have cost."""
    used = await store.list_uses(conn, account_id=account_id, since=clock.now() - MONTH, subject=ids.NIL)
    sums = [Money(amount, unit).with_decimals() for unit, amount in sorted(_sum(used).items()) if unit != DELETES]
    limit = await store.find_limit(conn, account_id=account_id)
    return Machines(max_total_per_30_days=limit, spent=sums)


async def set_machines_limit(conn: Conn, *, account_id: UUID, limit: Amounts | None, actor: Actor) -> Machines:
    """Set what all machines may cost in 30 days; audit it. Raise PersonRequired, FreshSignInRequired."""
    require_fresh_person(actor, account_id=account_id)
    await store.set_limit(conn, account_id=account_id, limit=limit)
    about = {"max_total_per_30_days": None if limit is None else ", ".join(map(str, limit)) or "nothing"}
    action = AuditAction.MACHINES_LIMITED
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about=about)
    return await get_machines(conn, account_id=account_id)


async def use(
    conn: Conn,
    *,
    spender: Spender,
    subject: UUID,
    due: Mapping[str, Money] | None = None,
    deletes: int = 0,
    bound: Amounts | None = None,
) -> None:
    """Count a use once for its subject, unless it exceeds the mandate or a limit of all machines.

    `bound` is that of the operator. The caller has locked what the account promotes; the lock here is for the
    deletions of single requests. Raise MandateExceeded.
    """
    now, due = clock.now(), {currency: each for currency, each in (due or {}).items() if each.amount}
    await store.lock_uses(conn, account_id=spender.account_id)
    require_single(spender.mandate, due=due, deletes=deletes)
    found = await store.list_uses(conn, account_id=spender.account_id, since=now - MONTH, subject=subject)
    own = _sum(each for each in found if each.client == spender.client)
    most = spender.mandate.deletes_per_30_days
    if deletes and deletes + own.get(DELETES, 0) > most:
        message = f"The mandate allows {most} deletions in 30 days, and {own.get(DELETES, 0)} were made."
        raise MandateExceeded(message, reason=Limit.DELETES)
    limit = await store.find_limit(conn, account_id=spender.account_id) if due else None
    _require_left(due, spender.mandate.max_total_per_30_days, own, Limit.MAX_TOTAL)
    _require_left(due, limit, _sum(found), Limit.MACHINES)
    _require_left(due, bound, _sum(found), Limit.OPERATOR)
    amounts = {currency: each.amount for currency, each in due.items()} | ({DELETES: deletes} if deletes else {})
    await store.insert_uses(
        conn,
        account_id=spender.account_id,
        client=spender.client,
        subject=subject,
        units=amounts,
        amounts=amounts.values(),
        now=now,
    )


def require_single(mandate: Mandate, *, due: Mapping[str, Money], deletes: int) -> None:
    """Raise MandateExceeded for what one plan or request may not do."""
    if deletes > mandate.deletes_per_plan:
        message = f"This deletes {deletes}, and the mandate allows {mandate.deletes_per_plan} at once."
        raise MandateExceeded(message, reason=Limit.DELETES)
    for currency, cost in due.items():
        most = limit_of(mandate.max_total_per_plan, currency)
        if cost > most:
            raise _beyond(f"It costs {cost}, and the mandate allows {most} for a plan.", Limit.MAX_TOTAL, cost)


def _sum(uses: Iterable[Used]) -> dict[str, Decimal]:
    """Return the sums by unit."""
    sums: dict[str, Decimal] = {}
    for each in uses:
        sums[each.unit] = sums.get(each.unit, Decimal(0)) + each.amount
    return sums


def _require_left(
    due: Mapping[str, Money], limits: Amounts | None, spent: Mapping[str, Decimal], reason: Limit
) -> None:
    """Raise MandateExceeded if a limit of 30 days leaves less than what is due; None is no limit."""
    for currency, cost in due.items() if limits is not None else ():
        left = limit_of(limits or (), currency) - Money(spent.get(currency, Decimal(0)), currency)
        if cost > left:
            raise _beyond(f"It costs {cost}, and {_WHOSE[reason]} leaves {left} of 30 days.", reason, cost)


_WHOSE = {
    Limit.MAX_TOTAL: "the mandate",
    Limit.MACHINES: "the limit of all machines of the account",
    Limit.OPERATOR: "the operator's limit of all machines of an account",
}


def _beyond(message: str, reason: Limit, cost: Money) -> MandateExceeded:
    return MandateExceeded(message, reason=reason, due=cost.to_wire())


async def count_renewals(conn: Conn, *, account_id: UUID, invoice_id: UUID, owed: Mapping[str, Money]) -> None:
    """Count the renewals on an invoice, by client: never refused, they leave less."""
    for client, total in sorted(owed.items()):
        await store.insert_uses(
            conn,
            account_id=account_id,
            client=client,
            subject=invoice_id,
            units=[total.currency],
            amounts=[total.amount],
            now=clock.now(),
        )
