"""The sale of a domain as entries of the ledger.

The money of a sale is in its entries alone. Each has the source `sale` and a reference that begins with the
identifier of the sale, so that the terms can be read from the entries.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from uuid import UUID

from builders.kit.errors import Invalid
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.kit.values.patches import UNSET, patched
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.finance.calculation import PROCEEDS_KINDS
from builders.portfolio.finance.records import (
    DomainFinance,
    Payment,
    Plan,
    Sale,
    SaleFee,
    SalePatch,
    SaleTerms,
)
from builders.portfolio.ledger.records import Entry, EntryGroup, EntryKind, EntrySource, NewEntry

NAMES = (PRICE, INSTALLMENT, COMMISSION, FEE, SHARE) = ("price", "installment", "commission", "fee", "share")
KEPT = (UNSET, None)  # of one form of the commission: the other stays
SHARE_MEMO = "Share of the consignor"
_REFERENCE = re.compile(rf"(?P<sale>[0-9a-f-]{{36}})/(?P<at>[0-9]{{1,9}})/(?:{'|'.join(NAMES)})")


def sale_entries(sale: Sale, terms: SaleTerms, *, created_by: UUID | None) -> Sequence[NewEntry]:
    """Return the entries of a sale.

    A commission rate and the share of the consignor are taken from each payment; a fixed commission is paid on the
    day of the sale.
    """
    payments = _payments(terms)
    commissions: Sequence[Payment] = [
        Payment(money=terms.commission or Money.zero(terms.gross.currency), on=terms.sold_on)
    ]
    if terms.commission_rate is not None:
        commissions = spread(_times(terms.gross, terms.commission_rate), payments)
    lines = [(kind, name, payment) for kind, name, payment in _payment_lines(terms, payments)]
    lines += ((EntryKind.COMMISSION, COMMISSION, each) for each in commissions if each.money.amount)
    lines += ((each.kind, FEE, Payment(money=each.money, on=each.on or terms.sold_on)) for each in terms.fees)
    shares = _consignor_share(sale, terms, commissions)
    lines += ((EntryKind.OTHER_COST, SHARE, each) for each in spread(shares, payments) if each.money.amount)
    return [
        NewEntry(
            domain_id=sale.domain_id,
            kind=kind,
            money=payment.money,
            occurred_on=payment.on,
            source=EntrySource.SALE,
            reference=f"{sale.id}/{at}/{name}",
            memo=SHARE_MEMO if name == SHARE else terms.venue,
            created_by=created_by,
        )
        for at, (kind, name, payment) in enumerate(lines)
    ]


def plan_sale(
    before: DomainFinance, patch: SalePatch | None, *, own_share: Decimal, member_id: UUID | None
) -> Plan:
    """Return what records, changes or, for None, voids the sale of a domain.

    A recorded sale replaces proceeds that came without one, from an import. Raise Invalid.
    """
    sale, status_before = before.sale, _status_before(before)
    present = [each for each in before.entries if is_of_any_sale(sale, each)]
    if patch is None:
        is_sold = before.domain.status is PortfolioDomainStatus.SOLD
        return Plan(
            void=[each.id for each in present],
            domain={"status": status_before} if is_sold else {},
            sale=UNSET if sale is None else None,
        )
    terms = merge_terms(before.terms, patch, is_consigned=own_share < 1)
    planned = Sale(
        id=ids.new() if sale is None else sale.id,
        domain_id=before.domain.id,
        sold_on=terms.sold_on,
        commission_rate=terms.commission_rate,
        venue=terms.venue,
        buyer_ref=terms.buyer_ref,
        own_share=own_share if sale is None else sale.own_share,
        status_before=status_before,
        created_at=clock.now() if sale is None else sale.created_at,
    )
    made = sale_entries(planned, terms, created_by=member_id)
    is_posted = sorted(map(_facts, made)) == sorted(map(_facts, present))
    return Plan(
        post=[] if is_posted else made,
        replace=[] if is_posted else [each.id for each in present],
        domain={"status": PortfolioDomainStatus.SOLD},
        sale=planned,
    )


def is_of_sale(sale: Sale, entry: Entry) -> bool:
    """Return whether an entry is one of those of a sale. One with another form of reference is not."""
    found = _REFERENCE.fullmatch(entry.reference or "")
    return entry.source is EntrySource.SALE and found is not None and found["sale"] == str(sale.id)


def is_of_any_sale(sale: Sale | None, entry: Entry) -> bool:
    """Return whether an entry is one of those of the recorded sale; without one, of a sale that was imported."""
    if entry.is_void:
        return False
    if sale is not None:
        return is_of_sale(sale, entry)
    is_imported = entry.source is EntrySource.IMPORT and entry.group is EntryGroup.SALE
    return is_imported or entry.kind in PROCEEDS_KINDS or entry.source is EntrySource.SALE


def is_price(sale: Sale | None, entry: Entry) -> bool:
    """Return whether an entry of a sale is that of its price, without which there is no sale."""
    return entry.kind is EntryKind.SALE if sale is None else name_of(entry) == PRICE


def name_of(entry: Entry) -> str:
    """Return what an entry of a sale is: one of the names above."""
    return (entry.reference or "").rpartition("/")[2]


def terms_of(sale: Sale, entries: Iterable[Entry]) -> SaleTerms | None:
    """Return the terms of a sale, from its entries that are not void; None when all are."""
    own = sorted((each for each in entries if is_of_sale(sale, each) and not each.is_void), key=_position)
    payments = [each for each in own if name_of(each) in {PRICE, INSTALLMENT}]
    payments = [each for each in payments if each.currency == payments[0].currency]
    if not payments:
        return None
    gross = sum((each.money for each in payments[1:]), start=payments[0].money)
    commission = next((each.money for each in own if name_of(each) == COMMISSION), None)
    return SaleTerms(
        gross=gross,
        sold_on=sale.sold_on,
        commission=commission if sale.commission_rate is None else None,
        commission_rate=None if sale.commission_rate is None else sale.commission_rate.normalize(),
        fees=[_fee(sale, each) for each in own if name_of(each) == FEE],
        installments=[
            Payment(money=each.money, on=each.occurred_on) for each in payments if name_of(each) == INSTALLMENT
        ],
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
    _check(terms, is_consigned=is_consigned)
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


def _payments(terms: SaleTerms) -> Sequence[Payment]:
    """Return the payments of the buyer: the part of the price without instalments first, if there is one."""
    rest = terms.gross - _total(terms.gross.currency, terms.installments)
    first = [Payment(money=rest, on=terms.sold_on)] if rest.amount or not terms.installments else []
    return [*first, *terms.installments]


def _payment_lines(terms: SaleTerms, payments: Sequence[Payment]) -> Iterator[tuple[EntryKind, str, Payment]]:
    without_price = len(payments) == len(terms.installments)
    for at, each in enumerate(payments):
        if at or without_price:
            yield EntryKind.SALE_INSTALLMENT, INSTALLMENT, each
        else:
            yield EntryKind.SALE, PRICE, each


def _consignor_share(sale: Sale, terms: SaleTerms, commissions: Iterable[Payment]) -> Money:
    currency = terms.gross.currency
    nothing = Money.zero(currency)
    if sale.own_share == 1:
        return nothing
    net = terms.gross - _total(currency, commissions) - _total(currency, terms.fees)
    return _times(max(net, nothing), 1 - sale.own_share)


def _check(terms: SaleTerms, *, is_consigned: bool) -> None:
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
    """Return the status that the domain has without the sale."""
    domain, sale = finance.domain, finance.sale
    if sale is not None:
        return PortfolioDomainStatus(sale.status_before)
    is_sold = domain.status is PortfolioDomainStatus.SOLD
    return PortfolioDomainStatus(domain.ownership.value) if is_sold else domain.status


def _fee(sale: Sale, entry: Entry) -> SaleFee:
    on = None if entry.occurred_on == sale.sold_on else entry.occurred_on
    return SaleFee(kind=entry.kind, money=entry.money, on=on)


def _facts(entry: Entry | NewEntry) -> tuple[str, ...]:
    facts = (entry.reference, entry.kind, entry.money, entry.occurred_on, entry.memo)
    return tuple(map(str, facts))


def _position(entry: Entry) -> int:
    return int((entry.reference or "").split("/")[1])
