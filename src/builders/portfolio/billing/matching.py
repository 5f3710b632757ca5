"""Which domain a charge is for, and how certain that is. Pure: the facts are loaded before."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from itertools import product
from typing import TypeAlias
from uuid import UUID

from builders.portfolio.billing.names import Names, is_written_in_unicode, read_names
from builders.portfolio.billing.records import (
    Candidate,
    Charge,
    ChargeFields,
    Match,
    MatchMethod,
    NameOrigin,
)
from builders.portfolio.billing.wording import find_years
from builders.portfolio.domains.records import Domain, PortfolioDomainStatus

SAME_CONNECTION = Decimal("1.00")
OTHER_CONNECTION = Decimal("0.95")  # the domain has moved, or its connection is unknown
FREE_TEXT = Decimal("0.90")
OUTSIDE_OWNERSHIP = Decimal("0.80")
LABEL_ONLY = Decimal("0.50")
SEVERAL = Decimal("0.30")  # each of several domains
OWNERSHIP_MARGIN = timedelta(days=7)  # a bill can be older than the day that a domain was recorded with
REFUND_PERIOD = timedelta(days=60)  # in which a refund without an order is looked up
MAX_CANDIDATES = 5
_SEVERAL = 2  # charges of different domains: more make no difference
_OrderKey: TypeAlias = tuple[str, str, str, str | None, Decimal | None]  # None: any domain or amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The domains of a portfolio that charges can be for."""

    by_name: Mapping[str, Domain] = field(default_factory=dict[str, Domain])
    by_label: Mapping[str, Sequence[Domain]] = field(default_factory=dict[str, Sequence[Domain]])
    sold_on: Mapping[UUID, date] = field(default_factory=dict[UUID, date])
    by_id: Mapping[UUID, Domain] = field(default_factory=dict[UUID, Domain])  # of charges that were matched before
    registrars: Mapping[str, str] = field(default_factory=dict[str, str])  # their labels, by provider


def match_charge(charge: ChargeFields, holdings: Holdings) -> Match:
    """Return the domains that a charge can be for by its own words."""
    names = read_names(charge.domain_raw, charge.description)
    found = sorted(_candidates(charge, names, holdings), key=lambda each: -each.confidence)[:MAX_CANDIDATES]
    first = next(iter(found), None)
    domain = None if first is None else holdings.by_name.get(first.domain)
    price = None if domain is None else domain.renewal_price
    return Match(candidates=found, years=find_years(charge, price=price))


def _candidates(charge: ChargeFields, names: Names, holdings: Holdings) -> Iterator[Candidate]:
    if names.field is not None:
        domain = holdings.by_name.get(names.field)
        if domain is not None:
            yield _candidate(domain, _certainty(charge, domain, holdings), _method(charge))
        return
    held = [holdings.by_name[each] for each in names.text if each in holdings.by_name]
    for domain in held:
        confidence = min(FREE_TEXT, _certainty(charge, domain, holdings)) if len(held) == 1 else LABEL_ONLY
        yield _candidate(domain, confidence, MatchMethod.DESCRIPTION)
    labelled = {each.id: each for label in names.labels for each in holdings.by_label.get(label, ())}
    for domain in labelled.values():
        confidence = LABEL_ONLY if len(labelled) == 1 else SEVERAL
        yield _candidate(domain, confidence, MatchMethod.LABEL)


def _candidate(domain: Domain, confidence: Decimal, method: MatchMethod) -> Candidate:
    return Candidate(domain_id=domain.id, domain=domain.domain, confidence=confidence, method=method)


def _method(charge: ChargeFields) -> MatchMethod:
    if charge.name_origin is NameOrigin.TEXT:
        return MatchMethod.DESCRIPTION
    if charge.name_origin is NameOrigin.ITEM:
        return MatchMethod.ORDER_ITEM
    return MatchMethod.IDN if is_written_in_unicode(charge.domain_raw) else MatchMethod.EXACT_NAME


def _certainty(charge: ChargeFields, domain: Domain, holdings: Holdings) -> Decimal:
    """Return the confidence in a domain that is named."""
    if not _is_owned(charge.charged_on, domain, holdings):
        return OUTSIDE_OWNERSHIP
    if charge.name_origin is NameOrigin.TEXT:
        return FREE_TEXT
    return SAME_CONNECTION if _is_same_connection(charge, domain, holdings) else OTHER_CONNECTION


