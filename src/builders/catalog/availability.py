"""The availability of names: the rules and the catalog decide first, then the registry of names.

`decide_name` is pure and shared: a check, a plan and a promotion return the same reasons.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from builders.aliases import claims
from builders.aliases.records import LIVE, Availability, Reason, RequestedName, ReservedClass, Rules, Validation
from builders.aliases.rules import validate_local_part
from builders.catalog import store
from builders.catalog.records import CatalogDomain, Check, CheckedRules, DomainStatus, Suggestion
from builders.catalog.snapshot import Snapshot
from builders.catalog.suggestions import list_alternatives
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.resources import extended

DEFAULT_RULES = Rules()  # of a domain that is not in the catalog, or not public
_MESSAGES: Mapping[Reason, str] = {
    Reason.DOMAIN_UNKNOWN: "The catalog has no such domain.",
    Reason.DOMAIN_NOT_LIVE: "Names on this domain cannot be claimed yet.",
    Reason.CATCH_ALL: "All names on this domain belong to one owner.",
    Reason.TAKEN: "The name is taken.",
    Reason.QUARANTINED: "The name was released recently; only its previous holder can claim it.",
    Reason.HELD: "The name is reserved for another account; it may become available again soon.",
    Reason.CONFUSABLE: "The name is confusable with a claimed name.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NameDecision:
    """The decision of the rules and the catalog on a name, before the registry is read."""

    domain: CatalogDomain | None  # None for an unknown domain and for one that is not public
    validation: Validation  # by the rules of the domain, or the default rules
    refusal: Reason | None  # None when only the registry can refuse the name


def decide_name(local_part: str, domain: CatalogDomain | None) -> NameDecision:
    """Decide on a name; a domain that is not public counts as unknown."""
    public = domain if domain is not None and domain.public else None
    rules, label = (public.rules, public.domain) if public else (DEFAULT_RULES, "")
    validation = validate_local_part(local_part, domain=label, rules=rules)
    return NameDecision(domain=public, validation=validation, refusal=_find_refusal(validation, public))


def _find_refusal(validation: Validation, domain: CatalogDomain | None) -> Reason | None:
    """Return the first `Reason` that applies; those of the registry come after all of these."""
    if validation.reason is Reason.INVALID:
        return Reason.INVALID
    if domain is None:
        return Reason.DOMAIN_UNKNOWN
    if domain.status is not DomainStatus.LIVE:
        return Reason.DOMAIN_NOT_LIVE
    if domain.catch_all:
        return Reason.CATCH_ALL
    return None if validation.is_ok else validation.reason


def describe_reason(reason: Reason, validation: Validation | None = None) -> str:
    """Return the reason as a sentence; the validation has that of a broken rule. Empty for `ok`."""
    return _MESSAGES.get(reason, validation.message if validation else "")


async def check_availability(conn: Conn, *, catalog: Snapshot, local_part: str, domain: str) -> Check:
    """Return whether a name can be claimed now, in one statement when it can.

    Of several reasons against it, the first in the order of `Reason` is returned. The holder of a name is never
    disclosed.
    """
    label = find_a_label(domain) or domain
    decision = decide_name(local_part, catalog.by_domain.get(label))
    known, validation = decision.domain, decision.validation
    availability = Availability(reason=decision.refusal or Reason.OK)
    if decision.refusal is None:
        wanted = RequestedName(domain=label, key=validation.key, skeleton=validation.skeleton)
        found = await claims.check_availability(conn, realm=LIVE, wanted=[wanted])
        availability = found.get(wanted.name, availability)
    normalized = validation.normalized or None
    is_premium = validation.reserved_class is ReservedClass.PREMIUM
    alternatives: tuple[Suggestion, ...] = ()
    if availability.reason is not Reason.OK:
        nearest = validation.suggestion or normalized or local_part
        categories = known.categories if known else ()
        alternatives = await list_alternatives(
            conn, catalog=catalog, local_part=nearest, domain=label, categories=categories
        )
    return Check(
        reason=availability.reason,
        detail=validation.detail,
        message=describe_reason(availability.reason, validation),
        local_part=local_part,
        normalized_local_part=normalized,
        domain=label,
        price=known.price_for(validation.key, is_premium=is_premium) if known and normalized else None,
        alternatives=alternatives,
        available_at=availability.until,
        rules=extended(CheckedRules, known.rules if known else DEFAULT_RULES),
        checked_at=clock.now(),
    )


async def load_domains(conn: Conn, *, domains: Iterable[str]) -> dict[str, CatalogDomain]:
    """Return those of the domains (A-labels) that are in the catalog, of any status, by name.

    Names can be claimed on a `claimable` domain only. One statement.
    """
    return await store.load_domains(conn, domains=domains)
