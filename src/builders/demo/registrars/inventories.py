"""The domains at the registrars of the demo: the demo portfolio, with differences that a comparison finds."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from builders.demo.portfolio import DemoDomain, read_domains
from builders.demo.registrars.fake import FakeDomain

# Registrars of the demo portfolio whose label is not the name of their provider.
_PROVIDERS = {
    "amazon route 53": "route53",
    "cloudflare registrar": "cloudflare",
    "name.com": "namecom",
    "ovhcloud": "ovh",
}
_GONE = frozenset(("dropped", "sold"))
_REDEMPTION_AFTER = timedelta(days=45)  # the expiry


@dataclass(frozen=True, slots=True, kw_only=True)
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
    Difference(category="expiry_mismatch", provider="godaddy", domain="marblekitchen.com", days=-30),
    Difference(category="expiry_mismatch", provider="namecom", domain="paperward.com", days=365),
    Difference(category="expiry_mismatch", provider="ovh", domain="sagecourier.de", days=-3),
    Difference(
        category="auto_renew_mismatch",
        provider="godaddy",
        domain="meadow-field.net",
        changes={"auto_renew": False},
    ),
    Difference(
        category="auto_renew_mismatch",
        provider="namecom",
        domain="rowanbridge.io",
        changes={"auto_renew": False},
    ),
    Difference(category="missing_at_registrar", provider="godaddy", domain="hazelschool.com", is_held=False),
    Difference(category="missing_at_registrar", provider="route53", domain="winterbench.com", is_held=False),
    Difference(category="missing_in_portfolio", provider="godaddy", domain="harbour-ledger.com"),
    Difference(category="missing_in_portfolio", provider="namecom", domain="xn--mrchenwald-w5a.de"),
    Difference(category="registrar_mismatch", provider="namecom", domain="oakendock.com", is_moved=True),
    Difference(category="duplicate_across_registrars", provider="namecom", domain="willowgarden.com"),
    Difference(category="lock_off", provider="godaddy", domain="anchorlibrary.com", changes={"locked": False}),
    Difference(category="lock_off", provider="cloudflare", domain="slate-quay.com", changes={"locked": False}),
    Difference(category="privacy_off", provider="namecom", domain="fernfarm.net", changes={"privacy": False}),
    Difference(
        category="pending_transfer_out_unexpected",
        provider="gandi",
        domain="emberkeeper.eu",
        changes={"state": "leaving", "locked": False},
    ),
    Difference(category="sold_but_still_held", provider="godaddy", domain="olivemarket.net"),
    Difference(
        category="dropped_but_active",
        provider="gandi",
        domain="amberhub.co.uk",
        days=730,
        changes={"auto_renew": True},
    ),
    Difference(
        category="idn_form_mismatch",
        provider="namecom",
        domain="xn--straenfest-83a.de",
        held_as="strassenfest.de",  # as IDNA 2003 wrote it
    ),
    Difference(
        category="price_changed",
        provider="namecom",
        domain="silvershuttle.com",
        changes={"renewal_price": Decimal("24.99")},
    ),
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


def list_findings(today: date, *, providers: Collection[str]) -> set[tuple[str, str]]:
    """Return category and domain of each reconciliation finding with connections to these registrars."""
    found = {(each.category, each.held_as or each.domain) for each in DIFFERENCES if each.provider in providers}
    categories = {"expired": "expired_at_registrar", "redemption": "redemption"}
    for provider, held in list_held(today):
        if provider in providers and held.state in categories:
            found.add((categories[held.state], held.domain))
    return found


def _is_held(row: DemoDomain) -> bool:
    return not row.cells["sold"] and row.cells["status"] not in _GONE


def _held(row: DemoDomain) -> FakeDomain:
    """Return a domain as the portfolio has it."""
    price = row.money("renewal_price")
    return FakeDomain(
        domain=row.name,
        expires_at=_midnight(row.expires_on),
        created_at=_midnight(row.acquired_on),
        auto_renew=row.cells["auto_renew"] == "true",
        state=_state(row),
        renewal_price=Decimal("10.98") if price is None else price.amount,
    )


def _state(row: DemoDomain) -> str:
    if not _is_held(row) or row.expires_on >= row.today:
        return "active"
    return "expired" if row.today - row.expires_on <= _REDEMPTION_AFTER else "redemption"


def _unknown(domain: str, today: date) -> FakeDomain:
    """Return a domain that the portfolio does not have."""
    return FakeDomain(
        domain=domain,
        expires_at=_midnight(today + timedelta(days=200)),
        created_at=_midnight(today - timedelta(days=530)),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