def _is_owned(on: date, domain: Domain, holdings: Holdings) -> bool:
    since = domain.acquired_on or domain.registered_on
    until = holdings.sold_on.get(domain.id)
    if domain.status is not PortfolioDomainStatus.SOLD:
        until = None
    return (since is None or since - OWNERSHIP_MARGIN <= on) and (until is None or on <= until + OWNERSHIP_MARGIN)


def _is_same_connection(charge: ChargeFields, domain: Domain, holdings: Holdings) -> bool:
    """Return whether the domain is where the charge comes from: at the connection, or at the registrar."""
    if charge.connection_id is not None and domain.connection_id is not None:
        return charge.connection_id == domain.connection_id
    here = {charge.provider, charge.provider.removeprefix("manual:"), holdings.registrars.get(charge.provider, "")}
    return _key(domain.registrar or "") in {_key(each) for each in here if each}


def _key(name: str) -> str:
    return "".join(each for each in name.lower() if each.isalnum()).removesuffix("inc").removesuffix("llc")


class Earlier:
    """The charges that refunds can reverse, found without a search through all of them."""

    def __init__(self, charges: Iterable[Charge]) -> None:
        self._by_order: dict[_OrderKey, list[Charge]] = {}  # per key, the first charge of each domain
        self._by_name: dict[tuple[object, ...], list[Charge]] = {}
        for each in charges:
            if not each.is_refund:
                self._add(each)
        for found in self._by_name.values():
            found.sort(key=_time)

    def _add(self, charge: Charge) -> None:
        same = charge.provider, charge.currency
        for domain, total in product((charge.domain, None), (charge.total, None)):
            found = self._by_order.setdefault((*same, charge.order_id, domain, total), [])
            if len(found) < _SEVERAL and charge.domain not in {each.domain for each in found}:
                found.append(charge)
        self._by_name.setdefault((*same, charge.domain, charge.total), []).append(charge)

    def of_order(self, refund: Charge, order_id: str | None) -> Charge | None:
        """Return the charge of an order: of the refund's domain, or of its amount, or the only one."""
        if not order_id:
            return None
        for total in (-refund.total, None):
            key = (refund.provider, refund.currency, order_id, refund.domain, total)
            found = self._by_order.get(key, ())
            if len(found) == 1:
                return found[0]
        return None

    def of_name(self, refund: Charge) -> Charge | None:
        """Return the last charge of the refund's domain and amount in the days before it."""
        found = self._by_name.get((refund.provider, refund.currency, refund.domain, -refund.total), ())
        at = bisect_right(found, refund.charged_on, key=lambda each: each.charged_on)
        last = found[at - 1] if at else None
        is_near = last is not None and last.charged_on >= refund.charged_on - REFUND_PERIOD
        return last if is_near else None


def _time(charge: Charge) -> tuple[date, UUID]:
    return charge.charged_on, charge.id


def match_refund(refund: Charge, own: Match, earlier: Earlier, holdings: Holdings) -> Match:
    """Return the match of a refund: that of the charge that it reverses, where its own words name no domain."""
    reversed_charge = find_refunded(refund, earlier)
    if reversed_charge is None:
        return own
    candidates = own.candidates
    domain_id = reversed_charge.domain_id
    domain = None if domain_id is None else holdings.by_id.get(domain_id)
    if domain is not None and refund.domain is None:
        confidence = min(OTHER_CONNECTION, reversed_charge.confidence or OTHER_CONNECTION)
        candidates = [_candidate(domain, confidence, MatchMethod.PARENT_ORDER)]
    return Match(
        candidates=candidates,
        refund_of=reversed_charge.id,
        is_ignored=reversed_charge.is_ignored,
        years=own.years or reversed_charge.years,
    )


def find_refunded(refund: Charge, earlier: Earlier) -> Charge | None:
    """Return the charge that a refund reverses: by its parent order, its own order, or name and amount.

    A refund without a name that can reverse charges of several domains reverses none.
    """
    found = earlier.of_order(refund, refund.parent_order_id) or earlier.of_order(refund, refund.order_id)
    return found or (None if refund.domain is None else earlier.of_name(refund))
