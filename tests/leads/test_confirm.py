"""Confirmation of a lead by its link."""

import asyncio
from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.browser import press
from tests.cast import OF_LINK_OPENERS, Client
from tests.conftest import INSTANT, StopClock
from tests.leads.make import BROWSER, CONFIRM, Runner, confirm, published, submit

TOKENS = """
    SELECT string_agg(digest::text || row_to_json(token)::text, '') FROM leads_tokens AS token
    WHERE lead_id = %s
"""


async def test_the_link_confirms_the_lead(anyone: Client, runner: Runner, conn: Conn, email: str) -> None:
    await submit(anyone, email, source="harbour-lander", interest="alias", consent={"marketing": True})
    answer = await anyone.get(CONFIRM, params={"token": await runner.token(email)})

    assert (answer.status_code, answer.json()) == (
        200,
        {"status": "confirmed", "email_masked": "a***@example.net"},
    )
    assert answer.headers["Cache-Control"] == "no-store"
    lead = await runner.lead(email)
    assert lead is not None
    assert lead.status == "confirmed"
    [event] = await published(conn, lead.id)
    assert {name: event[name] for name in ("source", "interest", "marketing", "first")} == {
        "source": "harbour-lander",
        "interest": "alias",
        "marketing": True,
        "first": True,
    }
    assert email not in str(event)


async def test_the_event_is_internal(anyone: Client) -> None:
    catalog = (await anyone.get("/v1/notifications/events")).text
    assert "lead.confirmed" not in catalog


async def test_confirming_is_idempotent_until_the_link_expires(
    anyone: Client, runner: Runner, conn: Conn, email: str
) -> None:
    await submit(anyone, email)
    token = await runner.token(email)

    assert await confirm(anyone, token) == "confirmed"
    for hours in (0, 1, 70):
        clock.move(timedelta(hours=hours))
        assert await confirm(anyone, token) == "already_confirmed"
    clock.move(timedelta(hours=1))
    assert await confirm(anyone, token) == "token_invalid"
    lead = await runner.lead(email)
    assert lead is not None
    assert lead.status == "confirmed"
    assert len(await published(conn, lead.id)) == 1


async def test_concurrent_confirmations_confirm_once(
    anyone: Client, runner: Runner, conn: Conn, email: str
) -> None:
    await submit(anyone, email)
    token = await runner.token(email)
    answers = await asyncio.gather(*(confirm(anyone, token) for _ in range(8)))

    assert sorted(answers) == [*["already_confirmed"] * 7, "confirmed"]
    lead = await runner.lead(email)
    assert lead is not None
    assert len(await published(conn, lead.id)) == 1


async def test_only_the_newest_link_is_valid(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email)
    await runner.run()
    clock.move(timedelta(minutes=16))
    await submit(anyone, email)
    first, second = await runner.tokens(email)

    assert await confirm(anyone, first) == "token_invalid"
    assert await confirm(anyone, second) == "confirmed"


async def test_a_confirmed_lead_confirms_a_second_request(
    anyone: Client, runner: Runner, conn: Conn, email: str
) -> None:
    await submit(anyone, email, source="first")
    await confirm(anyone, await runner.token(email))
    before = await runner.lead(email)
    clock.move(timedelta(minutes=16))
    await submit(anyone, email, source="second")
    between = await runner.lead(email)
    assert await confirm(anyone, await runner.token(email)) == "confirmed"
    after = await runner.lead(email)

    assert before is not None
    assert between is not None
    assert after is not None
    assert [each.source for each in (before, between, after)] == ["first", "first", "second"]
    assert {each.status.value for each in (before, between, after)} == {"confirmed"}
    assert after.confirmed_at == before.confirmed_at
    assert [each["first"] for each in await published(conn, after.id)] == [True, False]


