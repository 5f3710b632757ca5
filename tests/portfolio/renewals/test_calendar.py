"""The calendar under a secret link."""

from datetime import timedelta
from pathlib import Path

from icalendar import Calendar

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.renewals import calendars
from tests.cast import Client, Person
from tests.heavy import held_turn
from tests.portfolio.reads import multiply, traced
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


async def test_the_calendar_reads_its_maximum_of_events(alice: Person, conn: Conn, tmp_path: Path) -> None:
    await fill(alice)
    await multiply(conn, account_id=alice.account.id, domain="harbour.com", count=2_050)
    with traced(conn, tmp_path) as read:
        due = await calendars.list_calendar_events(conn, account_id=alice.account.id)
    assert len(due) == 2_000
    assert due[0].domain.domain == "overdue.com"
    assert read.rows <= 2_000 + 10


async def test_texts_of_any_length_and_script_are_read_back(alice: Person, anyone: Client) -> None:
    await fill(alice)
    note = "Ask Zoë; then, if she agrees, renew \\ or drop. " + "港" * 60 + "é" * 70 + " and " + "so on, " * 20
    done = await decide(alice, {"items": [{"domain_id": "harbour.com", "decision": "renew", "note": note}]})
    assert done["summary"]["updated"] == 1, done
    answer = await anyone.get(await make_link(alice))
    assert all(len(line) <= 75 for line in answer.content.split(b"\r\n"))
    events = {str(each["summary"]): each for each in Calendar.from_ical(answer.content).walk("VEVENT")}
    assert str(events["Renew harbour.com"]["description"]).endswith(f"Note: {note.strip()}")
    assert events["Renew harbour.com"].decoded("dtend") == (clock.now() + timedelta(days=11, hours=12)).date()


async def test_the_calendars_of_an_address_are_written_one_after_another(
    alice: Person, anyone: Client, service: Service
) -> None:
    link = (await alice.post(LINK)).json()["url"]
    async with held_turn(service, "127.0.0.1"):
        answer = await anyone.get(link)
    assert (answer.status_code, answer.json()["code"]) == (429, "heavy_request_running")
