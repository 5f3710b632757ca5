"""What a charge is for, and how certain that is: its domain, the charge that it refunds, an entry of a member.

Pure: the facts are loaded before.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from itertools import product
from typing import TypeAlias
from uuid import UUID

from builders.kit.values.money import Money
from builders.portfolio.billing.bill_text import Names, read_names, read_years
from builders.portfolio.billing.records import (
    MAX_YEARS,
    Candidate,
    Charge,
    ChargeFields,
    Match,
    MatchMethod,
    NameOrigin,
)
from builders.portfolio.domains.records import Domain, PortfolioDomainStatus
from builders.portfolio.ledger.records import Entry, EntryKind, EntrySource, Likeness, NewEntry
from builders.portfolio.registrars.records import ChargeKind

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
_TOLERANCE = Decimal("0.05")  # by which a price can differ from the list price
_COUNTRY_CODE = 2  # characters of the suffix of a country
_PERIODIC = frozenset({ChargeKind.REGISTRATION, ChargeKind.RENEWAL, ChargeKind.TRANSFER, ChargeKind.PRIVACY})
# A purchase that was recorded as an acquisition is the registration that the registrar charges.
LIKENESS = Likeness(
    sources=frozenset({EntrySource.MANUAL, EntrySource.IMPORT}),
    same_kinds=frozenset({EntryKind.ACQUISITION, EntryKind.REGISTRATION}),
    period=timedelta(days=7),
    share=Decimal("0.05"),
)
_OrderKey: TypeAlias = tuple[str, str, str, str | None, Decimal | None]  # None: any domain or amount
_EntryKey: TypeAlias = tuple[UUID, EntryKind, str, int, int]  # domain, kind, currency, years, day as a number


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateDomains:
    """The domains of a portfolio that charges can be for."""

    by_name: Mapping[str, Domain] = field(default_factory=dict[str, Domain])
    by_label: Mapping[str, Sequence[Domain]] = field(default_factory=dict[str, Sequence[Domain]])
    sold_on: Mapping[UUID, date] = field(default_factory=dict[UUID, date])
    by_id: Mapping[UUID, Domain] = field(default_factory=dict[UUID, Domain])  # of charges that were matched before
    registrars: Mapping[str, str] = field(default_factory=dict[str, str])  # their labels, by provider


def match_charge(charge: ChargeFields, domains: CandidateDomains) -> Match:
    """Return the domains that a charge can be for by its own words."""
    names = read_names(charge.domain_raw, charge.description)
    ranked = sorted(_candidates(charge, names, domains), key=lambda each: (-each.confidence, each.domain))
    found = ranked[:MAX_CANDIDATES]
    domain = domains.by_name.get(found[0].domain) if found else None
    price = None if domain is None else domain.renewal_price
    return Match(candidates=found, years=find_years(charge, price=price))


def _candidates(charge: ChargeFields, names: Names, domains: CandidateDomains) -> Iterator[Candidate]:
    if names.field is not None:
        domain = domains.by_name.get(names.field)
        if domain is not None:
            method = {NameOrigin.TEXT: MatchMethod.DESCRIPTION, NameOrigin.ITEM: MatchMethod.ORDER_ITEM}
            is_unicode = not (charge.domain_raw or "").isascii()
            own = MatchMethod.IDN if is_unicode else MatchMethod.EXACT_NAME
            yield candidate_of(domain, _certainty(charge, domain, domains), method.get(charge.name_origin, own))
        return
    held = [domains.by_name[each] for each in names.text if each in domains.by_name]
    for domain in held:
        confidence = min(FREE_TEXT, _certainty(charge, domain, domains)) if len(held) == 1 else LABEL_ONLY
        yield candidate_of(domain, confidence, MatchMethod.DESCRIPTION)
    labelled = {each.id: each for label in names.labels for each in domains.by_label.get(label, ())}
    for domain in labelled.values():
        confidence = LABEL_ONLY if len(labelled) == 1 else SEVERAL
        yield candidate_of(domain, confidence, MatchMethod.LABEL)


def candidate_of(domain: Domain, confidence: Decimal, method: MatchMethod) -> Candidate:
    """Return a domain as a candidate."""
    return Candidate(domain_id=domain.id, domain=domain.domain, confidence=confidence, method=method)


def _certainty(charge: ChargeFields, domain: Domain, domains: CandidateDomains) -> Decimal:
    """Return the confidence in a domain that is named: highest where the charge comes from its connection."""
    on, since, until = charge.charged_on, domain.acquired_on or domain.registered_on, None
    if domain.status is PortfolioDomainStatus.SOLD:
        until = domains.sold_on.get(domain.id)
    if (since and on < since - OWNERSHIP_MARGIN) or (until and on > until + OWNERSHIP_MARGIN):
        return OUTSIDE_OWNERSHIP
    if charge.name_origin is NameOrigin.TEXT:
        return FREE_TEXT
    if charge.connection_id is not None and domain.connection_id is not None:
        is_same = charge.connection_id == domain.connection_id
    else:
        label = domains.registrars.get(charge.provider)
        here = {charge.provider, charge.provider.removeprefix("manual:"), label or charge.provider}
        is_same = _key(domain.registrar or "") in {_key(each) for each in here}
    return SAME_CONNECTION if is_same else OTHER_CONNECTION


def _key(name: str) -> str:
    return "".join(each for each in name.lower() if each.isalnum()).removesuffix("inc").removesuffix("llc")


def find_years(charge: ChargeFields, *, price: Money | None) -> int | None:
    """Return the years that a charge pays for: by its field, its words, or the price of a year. None: unknown.

    The transfer of a domain of a generic suffix adds a year.
    """
    if charge.kind not in _PERIODIC:
        return charge.years
    found = charge.years or read_years(charge.description)
    if found is not None:
        return found
    if charge.kind is ChargeKind.TRANSFER and charge.domain is not None:
        return 1 if len(charge.domain.rpartition(".")[2]) != _COUNTRY_CODE else None
    total = Money(charge.total, charge.currency).quantized().amount
    is_priced = price is not None and price.currency == charge.currency and price.amount > 0 and total > 0
    if charge.kind is not ChargeKind.RENEWAL or price is None or not is_priced:
        return None
    years = int((total / price.amount).to_integral_value())
    is_near = abs(total - years * price.amount) <= total * _TOLERANCE
    return years if is_near and 1 <= years <= MAX_YEARS else None


class Earlier:
    """The charges that refunds can reverse, found without a search through all of them."""

    def __init__(self, charges: Iterable[Charge]) -> None:
        self._by_order: dict[_OrderKey, list[Charge]] = {}  # per key, the first charge of each domain
        self._by_name: dict[tuple[object, ...], list[Charge]] = {}
        for each in charges:
            if not each.is_refund:
                self._add(each)
        for found in self._by_name.values():
            found.sort(key=lambda each: (each.charged_on, each.id))

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


def match_refund(refund: Charge, own: Match, earlier: Earlier, domains: CandidateDomains) -> Match:
    """Return the match of a refund: that of the charge that it reverses, where its own words name no domain."""
    reversed_charge = find_refunded(refund, earlier)
    if reversed_charge is None:
        return own
    candidates = own.candidates
    domain_id = reversed_charge.domain_id
    domain = None if domain_id is None else domains.by_id.get(domain_id)
    if domain is not None and refund.domain is None:
        confidence = min(OTHER_CONNECTION, reversed_charge.confidence or OTHER_CONNECTION)
        candidates = [candidate_of(domain, confidence, MatchMethod.PARENT_ORDER)]
    return Match(
        candidates=candidates,
        refund_of=reversed_charge.split_of or reversed_charge.id,
        is_ignored=reversed_charge.is_ignored,
        years=own.years or reversed_charge.years,
    )


def find_refunded(refund: Charge, earlier: Earlier) -> Charge | None:
    """Return the charge that a refund reverses: by its parent order, its own order, or name and amount.

    A refund without a name that can reverse charges of several domains reverses none.
    """
    found = earlier.of_order(refund, refund.parent_order_id) or earlier.of_order(refund, refund.order_id)
    return found or (None if refund.domain is None else earlier.of_name(refund))


class Recorded:
    """The entries that members recorded, without those of charges; each can be linked once."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._amounts = defaultdict[_EntryKey, list[tuple[Decimal, UUID]]](list)
        self._charged: dict[tuple[bytes, UUID], Entry] = {}  # by domain: parts of a charge have one key
        for each in entries:
            if each.charge_key is not None:
                self._charged[each.charge_key, each.domain_id] = each
            self._amounts[_entry_key(each, each.occurred_on.toordinal())].append((each.amount, each.id))
        for amounts in self._amounts.values():
            amounts.sort()

    def take_charged(self, paid: NewEntry) -> UUID | None:
        """Return the entry of this very charge, which was imported with an export; None without one."""
        entry = None if paid.charge_key is None else self._charged.pop((paid.charge_key, paid.domain_id), None)
        if entry is None:
            return None
        self._amounts[_entry_key(entry, entry.occurred_on.toordinal())].remove((entry.amount, entry.id))
        return entry.id

    def take(self, paid: NewEntry) -> UUID | None:
        """Return the entry that a member recorded for a charge, the closest in time; None without one.

        `paid` is what books the charge. An entry is the same with its kind, years and currency, within 7 days and
        5 percent of the amount.
        """
        on = paid.occurred_on.toordinal()
        for distance in range(LIKENESS.period.days + 1):
            differences: list[tuple[Decimal, int, int]] = []  # difference, day, place
            for day in {on - distance, on + distance}:
                amounts = self._amounts.get(_entry_key(paid, day), [])
                above = bisect_left(amounts, paid.amount, key=lambda each: each[0])
                closest = [at for at in (above - 1, above) if 0 <= at < len(amounts)]
                differences += [(abs(amounts[at][0] - paid.amount), day, at) for at in closest]
            difference, day, place = min(differences, default=(paid.amount, on, 0))
            if differences and difference <= paid.amount * LIKENESS.share:
                return self._amounts[_entry_key(paid, day)].pop(place)[1]
        return None


def _entry_key(entry: Entry | NewEntry, day: int) -> _EntryKey:
    kind = EntryKind.REGISTRATION if entry.kind in LIKENESS.same_kinds else entry.kind
    return entry.domain_id, kind, entry.currency, entry.years or 1, day
