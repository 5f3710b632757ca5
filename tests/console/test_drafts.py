"""A form whose session has ended: who signs in again to the same account is back in it with what was typed."""

import html
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from builders.identity import drafts
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Person
from tests.console.visitor import Visitor, action_of, fields_of
from tests.plans import make
from tests.plans.approval.make import ALWAYS, set_policy

Visit = Callable[[Person], Awaitable[Visitor]]
NOTES = "Ask the broker.\n\nThen „wait“ & <see>."
KEPT = "What you typed is kept for an hour"
RESTORED = "Nothing was saved, because you had to sign in. The form has what you typed."


async def end_sessions(owner: Person, conn: Conn) -> None:
    await conn.execute("UPDATE identity_sessions SET ended_at = now() WHERE account_id = %s", [owner.account.id])
    clock.move(timedelta(minutes=1))  # the process knows the session no longer


async def kept(conn: Conn, owner: Person) -> list[bytes]:
    """Return the stored contents of the drafts of an account."""
    cursor = await conn.execute("SELECT content FROM identity_drafts WHERE account_id = %s", [owner.account.id])
    return [content for (content,) in await cursor.fetchall()]


async def send_too_late(
    browser: Visitor, conn: Conn, path: str, action: str, typed: dict[str, Any], *, cookie: bool = True
) -> httpx.Response:
    """Open a page, let the session end, and send its form; the browser may have deleted the cookie."""
    page = await browser.open(path)
    await end_sessions(browser.person, conn)
    if not cookie:
        browser.cookies.clear()
        browser.headers.pop("Cookie", None)
    fields = {**fields_of(page, action), **typed}
    return await browser.post(
        action_of(page, action), data=fields, headers={"Origin": "http://builders.test", "Referer": str(page.url)}
    )


def way_back(page: httpx.Response) -> str:
    """Return the path to which signing in leads from a page."""
    [found] = set(re.findall(r'name="return_to" value="([^"]*)"', page.text))
    return html.unescape(found)


@pytest.fixture
async def project(alice: Person) -> str:
    answer = await alice.post("/v1/builders/projects", json={"name": "Shop"})
    return f"/console/projects/{answer.json()['id']}"


@pytest.mark.parametrize("cookie", [True, False])
async def test_who_signs_in_again_is_back_in_the_form_with_the_text(
    visit: Visit, alice: Person, conn: Conn, project: str, *, cookie: bool
) -> None:
    typed = {"description": NOTES, "name": "Store"}
    refused = await send_too_late(await visit(alice), conn, project, "project-change", typed, cookie=cookie)
    assert (refused.status_code, KEPT in refused.text, NOTES[:8] in refused.text) == (401, True, False)
    browser = await visit(alice)
    page = await browser.open(way_back(refused))
    fields = fields_of(page, "project-change")
    saved = await browser.submit(page, "project-change")
    stored = (await alice.get(f"/v1/builders/projects/{project.rpartition('/')[2]}")).json()

    assert page.url.path == project
    assert RESTORED in page.text
    assert {name: fields[name] for name in typed} == typed
    assert "The project is changed." in saved.text
    assert {name: stored[name] for name in typed} == typed


async def test_another_person_is_shown_nothing_of_it(
    visit: Visit, alice: Person, bob: Person, conn: Conn, project: str
) -> None:
    refused = await send_too_late(await visit(alice), conn, project, "project-change", {"description": NOTES})
    back = way_back(refused)
    own = (await bob.post("/v1/builders/projects", json={"name": "Bob's"})).json()["id"]
    other = await visit(bob)
    pages = [await other.get(back), await other.get(f"/console/projects/{own}?{urlsplit(back).query}")]

    assert [each.status_code for each in pages] == [404, 200]
    assert [NOTES[:8] in each.text for each in pages] == [False, False]
    assert "belongs to another account" in pages[1].text


async def test_what_is_kept_is_sealed_and_deleted_after_an_hour(
    visit: Visit, alice: Person, conn: Conn, database: Database, project: str
) -> None:
    refused = await send_too_late(await visit(alice), conn, project, "project-change", {"description": NOTES})
    [content] = await kept(conn, alice)
    clock.move(drafts.LIFETIME)
    page = await (await visit(alice)).open(way_back(refused))
    await old_rows.delete(database, "identity_drafts")

    assert NOTES[:8].encode() not in content
    assert (RESTORED in page.text, "kept no longer" in page.text) == (False, True)
    assert await kept(conn, alice) == []


