"""Whether a domain may move: dated rules, several reasons at once, leap days, and rules that are not known."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given, strategies as st

from builders.portfolio.transfers import rules
from builders.portfolio.transfers.records import (
    FactSource,
    Rule,
    RuleName,
    RuleOutcome,
    RuleStatus,
    RuleUnit,
    TimeFact,
    TransferFacts,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LOCK, REGISTRY_LOCK = "clienttransferprohibited", "servertransferprohibited"
TLDS = ("com", "berlin", "de", "co.uk", "uk", "uk.com", "edu")
STATUSES = (LOCK, REGISTRY_LOCK, "pendingtransfer", "pendingdelete", "redemptionperiod", "ok", "clienthold")
TIMES = st.timedeltas(timedelta(days=-13_000), timedelta(days=13_000)).map(NOW.__add__)


def ago(days: float) -> TimeFact:
    return TimeFact(at=NOW - timedelta(days=days), known_from=FactSource.RDAP)


@st.composite
def facts(draw: st.DrawFn) -> tuple[TransferFacts, datetime]:
    now = draw(TIMES)
    near = st.timedeltas(timedelta(days=-1), timedelta(days=200))
    times = st.none() | near.map(lambda before: TimeFact(at=now - before, known_from=FactSource.REGISTRAR))
    known = TransferFacts(
        tld=draw(st.sampled_from(TLDS)),
        created=draw(times),
        transferred=draw(times),
        statuses=draw(st.dictionaries(st.sampled_from(STATUSES), st.sampled_from(FactSource), max_size=4)),
        is_unlocked=draw(st.booleans()),
    )
    return known, now


@pytest.mark.parametrize(
    ("known", "codes", "transferable"),
    [
        pytest.param(TransferFacts(tld="com", created=ago(60)), [], True, id="60 days after the registration"),
        pytest.param(
            TransferFacts(tld="com", created=ago(59.99)),
            ["creation_lock"],
            False,
            id="just within 60 days of the registration",
        ),
        pytest.param(
            TransferFacts(tld="com", created=ago(900), transferred=ago(59)),
            ["transfer_lock"],
            False,
            id="59 days after a transfer",
        ),
        pytest.param(
            TransferFacts(tld="com", created=ago(900), transferred=ago(60)),
            [],
            True,
            id="60 days after a transfer",
        ),
        pytest.param(TransferFacts(tld="com"), [], None, id="unknown dates"),
        pytest.param(TransferFacts(tld="de", created=ago(5)), [], None, id="a registry with other rules"),
        pytest.param(TransferFacts(tld="uk.com", created=ago(5)), [], None, id="a registry below another domain"),
        pytest.param(TransferFacts(tld="co.uk", created=ago(5)), [], True, id="a TLD without a lock"),
        pytest.param(
            TransferFacts(tld="de", statuses={LOCK: FactSource.RDAP}),
            ["registrar_lock"],
            False,
            id="a lock at the registry of another TLD",
        ),
        pytest.param(
            TransferFacts(
                tld="com",
                created=ago(3),
                transferred=ago(2),
                statuses={
                    REGISTRY_LOCK: FactSource.RDAP,
                    LOCK: FactSource.REGISTRAR,
                    "clienthold": FactSource.RDAP,
                },
            ),
            ["creation_lock", "transfer_lock", "registrar_lock", "registry_lock"],
            False,
            id="all locks",
        ),
        pytest.param(
            TransferFacts(
                tld="com",
                created=ago(900),
                statuses={"redemptionperiod": FactSource.RDAP, "pendingdelete": FactSource.RDAP},
            ),
            ["pending_delete", "redemption"],
            False,
            id="a deleted domain",
        ),
    ],
)
def test_every_reason_is_named(known: TransferFacts, codes: list[str], transferable: bool | None) -> None:
    found = rules.decide(known, now=NOW)
    assert [each.code for each in found.blocked_by] == codes
    assert found.transferable is transferable
    assert all(each.source and each.message for each in found.blocked_by)


@pytest.mark.parametrize(
    ("registered_on", "until"),
    [
        (date(2023, 12, 31), date(2024, 3, 1)),  # 29 days in February
        (date(2024, 12, 31), date(2025, 3, 2)),
        (date(2024, 2, 29), date(2024, 4, 30)),
        (date(1999, 12, 31), date(2000, 3, 1)),
    ],
)
def test_sixty_days_are_counted_by_the_calendar(registered_on: date, until: date) -> None:
    created = TimeFact(at=rules.end_of_day(registered_on), known_from=FactSource.PORTFOLIO)
    known = TransferFacts(tld="com", created=created)
    end = datetime.combine(until, time(), tzinfo=UTC)
    rule = next(each for each in rules.RULES if each.rule is RuleName.CREATION_LOCK and each.value == 60)
    assert created.at + timedelta(days=60) == end
    if end.date() >= (rule.effective_from or date.min):
        [block] = rules.decide(known, now=end - timedelta(microseconds=1)).blocked_by
        assert block.until == end
    assert rules.decide(known, now=end).blocked_by == []


@given(facts())
def test_a_domain_may_move_when_its_last_block_ends(drawn: tuple[TransferFacts, datetime]) -> None:
    known, now = drawn
    found = rules.decide(known, now=now)
    assert (found.transferable is False) == bool(found.blocked_by)
    hard = [each for each in found.blocked_by if not rules.is_liftable(each)]
    assert all(each.until is None or each.until > now for each in found.blocked_by)
    if found.eligible_at is None:
        assert not hard or any(each.until is None for each in hard)
        return
    assert found.eligible_at == max(each.until for each in hard if each.until is not None)
    before = rules.decide(known, now=found.eligible_at - timedelta(microseconds=1))
    assert any(not rules.is_liftable(each) for each in before.blocked_by)
    after = rules.decide(known, now=found.eligible_at)
    assert all(rules.is_liftable(each) for each in after.blocked_by)


@given(facts(), st.sampled_from(STATUSES[:5]))
def test_another_status_never_frees_a_domain(drawn: tuple[TransferFacts, datetime], status: str) -> None:
    known, now = drawn
    more = TransferFacts(
        tld=known.tld,
        created=known.created,
        transferred=known.transferred,
        statuses={**known.statuses, status: FactSource.RDAP},
    )
    before = {each.code for each in rules.decide(known, now=now).blocked_by}
    assert before <= {each.code for each in rules.decide(more, now=now).blocked_by}


@given(facts())
def test_each_rule_in_force_is_accounted_for(drawn: tuple[TransferFacts, datetime]) -> None:
    known, now = drawn
    found = rules.decide(known, now=now)
    blocking = [each.rule for each in found.rules_applied if each.outcome is RuleOutcome.BLOCKS]
    assert blocking == [each.code for each in found.blocked_by]
    for each in found.rules_applied:
        assert each.status is RuleStatus.IN_FORCE
        assert each.effective_from is None or each.effective_from <= now.date()
        assert each.scope in {"any", rules.find_scope(known.tld)}


def test_a_rule_holds_from_its_first_to_its_last_day() -> None:
    rule = Rule(
        rule=RuleName.CREATION_LOCK,
        scope="gtld",
        value=60,
        unit=RuleUnit.DAYS,
        status=RuleStatus.IN_FORCE,
        meaning="",
        source="",
        effective_from=date(2026, 1, 1),
        effective_to=date(2026, 2, 28),
    )
    days = [date(2025, 12, 31), date(2026, 1, 1), date(2026, 2, 28), date(2026, 3, 1)]
    assert [rule.is_applied(on) for on in days] == [False, True, True, False]


def test_proposals_and_unknown_scopes_are_never_applied() -> None:
    later = datetime(2100, 1, 1, tzinfo=UTC)
    assert {each.value for each in rules.list_rules("com", now=later) if each.rule is RuleName.CREATION_LOCK} == {
        60
    }
    assert {each.scope for each in rules.list_rules("de", now=later)} == {"any"}
    assert rules.length_of("de", RuleName.LOSING_REGISTRAR_RESPONSE, now=NOW) is None
    assert rules.length_of("com", RuleName.LOSING_REGISTRAR_RESPONSE, now=NOW) == timedelta(days=5)
    assert [tld for tld in TLDS if rules.moves_by_tag(tld, now=NOW)] == ["co.uk", "uk"]
    in_force = [each for each in rules.RULES if each.status is RuleStatus.IN_FORCE]
    for each in in_force:  # at most one value of a rule is in force at a time
        same = [
            other
            for other in in_force
            if other is not each
            and (other.rule, other.scope) == (each.rule, each.scope)
            and (other.effective_from or date.min) <= (each.effective_to or date.max)
            and (each.effective_from or date.min) <= (other.effective_to or date.max)
        ]
        assert same == []
