"""Collect the facts of a domain that the rules about transfers use. Pure."""

from collections.abc import Mapping
from datetime import datetime

from builders.portfolio.domains import lifecycle as domain_lifecycle
from builders.portfolio.domains.records import Domain, Lifecycle, RegistryCheck
from builders.portfolio.registrars.records import HeldStatus, TransferState
from builders.portfolio.transfers import rules
from builders.portfolio.transfers.records import Known, Observation
from builders.portfolio.transfers.rule_records import FactSource, TimeFact, TransferFacts

PENDING_TRANSFER = "pendingtransfer"
_LOCK = "clienttransferprohibited"
_BY_LIFECYCLE: Mapping[Lifecycle | None, str] = {
    Lifecycle.REDEMPTION: "redemptionperiod",
    Lifecycle.PENDING_DELETE: "pendingdelete",
}
_BY_HELD: Mapping[HeldStatus | None, str] = {
    HeldStatus.REDEMPTION: "redemptionperiod",
    HeldStatus.PENDING_DELETE: "pendingdelete",
    HeldStatus.TRANSFERRING_OUT: PENDING_TRANSFER,
}


def collect_facts(domain: Domain, registry: RegistryCheck, known: Known, *, now: datetime) -> TransferFacts:
    """Return the facts for the rules: those of the registrar where it has some, else those of the registry."""
    said = known.observation
    statuses = {normalize(each): FactSource.RDAP for each in domain.epp_statuses}
    lifecycle = domain_lifecycle.lifecycle_of(domain, now)
    if lifecycle in _BY_LIFECYCLE:
        statuses.setdefault(_BY_LIFECYCLE[lifecycle], FactSource.PORTFOLIO)
    if is_outdated(registry, said):
        statuses.pop(PENDING_TRANSFER, None)
    if said is not None and said.status in _BY_HELD:
        statuses[_BY_HELD[said.status]] = FactSource.REGISTRAR
    is_locked, known_from = domain.locked, FactSource.PORTFOLIO
    if said is not None and said.locked is not None:
        is_locked, known_from = said.locked, FactSource.REGISTRAR
    elif domain.epp_statuses:
        is_locked = None  # the statuses say it
    if is_locked:
        statuses.setdefault(_LOCK, known_from)
    elif is_locked is False:
        statuses.pop(_LOCK, None)
    return TransferFacts(
        tld=domain.tld,
        created=_created(domain, registry, known),
        transferred=_transferred(registry, known),
        statuses=statuses,
        is_unlocked=is_locked is False,
    )


def is_outdated(registry: RegistryCheck, said: Observation | None) -> bool:
    """Return whether the registrar responded after the registry."""
    if said is None or said.failure is not None:
        return False
    return registry.checked_at is None or registry.checked_at < said.checked_at


def normalize(status: str) -> str:
    """Return an EPP status in the form of TransferFacts."""
    return status.replace(" ", "").lower()


def _created(domain: Domain, registry: RegistryCheck, known: Known) -> TimeFact | None:
    if known.observation is not None and known.observation.created_at is not None:
        return TimeFact(at=known.observation.created_at, known_from=FactSource.REGISTRAR)
    if registry.registered_at is not None:
        return TimeFact(at=registry.registered_at, known_from=FactSource.RDAP)
    if domain.registered_on is not None:
        return TimeFact(at=rules.end_of_day(domain.registered_on), known_from=FactSource.PORTFOLIO)
    return None


def _transferred(registry: RegistryCheck, known: Known) -> TimeFact | None:
    """Return the later of the last completed transfers of registrar and registry."""
    found: list[TimeFact] = []
    if registry.transferred_at is not None:
        found.append(TimeFact(at=registry.transferred_at, known_from=FactSource.RDAP))
    move = known.move
    if move is not None and move.state is TransferState.COMPLETED and move.ended_at is not None:
        found.append(TimeFact(at=move.ended_at, known_from=FactSource.REGISTRAR))
    return max(found, key=lambda each: each.at, default=None)
