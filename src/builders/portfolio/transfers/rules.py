"""Whether a domain may move to another registrar, by the dated rules in `transfer_rules.toml`. Pure."""

import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from importlib.resources import files
from typing import Any

from builders.portfolio.domains import lifecycle
from builders.portfolio.transfers.rule_records import (
    AppliedRule,
    Block,
    Eligibility,
    FactSource,
    Rule,
    RuleName,
    RuleOutcome,
    RuleStatus,
    RuleUnit,
    TimeFact,
    TransferFacts,
)

COLUMNS = ("Rule", "Scope", "Value", "Status", "From", "To", "Meaning", "Source")  # of `describe_rules`
_ANY, _GTLD = "any", "gtld"
_LIFTABLE = frozenset({RuleName.REGISTRAR_LOCK})  # by the holder
_LENGTHS = {RuleUnit.DAYS: timedelta(days=1), RuleUnit.HOURS: timedelta(hours=1)}


def _read_rules() -> Sequence[Rule]:
    text = files("builders.portfolio.transfers").joinpath("transfer_rules.toml").read_text(encoding="utf-8")
    return [_rule(row) for row in tomllib.loads(text)["rules"]]


def _rule(row: dict[str, Any]) -> Rule:
    named = {"rule": RuleName(row["rule"]), "unit": RuleUnit(row["unit"]), "status": RuleStatus(row["status"])}
    return Rule(**{**row, **named})


RULES = _read_rules()


def find_scope(tld: str) -> str | None:
    """Return the scope of the rules of names below a public suffix; None when they are not known."""
    top = tld.rpartition(".")[2]
    if any(each.scope == top for each in RULES):
        return top
    return _GTLD if lifecycle.is_gtld(tld) else None


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
    blocks: list[Block] = []
    for rule in list_rules(facts.tld, now=now):
        outcome, block = _apply(rule, facts, now)
        applied.append(AppliedRule(rule=rule, outcome=outcome))
        blocks += [block] if block else []
    return Eligibility(
        transferable=_is_transferable(facts, blocks),
        blocked_by=blocks,
        eligible_at=_eligible_at(blocks),
        rules_applied=applied,
    )


def is_liftable(block: Block) -> bool:
    """Return whether the holder can end a block at once."""
    return block.code in _LIFTABLE


def _apply(rule: Rule, facts: TransferFacts, now: datetime) -> tuple[RuleOutcome, Block | None]:
    if rule.unit is RuleUnit.STATUS:
        known_from = facts.statuses.get(str(rule.value).lower())
        if known_from is None:
            is_known = bool(facts.statuses) or (facts.is_unlocked and rule.rule is RuleName.REGISTRAR_LOCK)
            return (RuleOutcome.PASSES if is_known else RuleOutcome.UNKNOWN), None
        return RuleOutcome.BLOCKS, _block(rule, None, known_from)
    since = {RuleName.CREATION_LOCK: facts.created, RuleName.TRANSFER_LOCK: facts.transferred}
    if rule.rule in since:
        return _apply_since(rule, since[rule.rule], now)
    is_unknown = rule.rule is RuleName.REGISTRANT_CHANGE_LOCK
    return (RuleOutcome.UNKNOWN if is_unknown else RuleOutcome.INFORMS), None


def _apply_since(rule: Rule, fact: TimeFact | None, now: datetime) -> tuple[RuleOutcome, Block | None]:
    if fact is None:
        return RuleOutcome.UNKNOWN, None
    until = fact.at + int(rule.value) * _LENGTHS[rule.unit]
    if until <= now:
        return RuleOutcome.PASSES, None
    return RuleOutcome.BLOCKS, _block(rule, until, fact.known_from)


def _block(rule: Rule, until: datetime | None, known_from: FactSource) -> Block:
    return Block(code=rule.rule, until=until, source=rule.source, known_from=known_from, message=rule.meaning)


def _is_transferable(facts: TransferFacts, blocks: Sequence[Block]) -> bool | None:
    """Return False for any block; True where the rules and the day of the registration are known."""
    if blocks:
        return False
    return True if find_scope(facts.tld) is not None and facts.created is not None else None


def _eligible_at(blocks: Sequence[Block]) -> datetime | None:
    ends = [each.until for each in blocks if not is_liftable(each)]
    known = [each for each in ends if each is not None]
    return max(known) if known and len(known) == len(ends) else None


def describe_rules() -> Iterator[Sequence[str]]:
    """Yield the rows of the table in the docs, of the columns COLUMNS."""
    for each in RULES:
        value = f"`{each.value}`" if isinstance(each.value, str) else f"{each.value} {each.unit}"
        since = "" if each.effective_from is None else each.effective_from.isoformat()
        until = "" if each.effective_to is None else each.effective_to.isoformat()
        yield (f"`{each.rule}`", each.scope, value, each.status, since, until, each.meaning, each.source)
