"""The complete export: only a person has it, the same session collects it, twice at most."""

from datetime import timedelta
from typing import Any

import pytest

from builders.exports import tables
from builders.identity.records import Preset
from builders.kit.callers import FRESH_FOR
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.exports.test_exports import PARTS, PROJECTS, collect, make_projects, refusal, show
from tests.plans.approval.make import ALWAYS, appoint, set_policy
from tests.portfolio.team.make import code, of

PATH = "/v1/account/exports/complete"
Json = dict[str, Any]


async def ask(client: Client, owner: Person | None = None) -> Json:
    answer = await client.post(PATH, headers=of(owner) if owner else {})
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


async def export(client: Client, person: Person, settings: Settings) -> Json:
    """Ask for it and let the worker write it."""
    asked = await ask(client)
    await queue.run_pending(person.service.api.state.database, settings)
    return asked


@pytest.fixture
async def charlie(people: MakePerson) -> Person:
    return await people("charlie", Preset.DOMAINER_FULL)


@pytest.mark.parametrize("how", ["key", "token", "support"])
async def test_only_a_person_asks(alice: Person, how: str) -> None:
    match how:
        case "key":
            answer = await alice.post(PATH)
        case "token":
            async with Client(alice.service, token=(await alice.sign_in()).token) as client:
                answer = await client.post(PATH)
        case _:
            support = await alice.admit_support(may_write=True)
            async with Client(alice.service, cookie=support.token) as client:
                client.headers["Sec-Fetch-Site"] = "same-origin"
                answer = await client.post(PATH)
    assert code(answer) == (403, "person_required")


async def test_the_session_is_fresh(alice: Person) -> None:
    async with alice.browser() as browser:
        clock.move(FRESH_FOR + timedelta(minutes=1))
        assert code(await browser.post(PATH)) == (401, "fresh_sign_in_required")


async def test_it_holds_the_lists_with_audit_connections_and_sessions(alice: Person, settings: Settings) -> None:
    projects = await make_projects(alice, 2)
    async with alice.browser() as browser:
        first, items = await collect(browser, await export(browser, alice, settings))

    parts = {each for each in first["parts"] if not each.startswith(tables.PREFIX)}
    assert PARTS | {"account_list_audit", "auth_list_connections", "auth_list_sessions"} == parts
    assert items[PROJECTS] == projects
    assert items["auth_list_sessions"]
    assert items["account_list_audit"]


async def test_it_is_collected_twice_at_most(alice: Person, settings: Settings) -> None:
    async with alice.browser() as browser:
        asked = await export(browser, alice, settings)
        await collect(browser, asked)
        await collect(browser, asked)
        assert await refusal(browser, asked) == (404, "export_not_found")


async def test_nobody_but_the_session_that_asked_collects_it(alice: Person, settings: Settings) -> None:
    new = await alice.sign_in()
    async with (
        Client(alice.service, cookie=new.token) as browser,
        Client(alice.service, token=new.token) as program,
        alice.browser() as other,
    ):
        browser.headers["Sec-Fetch-Site"] = "same-origin"
        asked = await export(browser, alice, settings)
        assert await refusal(program, asked) == (403, "person_required")
        assert [await refusal(each, asked) for each in (other, alice)] == [(404, "export_not_found")] * 2
        assert (await browser.get(f"/v1/account/exports/{asked['id']}/content")).status_code == 200


async def test_after_24_hours_it_is_gone(alice: Person, settings: Settings) -> None:
    async with alice.browser() as browser:
        asked = await export(browser, alice, settings)
        assert [each["id"] for each in (await alice.get(PATH)).json()["items"]] == [asked["id"]]
        clock.move(timedelta(hours=24))
        assert (await alice.get(PATH)).json()["items"] == []


async def test_a_second_one_waits_for_the_first(alice: Person) -> None:
    async with alice.browser() as browser:
        await ask(browser)
        assert code(await browser.post(PATH)) == (409, "export_running")


async def test_one_that_nobody_confirmed_hinders_none_after_24_hours(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, approvals=2, own_plans="allow", deciders=[str(charlie.account.id)])
    clock.move(timedelta())
    async with alice.browser() as browser:
        assert (await ask(browser))["state"] == "asked"
    clock.move(timedelta(hours=24))
    async with alice.browser() as browser:
        asked = await ask(browser)
    assert [each["id"] for each in (await alice.get(PATH)).json()["items"]] == [asked["id"]]


async def test_as_many_deciders_as_the_policy_confirm_it(
    alice: Person, charlie: Person, settings: Settings
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, approvals=2, own_plans="allow", deciders=[str(charlie.account.id)])
    async with alice.browser() as browser, charlie.browser() as decider:
        asked = await export(browser, alice, settings)
        assert asked["state"] == "asked"
        assert (await ask(decider, alice))["state"] == "running"
        await queue.run_pending(alice.service.api.state.database, settings)
        assert await show(browser, asked) == ("ready", None)
        assert await refusal(decider, asked) == (404, "export_not_found")


async def test_a_decider_does_not_ask(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    async with charlie.browser() as decider:
        assert code(await decider.post(PATH, headers=of(alice))) == (403, "forbidden_role")
