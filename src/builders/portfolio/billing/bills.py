"""Record each line of a bill once, match and apply it, and publish what a sync or an import recorded."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.limits import maximums
from builders.kit.values import clock
from builders.portfolio.billing import store
from builders.portfolio.billing.bill_text import find_name
from builders.portfolio.billing.bookings import match_charges
from builders.portfolio.billing.events import (
    CHARGES_MATCHED,
    CHARGES_UNMATCHED,
    MAX_DOMAINS,
    REFUNDS_DETECTED,
    BillingData,
    charges_data,
)
from builders.portfolio.billing.lines import charges_of, list_names_of
from builders.portfolio.billing.records import AppliedCharge, Booking, NewCharge, Origin
from builders.portfolio.domains import lookups
from builders.portfolio.registrars import inventory
from builders.portfolio.registrars.errors import ChargeLimit
from builders.portfolio.registrars.records import BilledLine, ChargeKind

BATCH = 500  # lines of a transaction
MAX_CHARGES = maximums.declare(
    "charges", 500_000, of="portfolio", counts="Charges of registrars.", code="charge_limit"
)
MAX_SANDBOX_CHARGES = maximums.declare(
    "sandbox_charges",
    20_000,
    of="portfolio of a sandbox account",
    counts="Charges of registrars.",
    code="charge_limit",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLine:
    """Result of a line: its new charges, and the number of those that were recorded before."""

    new: Sequence[AppliedCharge]
    duplicates: int


async def record_lines(
    conn: Conn, *, account_id: UUID, lines: Sequence[BilledLine], origin: Origin, booking: Booking
) -> Sequence[RecordedLine]:
    """Record lines, and return the result of each; needs a transaction.

    A line that was recorded before changes nothing, and neither does one that the other source (API or file) has.
    Raise ChargeLimit, after which nothing of the transaction may stay.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    charges = await _charges(conn, account_id=account_id, lines=lines, origin=origin)
    flat = [each for found in charges for each in found]
    wanted = {each.key: each for each in await _without_duplicates(conn, account_id, flat, origin)}
    inserted = await store.insert(
        conn,
        account_id=account_id,
        charges=list(wanted.values()),
        source=origin.source,
        run_id=origin.run_id,
        now=clock.now(),
    )
    if inserted:
        await require_room(conn, account_id=account_id)
    done = await match_charges(conn, account_id=account_id, charges=inserted, booking=booking)
    by_key = {charge.key: each for charge, each in zip(inserted, done, strict=True)}
    results = []
    for found in charges:
        new = [by_key.pop(each.key) for each in found if each.key in by_key]
        results.append(RecordedLine(new=new, duplicates=len(found) - len(new)))
    return results


async def require_room(conn: Conn, *, account_id: UUID) -> None:
    """Raise ChargeLimit when the portfolio has more charges than it may have."""
    most = max_charges(is_sandbox=await inventory.is_sandbox(conn, account_id=account_id))
    if await store.count_up_to(conn, account_id=account_id, most=most + 1) > most:
        raise ChargeLimit(f"A portfolio has at most {most:,} charges.")


def max_charges(*, is_sandbox: bool) -> int:
    """Return how many charges a portfolio may have."""
    return MAX_SANDBOX_CHARGES if is_sandbox else MAX_CHARGES


async def _charges(
    conn: Conn, *, account_id: UUID, lines: Sequence[BilledLine], origin: Origin
) -> Sequence[Sequence[NewCharge]]:
    """Return the charges of each line; those of refunds after the others, by which their amounts are divided."""
    shared = [list_names_of(each)[0] for each in lines if each.kind is ChargeKind.RENEWAL]
    named = {find_name(raw) for found in shared if len(found) > 1 for raw in found if raw is not None}
    names = sorted(filter(None, named))
    held = await lookups.load_domains(conn, account_id=account_id, names=names) if names else {}
    prices = {name: each.renewal_price for name, each in held.items() if each.renewal_price is not None}
    paid: dict[str, dict[str, Decimal]] = {each.parent_order_id: {} for each in lines if each.parent_order_id}
    if paid:
        rows = await store.list_paid(conn, account_id=account_id, provider=origin.provider, orders=paid.keys())
        for order_id, domain, total in rows:
            paid[order_id][domain] = total
    charges_in = partial(charges_of, origin=origin, prices=prices, paid=paid)
    purchases = {at: charges_in(line) for at, line in enumerate(lines) if line.total >= 0}
    for found in purchases.values():
        for each in found:
            if each.order_id in paid and each.domain is not None:
                sums = paid[each.order_id]
                sums[each.domain] = sums.get(each.domain, Decimal(0)) + each.total
    return [purchases[at] if at in purchases else charges_in(line) for at, line in enumerate(lines)]


async def _without_duplicates(
    conn: Conn, account_id: UUID, charges: Sequence[NewCharge], origin: Origin
) -> Sequence[NewCharge]:
    """Return the charges that the other source does not have; two equal ones need two there."""
    counts = await store.count_duplicates(conn, account_id=account_id, charges=charges, source=origin.source)
    kept: list[NewCharge] = []
    for at, charge in enumerate(charges):
        on = None if charge.order_id else charge.charged_on
        same = (charge.provider, charge.order_id, charge.domain, charge.total, charge.currency, on)
        if origin.left_out[same] < counts.get(at, 0):
            origin.left_out[same] += 1
        else:
            kept.append(charge)
    return kept


def count_recorded(recorded: Sequence[RecordedLine]) -> Mapping[str, int]:
    """Return the numbers of charges of lines, as `publish_run` does for those that are committed."""
    new = [charge for each in recorded for charge in each.new]
    matched = Counter(each.is_matched for each in new)
    return {
        "new": len(new),
        "duplicate": sum(each.duplicates for each in recorded),
        "matched": matched[True],
        "unmatched": matched[False],
        "refunds": sum(each.charge.is_refund for each in new),
    }


async def publish_run(
    conn: Conn, *, account_id: UUID, event: Event | None, origin: Origin, fetched: int, charges: int
) -> Mapping[str, int]:
    """Publish the result of a sync or an import, without `event` only that of its charges; return the numbers.

    `charges` is the number of charges that were read, new ones and others. The other numbers are those of the
    recorded charges, so that a run that was continued after a failure counts all.
    """
    counted = await store.count_run(
        conn,
        account_id=account_id,
        run_id=origin.run_id,
        connection_id=origin.connection_id,
        max_domains=MAX_DOMAINS,
    )
    numbers = {name: counted[name].charges for name in ("new", "matched", "unmatched", "refunds")}
    numbers["duplicate"] = max(0, charges - numbers["new"])
    if event is not None:
        data = BillingData(
            run_id=origin.run_id,
            provider=origin.provider,
            connection_id=origin.connection_id,
            fetched=fetched,
            applied=counted["applied"].charges,
            **numbers,
        )
        await outbox.publish(conn, event, account_id=account_id, data=data)
    events = {"matched": CHARGES_MATCHED, "unmatched": CHARGES_UNMATCHED, "refunds": REFUNDS_DETECTED}
    for name, each in events.items():
        if numbers[name]:
            said = charges_data(counted[name], run_id=origin.run_id, providers=[origin.provider])
            await outbox.publish(conn, each, account_id=account_id, data=said)
    return numbers
