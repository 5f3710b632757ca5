"""The calendar under a secret link."""

import re
from datetime import UTC, date, datetime, time, timedelta

import pytest
from httpx import Response
from icalendar import Calendar, Component

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.renewals import calendars
from tests.cast import Client, Person
from tests.heavy import held_turn
from tests.portfolio.parking.make import add_domains
from tests.portfolio.renewals.make import ahead, decide, fill
from tests.portfolio.team.make import code, join, of

LINK, FEED = "/v1/portfolio/renewals/calendar", "/v1/portfolio/renewals.ics"


async def make_link(owner: Client, headers: dict[str, str] | None = None) -> str:
    answer = await owner.post(LINK, headers=headers)
    assert answer.status_code == 201, answer.text
    url: str = answer.json()["url"]
    assert url.startswith(f"http://builders.test{FEED}?token=")
    return url


async def test_the_calendar_of_the_link(alice: Person, anyone: Client) -> None:
    await fill(alice)
    await decide(
        alice, {"items": [{"domain_id": "harbour.com", "decision": "renew", "note": "Ask, then; renew."}]}
    )
    url = await make_link(alice)
    answer = await anyone.get(url)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    assert answer.headers["cache-control"] == "private, no-store"
    calendar = Calendar.from_ical(answer.content)
    events = {str(each["summary"]): each for each in calendar.walk("VEVENT")}
    assert len(events) == 6
    harbour = events["Renew harbour.com"]
    assert harbour.decoded("dtstart") == ahead(10).date()
    assert "Note: Ask, then; renew." in str(harbour["description"])
    assert "overdue.com expires: renew or drop?" in events
    assert len({str(each["uid"]) for each in events.values()}) == 6
    assert "10.00" not in answer.text  # no prices
    assert (await anyone.head(url)).status_code == 200


async def test_a_link_ends_with_a_new_one_a_revocation_and_the_membership(
    alice: Person, charlie: Person, bob: Person, anyone: Client
) -> None:
    first = await make_link(alice)
    second = await make_link(alice)
    assert code(await anyone.get(first)) == (400, "token_invalid")
    assert (await anyone.get(second)).status_code == 200
    await join(alice, charlie, "viewer")
    theirs = await make_link(charlie, headers=of(alice))
    assert (await alice.delete(LINK)).status_code == (await alice.delete(LINK)).status_code == 204
    assert code(await anyone.get(second)) == (400, "token_invalid")
    assert (await anyone.get(theirs)).status_code == 200
    assert (await alice.delete(f"/v1/portfolio/team/members/{charlie.account.id}")).status_code == 204
    assert code(await anyone.get(theirs)) == (400, "token_invalid")
    assert code(await bob.post(LINK, headers=of(alice))) == (404, "portfolio_not_found")
    assert (await anyone.post(LINK)).status_code == 401
    assert (await anyone.get(FEED)).status_code == 422


async def test_the_link_is_shown_once(alice: Person, anyone: Client) -> None:
    headers = {"Idempotency-Key": "one-link"}
    url = await make_link(alice, headers=headers)
    again = await alice.post(LINK, headers=headers)
    assert again.status_code == 201
    assert "url" not in again.json()
    assert (await anyone.get(url)).status_code == 200
    sandbox = await make_link(alice.test)
    assert (await anyone.get(sandbox)).status_code == 200


async def test_a_link_stays_dead_when_its_member_joins_again(
    alice: Person, charlie: Person, anyone: Client, database: Database, settings: Settings
) -> None:
    await join(alice, charlie, "viewer")
    url = await make_link(charlie, headers=of(alice))
    assert (await alice.delete(f"/v1/portfolio/team/members/{charlie.account.id}")).status_code == 204
    async with database.transaction() as conn:
        while await dispatcher.dispatch(conn):
            pass
    await queue.run_pending(database, settings)
    await join(alice, charlie, "viewer")
    assert code(await anyone.get(url)) == (400, "token_invalid")


SPREAD = """
    WITH original AS MATERIALIZED (
        SELECT held FROM portfolio_domains AS held WHERE account_id = %(account_id)s AND domain = 'harbour.com'
    )
    INSERT INTO portfolio_domains
    SELECT (jsonb_populate_record(held, jsonb_build_object(
        'id', gen_random_uuid(), 'domain', gen_random_uuid() || '.' || (held).tld, 'expires_at', at,
        'lifecycle_due_at', NULL
    ))).*
    FROM original, unnest(%(expiries)s::text[]) AS at
"""


async def spread(conn: Conn, owner: Person, expiries: dict[datetime, int]) -> None:
    """Add copies of harbour.com that expire at these times, as many of each."""
    copies = [at.isoformat() for at, count in expiries.items() for _ in range(count)]
    for first in range(0, len(copies), 1_000):  # a statement has a time limit
        some = copies[first : first + 1_000]
        await conn.execute(SPREAD, {"account_id": owner.account.id, "expiries": some})


def read(answer: Response) -> list[Component]:
    assert answer.status_code == 200, answer.text
    return Calendar.from_ical(answer.content).walk("VEVENT")


async def test_the_calendar_has_every_expiry_and_none_that_is_long_past(
    alice: Person, anyone: Client, conn: Conn
) -> None:
    await fill(alice)
    at = {ahead(days): 1 for days in (-91, -90, -1, 0, 366, 3_000)}
    await spread(conn, alice, at)
    events = read(await anyone.get(await make_link(alice)))
    days = {each.decoded("dtstart") for each in events}
    assert days >= {ahead(each).date() for each in (-90, -1, 0, 366, 3_000)}
    assert ahead(-91).date() not in days
    for each in events:
        is_past = each.decoded("dtstart") < clock.now().date()
        assert len(each.walk("VALARM")) == (0 if is_past else 3)


