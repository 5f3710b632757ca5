"""Which source counts for each fact, which event a change has, and the times at the edges of the rules."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import clock
from builders.portfolio.domains.records import RegistryCheck
from builders.portfolio.domains.today import Today
from builders.portfolio.registrars.records import HeldStatus, TransferState
from builders.portfolio.transfers import rules, states
from builders.portfolio.transfers.events import list_events, transfer_data
from builders.portfolio.transfers.records import (
    CodeDelivery,
    FactSource,
    Known,
    Move,
    MoveState,
    Observation,
    TimeFact,
    TransferFacts,
)
from tests.cast import Person
from tests.portfolio.parking.make import add_domains
from tests.portfolio.transfers.make import DAY, DOMAIN, FREE, HOUR, IN, NOW, OUT, REQUEST, move, report

EMPTY = Known(domain_id=DOMAIN.id)
MOVED = move(TransferState.COMPLETED, IN, ended_at=NOW - 8 * DAY)
FAILED = move(TransferState.FAILED, IN, ended_at=NOW - 8 * DAY)
LOCK, LEAVING, REDEMPTION = "clienttransferprohibited", "pendingtransfer", "redemptionperiod"


def facts(*, said: Observation | None = None, moved: Move | None = None, **more: Any) -> TransferFacts:
    """Collect the facts of harbour.com with other fields, a registry's response, and a registrar's."""
    registry = more.pop("registry", RegistryCheck())
    known = replace(EMPTY, observation=said, move=moved)
    return rules.collect_facts(replace(DOMAIN, **more), registry, known, today=Today(NOW))


def said(**more: Any) -> Observation:
    return Observation(checked_at=NOW, **more)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({}, None, id="nobody knows"),
        pytest.param(
            {"registered_on": date(2020, 2, 28)},
            TimeFact(at=datetime(2020, 2, 29, tzinfo=UTC), known_from=FactSource.PORTFOLIO),
            id="the end of the day that was entered",
        ),
        pytest.param(
            {"registered_on": date(2020, 2, 28), "registry": RegistryCheck(registered_at=NOW - 9 * DAY)},
            TimeFact(at=NOW - 9 * DAY, known_from=FactSource.RDAP),
            id="the registry before what was entered",
        ),
        pytest.param(
            {"registry": RegistryCheck(registered_at=NOW - 9 * DAY), "said": said(created_at=NOW - 8 * DAY)},
            TimeFact(at=NOW - 8 * DAY, known_from=FactSource.REGISTRAR),
            id="the registrar before the registry",
        ),
        pytest.param(
            {"registry": RegistryCheck(registered_at=NOW - 9 * DAY), "said": said()},
            TimeFact(at=NOW - 9 * DAY, known_from=FactSource.RDAP),
            id="a registrar that does not say it",
        ),
    ],
)
def test_who_says_when_a_domain_was_registered(more: dict[str, Any], expected: TimeFact | None) -> None:
    assert facts(**more).created == expected


@pytest.mark.parametrize(
    ("registry_at", "moved", "expected"),
    [
        pytest.param(None, None, None, id="nobody knows"),
        pytest.param(9, None, (9, FactSource.RDAP), id="the registry"),
        pytest.param(
            None,
            MOVED,
            (8, FactSource.REGISTRAR),
            id="the registrar",
        ),
        pytest.param(
            9,
            MOVED,
            (8, FactSource.REGISTRAR),
            id="the later one",
        ),
        pytest.param(
            7,
            MOVED,
            (7, FactSource.RDAP),
            id="the later one of the registry",
        ),
        pytest.param(None, FAILED, None, id="a failed transfer is none"),
        pytest.param(None, move(TransferState.PENDING, IN), None, id="neither is a pending one"),
    ],
)
def test_who_says_when_a_domain_was_transferred(
    registry_at: int | None, moved: Move | None, expected: tuple[int, FactSource] | None
) -> None:
    transferred_at = None if registry_at is None else NOW - registry_at * DAY
    found = facts(registry=RegistryCheck(transferred_at=transferred_at), moved=moved).transferred
    assert found == (None if expected is None else TimeFact(at=NOW - expected[0] * DAY, known_from=expected[1]))


@pytest.mark.parametrize(
    ("more", "known_from", "is_unlocked"),
    [
        pytest.param({}, None, False, id="nobody knows"),
        pytest.param({"locked": True}, FactSource.PORTFOLIO, False, id="entered as locked"),
        pytest.param({"locked": False}, None, True, id="entered as unlocked"),
        pytest.param(
            {"epp_statuses": ["client transfer prohibited"]}, FactSource.RDAP, False, id="locked at the registry"
        ),
        pytest.param(
            {"epp_statuses": ["ok"], "locked": True}, None, False, id="the registry before what was entered"
        ),
        pytest.param(
            {"epp_statuses": [LOCK], "said": said(locked=False)}, None, True, id="unlocked at the registrar"
        ),
        pytest.param({"locked": False, "said": said(locked=True)}, FactSource.REGISTRAR, False, id="locked there"),
        pytest.param({"epp_statuses": [LOCK], "said": said()}, FactSource.RDAP, False, id="a silent registrar"),
    ],
)
def test_who_says_whether_a_domain_is_locked(
    more: dict[str, Any], known_from: FactSource | None, is_unlocked: bool
) -> None:
    found = facts(**more)
    assert (found.statuses.get(LOCK), found.is_unlocked) == (known_from, is_unlocked)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (HeldStatus.REDEMPTION, {REDEMPTION: FactSource.REGISTRAR}),
        (HeldStatus.PENDING_DELETE, {"pendingdelete": FactSource.REGISTRAR}),
        (HeldStatus.TRANSFERRING_OUT, {LEAVING: FactSource.REGISTRAR}),
        (HeldStatus.ACTIVE, {}),
    ],
)
def test_a_status_of_the_registrar_blocks(status: HeldStatus, expected: dict[str, FactSource]) -> None:
    assert facts(said=said(status=status)).statuses == expected


def test_a_lifecycle_by_the_dates_blocks_as_the_portfolio_says() -> None:
    assert facts(expires_at=NOW - 50 * DAY).statuses == {REDEMPTION: FactSource.PORTFOLIO}


@pytest.mark.parametrize(
    ("checked_at", "failure", "is_outdated"),
    [
        pytest.param(NOW + HOUR, None, False, id="the registry responded later"),
        pytest.param(NOW, None, False, id="at the same time"),
        pytest.param(NOW - HOUR, None, True, id="the registrar responded later"),
        pytest.param(None, None, True, id="the registry never responded"),
        pytest.param(NOW - HOUR, "unavailable", False, id="the registrar failed"),
    ],
)
def test_a_pending_transfer_of_the_registry_ends_when_the_registrar_responds(
    checked_at: datetime | None, failure: str | None, is_outdated: bool
) -> None:
    registry, response = RegistryCheck(checked_at=checked_at), said(failure=failure)
    assert rules.is_outdated(registry, response) is is_outdated
    found = facts(epp_statuses=["pendingTransfer"], registry=registry, said=response)
    assert (LEAVING in found.statuses) is not is_outdated


@pytest.mark.parametrize(
    ("more", "is_valid"),
    [
        pytest.param({}, True, id="a month long"),
        pytest.param({"requested_at": NOW - states.CODE_LIFETIME}, False, id="after a month"),
        pytest.param({"expires_at": NOW + HOUR}, True, id="until its end"),
        pytest.param({"expires_at": NOW}, False, id="from its end on"),
        pytest.param(
            {"requested_at": NOW - 90 * DAY, "expires_at": NOW + HOUR}, True, id="as long as the registrar says"
        ),
        pytest.param({"delivery": CodeDelivery.EMAILED}, True, id="sent by email"),
        pytest.param({"delivery": CodeDelivery.PENDING}, False, id="not delivered"),
        pytest.param({"delivery": CodeDelivery.DASHBOARD}, False, id="on the website"),
    ],
)
def test_how_long_an_auth_code_counts(more: dict[str, Any], is_valid: bool) -> None:
    assert states.is_valid(replace(REQUEST, **more), NOW) is is_valid


def known(state: MoveState, moved: Move | None = None) -> Known:
    return replace(EMPTY, state=state, move=moved)


PENDING, NEEDED = move(TransferState.PENDING), move(TransferState.ACTION_REQUIRED)
NONE, BLOCKED, GOING = MoveState.NONE, MoveState.NOT_ELIGIBLE, MoveState.PENDING_OUT


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        pytest.param(known(NONE), known(NONE), [], id="nothing"),
        pytest.param(known(NONE), known(MoveState.ELIGIBLE), [], id="free from the beginning"),
        pytest.param(known(BLOCKED), known(MoveState.LOCKED), ["eligible"], id="free but for the lock"),
        pytest.param(known(BLOCKED), known(MoveState.ELIGIBLE), ["eligible"], id="free, if it is not locked"),
        pytest.param(known(MoveState.LOCKED), known(MoveState.UNLOCKED), [], id="no longer locked"),
        pytest.param(known(BLOCKED), known(MoveState.UNLOCKED), ["eligible"], id="free"),
        pytest.param(known(BLOCKED), known(NONE), [], id="unknown again"),
        pytest.param(known(MoveState.ELIGIBLE), known(MoveState.UNLOCKED), [], id="unlocked"),
        pytest.param(known(NONE), known(GOING, PENDING), ["started"], id="started"),
        pytest.param(known(GOING, PENDING), known(GOING, PENDING), [], id="still pending"),
        pytest.param(known(GOING, PENDING), known(GOING, NEEDED), ["status_changed"], id="another status"),
        pytest.param(
            known(GOING, PENDING),
            known(GOING, replace(PENDING, status_raw="waiting")),
            ["status_changed"],
            id="another term of the registrar",
        ),
        pytest.param(
            known(MoveState.PENDING_IN, move(TransferState.PENDING, IN)),
            known(GOING, PENDING),
            ["started"],
            id="the other direction",
        ),
        *(
            pytest.param(known(GOING, PENDING), known(NONE, move(state)), [name], id=f"ended as {state}")
            for state, name in (
                (TransferState.COMPLETED, "completed"),
                (TransferState.FAILED, "failed"),
                (TransferState.CANCELLED, "failed"),
            )
        ),
        pytest.param(known(NONE), known(NONE, move(TransferState.COMPLETED)), [], id="ended before"),
        pytest.param(
            known(NONE, move(TransferState.COMPLETED)), known(GOING, PENDING), ["started"], id="the next transfer"
        ),
    ],
)
def test_the_event_of_a_change(before: Known, after: Known, events: list[str]) -> None:
    found = [each.name for each in list_events(before, after)]
    assert found == [f"portfolio.transfer.{name}" for name in events]


@pytest.mark.parametrize(("is_expected", "severity"), [(True, "info"), (None, "info"), (False, "critical")])
def test_a_transfer_that_nobody_expects_is_critical(is_expected: bool | None, severity: str) -> None:
    after = known(GOING, replace(PENDING, is_expected=is_expected))
    data = transfer_data(DOMAIN, known(NONE), after)
    assert (data.severity, data.expected, data.previous, data.direction) == (severity, is_expected, NONE, OUT)


def test_the_event_of_a_free_domain_has_no_transfer() -> None:
    data = transfer_data(DOMAIN, known(BLOCKED), known(MoveState.ELIGIBLE, move(TransferState.FAILED)))
    assert (data.direction, data.provider, data.started_at, data.completed_at) == (None, None, None, None)


@pytest.mark.parametrize(
    ("age", "due"),
    [(timedelta(), HOUR), (states.OLD - HOUR, HOUR), (states.OLD, DAY), (states.ABANDONED - HOUR, DAY)],
)
def test_when_a_pending_transfer_is_checked_again(age: timedelta, due: timedelta) -> None:
    pending = move(TransferState.PENDING, started_at=NOW - age)
    assert states.next_check(GOING, pending, rules.decide(FREE, now=NOW), now=NOW) == NOW + due


@pytest.mark.parametrize(
    ("tld", "scope"),
    [("com", "gtld"), ("berlin", "gtld"), ("co.uk", "uk"), ("uk", "uk"), ("de", None), ("uk.com", None)],
)
def test_whose_rules_hold(tld: str, scope: str | None) -> None:
    assert rules.find_scope(tld) == scope


@given(st.dates(min_value=date(1985, 1, 1), max_value=date(2100, 1, 1)))
def test_the_end_of_a_day_is_the_start_of_the_next(on: date) -> None:
    end = rules.end_of_day(on)
    assert ((end - timedelta(microseconds=1)).date(), end.date()) == (on, on + timedelta(days=1))


@pytest.mark.parametrize(
    "written", ["clientTransferProhibited", "client transfer prohibited", "CLIENTTRANSFERPROHIBITED"]
)
def test_a_status_is_the_same_in_each_notation(written: str) -> None:
    assert rules.normalize(written) == LOCK


@pytest.mark.parametrize(("days", "state", "transferable"), [(59, "not_eligible", False), (61, "unlocked", True)])
async def test_a_young_domain_does_not_move(alice: Person, days: int, state: str, transferable: bool) -> None:
    registered_on = clock.now().date() - days * DAY
    await add_domains(alice, "harbour.com", registered_on=registered_on, locked=False)
    found = await report(alice)
    assert (found["state"], found["transferable"]) == (state, transferable)


async def test_a_domain_is_free_sixty_days_after_the_end_of_its_first_day(alice: Person) -> None:
    today = clock.now().date()
    await add_domains(alice, "harbour.com", registered_on=today, locked=False)
    assert (await report(alice))["eligible_at"] == f"{today + 61 * DAY}T00:00:00Z"


async def test_a_locked_domain_is_not_eligible_and_has_to_be_unlocked(alice: Person) -> None:
    await add_domains(alice, "harbour.com", registered_on=date(2020, 2, 29), locked=True)
    found = await report(alice)
    assert (found["state"], found["transferable"], found["eligible_at"]) == ("locked", False, None)
    steps = [(each["name"], each["done"]) for each in found["steps"]]
    assert steps[:2] == [("wait_until_eligible", True), ("unlock", False)]


async def test_a_domain_moves_when_the_clock_says_so(alice: Person) -> None:
    await add_domains(alice, "harbour.com", registered_on=clock.now().date(), locked=False)
    assert (await report(alice))["state"] == "not_eligible"
    clock.move(61 * DAY)
    assert (await report(alice))["state"] == "unlocked"


async def test_the_sandbox_has_domains_of_its_own(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    answer = await alice.test.get("/v1/portfolio/domains/harbour.com/transfer")
    assert answer.status_code == 404
