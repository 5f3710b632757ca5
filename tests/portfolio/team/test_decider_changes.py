"""Changes of the deciders of an account: who may make them, and what they need while plans need an approval."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from uuid import UUID

import httpx
import pytest

from builders.identity import accounts, people as guard
from builders.identity.records import Preset
from builders.kit.callers import OPERATOR, Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.team import deciders
from builders.portfolio.team.errors import LastOwner
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.domains.make import assign
from tests.identity.make import need_person
from tests.kit.db.locks import waiting
from tests.plans.make import unique_domain
from tests.portfolio.team.make import (
    APPROVER,
    TEAM,
    appoint,
    code,
    invite,
    join,
    list_deciders,
    member_path,
    of,
    reason,
)

LINKS = "SELECT FROM profile_tokens WHERE account_id = %s"
AUDIT = "SELECT actor_type, about FROM identity_audit WHERE account_id = %s AND action = %s"


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


@pytest.mark.parametrize("how", ["renewing", "revoking"])
async def test_a_key_takes_no_permission_from_an_invitation(
    alice: Person, charlie: Person, database: Database, how: str
) -> None:
    made = await invite(alice, charlie, **APPROVER)
    await need_person(database, alice)
    if how == "renewing":
        answer = await alice.post(f"{TEAM}/invites", json={"email": charlie.account.email})
    else:
        answer = await alice.delete(f"{TEAM}/invites/{made['id']}")

    assert reason(answer) == (403, "person_required", "api_key")


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


async def test_the_last_decider_leaves_an_account_whose_plans_need_no_approval(
    alice: Person, bob: Person, charlie: Person, database: Database
) -> None:
    domain = unique_domain()
    await assign(alice.service, bob, domain)
    async with database.transaction() as conn:
        await accounts.change_email(conn, account_id=alice.account.id, email=f"ada@{domain}")
    await appoint(alice, charlie)

    assert list(await list_deciders(alice)) == [charlie.account.email]
    assert (await alice.delete(member_path(charlie))).status_code == 204


async def require_two(conn: Conn, *, account_id: UUID) -> None:
    if len(await deciders.list_deciders(conn, account_id=account_id)) < 2:
        raise LastOwner("The policy requires two deciders.")


@pytest.mark.parametrize("change", [CHANGES["taking"], CHANGES["removing"]], ids=["taking", "removing"])
async def test_a_removal_that_leaves_too_few_changes_nothing(
    alice: Person, charlie: Person, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    await appoint(alice, charlie)
    monkeypatch.setattr(deciders, "removal_checks", [require_two])
    answer = await change(alice, charlie)

    assert answer.status_code == 409
    assert charlie.account.email in await list_deciders(alice)


async def test_two_removals_at_once_leave_enough(
    alice: Person, bob: Person, charlie: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    for member in (bob, charlie):
        await appoint(alice, member)
    monkeypatch.setattr(deciders, "removal_checks", [require_two])
    answers = await asyncio.gather(*(alice.delete(member_path(member)) for member in (bob, charlie)))

    assert sorted(each.status_code for each in answers) == [204, 409]


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
    about = {"session_id": str(other.session.id), "kind": "login", "signed_in_by": "mail_code"}
    assert ("user", about) in ended


async def test_a_new_address_at_the_same_time_is_refused(alice: Person, database: Database) -> None:
    own = {"account_id": alice.account.id}
    async with database.transaction() as conn:
        await guard.lock(conn, **own)
        moving = asyncio.create_task(alice.patch("/v1/me", json={"email": f"new-{alice.account.email}"}))
        async with database.connection() as other:
            while not (moving.done() or await waiting(other)):
                pass
        await deciders.begin_approval(conn, **own, kept=[], actor=OPERATOR)

    assert reason(await moving) == (403, "person_required", "api_key")


async def test_a_first_policy_at_the_same_time_leaves_no_unnoticed_decider(
    alice: Person, charlie: Person, database: Database
) -> None:
    await join(alice, charlie)
    async with database.transaction() as conn:
        await guard.lock(conn, account_id=alice.account.id)
        giving = asyncio.create_task(alice.patch(member_path(charlie), json=APPROVER))
        async with database.connection() as other:
            while not (giving.done() or await waiting(other)):
                pass
        await guard.set_needed(conn, account_id=alice.account.id, needed=True)

    assert reason(await giving) == (403, "person_required", "api_key")
