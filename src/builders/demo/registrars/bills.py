"""The bills of the demo's registrars for three years, and the domains that each charge is for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import groupby, product
from typing import Any

from builders.demo.portfolio import YEAR, DemoDomain, list_renewals, read_domains
from builders.demo.registrars.fake import FakeDomain, FakeLine, FakePurchase
from builders.kit.values import domain_names
from builders.portfolio.registrars.providers import ADAPTERS

_PROVIDERS = {each.profile.label.lower(): provider for provider, each in ADAPTERS.items()}
_GONE = frozenset(("dropped", "sold"))
_REDEMPTION_AFTER = timedelta(days=45)  # the expiry


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a registrar and the demo portfolio."""

    category: str  # of the reconciliation finding
    provider: str
    domain: str
    is_held: bool = True  # at this registrar
    is_moved: bool = False  # the registrar of the portfolio does not hold it
    held_as: str | None = None  # the name that the registrar holds in its place
    days: int = 0  # by which it expires later than in the portfolio
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the members of FakeDomain


DIFFERENCES: Sequence[Difference] = (
    Difference("expiry_mismatch", "godaddy", "marblekitchen.com", days=-30),
    Difference("expiry_mismatch", "namecom", "paperward.com", days=365),
    Difference("expiry_mismatch", "ovh", "sagecourier.de", days=-3),
    Difference("auto_renew_mismatch", "godaddy", "meadow-field.net", changes={"auto_renew": False}),
    Difference("auto_renew_mismatch", "namecom", "rowanbridge.io", changes={"auto_renew": False}),
    Difference("missing_at_registrar", "godaddy", "hazelschool.com", is_held=False),
    Difference("missing_at_registrar", "route53", "winterbench.com", is_held=False),
    Difference("missing_in_portfolio", "godaddy", "harbour-ledger.com"),
    Difference("missing_in_portfolio", "namecom", "xn--mrchenwald-w5a.de"),
    Difference("registrar_mismatch", "namecom", "oakendock.com", is_moved=True),
    Difference("duplicate_across_registrars", "namecom", "willowgarden.com"),
    Difference("lock_off", "godaddy", "anchorlibrary.com", changes={"locked": False}),
    Difference("lock_off", "cloudflare", "slate-quay.com", changes={"locked": False}),
    Difference("privacy_off", "namecom", "fernfarm.net", changes={"privacy": False}),
    Difference(
        "pending_transfer_out_unexpected", "gandi", "emberkeeper.eu", changes={"state": "leaving", "locked": False}
    ),
    Difference("sold_but_still_held", "godaddy", "olivemarket.net"),
    Difference("dropped_but_active", "gandi", "amberhub.co.uk", days=730, changes={"auto_renew": True}),
    Difference(
        "idn_form_mismatch",
        "namecom",
        "xn--straenfest-83a.de",
        held_as="strassenfest.de",  # as IDNA 2003 wrote it
    ),
    Difference("price_changed", "namecom", "silvershuttle.com", changes={"renewal_price": Decimal("24.99")}),
)


def provider_of(row: DemoDomain) -> str:
    """Return the provider of the registrar that the demo portfolio names."""
    label = row.cells["registrar"].lower()
    return _PROVIDERS.get(label, label)


def list_held(today: date) -> Iterator[tuple[str, FakeDomain]]:
    """Yield the provider and the domain of each holding, at dates relative to `today`."""
    rows = {row.name: row for row in read_domains(today)}
    at = {(each.provider, each.domain): each for each in DIFFERENCES}
    moved = {each.domain for each in DIFFERENCES if each.is_moved}
    places = dict.fromkeys((provider_of(row), row.name) for row in rows.values() if _is_held(row))
    places |= dict.fromkeys(at)
    for provider, domain in places:
        difference, row = at.get((provider, domain)), rows.get(domain)
        if (difference is None and domain in moved) or (difference is not None and not difference.is_held):
            continue
        held = FakeDomain(  # the portfolio does not have it
            domain=domain,
            expires_at=_midnight(today + timedelta(days=200)),
            created_at=_midnight(today - timedelta(days=530)),
        )
        if row is not None:
            held = _held(row)
        if difference is not None:
            expires_at = held.expires_at and held.expires_at + timedelta(days=difference.days)
            name = difference.held_as or domain
            held = replace(held, domain=name, expires_at=expires_at, **difference.changes)
        yield provider, held


def _is_held(row: DemoDomain) -> bool:
    return not row.cells["sold"] and row.cells["status"] not in _GONE


def _held(row: DemoDomain) -> FakeDomain:
    """Return a domain as the portfolio has it."""
    price, late = row.money("renewal_price"), row.today - row.expires_on
    is_late = _is_held(row) and late > timedelta(0)
    return FakeDomain(
        domain=row.name,
        expires_at=_midnight(row.expires_on),
        created_at=_midnight(row.acquired_on),
        auto_renew=row.cells["auto_renew"] == "true",
        state=("expired" if late <= _REDEMPTION_AFTER else "redemption") if is_late else "active",
        renewal_price=Decimal("10.98") if price is None else price.amount,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


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
