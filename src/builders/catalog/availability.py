"""Why nobody can have a name, and how it is said: one rule for a check, a plan and a promotion. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from builders.aliases import service as aliases
from builders.aliases.records import Reason, Rules, Validation
from builders.catalog.records import CatalogDomain, DomainStatus

DEFAULT_RULES = Rules()  # of a domain that the catalog does not have, or does not show
_MESSAGES: Mapping[Reason, str] = {
    Reason.DOMAIN_UNKNOWN: "The catalog has no such domain.",
    Reason.DOMAIN_NOT_LIVE: "Names on this domain cannot be claimed yet.",
    Reason.CATCH_ALL: "All names on this domain belong to one owner.",
    Reason.TAKEN: "The name is taken.",
    Reason.QUARANTINED: "The name was released lately; for a while only who had it can have it again.",
    Reason.HELD: "The name is held for somebody; it may be free again soon.",
    Reason.CONFUSABLE: "The name looks like one that somebody has.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NameDecision:
    """What the catalog and the rules say of a name, before the registry is asked."""

    domain: CatalogDomain | None  # None: unknown, or not shown, which nobody can tell apart
    validation: Validation  # by the domain's rules, or the usual ones
    refusal: Reason | None  # None: nothing but the registry can be against it


def decide_name(local_part: str, domain: CatalogDomain | None) -> NameDecision:
    """The ruling on a name; a domain that is not public counts as unknown, its rules too."""
    shown = domain if domain is not None and domain.public else None
    rules, label = (shown.rules, shown.domain) if shown else (DEFAULT_RULES, "")
    validation = aliases.validate_local_part(local_part, domain=label, rules=rules)
    return NameDecision(domain=shown, validation=validation, refusal=_refusal(validation, shown))


def describe_reason(reason: Reason, validation: Validation | None = None) -> str:
    """A reason in words, for people; what the rules refuse, their validation says. Empty for `ok`."""
    return _MESSAGES.get(reason, validation.message if validation else "")


def _refusal(validation: Validation, domain: CatalogDomain | None) -> Reason | None:
    """The first of `Reason` that holds, but for those of the registry, which come last."""
    if validation.reason is Reason.INVALID:
        return Reason.INVALID
    if domain is None:
        return Reason.DOMAIN_UNKNOWN
    if domain.status is not DomainStatus.LIVE:
        return Reason.DOMAIN_NOT_LIVE
    if domain.catch_all:
        return Reason.CATCH_ALL
    return None if validation.is_ok else validation.reason