def skim(answer: Response) -> tuple[list[str], Component]:
    """Return the identifiers of the events and the last event: icalendar takes long for thousands of them."""
    assert answer.status_code == 200, answer.text
    head, *events = answer.text.split("BEGIN:VEVENT\r\n")
    [last] = Calendar.from_ical(f"{head}BEGIN:VEVENT\r\n{events[-1]}").walk("VEVENT")
    return re.findall(r"^UID:(.*)\r$", answer.text.replace("\r\n ", ""), re.MULTILINE), last


def named(event: Component) -> list[str]:
    return [each for each in str(event["description"]).splitlines() if each.startswith("http")]


async def test_a_full_calendar_names_the_calendars_with_the_rest(
    alice: Person, anyone: Client, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendars, "max_events", 1_000)
    monkeypatch.setattr(calendars, "batch", 50)
    clock.move(datetime(2026, 11, 22, 12, tzinfo=UTC) - clock.now())
    await add_domains(alice, "harbour.com", expires_at=datetime(2026, 12, 1, tzinfo=UTC))
    months = [datetime(2027, month, 3, 8, tzinfo=UTC) for month in range(1, 13)]
    await spread(conn, alice, {**dict.fromkeys(months, 90), datetime(2028, 2, 29, 8, tzinfo=UTC): 1_001})
    link, held, ends = await make_link(alice), list[str](), dict[str, date]()
    expected = {
        "": ["&year=2027", "&year=2028"],
        "&year=2027": ["&year=2027&month=12"],
        "&year=2027&month=12": [],
        "&year=2028": ["&year=2028&month=2"],
        "&year=2028&month=2": ["&year=2028&month=2&part=2"],
        "&year=2028&month=2&part=2": [],
    }
    for period, links in expected.items():
        found, last = skim(await anyone.get(link + period))
        assert len(found) <= 1_000
        assert named(last) == [link + each for each in links], period
        held += found[:-1] if links else found
        ends[period] = last.decoded("dtstart")
    assert len(set(held)) == 1 + 12 * 90 + 1_001
    assert (ends[""], ends["&year=2028"]) == (date(2027, 12, 3), date(2028, 2, 29))


async def test_a_calendar_of_exactly_its_maximum_holds_it(alice: Person, anyone: Client, conn: Conn) -> None:
    await add_domains(alice, "harbour.com", expires_at=ahead(5))
    await spread(conn, alice, {ahead(9): 9_999})
    found, last = skim(await anyone.get(await make_link(alice)))
    assert len(found) == len(set(found)) == 10_000
    assert named(last) == []


async def test_a_calendar_of_a_year_is_read_back(alice: Person, anyone: Client, conn: Conn) -> None:
    await add_domains(alice, "harbour.com", expires_at=datetime(2028, 1, 1, tzinfo=UTC))
    days = [date(2028, 1, 1) + timedelta(days=each) for each in range(366)]
    await spread(conn, alice, {datetime.combine(each, time(9), UTC): 1 for each in days})
    events = read(await anyone.get(f"{await make_link(alice)}&year=2028"))
    assert [each.decoded("dtstart") for each in events] == [days[0], *days]
    assert {len(each.walk("VALARM")) for each in events} == {3}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"month": 3}, "year"),
        ({"part": 2, "year": 2027}, "month"),
        ({"year": 1}, "year"),
        ({"month": 13}, "month"),
    ],
)
async def test_a_period_that_is_none_is_refused(
    alice: Person, anyone: Client, query: dict[str, int], field: str
) -> None:
    link = await make_link(alice)
    answer = await anyone.get(link + "".join(f"&{name}={value}" for name, value in query.items()))
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", field])


async def test_a_year_is_that_of_the_account(alice: Person, anyone: Client) -> None:
    await alice.patch("/v1/me", json={"timezone": "Asia/Tokyo"})
    await add_domains(alice, "harbour.com", expires_at=datetime(2027, 12, 31, 15, tzinfo=UTC))
    link = await make_link(alice)
    [event] = read(await anyone.get(f"{link}&year=2028&month=1"))
    assert event.decoded("dtstart") == date(2028, 1, 1)
    assert read(await anyone.get(f"{link}&year=2027")) == []


async def test_texts_of_any_length_and_script_are_read_back(alice: Person, anyone: Client) -> None:
    await fill(alice)
    note = "Ask Zoë; then, if she agrees, renew \\ or drop. " + "港" * 60 + "é" * 70 + " and " + "so on, " * 20
    done = await decide(alice, {"items": [{"domain_id": "harbour.com", "decision": "renew", "note": note}]})
    assert done["summary"]["updated"] == 1, done
    answer = await anyone.get(await make_link(alice))
    assert all(len(line) <= 75 for line in answer.content.split(b"\r\n"))
    events = {str(each["summary"]): each for each in Calendar.from_ical(answer.content).walk("VEVENT")}
    assert str(events["Renew harbour.com"]["description"]).endswith(f"Note: {note.strip()}")
    assert events["Renew harbour.com"].decoded("dtend") == ahead(11).date()


async def test_the_calendars_of_a_portfolio_are_written_one_after_another(
    alice: Person, anyone: Client, service: Service
) -> None:
    link = (await alice.post(LINK)).json()["url"]
    async with held_turn(service, alice.account.id):
        answer = await anyone.get(link)
    assert (answer.status_code, answer.json()["code"]) == (429, "heavy_request_running")