async def test_all_invalid_tokens_get_the_same_error(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email)
    token = await runner.token(email)
    wrong = [f"{token[:-1]}{'A' if token[-1] != 'A' else 'B'}", token.upper(), "x" * 8, "é" * 20, "x" * 5000]
    answers = [await anyone.get(CONFIRM, params={"token": each}) for each in wrong]
    clock.move(timedelta(hours=72))
    answers.append(await anyone.get(CONFIRM, params={"token": token}))

    assert {(each.status_code, each.json()["code"]) for each in answers} == {(400, "token_invalid")}
    assert len({each.text.replace(each.json()["request_id"], "") for each in answers}) == 1
    assert await runner.status(email) == "pending"


async def test_a_link_ends_at_its_exact_instant(
    anyone: Client, runner: Runner, email: str, conn: Conn, stop_clock: StopClock
) -> None:
    await submit(anyone, email)
    token, lead = await runner.token(email), await runner.lead(email)
    assert lead is not None
    cursor = await conn.execute("SELECT expires_at FROM leads_tokens WHERE lead_id = %s", [lead.id])
    [(ends,)] = await cursor.fetchall()
    answers = []
    for at in (ends, ends - INSTANT):
        stop_clock(at)
        answers.append((await anyone.get(CONFIRM, params={"token": token})).status_code)
    assert answers == [400, 200]


async def test_a_token_of_seven_characters_is_invalid(anyone: Client) -> None:
    answer = await anyone.get(CONFIRM, params={"token": "x" * 7})

    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "token"])
    assert (await anyone.get(CONFIRM)).status_code == 422


@pytest.mark.parametrize("header", [{"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}])
@pytest.mark.parametrize("browser", [{}, BROWSER])
async def test_a_prefetch_does_not_confirm(
    anyone: Client, runner: Runner, email: str, header: dict[str, str], browser: dict[str, str]
) -> None:
    await submit(anyone, email)
    token = await runner.token(email)
    answer = await anyone.get(CONFIRM, params={"token": token}, headers={**header, **browser})

    assert (answer.status_code, answer.headers["Cache-Control"]) == (503, "no-store")
    assert await runner.status(email) == "pending"
    assert await confirm(anyone, token) == "confirmed"


@pytest.mark.parametrize("accept", OF_LINK_OPENERS)
async def test_a_link_scanner_does_not_confirm(anyone: Client, runner: Runner, email: str, accept: str) -> None:
    await submit(anyone, email)
    token = await runner.token(email)
    page = await anyone.get(CONFIRM, params={"token": token}, headers={"Accept": accept})

    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert await runner.status(email) == "pending"
    await press(anyone, page)
    assert await runner.status(email) == "confirmed"


async def test_a_head_request_does_not_confirm(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email)
    answer = await anyone.head(CONFIRM, params={"token": await runner.token(email)})

    assert answer.status_code == 405
    assert await runner.status(email) == "pending"


async def test_a_browser_gets_a_page_whose_button_confirms(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email)
    token = await runner.token(email)
    link = {"token": token}
    opened = [await anyone.get(CONFIRM, params=link, headers=BROWSER) for _ in range(2)]
    assert await runner.status(email) == "pending"
    pages = [
        *opened,
        await press(anyone, opened[0]),
        await anyone.get(CONFIRM, params=link, headers=BROWSER),
        await anyone.get(CONFIRM, params={"token": "x" * 9}, headers=BROWSER),
    ]

    assert [each.status_code for each in pages] == [200, 200, 200, 200, 400]
    assert [each.headers["Content-Type"] for each in pages] == ["text/html; charset=utf-8"] * 5
    assert opened[0].text.count("<button") == 1
    assert "is confirmed" in pages[2].text
    assert "was confirmed before" in pages[3].text
    assert "not valid" in pages[4].text
    assert not any(token in page.text for page in pages[2:])
    for page in pages:
        assert email not in page.text
        assert "set-cookie" not in page.headers


async def test_the_token_is_not_stored(anyone: Client, runner: Runner, conn: Conn, email: str) -> None:
    await submit(anyone, email)
    token, lead = await runner.token(email), await runner.lead(email)
    assert lead is not None

    found = await (await conn.execute(TOKENS, [lead.id])).fetchone()
    assert found is not None
    assert token not in found[0]
    assert token.encode().hex() not in found[0]
