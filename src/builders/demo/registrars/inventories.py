"""The domains at the registrars of the demo: the demo portfolio, with differences that a comparison finds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from builders.demo.portfolio import DemoDomain, read_domains
from builders.demo.registrars.fake import FakeDomain
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
        held = _unknown(domain, today) if row is None else _held(row)
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


def _unknown(domain: str, today: date) -> FakeDomain:
    """Return a domain that the portfolio does not have."""
    return FakeDomain(
        domain=domain,
        expires_at=_midnight(today + timedelta(days=200)),
        created_at=_midnight(today - timedelta(days=530)),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
