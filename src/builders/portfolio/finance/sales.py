"""The sales of domains as entries of the ledger.

The money that was received and paid is in entries alone. Each is a line of the sale with a role, so that the terms
can be read from the entries. The sale itself has the plan of its instalments: one that was not received has no
entry, nor have the commission and the share of the consignor that it pays.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid, Problem
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.kit.values.patches import Changes
from builders.portfolio.domains import changes as domain_changes, lookups
from builders.portfolio.domains.records import ChangeSource, DomainChange, PortfolioDomainStatus, domain_patch
from builders.portfolio.domains.today import get_today
from builders.portfolio.finance import store
from builders.portfolio.finance.calculation import PROCEEDS_KINDS
from builders.portfolio.finance.records import DomainFinance, HoldingPeriod, Plan, Sale
from builders.portfolio.ledger import entries as ledger_entries, rates as ledger_rates
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.ledger.records import (
    RETURNED_KINDS,
    START_KINDS,
    Entry,
    EntryGroup,
    EntryKind,
    EntrySource,
    NewEntry,
    Payment,
    SaleFee,
    SaleRole,
    SaleTerms,
)

Rates: TypeAlias = Mapping[tuple[str, str, date], Decimal]  # by currency, currency of the price and day
NO_RATES: Rates = MappingProxyType({})
PLANNED = date.max  # in place of the day of a payment that was not received
SHARE_MEMO = "Share of the consignor"
_INCOMPLETE = "The domain cannot hold all entries of the sale."


def sale_entries(
    sale: Sale, terms: SaleTerms, *, created_by: UUID | None, rates: Rates = NO_RATES
) -> Sequence[NewEntry]:
    """Return the entries of a sale: the part of the price without instalments first, if there is one.

    A commission rate and the share of the consignor are taken from each payment that was received; a fixed
    commission is paid on the day of the sale. The number of a line does not depend on what was received. `rates`
    are those that `list_needed_rates` names. Raise Invalid when one is missing.
    """
    currency = terms.gross.currency
    lines = _list_payments(terms)
    payments = [payment for *_, payment in lines]
    commissions: Sequence[Payment] = [Payment(money=terms.commission or Money.zero(currency), on=terms.sold_on)]
    if terms.commission_rate is not None:
        commissions = spread(_times(terms.gross, terms.commission_rate), payments)
    lines += ((EntryKind.COMMISSION, SaleRole.COMMISSION, each) for each in commissions if each.money.amount)
    fees = _list_fees(terms)
    lines += ((kind, SaleRole.FEE, each) for kind, each in fees)
    if sale.own_share < 1:
        paid = [
            *(_converted(each, currency, rates, member="commission") for each in commissions),
            *(_converted(each, currency, rates, member="fees") for _, each in fees),
        ]
        net = terms.gross - _total(currency, paid)
        share = _times(max(net, Money.zero(currency)), 1 - sale.own_share)
        shares = spread(share, payments)
        lines += ((EntryKind.OTHER_COST, SaleRole.SHARE, each) for each in shares if each.money.amount)
    return [
        NewEntry(
            domain_id=sale.domain_id,
            kind=kind,
            money=payment.money,
            occurred_on=payment.on,
            source=EntrySource.SALE,
            sale_id=sale.id,
            sale_line=at,
            sale_role=role,
            memo=SHARE_MEMO if role is SaleRole.SHARE else terms.venue,
            created_by=created_by,
        )
        for at, (kind, role, payment) in enumerate(lines)
        if payment.on != PLANNED
    ]


def _list_payments(terms: SaleTerms) -> list[tuple[EntryKind, SaleRole, Payment]]:
    """Return the payments of the buyer; a sale of which nothing was received has one of zero on its day."""
    rest = Payment(money=terms.gross - _total(terms.gross.currency, terms.installments), on=terms.sold_on)
    lines = [
        (
            EntryKind.SALE_INSTALLMENT,
            SaleRole.INSTALLMENT,
            Payment(money=each.money, on=each.received_on or PLANNED),
        )
        for each in terms.installments
    ]
    if rest.money.amount or all(each.on == PLANNED for *_, each in lines):
        lines.insert(0, (EntryKind.SALE, SaleRole.PRICE, rest))
    return lines


def list_needed_rates(sale: Sale, terms: SaleTerms) -> AbstractSet[tuple[str, str, date]]:
    """Return the rates that divide the proceeds of a consigned sale, whose fees can be in any currency."""
    price = terms.gross.currency
    paid = [each for _, each in _list_fees(terms)]
    if terms.commission is not None:
        paid.append(Payment(money=terms.commission, on=terms.sold_on))
    return {
        (each.money.currency, price, each.on)
        for each in paid
        if each.money.currency != price and sale.own_share < 1
    }


def _list_fees(terms: SaleTerms) -> Sequence[tuple[EntryKind, Payment]]:
    """Return the fees with their days."""
    return [(each.kind, Payment(money=each.money, on=each.on or terms.sold_on)) for each in terms.fees]


def _converted(payment: Payment, currency: str, rates: Rates, *, member: str) -> Payment:
    """Return a payment of a member in the currency of the price. Raise Invalid without a rate."""
    paid = payment.money
    if paid.currency == currency:
        return payment
    rate = rates.get((paid.currency, currency, payment.on))
    if rate is None:
        message = (
            f"There is no exchange rate of {paid.currency} in {currency} on {payment.on}, so the share of the "
            f"consignor is unknown. Send the amount in {currency}, or, for a currency that the European Central "
            "Bank does not quote, record a rate of your own: PUT /v1/portfolio/exchange-rates."
        )
        raise _invalid(member, message, "rate_missing")
    return replace(payment, money=Money(paid.amount * rate, currency).quantized())


async def plan_sale(
    conn: Conn,
    *,
    account_id: UUID,
    before: DomainFinance,
    change: Changes[SaleTerms] | None,
    sale_id: UUID | None,
    member_id: UUID | None,
) -> Plan:
    """Return what records or changes a sale or, for None, voids that of the present holding period.

    A recorded sale replaces proceeds that came without one. Raise Invalid.
    """
    domain, period = before.domain, _period_of(before, sale_id)
    sale = period.sale
    present = [each for each in period.entries if (_is_loose(each) if sale is None else each.sale_id == sale.id)]
    is_sold = domain.status is PortfolioDomainStatus.SOLD
    status_before = PortfolioDomainStatus(domain.ownership.value) if is_sold else domain.status
    if change is None:
        if sale is not None:
            return plan_void(before, period)
        return Plan(void=[each.id for each in present], domain={"status": status_before} if is_sold else {})
    terms = merge_terms(period.terms, change.members, today=before.as_of)
    if sale is None:
        share, today = domain.own_share, before.as_of
        planned = new_sale(terms, domain_id=domain.id, own_share=share, status_before=status_before, today=today)
    else:
        planned = replace(sale, **_stored(terms, today=before.as_of), import_id=None)
    check_terms(terms, today=before.as_of)
    needed = list_needed_rates(planned, terms)
    rates = await ledger_rates.list_rates_between(conn, account_id=account_id, needed=needed)
    wanted = {_facts(each): each for each in sale_entries(planned, terms, created_by=member_id, rates=rates)}
    recorded = {_facts(each) for each in present}
    status = status_before if planned.awaits_day else PortfolioDomainStatus.SOLD
    return Plan(
        post=[each for facts, each in wanted.items() if facts not in recorded],
        replace=[each.id for each in present if _facts(each) not in wanted],
        domain={} if _is_bought_back(before, planned) else {"status": status},
        sale=planned,
    )


def _period_of(before: DomainFinance, sale_id: UUID | None) -> HoldingPeriod:
    """Return the present holding period, or that of a sale. Raise Invalid for an unknown one."""
    sold = {each.sale.id: each for each in before.periods if each.sale is not None}
    if sale_id is not None and sale_id not in sold:
        raise _invalid("id", "The domain has no such sale.", "sale_unknown")
    return before.present if sale_id is None else sold[sale_id]


def _is_bought_back(before: DomainFinance, sale: Sale) -> bool:
    purchases = (each for each in before.entries if each.kind in START_KINDS and not each.is_void)
    return any(each.occurred_on > sale.sold_on for each in purchases)


def plan_void(before: DomainFinance, period: HoldingPeriod) -> Plan:
    """Return what voids the sale of a holding period; that of the last sale restores the status of the domain."""
    sale, last = period.sale, [each.sale for each in before.periods if each.sale is not None][-1:]
    if sale is None:
        return Plan()
    is_last = [sale] == last and before.domain.status is PortfolioDomainStatus.SOLD
    return Plan(
        void=[each.id for each in period.entries if each.sale_id == sale.id],
        domain={"status": PortfolioDomainStatus(sale.status_before)} if is_last else {},
        void_sales=[sale.id],
    )


def terms_of(sale: Sale, entries: Iterable[Entry]) -> SaleTerms | None:
    """Return the terms of a sale, from its entries that are not void; None when all are."""
    kept = (each for each in entries if each.sale_id == sale.id and not each.is_void)
    own = sorted(kept, key=lambda each: each.sale_line or 0)
    of_role = {role: [each for each in own if each.sale_role is role] for role in SaleRole}
    if not of_role[SaleRole.PRICE] and not of_role[SaleRole.INSTALLMENT]:
        return None
    payments = [*(each.money for each in of_role[SaleRole.PRICE]), *(each.money for each in sale.installments)]
    commissions, rate = of_role[SaleRole.COMMISSION], sale.commission_rate
    return SaleTerms(
        gross=sum(payments[1:], start=payments[0]),
        sold_on=sale.sold_on,
        commission=commissions[0].money if commissions and rate is None else None,
        commission_rate=None if rate is None else rate.normalize(),
        fees=[
            SaleFee(
                kind=each.kind, money=each.money, on=None if each.occurred_on == sale.sold_on else each.occurred_on
            )
            for each in of_role[SaleRole.FEE]
        ],
        installments=sale.installments,
        venue=sale.venue,
        buyer_ref=sale.buyer_ref,
    )


def merge_terms(before: SaleTerms | None, changed: Mapping[str, Any], *, today: date) -> SaleTerms:
    """Return the terms after a change: one form of the commission replaces the other. Raise Invalid."""
    if before is None:
        if "gross" not in changed:
            raise _invalid("gross", "A sale requires a price.", "missing")
        before = SaleTerms(gross=changed["gross"], sold_on=today)
    forms = {"commission": "commission_rate", "commission_rate": "commission"}
    replaced = {other: None for form, other in forms.items() if changed.get(form) is not None}
    terms = replace(before, **{**replaced, **changed})
    return replace(terms, installments=sorted(terms.installments, key=lambda each: each.on))


def check_terms(terms: SaleTerms, *, today: date) -> None:
    """Raise Invalid at the member that does not fit."""
    currency = terms.gross.currency
    if any(each.money.currency != currency for each in terms.installments):
        raise _invalid(
            "installments", f"Instalments are in the currency of the price, {currency}.", "currency_mixed"
        )
    if _total(currency, terms.installments) > terms.gross:
        raise _invalid(
            "installments", "The instalments exceed the price of the sale.", "installments_exceed_price"
        )
    if any(each.received_on is not None and each.received_on > today for each in terms.installments):
        raise _invalid("installments", "An instalment is received today or earlier.", "date_in_future")
    if terms.commission is not None and terms.commission_rate is not None:
        raise _invalid("commission", "Send commission or commission_rate, not both.", "commission_twice")


def spread(total: Money, payments: Sequence[Payment]) -> Sequence[Payment]:
    """Divide an amount among payments in proportion to them, to the smallest unit and without a remainder."""
    whole = sum((each.money.amount for each in payments), start=Decimal(0))
    parts: list[Payment] = []
    passed, given = Decimal(0), Money.zero(total.currency)
    for each in payments:
        passed += each.money.amount
        until = _times(total, passed / whole) if whole else total
        parts.append(Payment(money=until - given, on=each.on))
        given = until
    return parts


def _invalid(member: str, message: str, code: str) -> Invalid:
    return Invalid(("body", "sale", member), message, code)


def _total(currency: str, payments: Iterable[Payment]) -> Money:
    return sum((each.money for each in payments), start=Money.zero(currency))


def _times(money: Money, factor: Decimal) -> Money:
    return Money(money.amount * factor, money.currency).quantized()


def _is_loose(entry: Entry) -> bool:
    """Return whether an entry is of a sale that is not recorded as one."""
    is_of_sale = entry.group is EntryGroup.SALE and entry.kind not in RETURNED_KINDS
    is_imported = entry.source is EntrySource.IMPORT and is_of_sale
    return entry.sale_id is None and (is_imported or entry.kind in PROCEEDS_KINDS)


def _facts(entry: Entry | NewEntry) -> tuple[str, ...]:
    facts = (entry.sale_line, entry.sale_role, entry.kind, entry.money, entry.occurred_on, entry.memo)
    return tuple(map(str, facts))


def _stored(terms: SaleTerms, *, today: date) -> dict[str, Any]:
    """Return the terms that the sale has itself."""
    names = ("sold_on", "commission_rate", "venue", "buyer_ref", "installments")
    return {**{name: getattr(terms, name) for name in names}, "awaits_day": terms.sold_on > today}


def new_sale(
    terms: SaleTerms,
    *,
    domain_id: UUID,
    own_share: Decimal,
    status_before: str,
    today: date,
    import_id: UUID | None = None,
) -> Sale:
    """Return a sale that is not recorded yet."""
    return Sale(
        id=ids.new(),
        domain_id=domain_id,
        own_share=own_share,
        status_before=status_before,
        created_at=clock.now(),
        import_id=import_id,
        **_stored(terms, today=today),
    )


async def list_last_sales(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, date]:
    """Return the day of the last sale of each domain that has one, in one statement."""
    found = await store.list_sales(conn, account_id=account_id, domain_ids=domain_ids)
    return {each.domain_id: each.sold_on for each in found}


async def list_sales(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Sequence[Sale]:
    """Return the sales of domains that are not void, by domain and day."""
    return await store.list_sales(conn, account_id=account_id, domain_ids=domain_ids)


async def list_terms(
    conn: Conn, *, account_id: UUID, entries: Mapping[UUID, Sequence[Entry]]
) -> Mapping[UUID, Sequence[tuple[Sale, SaleTerms]]]:
    """Return the sales of domains with their terms, by day, from the entries of the domains."""
    by_domain: dict[UUID, list[tuple[Sale, SaleTerms]]] = defaultdict(list)
    for sale in await store.list_sales(conn, account_id=account_id, domain_ids=list(entries)):
        terms = terms_of(sale, entries[sale.domain_id])
        if terms is not None:
            by_domain[sale.domain_id].append((sale, terms))
    return by_domain


async def record_sales(
    conn: Conn, *, account_id: UUID, sales: Sequence[tuple[Sale, SaleTerms]], member_id: UUID
) -> Sequence[Sequence[UUID] | Problem | Invalid]:
    """Record sales of locked domains; return the entries of each, or why it is refused. The caller sets statuses.

    A domain has one sale on a day: the present one does not change, and has no new entries. A sale whose entries
    the domain cannot hold is refused whole.
    """
    domain_ids = sorted({sale.domain_id for sale, _ in sales})
    present = await store.list_sales(conn, account_id=account_id, domain_ids=domain_ids)
    today = await get_today(conn, account_id=account_id)
    taken = {(each.domain_id, each.sold_on) for each in present}
    results: list[Sequence[UUID] | Problem | Invalid] = [() for _ in sales]
    needed = {each for sale, terms in sales for each in list_needed_rates(sale, terms)}
    rates = await ledger_rates.list_rates_between(conn, account_id=account_id, needed=needed)
    new: dict[int, tuple[Sale, Sequence[NewEntry]]] = {}
    for at, (sale, terms) in enumerate(sales):
        key = (sale.domain_id, sale.sold_on)
        if key in taken:
            continue
        try:
            check_terms(terms, today=today.day)
            new[at] = sale, sale_entries(sale, terms, created_by=member_id, rates=rates)
        except Invalid as refusal:
            results[at] = refusal
            continue
        taken.add(key)
    listed = [entry for _, entries in new.values() for entry in entries]
    posted = iter(await ledger_entries.post_entries(conn, account_id=account_id, entries=listed) if listed else ())
    incomplete: list[UUID] = []
    for at, (_, entries) in list(new.items()):
        recorded = [next(posted).entry for _ in entries]
        entry_ids = [each.id for each in recorded if each is not None]
        if len(entry_ids) < len(entries):
            incomplete += entry_ids
            results[at] = EntryLimitReached()
            del new[at]
        else:
            results[at] = entry_ids
    if incomplete:
        await ledger_entries.void_entries(conn, account_id=account_id, ids=incomplete, reason=_INCOMPLETE)
    if new:
        rows = [sale for sale, _ in new.values()]
        await store.save_sales(conn, account_id=account_id, sales=rows, created_by=member_id)
    return results


async def mark_sold(conn: Conn, *, account_id: UUID, limit: int) -> bool:
    """Give the domains whose day of sale has come the status `sold`; publish portfolio.domain.sold.

    Needs a transaction. Return whether there can be more.
    """
    today = await get_today(conn, account_id=account_id)
    domain_ids = await store.list_due(conn, account_id=account_id, until=today.day, limit=limit)
    await lookups.lock_domains(conn, account_id=account_id, ids=domain_ids)  # a sale can be moved until then
    sold = await store.take_due(conn, account_id=account_id, domain_ids=domain_ids, until=today.day)
    patch = domain_patch(status=PortfolioDomainStatus.SOLD)
    changes = [DomainChange(id=each, patch=patch) for each in sorted(sold)]
    await domain_changes.change_domains(conn, account_id=account_id, changes=changes, source=ChangeSource.SALE)
    return len(domain_ids) == limit


async def list_changed_entries(
    conn: Conn, *, account_id: UUID, import_id: UUID, entry_ids: Sequence[UUID]
) -> AbstractSet[UUID]:
    """Return those of the entries of an import whose sale a member changed since; it may have others now."""
    return await store.list_changed_entries(conn, account_id=account_id, import_id=import_id, entry_ids=entry_ids)


async def void_imported(conn: Conn, *, account_id: UUID, import_id: UUID, domain_ids: Sequence[UUID]) -> None:
    """Void the sales of domains that an import recorded and no member changed. The caller voids their entries."""
    await store.void_imported(
        conn, account_id=account_id, import_id=import_id, domain_ids=domain_ids, now=clock.now()
    )
