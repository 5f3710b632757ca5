"""The mail of a name in the console: text for the person of the account, in a fresh session."""

from datetime import timedelta

import pytest

from builders.kit.values import clock
from tests.aliases.make import Json
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.console.visitor import Visitor
from tests.forwarding.rules import mint, put_rule, receive
from tests.plans.make import alias, apply, get_alias
from tests.webhooks.make import create

HOSTILE = '<script>x()</script><img src="https://evil.example/p.gif"><a href="https://evil.example/">a</a>\r\n'


@pytest.fixture
async def name(alice: Person, domain: str) -> Json:
    """Return a name of Alice whose mail is received."""
    found = await get_alias(alice, await apply(alice, alias(f"inbox@{domain}", alice.account.email)))
    webhook = await create(alice, events=["invoice.created"])
    assert (await put_rule(alice, found, webhook, await mint(alice))).status_code == 200
    return found


async def test_a_message_is_listed_and_shown_as_text(alice: Person, name: Json, browser: Visitor) -> None:
    message_id = await receive(alice, name["id"], HOSTILE, Subject="<b>A question")
    page = await browser.open(f"/console/names/{name['id']}")
    assert f"/console/mail/{name['id']}" in page.text
    listed = await browser.open(f"/console/mail/{name['id']}")
    assert "&lt;b&gt;A question" in listed.text
    shown = await browser.open(f"/console/mail/{name['id']}/{message_id}")
    assert shown.status_code == 200
    assert "&lt;script&gt;x()" in shown.text
    for loaded in ("<script>x", "<img src", 'href="https://evil.example'):
        assert loaded not in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]


async def test_an_opened_message_is_in_the_audit_and_a_listed_one_is_not(
    alice: Person, name: Json, browser: Visitor
) -> None:
    message_id = await receive(alice, name["id"])
    await browser.open(f"/console/mail/{name['id']}")
    assert (await alice.get("/v1/account/audit", params={"action": "mail.opened"})).json()["items"] == []
    await browser.open(f"/console/mail/{name['id']}/{message_id}")
    (entry,) = (await alice.get("/v1/account/audit", params={"action": "mail.opened"})).json()["items"]
    assert entry["about"]["message_id"] == message_id


async def test_an_attachment_is_a_file_to_store(alice: Person, name: Json, browser: Visitor) -> None:
    body = '--b\r\nContent-Disposition: attachment; filename="<i>.txt"\r\n\r\nbill\r\n--b--\r\n'
    message_id = await receive(alice, name["id"], body, **{"Content-Type": "multipart/mixed; boundary=b"})
    shown = await browser.open(f"/console/mail/{name['id']}/{message_id}")
    assert f"/v1/aliases/{name['id']}/mail/{message_id}/attachments/1" in shown.text
    assert "&lt;i&gt;.txt" in shown.text


@pytest.mark.parametrize("is_opened", [False, True])
async def test_an_old_session_signs_in_again(is_opened: bool, alice: Person, name: Json, browser: Visitor) -> None:
    message_id = await receive(alice, name["id"])
    with clock.moved(timedelta(minutes=11)):
        page = await browser.open(f"/console/mail/{name['id']}" + (f"/{message_id}" if is_opened else ""), 401)
    assert "Sign in again" in page.text
    assert "/v1/auth/login" in page.text
    assert "A question" not in page.text


async def test_the_sandbox_and_support_show_no_mail(alice: Person, name: Json, browser: Visitor) -> None:
    await receive(alice, name["id"])
    await browser.open(f"/console/test/mail/{name['id']}", 403)
    support = await alice.admit_support(may_write=True)
    async with Client(alice.service, cookie=support.token) as client:
        page = await client.get(f"/console/mail/{name['id']}", headers={"Accept": ACCEPT})
    assert page.status_code == 403
    assert "A question" not in page.text


async def test_the_form_lets_the_key_answer(alice: Person, name: Json, browser: Visitor) -> None:
    page = await browser.open(f"/console/names/{name['id']}")
    after = await browser.submit(page, "reception-set", may_reply="true")
    assert after.status_code == 200
    rule = (await alice.get(f"/v1/aliases/{name['id']}/receive-as-event")).json()
    assert rule["may_reply"] is True
