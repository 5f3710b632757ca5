"""Record each line of a bill once, and match and apply it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.limits import maximums
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.billing import lines as billed
from builders.portfolio.billing.applying import Booking, match_charges
from builders.portfolio.billing.names import find_name
from builders.portfolio.billing.records import AppliedCharge, ChargeSource, NewCharge
from builders.portfolio.billing.store import charges as store
from builders.portfolio.domains import lookups
from builders.portfolio.registrars import inventory_limits
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
class Origin:
    """Where lines come from."""

    provider: str
    account: str  # the name of the connection; it distinguishes several accounts at the provider
    connection_id: UUID | None
    source: ChargeSource
    run_id: UUID
    # The number of omitted charges of each kind, which the other source has.
    left_out: Counter[Any] = field(default_factory=Counter[Any])


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
        await _require_below_maximum(conn, account_id=account_id)
    done = await match_charges(
        conn, account_id=account_id, charges=[charge for _, charge in inserted], booking=booking
    )
    by_key = {key: each for (key, _), each in zip(inserted, done, strict=True)}
    results = []
    for found in charges:
        new = [by_key.pop(each.key) for each in found if each.key in by_key]
        results.append(RecordedLine(new=new, duplicates=len(found) - len(new)))
    return results


def find_most(*, is_sandbox: bool) -> int:
    """Return how many charges a portfolio may have."""
    return MAX_SANDBOX_CHARGES if is_sandbox else MAX_CHARGES


async def _require_below_maximum(conn: Conn, *, account_id: UUID) -> None:
    is_sandbox = await inventory_limits.is_sandbox(conn, account_id=account_id)
    most = find_most(is_sandbox=is_sandbox)
    if await store.count_up_to(conn, account_id=account_id, most=most + 1) > most:
        raise ChargeLimit(f"A portfolio has at most {most:,} charges.")


async def _charges(
    conn: Conn, *, account_id: UUID, lines: Sequence[BilledLine], origin: Origin
) -> Sequence[Sequence[NewCharge]]:
    prices = await _find_prices(conn, account_id=account_id, lines=lines)
    parents = {each.parent_order_id for each in lines if each.parent_order_id}
    paid: dict[str, dict[str, Decimal]] = {}
    if parents:
        rows = await store.list_paid(conn, account_id=account_id, provider=origin.provider, orders=parents)
        for order_id, domain, total in rows:
            paid.setdefault(order_id, {})[domain] = total

    def made(line: BilledLine) -> Sequence[NewCharge]:
        return list(
            billed.charges_of(
                line,
                provider=origin.provider,
                account=origin.account,
                connection_id=origin.connection_id,
                prices=prices,
                paid=paid,
            )
        )

    purchases = {at: made(line) for at, line in enumerate(lines) if line.total >= 0}
    for found in purchases.values():
        for each in found:
            if each.order_id in parents and each.domain is not None:
                sums = paid.setdefault(each.order_id, {})
                sums[each.domain] = sums.get(each.domain, Decimal(0)) + each.total
    return [purchases[at] if at in purchases else made(line) for at, line in enumerate(lines)]


async def _find_prices(conn: Conn, *, account_id: UUID, lines: Sequence[BilledLine]) -> Mapping[str, Money]:
    """Return the prices of a year of the domains that share the line of a renewal."""
    shared = [billed.list_names_of(each)[0] for each in lines if each.kind is ChargeKind.RENEWAL]
    names = {find_name(raw) for found in shared if len(found) > 1 for raw in found if raw is not None} - {None}
    if not names:
        return {}
    found = await lookups.find_domains(conn, account_id=account_id, names=sorted(filter(None, names)))
    return {name: each.renewal_price for name, each in found.items() if each.renewal_price is not None}


async def _without_duplicates(
    conn: Conn, account_id: UUID, charges: Sequence[NewCharge], origin: Origin
) -> Sequence[NewCharge]:
    """Return the charges that the other source does not have; two equal ones need two there."""
    counts = await store.count_duplicates(conn, account_id=account_id, charges=charges, source=origin.source)
    kept: list[NewCharge] = []
    for at, each in enumerate(charges):
        on = None if each.order_id else each.charged_on
        same = (each.provider, each.order_id, each.domain, each.total, each.currency, on)
        if origin.left_out[same] < counts.get(at, 0):
            origin.left_out[same] += 1
        else:
            kept.append(each)
    return kept
