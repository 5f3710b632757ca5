"""Deciders: who decides about plans of an account and from when, who changes that, and what it opens."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from builders.app import Service
from builders.identity import accounts, people as guard
from builders.identity.records import Preset, SessionKind
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import OPERATOR, Actor
from builders.kit.values import clock
from builders.portfolio.team import deciders
from builders.portfolio.team.errors import LastOwner
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.domains.make import assign
from tests.identity.make import need_person
from tests.kit.db.locks import waiting
from tests.portfolio.team.make import TEAM, code, invite, join, of
from tests.sandbox.make import PLAN, manifest, unique_domain

DECIDERS = "/v1/account/deciders"
LINKS = "SELECT FROM profile_tokens WHERE account_id = %s"
AUDIT = "SELECT actor_type, about FROM identity_audit WHERE account_id = %s AND action = %s"
APPROVER: dict[str, Any] = {"approve_plans": True}
LATER = timedelta(hours=24, seconds=1)


def member_path(person: Person) -> str:
    return f"{TEAM}/members/{person.account.id}"


def confirm_path(person: Person) -> str:
    return f"{DECIDERS}/{person.account.id}/confirm"


def reason(answer: httpx.Response) -> tuple[int, str, str]:
    return (*code(answer), answer.json().get("reason"))


async def appoint(owner: Person, member: Person) -> None:
    """Make a member of the team a decider."""
    await join(owner, member)
    async with owner.browser() as browser:
        answer = await browser.patch(member_path(member), json=APPROVER)
    assert answer.status_code == 200, answer.text


async def make_plan(person: Person) -> str:
    async with person.browser() as browser:
        answer = await browser.post(PLAN, json=manifest([]))
    assert answer.status_code == 200, answer.text
    return f"/v1/sandbox/plans/{answer.json()['id']}"


async def list_deciders(person: Person, of_account: Person | None = None) -> dict[str, Any]:
    """Return the deciders of the person's account, or of another one, by address."""
    async with person.browser() as browser:
        answer = await browser.get(DECIDERS, headers=of(of_account) if of_account else {})
    assert answer.status_code == 200, answer.text
    return {each["email"]: each for each in answer.json()["items"]}


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
        plans = (await browser.get("/v1/sandbox/plans", headers=of(alice))).json()["items"]
        renamed = await browser.patch(member_path(charlie), json={"role": "owner"}, headers=of(alice))

    assert plans == []  # their own
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


# Who gives and takes it.


async def test_only_the_account_itself_gives_it(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "owner")
    async with charlie.browser() as browser:
        answer = await browser.patch(member_path(charlie), json=APPROVER, headers=of(alice))

    assert code(answer) == (403, "forbidden_role")


async def test_only_the_account_itself_invites_a_decider(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie, "owner")
    async with charlie.browser() as browser:
        body = {"email": bob.account.email, **APPROVER}
        answer = await browser.post(f"{TEAM}/invites", json=body, headers=of(alice))

    assert code(answer) == (403, "forbidden_role")


async def test_an_owner_of_the_team_removes_no_decider(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, bob, "owner")
    await appoint(alice, charlie)
    async with bob.browser() as browser:
        answer = await browser.delete(member_path(charlie), headers=of(alice))

    assert code(answer) == (403, "forbidden_role")


async def test_an_invitation_gives_it(alice: Person, charlie: Person) -> None:
    made = await invite(alice, charlie, **APPROVER)
    await charlie.post(f"{TEAM}/accept", json={"token": made["accept_token"]})

    assert charlie.account.email in await list_deciders(alice)


async def test_a_membership_shows_it(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)

    [mine] = (await charlie.get(TEAM)).json()["memberships"]
    [own, member] = (await alice.get(TEAM)).json()["members"]

    assert (mine["approve_plans"], own["approve_plans"], member["approve_plans"]) == (True, True, True)


@pytest.mark.parametrize("given", [True, False])
async def test_giving_and_taking_it_is_audited(alice: Person, charlie: Person, conn: Conn, *, given: bool) -> None:
    await appoint(alice, charlie)
    if not given:
        await alice.patch(member_path(charlie), json={"approve_plans": False})

    action = "decider.added" if given else "decider.removed"
    rows = await (await conn.execute(AUDIT, (alice.account.id, action))).fetchall()
    assert rows == [("user" if given else "key", {"member_id": str(charlie.account.id)})]


# While plans need an approval.


