"""The bills of the demo's registrars for three years, and the domains that each charge is for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import groupby, product

from builders.demo.portfolio import YEAR, DemoDomain, list_renewals, read_domains
from builders.demo.registrars.fake import FakeLine, FakePurchase
from builders.demo.registrars.inventories import provider_of
from builders.kit.values import domain_names

QUARTER = timedelta(days=91)  # its charges in one currency are one order
_QUARTERS = 12
_REFUNDED_AFTER = timedelta(days=5)
_REFUNDED = {2: "privacy", 5: "renewal"}  # orders by their place, and the operation whose first line it is
FIRST_ORDER = {"godaddy": 40_000, "namecom": 50_000, "namesilo": 60_000, "ovh": 70_000, "route53": 80_000}
_ICANN_FEE, _PRIVACY, _DNS, _HOSTING = Decimal("0.18"), Decimal("4.99"), Decimal("7.49"), Decimal("5.99")
_VAT = Decimal("0.19")
_CENT = Decimal("0.01")
_SHARED = 5  # names at most on a line for privacy at GoDaddy
# How a text names a domain that the bill does not name elsewhere. The last two do not name it for certain.
_TEXTS = (
    "Premium DNS for {name}",
    "Premium DNS, www.{upper} (12 months)",
    "Email Essentials - {unicode}",
    "SSL certificate (https://{name}/)",
    "Email Essentials - info@{name}, 1 year",
    "Premium DNS: {label}",
)
# Domains that were held once and are not in the portfolio: invented names, and some that resemble its names.
_PAST = {"godaddy": ("lucky", "velvet"), "namecom": ("lunar", "rustic"), "route53": ("tidy",)}
_PAST_NOUNS = (
    *("otter", "kettle", "anvil", "compass", "saddle", "thimble", "gable", "pewter", "burrow", "trellis"),
    *("mantel", "awning", "rudder", "plinth", "sextant", "gimbal", "quill", "sconce"),
)
_ALIKE = {
    "godaddy": ("cobalt-mint.com", "mycobaltmint.com", "cobaltmint.co", "dawncrew.net", "amberfarm.eu"),
    "namecom": ("ambercrew.com", "amber-crew.net", "coppermints.com", "hub-garnet.com"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """A charge of a day that is not on an order yet."""

    on: date
    currency: str
    line: FakeLine
    domains: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """An order, and the domains of each of its lines."""

    purchase: FakePurchase
    domains: Sequence[Sequence[str]]
    refunded_line: int | None = None  # of the parent order


def list_purchases(provider: str, today: date) -> Sequence[FakePurchase]:
    """Return the orders of a registrar with an API for bills; none for the others."""
    return [each.purchase for each in list_bills(provider, today)]


def list_bills(provider: str, today: date) -> Sequence[Bill]:
    """Return the orders, the oldest first, and the refunds behind them."""

    def key(item: _Item) -> tuple[int, str]:
        return -((today - item.on) // QUARTER), item.currency

    bills: list[Bill] = []
    for (quarter, currency), group in groupby(sorted(_list_items(provider, today), key=key), key=key):
        items = [*group]
        if provider == "godaddy":
            items += _share_privacy(items)
        purchase = FakePurchase(
            order_id=str(FIRST_ORDER[provider] + len(bills)),
            charged_on=today + QUARTER * quarter,
            lines=[each.line for each in items],
            currency=currency,
        )
        bills.append(Bill(purchase=purchase, domains=[each.domains for each in items]))
    return [*bills, *_list_refunds(bills)] if bills else bills


def _list_refunds(bills: Sequence[Bill]) -> Iterator[Bill]:
    """Yield the refunds of a line of some orders, as separate orders."""
    for number, operation in _REFUNDED.items():
        bill = bills[number]
        order = bill.purchase
        at = next((at for at, line in enumerate(order.lines) if line.operation == operation), 0)
        line = order.lines[at]
        refund = FakePurchase(
            order_id=f"{order.order_id}9",
            charged_on=order.charged_on + _REFUNDED_AFTER,
            lines=[replace(line, total=-line.total, tax=-line.tax, fees=-line.fees)],
            currency=order.currency,
            parent_order_id=order.order_id,
        )
        yield Bill(purchase=refund, domains=[bill.domains[at]], refunded_line=at + 1)


def _list_items(provider: str, today: date) -> Iterator[_Item]:
    if provider not in FIRST_ORDER:
        return
    for number, row in enumerate(each for each in read_domains(today) if provider_of(each) == provider):
        yield from _list_items_of(provider, number, row)
    for number, name in enumerate(_list_past(provider)):
        bought_on = today - timedelta(days=1_000 - number * 37 % 600)
        yield from _list_years(provider, name, [bought_on, bought_on + YEAR], Decimal("12.99"), "USD")
    if provider in {"godaddy", "namecom"}:
        for quarter in range(_QUARTERS):
            line = FakeLine(domains=[], operation="other", total=_HOSTING, text="Deluxe Hosting, 3 months")
            yield _Item(on=today - QUARTER * quarter, currency="USD", line=line, domains=[])


def _list_items_of(provider: str, number: int, row: DemoDomain) -> Iterator[_Item]:
    """Yield the charges of a domain of the portfolio: purchase, renewals, privacy, and other services."""
    price = row.money("renewal_price")
    if price is None:
        return
    days = [row.acquired_on, *sorted(list_renewals(row))]
    operation = "registration" if row.cells["kind"] == "registration" else "transfer"
    yield from _list_years(provider, row.name, days, price.amount, price.currency, first=operation)
    if provider not in {"godaddy", "ovh"}:
        return
    for at, day in enumerate(days):
        if (number + at) % 2:
            written = _TEXTS[(number + at) // 2 % len(_TEXTS)].format(
                name=row.name,
                upper=row.name.upper(),
                unicode=domain_names.unicode_of(row.name),
                label=row.name.partition(".")[0],
            )
            line = FakeLine(domains=[], operation="other", total=_DNS, text=written)
            yield _Item(on=day, currency=price.currency, line=line, domains=[row.name])


def _list_years(
    provider: str, name: str, days: Sequence[date], price: Decimal, currency: str, first: str = "registration"
) -> Iterator[_Item]:
    """Yield the first year of a domain and its renewals, with further charges of the registrar."""
    for at, day in enumerate(days):
        operation = "renewal" if at else first
        # Name.com and OVHcloud write names as their owners read them.
        written = domain_names.unicode_of(name) if provider in {"namecom", "ovh"} and at else name
        fees = _ICANN_FEE if provider == "godaddy" and currency == "USD" else Decimal(0)
        tax = (price * _VAT).quantize(_CENT) if provider == "namecom" and currency != "USD" else Decimal(0)
        line = FakeLine(domains=[written], operation=operation, total=price + fees + tax, fees=fees, tax=tax)
        yield _Item(on=day, currency=currency, line=line, domains=[name])
        if provider == "namecom":
            privacy = FakeLine(domains=[name.upper()], operation="privacy", total=_PRIVACY)
            yield _Item(on=day, currency=currency, line=privacy, domains=[name])
        if provider == "namesilo":
            text = f"{name} - ICANN fee"
            fee = FakeLine(domains=[name], operation="other", total=_ICANN_FEE, text=text)
            yield _Item(on=day, currency=currency, line=fee, domains=[name])


def _share_privacy(items: Sequence[_Item]) -> Iterator[_Item]:
    """Yield lines for privacy that several domains of an order share, a cent cheaper than singly."""
    named = [each for each in items if each.line.domains]
    for start in range(0, len(named), _SHARED):
        group = named[start : start + _SHARED]
        names = [each.domains[0] for each in group]
        line = FakeLine(domains=names, operation="privacy", total=_PRIVACY * len(names) - _CENT)
        yield _Item(on=group[0].on, currency=group[0].currency, line=line, domains=names)


def _list_past(provider: str) -> Iterator[str]:
    """Yield the domains that are not in the portfolio any more."""
    yield from (f"{word}{noun}.com" for word, noun in product(_PAST.get(provider, ()), _PAST_NOUNS))
    yield from _ALIKE.get(provider, ())
