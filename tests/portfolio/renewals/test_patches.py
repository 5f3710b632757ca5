"""What each member of a decision changes, what it warns of, and how the calendar writes it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st
from icalendar import Calendar

from builders.kit.http import slices
from builders.kit.values import clock, ids
from builders.portfolio.domains.records import RENEWED, ExpiringDomain, PortfolioDomainStatus, RenewalDecision
from builders.portfolio.domains.today import Today, day_of
from builders.portfolio.renewals import calendar_events
from builders.portfolio.renewals.records import Decision, Due
from builders.portfolio.renewals.report import UNKNOWN
from tests.cast import Person
from tests.portfolio.domains.zones import ZONES
from tests.portfolio.parking.make import add_domains
from tests.portfolio.renewals.make import ahead, decide, report

IN_UTC = ZoneInfo("UTC")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DECIDED = {"decision": "renew", "years": 2, "note": "Earns well.", "snooze_until": "2030-01-01"}
FIRST = {"domain_id": "harbour.com", **DECIDED}


async def decided(alice: Person, **members: Any) -> tuple[str, dict[str, Any]]:
    """Decide about harbour.com, then with other members: the second outcome, and what is decided then."""
    await add_domains(alice, "harbour.com", expires_at=ahead(9))
    await decide(alice, {"items": [FIRST]})
    [found] = (await decide(alice, {"items": [{"domain_id": "harbour.com", **members}]}))["results"]
    [item] = (await report(alice))["items"]
    return found["outcome"], {name: item[name] for name in DECIDED}


@pytest.mark.parametrize(
    ("members", "outcome"),
    [
        pytest.param({"decision": "renew"}, "unchanged", id="the same decision"),
        pytest.param(DECIDED, "unchanged", id="the same members"),
        pytest.param({"decision": "drop"}, "updated", id="another decision"),
        pytest.param({"decision": "undecided"}, "updated", id="withdrawn"),
        pytest.param({"years": 10}, "updated", id="other years"),
        pytest.param({"years": None}, "updated", id="no years"),
        pytest.param({"note": "Check."}, "updated", id="another note"),
        pytest.param({"note": None}, "updated", id="no note"),
        pytest.param({"snooze_until": None}, "updated", id="no snooze"),
        pytest.param({"note": "  Earns well. "}, "unchanged", id="the same note between spaces"),
    ],
)
async def test_a_member_changes_itself_alone(alice: Person, members: dict[str, Any], outcome: str) -> None:
    changed = {name: value.strip() if isinstance(value, str) else value for name, value in members.items()}
    assert await decided(alice, **members) == (outcome, {**DECIDED, **changed})


@pytest.mark.parametrize(
    ("member", "value"), [("auto_renew", True), ("auto_renew", None), ("renewal_price", None)]
)
async def test_a_field_of_the_domain_is_changed_there(alice: Person, member: str, value: Any) -> None:
    await add_domains(alice, "harbour.com", price="10.00", auto_renew=False, expires_at=ahead(9))
    await decide(alice, {"items": [{"domain_id": "harbour.com", member: value}]})
    domain = (await alice.get("/v1/portfolio/domains/harbour.com")).json()
    assert domain[member] == value


async def test_a_price_has_the_currency_of_its_row(alice: Person) -> None:
    await add_domains(alice, "harbour.com", expires_at=ahead(9))
    await decide(alice, {"items": [{"domain_id": "harbour.com", "renewal_price": "12.00", "currency": "EUR"}]})
    [item] = (await report(alice))["items"]
    assert item["renewal_price"] == {"amount": "12.00", "currency": "EUR"}


async def test_a_field_of_the_domain_decides_nothing(alice: Person) -> None:
    await add_domains(alice, "harbour.com", expires_at=ahead(9))
    await decide(alice, {"items": [{"domain_id": "harbour.com", "auto_renew": True}]})
    [item] = (await report(alice))["items"]
    assert (item["decision"], item["decided_at"]) == ("undecided", None)


async def test_a_repeated_decision_keeps_its_time(alice: Person) -> None:
    await add_domains(alice, "harbour.com", expires_at=ahead(9))
    times = []
    for _ in range(2):
        await decide(alice, {"items": [FIRST]})
        times += [each["decided_at"] for each in (await report(alice))["items"]]
        clock.move(timedelta(hours=1))
    assert times[0] == times[1] is not None


@pytest.mark.parametrize(
    ("auto_renew", "members", "codes"),
    [
        (True, {"decision": "drop"}, ["auto_renew_on"]),
        (False, {"decision": "drop"}, []),
        (None, {"decision": "drop"}, []),
        (True, {"decision": "renew"}, []),
        (False, {"decision": "renew"}, ["auto_renew_off"]),
        (None, {"decision": "renew"}, []),
        (True, {"decision": "drop", "auto_renew": False}, []),
        (False, {"decision": "drop", "auto_renew": True}, ["auto_renew_on"]),
        (True, {"decision": "undecided"}, []),
    ],
)
async def test_a_setting_against_the_decision_is_warned_of(
    alice: Person, auto_renew: bool | None, members: dict[str, Any], codes: list[str]
) -> None:
    await add_domains(alice, "harbour.com", expires_at=ahead(9), auto_renew=auto_renew)
    [found] = (await decide(alice, {"items": [{"domain_id": "harbour.com", **members}]}))["results"]
    assert [each["code"] for each in found["warnings"]] == codes


async def test_a_domain_without_an_expiry_can_be_decided_about(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await decide(alice, {"items": [FIRST]})
    changed = await alice.patch("/v1/portfolio/domains/harbour.com", json={"expires_at": ahead(9).isoformat()})
    assert changed.status_code == 200, changed.text
    assert [each["decision"] for each in (await report(alice))["items"]] == ["renew"]


@given(st.timedeltas(timedelta(days=-4_000), timedelta(days=4_000)))
def test_a_decision_ends_when_the_expiry_moves_by_a_renewal(moved: timedelta) -> None:
    made = Decision(domain_id=ids.NIL, decision=RenewalDecision.DROP, note="n", expires_at=NOW, decided_at=NOW)
    found = made.at_expiry(NOW + moved)
    assert found == (made if moved < RENEWED else Decision(domain_id=ids.NIL, note="n"))


def due(**fields: Any) -> Due:
    domain = ExpiringDomain(
        id=ids.NIL,
        domain="harbour.com",
        unicode="harbour.com",
        tld="com",
        status=PortfolioDomainStatus.OWNED,
        registrar="Porkbun",
        expires_at=NOW,
        auto_renew=None,
        epp_statuses=[],
        renewal_price=None,
        renewal_currency=None,
        tags=[],
    )
    return Due(replace(domain, **fields), UNKNOWN, Decision(domain_id=ids.NIL))


def written(each: Due, zone: ZoneInfo = IN_UTC) -> bytes:
    text = slices.run_at_once(calendar_events.write_events([each], Today(NOW, zone)))
    return (calendar_events.fold(calendar_events.HEAD) + text + "END:VCALENDAR\r\n").encode()


LINE = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=300)


@given(LINE.map(str.strip).filter(bool))
def test_any_note_is_read_back_from_the_calendar(note: str) -> None:
    noted = replace(due(), decision=Decision(domain_id=ids.NIL, note=note))
    assert all(len(line) <= 75 for line in written(noted).split(b"\r\n"))
    [event] = Calendar.from_ical(written(noted)).walk("VEVENT")
    assert str(event["description"]).endswith(f"Note: {note}")


@given(st.timedeltas(timedelta(days=-9_000), timedelta(days=9_000)).map(NOW.__add__), ZONES)
def test_an_expiry_is_a_whole_day_of_the_time_zone(at: datetime, zone: ZoneInfo) -> None:
    [event] = Calendar.from_ical(written(due(expires_at=at), zone)).walk("VEVENT")
    day = day_of(at, zone)
    assert (event.decoded("dtstart"), event.decoded("dtend")) == (day, day + timedelta(days=1))


@pytest.mark.parametrize(
    ("left", "decision", "snoozed", "days"),
    [
        (40, RenewalDecision.UNDECIDED, None, [30, 7, 1]),
        (0, RenewalDecision.RENEW, None, [30, 7, 1]),
        (-1, RenewalDecision.UNDECIDED, None, []),
        (40, RenewalDecision.DROP, None, [1]),
        (40, RenewalDecision.UNDECIDED, 33, [7, 1]),
        (40, RenewalDecision.UNDECIDED, 34, [1]),
    ],
)
def test_an_event_has_alarms_before_its_day(
    left: int, decision: RenewalDecision, snoozed: int | None, days: list[int]
) -> None:
    until = None if snoozed is None else NOW.date() + timedelta(days=snoozed)
    decided = Decision(domain_id=ids.NIL, decision=decision, snooze_until=until)
    each = replace(due(expires_at=NOW + timedelta(days=left)), decision=decided)
    [event] = Calendar.from_ical(written(each)).walk("VEVENT")
    triggers = [alarm.decoded("trigger") for alarm in event.walk("VALARM")]
    assert triggers == [timedelta(hours=9) - timedelta(days=before) for before in days]


@pytest.mark.parametrize(
    ("decision", "title"),
    [
        (RenewalDecision.RENEW, "Renew harbour.com"),
        (RenewalDecision.DROP, "harbour.com expires (drop)"),
        (RenewalDecision.UNDECIDED, "harbour.com expires: renew or drop?"),
    ],
)
def test_the_title_of_an_event_is_the_decision(decision: RenewalDecision, title: str) -> None:
    decided = replace(due(), decision=Decision(domain_id=ids.NIL, decision=decision))
    [event] = Calendar.from_ical(written(decided)).walk("VEVENT")
    assert str(event["summary"]) == title


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "Registrar: Porkbun"),
        ({"registrar": None}, "Registrar: unknown"),
        ({}, "Auto-renew: unknown"),
        ({"auto_renew": True}, "Auto-renew: on"),
        ({"auto_renew": False}, "Auto-renew: off"),
        ({}, "Expires at: 2026-03-01 12:00 UTC"),
    ],
)
def test_an_event_says_what_is_known(fields: dict[str, Any], line: str) -> None:
    [event] = Calendar.from_ical(written(due(**fields))).walk("VEVENT")
    assert line in str(event["description"]).splitlines()
