"""The approval policy of an account as data, and its evaluation. Pure: it reads nothing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.values.money import NO_CURRENCY, Money
from builders.plans.records import Action, ActionKind, AliasView, Kind, Plan

MAX_APPROVALS = 2


class Requirement(StrEnum):
    """The plans that require an approval."""

    NEVER = "never"
    ALWAYS = "always"
    WHEN = "when"  # one of the conditions is true


class Permit(StrEnum):
    """Whether something is allowed."""

    ALLOW = "allow"
    REFUSE = "refuse"


class Rule(StrEnum):
    """The rule of a policy that requires an approval of a plan."""

    ALWAYS = "always"
    AMOUNT_OVER = "amount_over"
    DELETES = "deletes"
    KINDS = "kinds"
    PROJECTS = "projects"
    OUTWARD = "outward"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions of Requirement.WHEN; an approval is required if any of them is true."""

    amount_over: tuple[Money, ...] | None = None  # one of each currency; another currency requires an approval
    deletes: bool = False
    kinds: tuple[Kind, ...] = ()
    projects: tuple[UUID, ...] = ()
    outward: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """Which plans of an account require an approval, and by whom."""

    require: Requirement = Requirement.NEVER
    when: Conditions = field(default_factory=Conditions)
    approvals: int = 1
    own_plans: Permit = Permit.ALLOW  # whether the account itself counts as a decider about its plans
    direct_writes: Permit = Permit.ALLOW  # of resources that a manifest can describe
    direct_sends: Permit = Permit.ALLOW  # of mail


