"""The state of a transfer, its steps, and when to look again."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from builders.portfolio.registrars.records import TransferDirection, TransferState
from builders.portfolio.transfers import rules, states
from builders.portfolio.transfers.records import (
    CodeDelivery,
    CodeRequest,
    FactSource,
    Move,
    MoveState,
    RuleName,
    StepName,
    TimeFact,
    TransferFacts,
)
from tests.portfolio.transfers.make import DAY, FREE, HOUR, IN, NOW, REQUEST, merged, move


def state_of(
    known: TransferFacts = FREE, *, moved: Move | None = None, code: CodeRequest | None = None
) -> MoveState:
    return states.state_of(moved, code, rules.decide(known, now=NOW), now=NOW)


def test_the_preparations_come_in_their_order() -> None:
    young = TimeFact(at=NOW - DAY, known_from=FactSource.RDAP)
    locked = replace(FREE, statuses={"clienttransferprohibited": FactSource.RDAP}, is_unlocked=False)
    silent = replace(FREE, is_unlocked=False)
    assert state_of(TransferFacts(tld="de")) is MoveState.NONE
    assert state_of(replace(FREE, created=young), code=REQUEST) is MoveState.NOT_ELIGIBLE
    assert state_of(locked, code=REQUEST) is MoveState.LOCKED
    assert state_of(silent) is MoveState.ELIGIBLE
    assert state_of() is MoveState.UNLOCKED
    assert state_of(code=REQUEST) is MoveState.AUTH_CODE_ISSUED
    for delivery in (CodeDelivery.DASHBOARD, CodeDelivery.UNSUPPORTED, CodeDelivery.PENDING):
        assert state_of(code=replace(REQUEST, delivery=delivery)) is MoveState.UNLOCKED
    assert state_of(code=replace(REQUEST, expires_at=NOW)) is MoveState.UNLOCKED
    assert state_of(code=replace(REQUEST, requested_at=NOW - states.CODE_LIFETIME)) is MoveState.UNLOCKED


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        pytest.param(move(TransferState.PENDING), MoveState.PENDING_OUT, id="pending out"),
        pytest.param(move(TransferState.PENDING, IN), MoveState.PENDING_IN, id="pending in"),
        pytest.param(move(TransferState.ACTION_REQUIRED, IN), MoveState.ACTION_REQUIRED, id="action required"),
        pytest.param(
            move(TransferState.COMPLETED, ended_at=NOW - DAY), MoveState.COMPLETED, id="completed yesterday"
        ),
        pytest.param(move(TransferState.FAILED, ended_at=NOW - DAY), MoveState.FAILED, id="failed yesterday"),
        pytest.param(
            move(TransferState.CANCELLED, ended_at=NOW - DAY), MoveState.CANCELLED, id="cancelled yesterday"
        ),
        pytest.param(
            move(TransferState.COMPLETED, ended_at=NOW - states.OUTCOME_SHOWN),
            MoveState.UNLOCKED,
            id="completed long ago",
        ),
        pytest.param(move(TransferState.COMPLETED), MoveState.UNLOCKED, id="completed at an unknown time"),
    ],
)
def test_a_transfer_outweighs_the_preparations(moved: Move, expected: MoveState) -> None:
    assert state_of(moved=moved) is expected
    assert state_of(TransferFacts(tld="com"), moved=replace(moved, started_at=None)) in {expected, MoveState.NONE}


MOVES = st.builds(
    Move,
    direction=st.sampled_from(TransferDirection),
    state=st.sampled_from(TransferState),
    status_raw=st.just("x"),
    provider=st.sampled_from(["gandi", None]),
    started_at=st.none() | st.timedeltas(-120 * DAY, DAY).map(NOW.__add__),
    ended_at=st.none() | st.timedeltas(-120 * DAY, DAY).map(NOW.__add__),
)


@given(st.none() | MOVES, st.none() | MOVES, st.sampled_from([FREE, TransferFacts(tld="de")]))
def test_any_two_reports_give_a_sound_state(before: Move | None, said: Move | None, known: TransferFacts) -> None:
    found = merged(before, said)
    assert merged(found, said) == found  # the same again changes nothing
    if said is not None:
        assert found is not None
        assert found.state is said.state
        assert (found.started_at is not None) or not found.state.is_open
        assert (found.ended_at is None) or not found.state.is_open
    eligibility = rules.decide(known, now=NOW)
    state = states.state_of(found, None, eligibility, now=NOW)
    assert state.is_open == (found is not None and found.state.is_open)
    due = states.next_check(state, found, eligibility, now=NOW)
    assert due is None or due > NOW
    steps = states.list_steps(state, found, None, eligibility, has_code=True)
    assert steps[-1].name is StepName.COMPLETE
    assert steps[-1].done == (state is MoveState.COMPLETED)


def test_the_steps_are_done_in_their_order() -> None:
    def steps(known: TransferFacts = FREE, *, moved: Move | None = None, code: CodeRequest | None = None) -> str:
        eligibility = rules.decide(known, now=NOW)
        state = states.state_of(moved, code, eligibility, now=NOW)
        found = states.list_steps(state, moved, code, eligibility, has_code=True)
        return "".join("x" if each.done else "-" for each in found)

    locked = replace(FREE, statuses={"clienttransferprohibited": FactSource.RDAP}, is_unlocked=False)
    walk = [
        steps(TransferFacts(tld="com")),
        steps(locked),
        steps(),
        steps(code=REQUEST),
        steps(code=REQUEST, moved=move(TransferState.PENDING)),
        steps(code=REQUEST, moved=move(TransferState.COMPLETED, ended_at=NOW)),
    ]
    assert walk == ["-----", "x----", "xx---", "xxx--", "xxxx-", "xxxxx"]
    assert all(one < other for one, other in pairwise(walk))
    incoming = move(TransferState.ACTION_REQUIRED, IN)
    assert steps(moved=incoming) == "x--"
    tagged = states.list_steps(MoveState.UNLOCKED, None, None, rules.decide(FREE, now=NOW), has_code=False)
    assert StepName.AUTH_CODE not in [each.name for each in tagged]


def test_a_pending_transfer_is_looked_at_less_and_less() -> None:
    eligibility = rules.decide(FREE, now=NOW)

    def due(age: timedelta, state: MoveState = MoveState.PENDING_OUT) -> datetime | None:
        return states.next_check(state, move(TransferState.PENDING, started_at=NOW - age), eligibility, now=NOW)

    assert due(DAY) == NOW + HOUR
    assert due(states.OLD) == NOW + DAY
    assert due(states.ABANDONED) is None
    assert due(DAY, MoveState.AUTH_CODE_ISSUED) == NOW + DAY
    assert due(DAY, MoveState.UNLOCKED) is None
    young = replace(FREE, created=TimeFact(at=NOW - DAY, known_from=FactSource.RDAP))
    blocked = rules.decide(young, now=NOW)
    assert states.next_check(MoveState.NOT_ELIGIBLE, None, blocked, now=NOW) == NOW + 59 * DAY
    pending = move(TransferState.PENDING)
    assert states.expected_by(pending, "com", now=NOW) == NOW + 3 * DAY
    assert states.expected_by(pending, "de", now=NOW) is None
    assert states.expected_by(move(TransferState.COMPLETED), "com", now=NOW) is None
    assert {each.code for each in blocked.blocked_by} == {RuleName.CREATION_LOCK}