Change = Callable[[Client, Person], Awaitable[httpx.Response]]
CHANGES: Mapping[str, Change] = {
    "giving": lambda client, member: client.patch(member_path(member), json=APPROVER),
    "taking": lambda client, member: client.patch(member_path(member), json={"approve_plans": False}),
    "removing": lambda client, member: client.delete(member_path(member)),
    "inviting": lambda client, _: client.post(f"{TEAM}/invites", json={"email": "eve@example.net", **APPROVER}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_a_key_changes_no_decider(
    alice: Person, charlie: Person, database: Database, change: Change
) -> None:
    await appoint(alice, charlie)
    await need_person(database, alice)

    assert reason(await change(alice, charlie)) == (403, "person_required", "api_key")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_a_person_changes_deciders_soon_after_signing_in(
    alice: Person, charlie: Person, database: Database, change: Change
) -> None:
    await appoint(alice, charlie)
    await need_person(database, alice)
    async with alice.browser() as browser:
        with clock.moved(timedelta(minutes=10, seconds=2)):
            late = await change(browser, charlie)
        soon = await change(browser, charlie)

    assert code(late) == (401, "fresh_sign_in_required")
    assert soon.is_success, soon.text


async def test_without_such_a_policy_a_key_changes_deciders(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)

    assert (await alice.patch(member_path(charlie), json=APPROVER)).json()["approve_plans"] is True


async def test_a_key_still_removes_a_member_without_the_permission(
    alice: Person, charlie: Person, database: Database
) -> None:
    await join(alice, charlie)
    await need_person(database, alice)

    assert (await alice.delete(member_path(charlie))).status_code == 204


async def test_a_decider_leaves_in_a_session_of_their_own(
    alice: Person, charlie: Person, database: Database
) -> None:
    await appoint(alice, charlie)
    await need_person(database, alice)
    by_key = await charlie.delete(member_path(charlie), headers=of(alice))
    async with charlie.browser() as browser:
        answer = await browser.delete(member_path(charlie), headers=of(alice))

    assert (code(by_key), answer.status_code) == ((403, "person_required"), 204)


@pytest.mark.parametrize("change", [CHANGES["taking"], CHANGES["removing"]], ids=["taking", "removing"])
async def test_a_removal_that_leaves_too_few_changes_nothing(
    alice: Person, charlie: Person, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    async def require_two(conn: Conn, account_id: UUID) -> None:
        if len(await deciders.list_deciders(conn, account_id=account_id)) < 2:
            raise LastOwner("The policy requires two deciders.")

    await appoint(alice, charlie)
    monkeypatch.setattr(deciders, "removal_checks", [require_two])
    answer = await change(alice, charlie)

    assert answer.status_code == 409
    assert charlie.account.email in await list_deciders(alice)


async def test_the_first_policy_keeps_only_the_chosen_deciders(
    alice: Person, bob: Person, charlie: Person, people: MakePerson, database: Database
) -> None:
    erin = await people("erin", Preset.DOMAINER_FULL)
    for member in (bob, charlie):
        await appoint(alice, member)
    made = await invite(alice, erin, **APPROVER)
    async with database.transaction() as conn:
        await guard.lock(conn, account_id=alice.account.id)
        await deciders.begin_approval(conn, account_id=alice.account.id, kept=[charlie.account.id], actor=OPERATOR)
    await erin.post(f"{TEAM}/accept", json={"token": made["accept_token"]})

    assert set(await list_deciders(alice)) == {alice.account.email, charlie.account.email}


async def test_the_first_policy_ends_what_a_key_can_have_prepared(
    alice: Person, conn: Conn, database: Database
) -> None:
    mine, other = await alice.sign_in(), await alice.sign_in()
    await alice.admit_support()
    await alice.patch("/v1/me", json={"email": f"new-{alice.account.email}"})
    actor = Actor(type="user", id=mine.session.id, signed_in_at=mine.session.created_at)
    async with database.transaction() as own:
        await guard.lock(own, account_id=alice.account.id)
        await deciders.begin_approval(own, account_id=alice.account.id, kept=[], actor=actor)

    sessions = (await alice.get("/v1/auth/sessions")).json()["items"]
    assert [each["id"] for each in sessions] == [str(mine.session.id)]
    assert (await alice.get("/v1/me")).json()["pending_email"] is None
    assert await (await conn.execute(LINKS, [alice.account.id])).fetchall() == []
    ended = await (await conn.execute(AUDIT, (alice.account.id, "session.ended"))).fetchall()
    assert ("user", {"session_id": str(other.session.id), "kind": "login"}) in ended


async def test_a_first_policy_at_the_same_time_leaves_no_unnoticed_decider(
    alice: Person, charlie: Person, database: Database
) -> None:
    await join(alice, charlie)
    async with database.transaction() as conn:
        await guard.lock(conn, account_id=alice.account.id)
        giving = asyncio.create_task(alice.patch(member_path(charlie), json=APPROVER))
        async with database.connection() as other:
            while not await waiting(other):
                pass
        await guard.set_needed(conn, account_id=alice.account.id, needed=True)

    assert reason(await giving) == (403, "person_required", "api_key")
