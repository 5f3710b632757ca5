"""The sale of a domain as entries of the ledger.

The money of a sale is in its entries alone. Each is a line of the sale with a role, so that the terms can be read
from the entries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from uuid import UUID

from builders.kit.errors import Invalid
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.kit.values.patches import UNSET, patched
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.finance.calculation import PROCEEDS_KINDS, START_KINDS
from builders.portfolio.finance.records import (
    DomainFinance,
    HoldingPeriod,
    Plan,
    Sale,
    SalePatch,
)
from builders.portfolio.ledger.records import (
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

KEPT = (UNSET, None)  # of one form of the commission: the other stays
SHARE_MEMO = "Share of the consignor"


def sale_entries(sale: Sale, terms: SaleTerms, *, created_by: UUID | None) -> Sequence[NewEntry]:
    """Return the entries of a sale.

    A commission rate and the share of the consignor are taken from each payment; a fixed commission is paid on the
    day of the sale.
    """
    lines = _payments(terms)
    payments = [payment for *_, payment in lines]
    commissions: Sequence[Payment] = [
        Payment(money=terms.commission or Money.zero(terms.gross.currency), on=terms.sold_on)
    ]
    if terms.commission_rate is not None:
        commissions = spread(_times(terms.gross, terms.commission_rate), payments)
    lines += ((EntryKind.COMMISSION, SaleRole.COMMISSION, each) for each in commissions if each.money.amount)
    lines += (
        (each.kind, SaleRole.FEE, Payment(money=each.money, on=each.on or terms.sold_on)) for each in terms.fees
    )
    shares = spread(_consignor_share(sale, terms, commissions), payments)
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
    ]


def plan_sale(
    before: DomainFinance, patch: SalePatch | None, *, own_share: Decimal, member_id: UUID | None
) -> Plan:
    """Return what records or changes a sale or, for None, voids that of the present holding period.

    A recorded sale replaces proceeds that came without one. Raise Invalid.
    """
    period = before.present if patch is None or patch.id is None else _find_period(before, patch.id)
    sale = period.sale
    present = [each for each in period.entries if (_is_loose(each) if sale is None else each.sale_id == sale.id)]
    if patch is None:
        if sale is not None:
            return plan_void(before, period)
        is_sold = before.domain.status is PortfolioDomainStatus.SOLD
        status = {"status": _status_before(before)} if is_sold else {}
        return Plan(void=[each.id for each in present], domain=status)
    terms = merge_terms(period.terms, patch, is_consigned=(own_share if sale is None else sale.own_share) < 1)
    if sale is None:
        sale = Sale(
            id=ids.new(),
            domain_id=before.domain.id,
            sold_on=terms.sold_on,
            own_share=own_share,
            status_before=_status_before(before),
            created_at=clock.now(),
        )
    planned = replace(
        sale,
        sold_on=terms.sold_on,
        commission_rate=terms.commission_rate,
        venue=terms.venue,
        buyer_ref=terms.buyer_ref,
        import_id=None,
    )
    new = sale_entries(planned, terms, created_by=member_id)
    is_posted = sorted(map(_facts, new)) == sorted(map(_facts, present))
    return Plan(
        post=[] if is_posted else new,
        replace=[] if is_posted else [each.id for each in present],
        domain={} if _is_bought_back(before, planned) else {"status": PortfolioDomainStatus.SOLD},
        sale=planned,
    )


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


def _find_period(before: DomainFinance, sale_id: UUID) -> HoldingPeriod:
    """Return the holding period that a sale ended. Raise Invalid."""
    for each in before.periods:
        if each.sale is not None and each.sale.id == sale_id:
            return each
    raise _invalid("id", "The domain has no such sale.", "sale_unknown")


def _is_loose(entry: Entry) -> bool:
    """Return whether an entry is of a sale that is not recorded as one."""
    is_imported = entry.source is EntrySource.IMPORT and entry.group is EntryGroup.SALE
    return entry.sale_id is None and (is_imported or entry.kind in PROCEEDS_KINDS)


def _is_bought_back(before: DomainFinance, sale: Sale) -> bool:
    """Return whether the domain was purchased after a sale."""
    purchases = (each for each in before.entries if each.kind in START_KINDS and not each.is_void)
    return any(each.occurred_on > sale.sold_on for each in purchases)


def terms_of(sale: Sale, entries: Iterable[Entry]) -> SaleTerms | None:
    """Return the terms of a sale, from its entries that are not void; None when all are."""
    own = sorted((each for each in entries if each.sale_id == sale.id), key=lambda each: each.sale_line or 0)
    of_role = {role: [each for each in own if each.sale_role is role] for role in SaleRole}
    payments = [*of_role[SaleRole.PRICE], *of_role[SaleRole.INSTALLMENT]]
    if not payments:
        return None
    commissions = of_role[SaleRole.COMMISSION]
    has_rate = sale.commission_rate is not None
    return SaleTerms(
        gross=sum((each.money for each in payments[1:]), start=payments[0].money),
        sold_on=sale.sold_on,
        commission=commissions[0].money if commissions and not has_rate else None,
        commission_rate=None if sale.commission_rate is None else sale.commission_rate.normalize(),
        fees=[_fee(sale, each) for each in of_role[SaleRole.FEE]],
        installments=[Payment(money=each.money, on=each.occurred_on) for each in of_role[SaleRole.INSTALLMENT]],
        venue=sale.venue,
        buyer_ref=sale.buyer_ref,
    )


def merge_terms(before: SaleTerms | None, patch: SalePatch, *, is_consigned: bool) -> SaleTerms:
    """Return the terms after a patch. Raise Invalid at the member that does not fit."""
    if before is None:
        if patch.gross is UNSET:
            raise _invalid("gross", "A sale requires a price.", "missing")
        before = SaleTerms(gross=patch.gross, sold_on=clock.now().date())
    terms = SaleTerms(
        gross=patched(patch.gross, before.gross),
        sold_on=patched(patch.sold_on, before.sold_on),
        commission=patched(patch.commission, before.commission if patch.commission_rate in KEPT else None),
        commission_rate=patched(
            patch.commission_rate, before.commission_rate if patch.commission in KEPT else None
        ),
        fees=patched(patch.fees, before.fees),
        installments=sorted(patched(patch.installments, before.installments), key=lambda each: each.on),
        venue=patched(patch.venue, before.venue),
        buyer_ref=patched(patch.buyer_ref, before.buyer_ref),
    )
    check_terms(terms, is_consigned=is_consigned)
    return terms


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


def _payments(terms: SaleTerms) -> list[tuple[EntryKind, SaleRole, Payment]]:
    """Return the payments of the buyer: the part of the price without instalments first, if there is one."""
    rest = terms.gross - _total(terms.gross.currency, terms.installments)
    price = (EntryKind.SALE, SaleRole.PRICE, Payment(money=rest, on=terms.sold_on))
    installments = [(EntryKind.SALE_INSTALLMENT, SaleRole.INSTALLMENT, each) for each in terms.installments]
    return [price, *installments] if rest.amount or not installments else installments


def _consignor_share(sale: Sale, terms: SaleTerms, commissions: Iterable[Payment]) -> Money:
    currency = terms.gross.currency
    nothing = Money.zero(currency)
    if sale.own_share == 1:
        return nothing
    net = terms.gross - _total(currency, commissions) - _total(currency, terms.fees)
    return _times(max(net, nothing), 1 - sale.own_share)


def check_terms(terms: SaleTerms, *, is_consigned: bool) -> None:
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
    if terms.commission is not None and terms.commission_rate is not None:
        raise _invalid("commission", "Send commission or commission_rate, not both.", "commission_twice")
    others = [each.money for each in terms.fees] + ([] if terms.commission is None else [terms.commission])
    if is_consigned and any(each.currency != currency for each in others):
        message = f"Of a consigned domain, commission and fees are in the currency of the price, {currency}."
        raise _invalid("fees", message, "currency_mixed")


def _invalid(member: str, message: str, code: str) -> Invalid:
    return Invalid(("body", "sale", member), message, code)


def _total(currency: str, payments: Iterable[Payment | SaleFee]) -> Money:
    return sum((each.money for each in payments), start=Money.zero(currency))


def _times(money: Money, factor: Decimal) -> Money:
    return Money(money.amount * factor, money.currency).quantized()


def _status_before(finance: DomainFinance) -> PortfolioDomainStatus:
    """Return the status that the domain has without a new sale."""
    domain = finance.domain
    is_sold = domain.status is PortfolioDomainStatus.SOLD
    return PortfolioDomainStatus(domain.ownership.value) if is_sold else domain.status


def _fee(sale: Sale, entry: Entry) -> SaleFee:
    on = None if entry.occurred_on == sale.sold_on else entry.occurred_on
    return SaleFee(kind=entry.kind, money=entry.money, on=on)


def _facts(entry: Entry | NewEntry) -> tuple[str, ...]:
    facts = (entry.sale_line, entry.sale_role, entry.kind, entry.money, entry.occurred_on, entry.memo)
    return tuple(map(str, facts))
