"""The split of a charge by a member: each part is a charge for one domain, as if it were matched by hand."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.values.money import Money
from builders.portfolio.billing import store
from builders.portfolio.billing.bills import require_room
from builders.portfolio.billing.bookings import match_charges, undo_charges
from builders.portfolio.billing.charges import get_charge, not_open, publish_matches
from builders.portfolio.billing.lines import split
from builders.portfolio.billing.matches import find_years
from builders.portfolio.billing.records import (
    Booking,
    Charge,
    ChargePart,
    ChargeReason,
    ChargeState,
    MatchMethod,
    NameOrigin,
)
from builders.portfolio.domains import lookups
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.records import Domain
from builders.portfolio.ledger.errors import EntryLimitReached


async def split_charge(
    conn: Conn, *, account_id: UUID, charge_id: UUID, parts: Sequence[ChargePart], member_id: UUID
) -> tuple[Charge, Sequence[Charge]]:
    """Split a charge that is not booked, and book its parts; return both. Needs a transaction.

    Publish portfolio.billing.charge_matched. Raise ChargeNotFound, ChargeNotOpen, DomainNotFound, ChargeLimit,
    EntryLimitReached, and Invalid for parts that are not those of the charge.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    line = await store.begin_split(conn, account_id=account_id, charge_id=charge_id)
    if line is None:
        raise not_open(await get_charge(conn, account_id=account_id, charge_id=charge_id))
    _require_amounts(Money(line.total, line.currency), [each.amount for each in parts])
    domains = await _get_domains(conn, account_id, parts)
    inserted = await store.insert(
        conn,
        account_id=account_id,
        charges=_divide(line, domains, [each.amount.amount for each in parts]),
        source=line.source,
        run_id=line.run_id,
        now=line.imported_at,
    )
    await require_room(conn, account_id=account_id)
    id_of = {each.domain: each.id for each in domains}
    matched = [
        replace(part, domain_id=id_of[part.domain], method=MatchMethod.MANUAL, refund_of=line.refund_of)
        for part in inserted
        if part.domain is not None
    ]
    booking = Booking(member_id=member_id)
    done = await match_charges(conn, account_id=account_id, charges=matched, booking=booking)
    if any(each.reason is ChargeReason.ENTRY_LIMIT for each in done):
        raise EntryLimitReached
    await publish_matches(conn, account_id=account_id, matched=done)
    return line, await store.list_parts(conn, account_id=account_id, charge_id=charge_id)


async def take_back_split(conn: Conn, *, account_id: UUID, charge_id: UUID, member_id: UUID) -> Charge:
    """Void the entries of the parts of a charge, and remove the parts; needs a transaction.

    The charge is matched with the next application. One that is not split does not change. Raise ChargeNotFound,
    and ChargeNotOpen for a part.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    line = await store.end_split(conn, account_id=account_id, charge_id=charge_id)
    if line is None:
        found = await get_charge(conn, account_id=account_id, charge_id=charge_id)
        if found.split_of is not None:
            raise not_open(found)
        return found
    parts = await store.list_parts(conn, account_id=account_id, charge_id=charge_id)
    applied = [each for each in parts if each.state is ChargeState.APPLIED]
    await undo_charges(conn, account_id=account_id, charges=applied, member_id=member_id)
    await store.delete_parts(conn, account_id=account_id, charge_id=charge_id)
    return line


def _require_amounts(total: Money, amounts: Sequence[Money]) -> None:
    """Raise Invalid for amounts in another currency, with another sign, or with another sum than the total."""
    side = "below" if total.amount < 0 else "above"
    for at, each in enumerate(amounts):
        place = ("body", "parts", at, "amount")
        if each.currency != total.currency:
            message = f"The charge is in {total.currency}: write the amount in {total.currency}."
            raise Invalid(place, message, "currency_conflict")
        if each.amount == 0 or (each.amount < 0) is not (side == "below"):
            message = f"Write an amount {side} zero, as the total of the charge is {total}."
            raise Invalid(place, message, "amount_invalid")
    whole = sum(amounts, Money.zero(total.currency))
    if whole != total.quantized():
        difference = whole - total
        side = "less" if difference.amount < 0 else "more"
        message = (
            f"The parts add up to {whole}, which is {max(difference, -difference)} {side} than the total of the "
            f"charge, {total}."
        )
        raise Invalid(("body", "parts"), message, "sum_conflict")


async def _get_domains(conn: Conn, account_id: UUID, parts: Sequence[ChargePart]) -> Sequence[Domain]:
    """Return the domain of each part. Raise DomainNotFound, and Invalid for a domain of two parts."""
    found = await lookups.load_domains_by_key(conn, account_id=account_id, keys={each.domain for each in parts})
    domains = dict[UUID, Domain]()
    for at, part in enumerate(parts):
        domain = found.get(part.domain)
        if domain is None:
            raise DomainNotFound(f"There is no such domain: part {at + 1}, {part.domain!r}.")
        if domain.id in domains:
            message = f"An earlier part is for {domain.domain}, too. Add up their amounts."
            raise Invalid(("body", "parts", at, "domain"), message, "duplicate_domain")
        domains[domain.id] = domain
    return list(domains.values())


def _divide(line: Charge, domains: Sequence[Domain], totals: Sequence[Decimal]) -> Sequence[Charge]:
    """Return the parts to record; tax and fees have the ratio of their totals.

    The years of the line can be those of its whole total at the price of one domain, so a part has its own.
    """
    weights = [abs(each) for each in totals]
    amounts = (Money(each, line.currency).quantized().amount for each in (line.tax, line.fees))
    taxes, fees = (split(each, line.currency, weights=weights) for each in amounts)
    parts = [
        replace(
            line,
            split_of=line.id,
            domain=domain.domain,
            domain_raw=domain.domain,
            name_origin=NameOrigin.ITEM,
            total=total,
            tax=tax,
            fees=fee,
        )
        for domain, total, tax, fee in zip(domains, totals, taxes, fees, strict=True)
    ]
    return [
        replace(part, years=find_years(replace(part, years=None), price=domain.renewal_price) or line.years)
        for part, domain in zip(parts, domains, strict=True)
    ]