POLICY = TypeAdapter(ApprovalPolicy)  # its stored form
DEFAULT = ApprovalPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a policy evaluates of a plan."""

    kinds: frozenset[Kind] = frozenset()  # of the resources that change
    deletes: bool = False
    projects: frozenset[UUID] = frozenset()  # whose resources, or which themselves, change
    outward: bool = False  # mail or events go somewhere new
    due: Mapping[str, Money] = field(default_factory=dict)  # at once, by currency
    spent: Mapping[str, Money] = field(default_factory=dict)  # without approval in the last 24 hours, by currency


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvers:
    """The people who approve a plan."""

    own: bool  # the account itself
    others: int


def read_change(plan: Plan, *, spent: Mapping[str, Money], outward: bool = False) -> Change:
    """Return what a policy evaluates of a plan."""
    actions = [action for action in plan.actions if action.action is not ActionKind.NO_OP]
    return Change(
        kinds=frozenset(action.kind for action in actions),
        deletes=plan.removals > 0,
        projects=frozenset(project for action in actions for project in _list_projects(action)),
        outward=outward,
        due=sum_due(actions),
        spent=spent,
    )


def _list_projects(action: Action) -> Iterator[UUID]:
    """Yield the projects of an action: the project itself, or that of the name before and after."""
    if action.kind is Kind.PROJECT and action.resource_id is not None:
        yield action.resource_id
    for view in (action.before, action.after):
        if isinstance(view, AliasView) and view.project_id is not None:
            yield view.project_id


def sum_due(actions: Iterable[Action]) -> Mapping[str, Money]:
    """Return the amount that the actions cost at once, by currency."""
    due: dict[str, Money] = {}
    for price in [action.price.money for action in actions if action.price is not None]:
        if price.amount:
            due[price.currency] = due.get(price.currency, Money.zero(price.currency)) + price
    return due


def list_rules(policy: ApprovalPolicy, change: Change) -> dict[Rule, str]:
    """Return the rules that require an approval of the change, each with its reason as a sentence."""
    if policy.require is Requirement.NEVER or not change.kinds:
        return {}
    if policy.require is Requirement.ALWAYS:
        return {Rule.ALWAYS: "Every plan requires an approval."}
    when, rules = policy.when, dict[Rule, str]()
    if reasons := list(_list_exceeded(when, change)):
        rules[Rule.AMOUNT_OVER] = " ".join(reasons)
    if when.deletes and change.deletes:
        rules[Rule.DELETES] = "The plan deletes or replaces resources."
    if kinds := [kind for kind in Kind if kind in when.kinds and kind in change.kinds]:
        rules[Rule.KINDS] = f"The plan changes resources of the kind {', '.join(kinds)}."
    if projects := sorted(map(str, change.projects.intersection(when.projects))):
        rules[Rule.PROJECTS] = f"The plan changes the project {', '.join(projects)}, or names of it."
    if when.outward and change.outward:
        rules[Rule.OUTWARD] = NEW_OUTSIDE
    return rules


NEW_OUTSIDE = "The plan sends mail or events somewhere new."


def _list_exceeded(when: Conditions, change: Change) -> Iterator[str]:
    if when.amount_over is None:
        return
    limits = {each.currency: each for each in when.amount_over}
    for currency, due in sorted(change.due.items()):
        spent, limit = change.spent.get(currency, Money.zero(currency)), limits.get(currency)
        if limit is None:
            yield f"The plan costs {due}, a currency without a limit."
        elif due + spent > limit:
            before = f" after {spent} without approval in 24 hours" if spent.amount else ""
            yield f"The plan costs {due}{before}, which exceeds {limit}."


def is_met(policy: ApprovalPolicy, approvers: Approvers) -> bool:
    """Return whether these people are enough to approve a plan."""
    return approvers.others + (approvers.own and policy.own_plans is Permit.ALLOW) >= policy.approvals


def is_stopped(policy: ApprovalPolicy, change: Change, approvers: Approvers) -> bool:
    """Return whether a plan requires an approval that these people do not give."""
    return bool(list_rules(policy, change)) and not is_met(policy, approvers)


def tightens(policy: ApprovalPolicy, *, current: ApprovalPolicy) -> bool:
    """Return whether a policy stops everything that the current one stops.

    More of a change never meets fewer rules, so it is enough to evaluate the least changes that the current policy
    stops.
    """
    if current.direct_writes is Permit.REFUSE and policy.direct_writes is Permit.ALLOW:
        return False
    if current.direct_sends is Permit.REFUSE and policy.direct_sends is Permit.ALLOW:
        return False
    return all(
        is_stopped(policy, change, approvers)
        for change in _list_least(current, policy)
        for approvers in _APPROVERS
        if is_stopped(current, change, approvers)
    )


_APPROVERS = [Approvers(own=own, others=others) for own in (False, True) for others in range(MAX_APPROVALS + 1)]
_LEAST = Decimal("0.0001")  # amounts have at most four decimals


def _list_least(current: ApprovalPolicy, policy: ApprovalPolicy) -> Iterator[Change]:
    """Yield the least changes that `current` stops, and a few others."""
    for kind in Kind:
        least = Change(kinds=frozenset({kind}))
        yield from (least, replace(least, deletes=True))
        if kind is not Kind.PROJECT:  # which sends nothing
            yield replace(least, outward=True)
        if kind in {Kind.PROJECT, Kind.ALIAS}:
            yield from (replace(least, projects=frozenset({each})) for each in current.when.projects)
    # Only names cost something.
    limits = {each.currency: each for each in current.when.amount_over or ()}
    for currency in {*limits, *(each.currency for each in policy.when.amount_over or ()), NO_CURRENCY}:
        exceeding = limits.get(currency, Money.zero(currency)) + Money(_LEAST, currency)
        yield Change(kinds=frozenset({Kind.ALIAS}), due={currency: exceeding})


def describe(policy: ApprovalPolicy) -> tuple[str, ...]:
    """Return the policy as sentences."""
    when = policy.when
    limits = "; ".join(map(str, when.amount_over or ())) or "nothing"
    conditions = [
        *([f"it costs more than {limits}"] if when.amount_over is not None else []),
        *(["it deletes or replaces resources"] if when.deletes else []),
        *([f"it changes resources of the kind {', '.join(when.kinds)}"] if when.kinds else []),
        *([f"it changes the project {', '.join(map(str, when.projects))}"] if when.projects else []),
        *(["it sends mail or events somewhere new"] if when.outward else []),
    ]
    required = {
        Requirement.NEVER: "No plan requires an approval.",
        Requirement.ALWAYS: "Every plan requires an approval.",
        Requirement.WHEN: f"A plan requires an approval if {', or '.join(conditions)}.",
    }
    people = "1 person approves." if policy.approvals == 1 else f"{policy.approvals} people approve."
    own = "does not approve" if policy.own_plans is Permit.REFUSE else "may approve"
    direct = "refused" if policy.direct_writes is Permit.REFUSE else "allowed"
    sends = "refused" if policy.direct_sends is Permit.REFUSE else "allowed"
    return (
        required[policy.require],
        *([people, f"The account itself {own} its plans."] if policy.require is not Requirement.NEVER else []),
        f"Direct changes by keys and tokens are {direct}.",
        f"Mail that keys and tokens send is {sends}.",
    )
