"""The page that a browser gets behind the link of a change: its button confirms, and opening it does not."""

import pytest

from tests.browser import press
from tests.cast import Client, Person
from tests.profile.make import BROWSER, CONFIRM, Office, me, patch

PAGE = f"{CONFIRM}/page"


async def test_a_link_that_a_scanner_opens_as_a_browser_changes_nothing(
    alice: Person, anyone: Client, office: Office, address: str
) -> None:
    await patch(alice, email=address)
    token = await office.token(address)
    pages = [await anyone.get(CONFIRM, params={"token": token}, headers=BROWSER) for _ in range(2)]

    assert [each.status_code for each in pages] == [200, 200]
    assert pages[0].text.count("<button") == 1
    assert "n***@example.net" in pages[0].text
    assert address not in pages[0].text
    assert pages[0].headers["Cache-Control"] == "no-store"
    assert ((await me(alice))["email"], (await me(alice))["pending_email"]) == (alice.account.email, address)


async def test_the_button_of_the_page_changes_the_address(
    alice: Person, anyone: Client, office: Office, address: str
) -> None:
    await patch(alice, email=address)
    link = {"token": await office.token(address)}
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
async def test_where_the_button_is_pressed_does_not_matter(
    alice: Person, anyone: Client, office: Office, address: str, origin: str
) -> None:
    """The token is the proof, and the browser that brings it is neither asked who it is nor signed in."""
    await patch(alice, email=address)
    answer = await anyone.post(PAGE, data={"token": await office.token(address)}, headers={"Origin": origin})

    assert answer.status_code == 200
    assert (await me(alice))["email"] == address


async def test_what_the_button_cannot_do_is_said_to_people_and_programs(
    alice: Person, bob: Person, anyone: Client, office: Office
) -> None:
    await patch(alice, email=bob.account.email)
    token = await office.token(bob.account.email)
    page = await press(anyone, await anyone.get(CONFIRM, params={"token": token}, headers=BROWSER))
    answers = [await anyone.post(PAGE, data=each) for each in ({"token": token}, {"token": "x" * 9}, {"tok": "x"})]

    assert (page.status_code, page.headers["Content-Type"]) == (409, "text/html; charset=utf-8")
    assert [each.status_code for each in answers] == [409, 400, 422]
    assert [each.json()["code"] for each in answers[:2]] == ["email_taken", "token_invalid"]
    assert (await me(bob))["email"] == bob.account.email
