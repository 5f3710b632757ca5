"""Deciders: who decides about plans of an account and from when, who is a person, what the permission opens."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from builders.app import Service
from builders.identity import accounts
from builders.identity.records import Preset, SessionKind
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.team import deciders
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.domains.make import assign
from tests.identity.make import need_person
from tests.identity.sign_in_messages import Postbox
from tests.plans.make import PLAN, manifest, unique_domain
from tests.portfolio.team.make import (
    APPROVER,
    appoint,
    code,
    confirm_path,
    join,
    list_deciders,
    member_path,
    of,
    reason,
)

LATER = deciders.WAIT + timedelta(seconds=1)


async def make_plan(person: Person) -> str:
    async with person.browser() as browser:
        answer = await browser.post(PLAN, json=manifest([]))
    assert answer.status_code == 200, answer.text
    return f"/v1/sandbox/plans/{answer.json()['id']}"


# Who decides, and from when.


async def test_a_new_account_decides_for_itself_at_once(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)

    async with alice.browser() as browser:
        assert (await browser.post(confirm_path(charlie))).status_code == 200


async def test_no_role_implies_the_permission(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "owner")

    assert list(await list_deciders(alice)) == [alice.account.email]


async def test_an_appointed_member_waits_a_day(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)

    found = (await list_deciders(alice))[charlie.account.email]

    since, start = (datetime.fromisoformat(found[name]) for name in ("since", "decides_from"))
    assert start - since == deciders.WAIT


async def test_a_new_decider_confirms_nobody_for_a_day(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)

    async with charlie.browser() as browser:
        answer = await browser.post(confirm_path(charlie), headers=of(alice))

    assert reason(answer) == (403, "person_required", "recent_change")


async def test_after_a_day_a_decider_confirms_others(alice: Person, charlie: Person, people: MakePerson) -> None:
    erin = await people("erin", Preset.DOMAINER_FULL)
    await appoint(alice, charlie)
    with clock.moved(LATER):
        await appoint(alice, erin)
        async with charlie.browser() as browser:
            answer = await browser.post(confirm_path(erin), headers=of(alice))

    assert answer.status_code == 200, answer.text


async def test_a_confirmed_decider_decides_at_once(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    async with alice.browser() as browser:
        confirmed = (await browser.post(confirm_path(charlie))).json()
    async with charlie.browser() as browser:
        answer = await browser.post(confirm_path(alice), headers=of(alice))

    assert confirmed["decides_from"] == confirmed["confirmed_at"]
    assert answer.status_code == 200


async def test_who_gets_another_address_waits_again(alice: Person, charlie: Person, database: Database) -> None:
    await appoint(alice, charlie)
    async with alice.browser() as browser:
        await browser.post(confirm_path(charlie))
    async with database.transaction() as conn:
        await accounts.change_email(conn, account_id=charlie.account.id, email=f"new-{charlie.account.email}")
    async with charlie.browser() as browser:
        answer = await browser.post(confirm_path(alice), headers=of(alice))

    assert reason(answer) == (403, "person_required", "recent_change")


async def test_the_holder_waits_after_a_new_address_too(
    alice: Person, charlie: Person, database: Database
) -> None:
    await appoint(alice, charlie)
    async with database.transaction() as conn:
        await accounts.change_email(conn, account_id=alice.account.id, email=f"new-{alice.account.email}")
    async with alice.browser() as browser:
        answer = await browser.post(confirm_path(charlie))

    assert reason(answer) == (403, "person_required", "recent_change")


async def test_nobody_decides_whose_mail_this_service_forwards(
    alice: Person, bob: Person, charlie: Person, database: Database, service: Service
) -> None:
    await appoint(alice, charlie)
    domain = unique_domain()
    await assign(service, bob, domain)
    async with database.transaction() as conn:
        await accounts.change_email(conn, account_id=alice.account.id, email=f"ada@{domain}")
    with clock.moved(LATER):
        async with alice.browser() as browser:
            answer = await browser.post(confirm_path(charlie))
        listed = await list_deciders(alice)

    assert reason(answer) == (403, "person_required", "forwarded_address")
    assert list(listed) == [charlie.account.email]


# What is a person.


@pytest.mark.parametrize("by_link", [True, False], ids=["link", "code"])
async def test_who_signs_in_by_mail_is_a_person(
    alice: Person, charlie: Person, anyone: Client, database: Database, settings: Settings, *, by_link: bool
) -> None:
    await appoint(alice, charlie)
    message = await Postbox(database, settings).ask(anyone, alice.account.email)
    proof = {"token": message.token} if by_link else {"email": message.to, "code": message.code}
    await anyone.post("/v1/auth/login/redeem", json=proof)
    answer = await anyone.post(confirm_path(charlie), headers={"Origin": "http://builders.test"})

    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("kind", [SessionKind.LOGIN, SessionKind.TOKEN])
async def test_a_bearer_token_is_no_person(alice: Person, charlie: Person, kind: SessionKind) -> None:
    await appoint(alice, charlie)
    async with Client(alice.service, token=(await alice.sign_in(kind=kind)).token) as client:
        answer = await client.post(confirm_path(charlie))

    assert reason(answer) == (403, "person_required", "token")


async def test_a_key_is_no_person(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)

    assert reason(await alice.post(confirm_path(charlie))) == (403, "person_required", "api_key")


async def test_a_session_that_the_operator_opened_is_no_person(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    async with alice.browser(kind=SessionKind.TOKEN) as browser:
        answer = await browser.post(confirm_path(charlie))

    assert reason(answer) == (403, "person_required", "token")


async def test_support_is_not_the_person(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    async with Client(alice.service, cookie=(await alice.admit_support(may_write=True)).token) as client:
        client.headers["Sec-Fetch-Site"] = "same-origin"
        answer = await client.post(confirm_path(charlie))

    assert reason(answer) == (403, "person_required", "support_session")


async def test_a_person_who_signed_in_earlier_signs_in_again(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    async with alice.browser() as browser:
        with clock.moved(timedelta(minutes=10, seconds=2)):
            answer = await browser.post(confirm_path(charlie))

    assert code(answer) == (401, "fresh_sign_in_required")
    assert answer.headers["WWW-Authenticate"].endswith('error="insufficient_user_authentication", max_age=600')
    assert "/v1/auth/login" in answer.json()["next_action"]


async def test_a_browser_shows_why_to_sign_in_again(alice: Person, charlie: Person) -> None:
    async with alice.browser() as browser:
        with clock.moved(timedelta(minutes=10, seconds=2)):
            headers = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
            answer = await browser.post(confirm_path(charlie), headers=headers)

    assert answer.status_code == 401
    assert "opened in the last 10 minutes" in answer.text


async def test_another_site_cannot_use_the_cookie(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    async with alice.browser() as browser:
        answer = await browser.post(confirm_path(charlie), headers={"Sec-Fetch-Site": "cross-site"})

    assert code(answer) == (403, "origin_forbidden")


async def test_a_stranger_finds_no_account(alice: Person, bob: Person) -> None:
    async with bob.browser() as browser:
        answer = await browser.post(confirm_path(alice), headers=of(alice))

    assert code(answer) == (404, "portfolio_not_found")


async def test_a_member_without_the_permission_does_not_decide(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "owner")
    async with charlie.browser() as browser:
        answer = await browser.post(confirm_path(alice), headers=of(alice))

    assert code(answer) == (403, "forbidden_role")
    assert answer.json()["permission"] == "approve_plans"


async def test_who_is_no_decider_is_not_confirmed(alice: Person, bob: Person) -> None:
    async with alice.browser() as browser:
        answer = await browser.post(confirm_path(bob))

    assert code(answer) == (404, "member_not_found")


# Refusals are audited.


async def list_refusals(person: Person) -> list[dict[str, Any]]:
    answer = await person.get("/v1/account/audit", params={"action": "decision.refused"})
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_a_refused_program_is_audited_once_in_a_while(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    for _ in range(3):
        await alice.post(confirm_path(charlie))
    async with Client(alice.service, token=(await alice.sign_in()).token) as bearer:
        await bearer.post(confirm_path(charlie))

    newest, first = await list_refusals(alice)
    request = f"POST {confirm_path(charlie)}"
    assert first["actor"]["type"] == "key"
    assert first["about"] == {"request": request, "code": "person_required", "reason": "api_key"}
    assert (newest["actor"]["type"], newest["about"]["reason"]) == ("user", "token")


async def test_a_refused_member_is_in_the_list_of_the_account(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)
    async with charlie.browser() as browser:
        await browser.post(confirm_path(alice), headers=of(alice))

    [refusal] = await list_refusals(alice)
    assert refusal["about"]["code"] == "forbidden_role"
    assert refusal["about"]["account_id"] == str(charlie.account.id)
    assert await list_refusals(charlie) == []


async def test_a_stranger_is_not_in_the_list_of_the_account(alice: Person, bob: Person) -> None:
    async with bob.browser() as browser:
        await browser.post(confirm_path(alice), headers=of(alice))
    await bob.post(confirm_path(alice), headers=of(alice))

    assert await list_refusals(alice) == []


async def test_a_refused_change_of_the_deciders_is_audited(
    alice: Person, charlie: Person, database: Database
) -> None:
    await join(alice, charlie)
    await need_person(database, alice)
    await alice.patch(member_path(charlie), json=APPROVER)

    [refusal] = await list_refusals(alice)
    assert refusal["about"]["request"] == f"PATCH {member_path(charlie)}"


# What the permission opens.


async def test_it_opens_a_plan(alice: Person, charlie: Person) -> None:
    path = await make_plan(alice)
    await appoint(alice, charlie)
    async with charlie.browser() as browser:
        answer = await browser.get(path, headers=of(alice))

    assert answer.status_code == 200, answer.text


async def test_it_opens_no_plan_to_a_key_of_the_member(alice: Person, charlie: Person) -> None:
    path = await make_plan(alice)
    await appoint(alice, charlie)

    assert reason(await charlie.get(path, headers=of(alice))) == (403, "person_required", "api_key")


async def test_without_it_a_member_reads_no_plan(alice: Person, charlie: Person) -> None:
    path = await make_plan(alice)
    await join(alice, charlie, "owner")
    async with charlie.browser() as browser:
        answer = await browser.get(path, headers=of(alice))

    assert code(answer) == (403, "forbidden_role")


async def test_a_stranger_reads_no_plan(alice: Person, bob: Person) -> None:
    path = await make_plan(alice)
    async with bob.browser() as browser:
        selected, own = await browser.get(path, headers=of(alice)), await browser.get(path)

    assert (code(selected), code(own)) == ((404, "portfolio_not_found"), (404, "plan_not_found"))


async def test_it_opens_nothing_else(alice: Person, charlie: Person) -> None:
    await make_plan(alice)
    await appoint(alice, charlie)
    async with charlie.browser() as browser:
        keys = (await browser.get("/v1/api-keys", headers=of(alice))).json()["items"]
        renamed = await browser.patch(member_path(charlie), json={"role": "owner"}, headers=of(alice))

    hers = (await alice.get("/v1/api-keys")).json()["items"]
    assert hers
    assert not [each for each in keys if each in hers]  # their own
    assert code(renamed) == (403, "forbidden_role")


async def test_a_stored_response_is_not_shown_after_it_was_taken(
    alice: Person, charlie: Person, people: MakePerson
) -> None:
    erin = await people("erin", Preset.DOMAINER_FULL)
    await appoint(alice, charlie)
    once = {**of(alice), "Idempotency-Key": "once"}
    with clock.moved(LATER):
        await appoint(alice, erin)
        async with charlie.browser() as browser:
            first = await browser.post(confirm_path(erin), headers=once)
            await alice.patch(member_path(charlie), json={"approve_plans": False})
            again = await browser.post(confirm_path(erin), headers=once)

    assert first.status_code == 200
    assert code(again) == (403, "forbidden_role")
