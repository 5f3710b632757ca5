"""The page of a link in a browser: its button confirms, and opening it does not."""

import pytest

from tests.browser import press
from tests.cast import Client, Person
from tests.profile.make import BROWSER, CONFIRM, ProfileWorker, me, patch

PAGE = f"{CONFIRM}/page"


async def test_opening_the_page_does_not_confirm(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    await patch(alice, email=address)
    token = await worker.token(address)
    pages = [await anyone.get(CONFIRM, params={"token": token}, headers=BROWSER) for _ in range(2)]

    assert [each.status_code for each in pages] == [200, 200]
    assert pages[0].text.count("<button") == 1
    assert "n***@example.net" in pages[0].text
    assert address not in pages[0].text
    assert pages[0].headers["Cache-Control"] == "no-store"
    assert ((await me(alice))["email"], (await me(alice))["pending_email"]) == (alice.account.email, address)


async def test_the_button_confirms_a_change(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str
) -> None:
    await patch(alice, email=address)
    link = {"token": await worker.token(address)}
    page = await anyone.get(CONFIRM, params=link, headers=BROWSER)
    pressed = [await press(anyone, page) for _ in range(2)]
    later = await anyone.get(CONFIRM, params=link, headers=BROWSER)

    assert [each.status_code for each in (*pressed, later)] == [200, 200, 200]
    assert "is confirmed" in pressed[0].text
    assert "was confirmed before" in pressed[1].text
    assert "was confirmed before" in later.text
    assert "set-cookie" not in pressed[0].headers
    assert (await me(alice))["email"] == address


@pytest.mark.parametrize("origin", ["null", "http://elsewhere.example"])
async def test_the_form_accepts_any_origin(
    alice: Person, anyone: Client, worker: ProfileWorker, address: str, origin: str
) -> None:
    await patch(alice, email=address)
    answer = await anyone.post(PAGE, data={"token": await worker.token(address)}, headers={"Origin": origin})

    assert answer.status_code == 200
    assert (await me(alice))["email"] == address


async def test_errors_of_the_form_are_pages_or_problems(
    alice: Person, bob: Person, anyone: Client, worker: ProfileWorker
) -> None:
    await patch(alice, email=bob.account.email)
    token = await worker.token(bob.account.email)
    page = await press(anyone, await anyone.get(CONFIRM, params={"token": token}, headers=BROWSER))
    answers = [await anyone.post(PAGE, data=each) for each in ({"token": token}, {"token": "x" * 9}, {"tok": "x"})]

    assert (page.status_code, page.headers["Content-Type"]) == (409, "text/html; charset=utf-8")
    assert [each.status_code for each in answers] == [409, 400, 422]
    assert [each.json()["code"] for each in answers[:2]] == ["email_taken", "token_invalid"]
    assert (await me(bob))["email"] == bob.account.email
