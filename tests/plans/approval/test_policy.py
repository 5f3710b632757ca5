"""The evaluation of a policy, and that a policy tightens another one if it stops everything that it stops."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import assume, given, strategies as st

from builders.kit.values.money import Money
from builders.plans.approval.policy import (
    POLICY,
    ApprovalPolicy,
    Approvers,
    Change,
    Conditions,
    Permit,
    Requirement,
    Rule,
    is_met,
    is_stopped,
    list_rules,
    tightens,
)
from builders.plans.records import Kind

PROJECTS = [uuid.UUID(int=each) for each in (1, 2)]
CURRENCIES = ("USD", "EUR", "KWD")  # with three decimals
amounts = st.sampled_from([Decimal(each) for each in ("0", "0.01", "10", "10.01", "20", "20.001")])
ALWAYS, NEVER = ApprovalPolicy(require=Requirement.ALWAYS), ApprovalPolicy()
ALIAS = frozenset({Kind.ALIAS})


def usd(amount: str) -> Money:
    return Money.of(amount, "USD")


def when(**conditions: object) -> ApprovalPolicy:
    return POLICY.validate_python({"require": "when", "when": conditions})


@st.composite
def sums(draw: st.DrawFn) -> dict[str, Money]:
    found = draw(st.dictionaries(st.sampled_from(CURRENCIES), amounts, max_size=2))
    return {currency: Money(amount, currency).quantized() for currency, amount in found.items()}


conditions = st.builds(
    Conditions,
    amount_over=st.none() | sums().map(lambda found: tuple(found.values())),
    deletes=st.booleans(),
    kinds=st.sets(st.sampled_from(Kind)).map(tuple),
    projects=st.sets(st.sampled_from(PROJECTS)).map(tuple),
    outward=st.booleans(),
)
policies = st.builds(
    ApprovalPolicy,
    require=st.sampled_from(Requirement),
    when=conditions,
    approvals=st.integers(1, 2),
    own_plans=st.sampled_from(Permit),
    direct_writes=st.sampled_from(Permit),
    direct_sends=st.sampled_from(Permit),
)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """A change that a plan can have: only names cost something, only names and projects are of a project."""
    kinds = draw(st.frozensets(st.sampled_from(Kind), min_size=1))
    due = {currency: each for currency, each in draw(sums()).items() if each.amount and Kind.ALIAS in kinds}
    projects = (
        draw(st.frozensets(st.sampled_from(PROJECTS))) if kinds & {Kind.ALIAS, Kind.PROJECT} else frozenset()
    )
    outward = draw(st.booleans()) and kinds != {Kind.PROJECT}
    deletes, spent = draw(st.booleans()), draw(sums())
    return Change(kinds=kinds, deletes=deletes, projects=projects, outward=outward, due=due, spent=spent)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[ApprovalPolicy, ApprovalPolicy]:
    """Two policies that differ in a member or two: any others are rarely comparable."""
    current, other = draw(policies), draw(policies)
    members = draw(
        st.sets(
            st.sampled_from(["require", "approvals", "own_plans", "direct_writes", "direct_sends"]), max_size=1
        )
    )
    parts = draw(st.sets(st.sampled_from(["amount_over", "deletes", "kinds", "projects", "outward"]), max_size=2))
    changed = replace(current.when, **{name: getattr(other.when, name) for name in parts})
    return current, replace(current, when=changed, **{name: getattr(other, name) for name in members})


approvers = st.builds(Approvers, own=st.booleans(), others=st.integers(0, 3))


@given(pairs(), changes(), approvers)
def test_a_policy_that_tightens_stops_what_the_current_one_stops(
    pair: tuple[ApprovalPolicy, ApprovalPolicy], change: Change, people: Approvers
) -> None:
    current, policy = pair
    assume(tightens(policy, current=current))
    assert is_stopped(policy, change, people) or not is_stopped(current, change, people)
    assert policy.direct_writes is Permit.REFUSE or current.direct_writes is Permit.ALLOW
    assert policy.direct_sends is Permit.REFUSE or current.direct_sends is Permit.ALLOW


def add(some: Mapping[str, Money], more: Mapping[str, Money]) -> Mapping[str, Money]:
    """Return the sums by currency."""
    return {
        key: some.get(key, Money.zero(key)) + more.get(key, Money.zero(key)) for key in some.keys() | more.keys()
    }


@given(policies, changes(), changes(), approvers)
def test_more_of_a_change_meets_no_fewer_rules(
    policy: ApprovalPolicy, change: Change, more: Change, people: Approvers
) -> None:
    """The comparison of policies relies on this."""
    whole = Change(
        kinds=change.kinds | more.kinds,
        deletes=change.deletes or more.deletes,
        projects=change.projects | more.projects,
        outward=change.outward or more.outward,
        due=add(change.due, more.due),
        spent=add(change.spent, more.spent),
    )
    assert list_rules(policy, change).keys() <= list_rules(policy, whole).keys()
    assert is_stopped(policy, change, people) <= is_stopped(policy, whole, people)


@given(policies)
def test_a_policy_tightens_itself_and_never(policy: ApprovalPolicy) -> None:
    assert tightens(policy, current=policy)
    assert tightens(policy, current=NEVER)


@given(policies)
def test_a_policy_is_stored_and_read_without_a_change(policy: ApprovalPolicy) -> None:
    assert POLICY.validate_python(POLICY.dump_python(policy, mode="json")) == policy


@pytest.mark.parametrize(
    ("current", "policy", "expected"),
    [
        pytest.param(ALWAYS, NEVER, False, id="never after always"),
        pytest.param(ALWAYS, when(deletes=True), False, id="a condition after always"),
        pytest.param(ALWAYS, when(kinds=list(Kind)), True, id="all kinds are always"),
        pytest.param(when(amount_over=[usd("10")]), when(amount_over=[usd("10.01")]), False, id="a higher limit"),
        pytest.param(when(amount_over=[usd("10")]), when(amount_over=[usd("9.99")]), True, id="a lower limit"),
        pytest.param(when(amount_over=[usd("10")]), when(amount_over=[]), True, id="a limit removed"),
        pytest.param(when(amount_over=[]), when(amount_over=[usd("0")]), True, id="a limit of nothing"),
        pytest.param(when(amount_over=[]), when(amount_over=[usd("0.01")]), False, id="a limit of a new currency"),
        pytest.param(when(amount_over=[]), when(kinds=[Kind.ALIAS]), True, id="only names cost something"),
        pytest.param(when(projects=PROJECTS), when(projects=PROJECTS[:1]), False, id="a project less"),
        pytest.param(when(kinds=[Kind.ALIAS]), when(deletes=True), False, id="another condition"),
        pytest.param(replace(ALWAYS, approvals=2), ALWAYS, False, id="one approval fewer"),
        pytest.param(ALWAYS, replace(ALWAYS, own_plans=Permit.REFUSE), True, id="no own plans"),
        pytest.param(replace(ALWAYS, own_plans=Permit.REFUSE), ALWAYS, False, id="own plans again"),
        pytest.param(
            replace(ALWAYS, own_plans=Permit.REFUSE),
            replace(ALWAYS, approvals=2),
            True,
            id="one besides the account",
        ),
        pytest.param(
            replace(ALWAYS, own_plans=Permit.REFUSE, approvals=2),
            replace(ALWAYS, approvals=2),
            False,
            id="one fewer besides the account",
        ),
        pytest.param(
            replace(NEVER, direct_writes=Permit.REFUSE),
            ALWAYS,
            False,
            id="direct writes although always is stricter",
        ),
        pytest.param(
            replace(NEVER, direct_sends=Permit.REFUSE),
            ALWAYS,
            False,
            id="direct sends although always is stricter",
        ),
        pytest.param(NEVER, replace(NEVER, direct_sends=Permit.REFUSE), True, id="no direct sends"),
    ],
)
def test_a_change_tightens_or_loosens(current: ApprovalPolicy, policy: ApprovalPolicy, expected: bool) -> None:
    assert tightens(policy, current=current) is expected


@pytest.mark.parametrize(
    ("due", "spent", "expected"),
    [
        ({"USD": "10.00"}, {}, False),
        ({"USD": "10.01"}, {}, True),
        ({"USD": "4.00"}, {"USD": "6.00"}, False),
        ({"USD": "4.00"}, {"USD": "6.01"}, True),
        ({"USD": "4.00"}, {"EUR": "90.00"}, False),
        ({"EUR": "0.01"}, {}, True),
        ({}, {"USD": "11.00"}, False),
    ],
)
def test_the_amount_counts_with_the_amounts_without_approval(
    due: dict[str, str], spent: dict[str, str], expected: bool
) -> None:
    money = [{currency: Money.of(each, currency) for currency, each in found.items()} for found in (due, spent)]
    rules = list_rules(when(amount_over=[usd("10")]), Change(kinds=ALIAS, due=money[0], spent=money[1]))
    assert list(rules) == [Rule.AMOUNT_OVER] * expected


def test_a_plan_without_changes_requires_no_approval() -> None:
    assert list_rules(ALWAYS, Change()) == {}


def test_the_account_itself_counts_only_for_allowed_own_plans() -> None:
    own = Approvers(own=True, others=1)
    assert is_met(replace(ALWAYS, approvals=2), own)
    assert not is_met(replace(ALWAYS, approvals=2, own_plans=Permit.REFUSE), own)