async def test_credentials_are_not_kept(visit: Visit, alice: Person, conn: Conn) -> None:
    path, typed = (
        "/console/portfolio/connect?provider=porkbun",
        {"credential.api_key": "pk1_secret", "label": "Mine"},
    )
    refused = await send_too_late(await visit(alice), conn, path, "registrar-connect", typed)
    page = await (await visit(alice)).open(way_back(refused))

    assert page.url.params["provider"] == "porkbun"
    assert fields_of(page, "registrar-connect")["label"] == "Mine"
    assert "pk1_secret" not in page.text


async def test_a_session_that_is_too_old_for_a_decision_returns_with_the_comment(
    visit: Visit, alice: Person, domain: str
) -> None:
    await set_policy(alice, **ALWAYS)
    planned = await make.plan(alice, make.alias(f"ada@{domain}"))
    browser = await visit(alice)
    page = await browser.open(f"/console/plans/{planned['id']}")
    clock.move(timedelta(minutes=11))
    refused = await browser.submit(page, "plan-approve", comment="looks right")
    [link] = re.findall(r'href="/v1/auth/login\?return_to=([^"]*)"', refused.text)
    back = parse_qs(f"to={html.unescape(link)}")["to"][0]
    fresh = await visit(alice)
    after = await fresh.submit(await fresh.open(back), "plan-approve")

    assert refused.status_code == 401
    assert "looks right" in after.text
    assert ">approved<" in after.text


async def test_a_change_meanwhile_is_told(visit: Visit, alice: Person, conn: Conn, project: str) -> None:
    refused = await send_too_late(await visit(alice), conn, project, "project-change", {"description": NOTES})
    path = f"/v1/builders/projects/{project.rpartition('/')[2]}"
    assert (await alice.patch(path, json={"description": "theirs"})).is_success
    page = await (await visit(alice)).open(way_back(refused))

    assert "It was changed meanwhile" in page.text


async def test_a_form_that_this_service_did_not_make_is_not_kept(
    visit: Visit, alice: Person, conn: Conn, project: str
) -> None:
    browser = await visit(alice)
    token = fields_of(await browser.open(project), "project-change")["_csrf"]
    account, session, proof = token.split(":")
    wrong = ["", f"{account}:{session}:{proof[:-1]}!", f"{session}:{account}:{proof}", f"{account}:{proof}"]
    wrong += [token[:-1] + ("0" if token[-1] != "0" else "1"), "::", "ü"]
    await end_sessions(alice, conn)
    for each in wrong:
        fields = {"_csrf": each, "_page": project.removeprefix("/console/"), "description": NOTES}
        refused = await browser.post(
            "/console/do/project-change", data=fields, headers={"Origin": "http://builders.test"}
        )
        assert (refused.status_code, KEPT in refused.text) == (401, False), each

    assert await kept(conn, alice) == []


async def test_a_form_that_is_too_large_to_be_kept_says_so(
    visit: Visit, alice: Person, conn: Conn, project: str
) -> None:
    refused = await send_too_late(
        await visit(alice), conn, project, "project-change", {"description": "x" * drafts.MAX_BYTES}
    )

    assert (refused.status_code, "What you typed could not be kept." in refused.text) == (401, True)
    assert way_back(refused) == project


@pytest.mark.parametrize("page", ["//evil.example", "https://evil.example", "plans\\x", "a b", "x" * 2000])
async def test_the_way_back_is_a_path_of_this_service(
    visit: Visit, alice: Person, conn: Conn, project: str, page: str
) -> None:
    refused = await send_too_late(await visit(alice), conn, project, "project-change", {"_page": page})

    assert refused.status_code == 401
    assert "evil.example" not in "".join(
        each for each in re.findall(r'value="([^"]*)"', refused.text) if not each.startswith("/console/")
    )


async def test_a_support_session_leaves_nothing_to_the_holder(alice: Person, conn: Conn, project: str) -> None:
    async with Visitor(alice, await alice.admit_support(may_write=True)) as support:
        refused = await send_too_late(support, conn, project, "project-change", {"description": NOTES})

    assert (refused.status_code, KEPT in refused.text) == (401, False)
    assert await kept(conn, alice) == []


@pytest.mark.maximum("form_drafts")
async def test_an_account_keeps_its_newest_forms(database: Database, alice: Person) -> None:
    keyring = alice.service.api.state.keyring
    own = {"keyring": keyring, "account_id": alice.account.id}
    async with database.transaction() as conn:
        made = [await drafts.keep(conn, **own, content=b"x") for _ in range(drafts.MAX_DRAFTS + 1)]
        found = [await drafts.find(conn, **own, draft_id=each) for each in made]

    assert found == [None, *[b"x"] * drafts.MAX_DRAFTS]
