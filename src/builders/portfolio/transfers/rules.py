"""Whether a domain may move to another registrar: its facts, and dated rules (`transfer_rules.toml`). Pure."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time, timedelta
from importlib.resources import files

from pydantic import TypeAdapter

from builders.portfolio.domains import lifecycle as domain_lifecycle
from builders.portfolio.domains.records import Domain, Lifecycle, RegistryCheck
from builders.portfolio.domains.today import Today
from builders.portfolio.registrars.records import HeldStatus, TransferState
from builders.portfolio.transfers.records import (
    AppliedRule,
    Eligibility,
    FactSource,
    Known,
    Observation,
    Rule,
    RuleName,
    RuleOutcome,
    RuleUnit,
    TimeFact,
    TransferBlock,
    TransferFacts,
)

COLUMNS = ("Rule", "Scope", "Value", "Status", "From", "To", "Meaning", "Source")  # of `describe_rules`
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
_ANY, _GTLD = "any", "gtld"
_LENGTHS = {RuleUnit.DAYS: timedelta(days=1), RuleUnit.HOURS: timedelta(hours=1)}
_TEXT = files("builders.portfolio.transfers").joinpath("transfer_rules.toml").read_text(encoding="utf-8")
RULES = TypeAdapter(Sequence[Rule]).validate_python(tomllib.loads(_TEXT)["rules"])


def find_scope(tld: str) -> str | None:
    """Return the scope of the rules of names below a public suffix; None when they are not known."""
    top = tld.rpartition(".")[2]
    if any(each.scope == top for each in RULES):
        return top
    return _GTLD if domain_lifecycle.is_gtld(tld) else None


def list_rules(tld: str, *, now: datetime) -> Sequence[Rule]:
    """Return the rules that are in force for names below a public suffix."""
    scopes = {_ANY, find_scope(tld)}
    return [each for each in RULES if each.scope in scopes and each.is_applied(now.date())]


def length_of(tld: str, name: RuleName, *, now: datetime) -> timedelta | None:
    """Return the period of the rule of this name; None without a rule."""
    for each in list_rules(tld, now=now):
        if each.rule is name and each.unit in _LENGTHS and isinstance(each.value, int):
            return each.value * _LENGTHS[each.unit]
    return None


def moves_by_tag(tld: str, *, now: datetime) -> bool:
    """Return whether names below a public suffix move by IPS tag, without an auth code."""
    return any(each.rule is RuleName.IPS_TAG for each in list_rules(tld, now=now))


def end_of_day(on: date) -> datetime:
    """Return the end of a day in UTC: the latest time that the day can mean for a lock."""
    return datetime.combine(on + timedelta(days=1), time(), tzinfo=UTC)


def decide(facts: TransferFacts, *, now: datetime) -> Eligibility:
    """Return whether a domain may move, and each reason against it."""
    applied: list[AppliedRule] = []
    blocks: list[TransferBlock] = []
    for rule in list_rules(facts.tld, now=now):
        outcome, block = _apply(rule, facts, now)
        applied.append(AppliedRule(**asdict(rule), outcome=outcome))
        blocks += [block] if block else []
    ends = [each.until for each in blocks if not is_liftable(each)]
    times = [each for each in ends if each is not None]
    is_known = find_scope(facts.tld) is not None and facts.created is not None
    return Eligibility(
        transferable=False if blocks else is_known or None,
        blocked_by=blocks,
        eligible_at=max(times) if times and len(times) == len(ends) else None,
        rules_applied=applied,
    )


def is_liftable(block: TransferBlock) -> bool:
    """Return whether the holder can end a block at once."""
    return block.code is RuleName.REGISTRAR_LOCK


def _apply(rule: Rule, facts: TransferFacts, now: datetime) -> tuple[RuleOutcome, TransferBlock | None]:
    until = None
    if rule.unit is RuleUnit.STATUS:
        known_from = facts.statuses.get(str(rule.value).lower())
        if known_from is None:
            is_known = bool(facts.statuses) or (facts.is_unlocked and rule.rule is RuleName.REGISTRAR_LOCK)
            return (RuleOutcome.PASSES if is_known else RuleOutcome.UNKNOWN), None
    elif rule.rule in {RuleName.CREATION_LOCK, RuleName.TRANSFER_LOCK}:
        fact = facts.created if rule.rule is RuleName.CREATION_LOCK else facts.transferred
        if fact is None:
            return RuleOutcome.UNKNOWN, None
        until, known_from = fact.at + int(rule.value) * _LENGTHS[rule.unit], fact.known_from
        if until <= now:
            return RuleOutcome.PASSES, None
    else:
        is_unknown = rule.rule is RuleName.REGISTRANT_CHANGE_LOCK
        return (RuleOutcome.UNKNOWN if is_unknown else RuleOutcome.INFORMS), None
    return RuleOutcome.BLOCKS, TransferBlock(
        code=rule.rule, until=until, source=rule.source, known_from=known_from, message=rule.meaning
    )


def collect_facts(domain: Domain, registry: RegistryCheck, known: Known, *, today: Today) -> TransferFacts:
    """Return the facts for the rules: those of the registrar where it has some, else those of the registry."""
    observation = known.observation
    statuses = {normalize(each): FactSource.RDAP for each in domain.epp_statuses}
    lifecycle = domain_lifecycle.lifecycle_of(domain, today)
    if lifecycle in _BY_LIFECYCLE:
        statuses.setdefault(_BY_LIFECYCLE[lifecycle], FactSource.PORTFOLIO)
    if is_outdated(registry, observation):
        statuses.pop(PENDING_TRANSFER, None)
    if observation is not None and observation.status in _BY_HELD:
        statuses[_BY_HELD[observation.status]] = FactSource.REGISTRAR
    is_locked, known_from = domain.locked, FactSource.PORTFOLIO
    if observation is not None and observation.locked is not None:
        is_locked, known_from = observation.locked, FactSource.REGISTRAR
    elif domain.epp_statuses:
        is_locked = None  # the statuses say it
    if is_locked:
        statuses.setdefault(_LOCK, known_from)
    elif is_locked is False:
        statuses.pop(_LOCK, None)
    registered_at = None if domain.registered_on is None else end_of_day(domain.registered_on)
    created = [  # the best source first
        (None if observation is None else observation.created_at, FactSource.REGISTRAR),
        (registry.registered_at, FactSource.RDAP),
        (registered_at, FactSource.PORTFOLIO),
    ]
    move = known.move
    moved_at = move.ended_at if move is not None and move.state is TransferState.COMPLETED else None
    transferred = [(registry.transferred_at, FactSource.RDAP), (moved_at, FactSource.REGISTRAR)]
    times = [TimeFact(at=at, known_from=source) for at, source in transferred if at is not None]
    return TransferFacts(
        tld=domain.tld,
        created=next((TimeFact(at=at, known_from=source) for at, source in created if at is not None), None),
        transferred=max(times, key=lambda each: each.at, default=None),
        statuses=statuses,
        is_unlocked=is_locked is False,
    )


def is_outdated(registry: RegistryCheck, observation: Observation | None) -> bool:
    """Return whether the registrar responded after the registry."""
    if observation is None or observation.failure is not None:
        return False
    return registry.checked_at is None or registry.checked_at < observation.checked_at


def normalize(status: str) -> str:
    """Return an EPP status in the form of TransferFacts."""
    return status.replace(" ", "").lower()


def describe_rules() -> Iterator[Sequence[str]]:
    """Yield the rows of the table in the docs, of the columns COLUMNS."""
    for each in RULES:
        value = f"`{each.value}`" if isinstance(each.value, str) else f"{each.value} {each.unit}"
        since = "" if each.effective_from is None else each.effective_from.isoformat()
        until = "" if each.effective_to is None else each.effective_to.isoformat()
        yield (f"`{each.rule}`", each.scope, value, each.status, since, until, each.meaning, each.source)
