"""Invitations: bad input, strangers, supporters, pages, and what the mail and the audit list say."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.portfolio.team.make import TEAM, code, invite, join, of

INVITES, ACCEPT, JOIN = f"{TEAM}/invites", f"{TEAM}/accept", f"{TEAM}/join"
BROWSER = {"Accept": "text/html", "Origin": "http://builders.test"}
AUDIT = "SELECT about ->> 'email', about ->> 'role' FROM identity_audit WHERE account_id = %s AND action = %s"


async def token_of(owner: Person, person: Person, role: str = "viewer") -> dict[str, str]:
    """Return the body that accepts a new invitation."""
    return {"token": (await invite(owner, person, role))["accept_token"]}


@pytest.mark.parametrize(
    ("body", "member"),
    [
        pytest.param({}, "email", id="without an address"),
        pytest.param({"email": "nobody"}, "email", id="an address without a domain"),
        pytest.param({"email": "a@b.example", "role": "king"}, "role", id="an unknown role"),
        pytest.param({"email": "a@b.example", "role": None}, "role", id="no role"),
        pytest.param({"email": "a@b.example", "message": ""}, "message", id="an empty message"),
        pytest.param({"email": "a@b.example", "message": "x" * 501}, "message", id="a message that is too long"),
        pytest.param({"email": "a@b.example", "expires_in_hours": 0}, "expires_in_hours", id="no time"),
        pytest.param({"email": "a@b.example", "expires_in_hours": 721}, "expires_in_hours", id="too much time"),
        pytest.param({"email": "a@b.example", "expires_in_hours": "24"}, "expires_in_hours", id="time as text"),
    ],
)
async def test_an_invalid_invitation_is_refused_at_its_member(
    alice: Person, body: dict[str, Any], member: str
) -> None:
    answer = await alice.post(INVITES, json=body)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", member]]


async def test_an_invitation_is_for_a_viewer_and_a_week_by_default(alice: Person) -> None:
    before = clock.now()

    made = (await alice.post(INVITES, json={"email": "someone@harbour.example"})).json()

    assert made["role"] == "viewer"
    assert made["invited_by"] == str(alice.account.id)
    assert made["expires_at"] >= (before + timedelta(hours=168)).isoformat()[:19]


async def test_an_invitation_ends_after_the_hours_that_were_asked_for(alice: Person, charlie: Person) -> None:
    made = await invite(alice, charlie, expires_in_hours=1)
    clock.move(timedelta(hours=1, seconds=1))

    assert code(await charlie.post(ACCEPT, json={"token": made["accept_token"]})) == (410, "invite_expired")


async def test_the_address_is_compared_in_its_canonical_form(alice: Person, charlie: Person) -> None:
    made = (await alice.post(INVITES, json={"email": f" {charlie.account.email.upper()} "})).json()

    assert made["email"] == charlie.account.email
    assert (await charlie.post(ACCEPT, json={"token": made["accept_token"]})).status_code == 200


async def test_an_expired_invitation_makes_room_for_a_new_one(alice: Person, charlie: Person) -> None:
    await invite(alice, charlie, expires_in_hours=1)
    clock.move(timedelta(hours=2))
    made = await invite(alice, charlie, "manager")

    accepted = await charlie.post(ACCEPT, json={"token": made["accept_token"]})

    assert accepted.json()["role"] == "manager"


async def test_an_unknown_member_of_an_invitation_is_a_warning(alice: Person, charlie: Person) -> None:
    made = await invite(alice, charlie, greeting="hi")

    assert [(each["field"], each["did_you_mean"]) for each in made["warnings"]] == [("greeting", None)]


async def test_a_stranger_revokes_no_invitation(alice: Person, bob: Person, charlie: Person) -> None:
    made = await invite(alice, charlie)

    assert code(await bob.delete(f"{INVITES}/{made['id']}")) == (404, "invite_not_found")
    assert code(await bob.delete(f"{INVITES}/{made['id']}", headers=of(alice))) == (404, "portfolio_not_found")
    assert (await charlie.post(ACCEPT, json={"token": made["accept_token"]})).status_code == 200


async def test_a_stranger_invites_nobody(alice: Person, bob: Person) -> None:
    answer = await bob.post(INVITES, json={"email": bob.account.email, "role": "owner"}, headers=of(alice))

    assert code(answer) == (404, "portfolio_not_found")


async def test_an_account_cannot_invite_itself(alice: Person) -> None:
    answer = await alice.post(INVITES, json={"email": alice.account.email})

    assert code(answer) == (409, "already_member")
    assert "members" in answer.json()["next_action"]


async def test_an_account_that_is_a_member_does_not_join_again(alice: Person, charlie: Person, conn: Conn) -> None:
    token = await token_of(alice, charlie)
    await conn.execute(
        "INSERT INTO portfolio_team_members (account_id, member_id, role, joined_at)"
        " VALUES (%s, %s, 'viewer', now())",
        [alice.account.id, charlie.account.id],
    )

    assert code(await charlie.post(ACCEPT, json=token)) == (409, "already_member")


async def test_two_invitations_of_one_address_at_once_are_one(alice: Person, charlie: Person) -> None:
    body = {"email": charlie.account.email}

    answers = await asyncio.gather(*(alice.post(INVITES, json=body) for _ in range(4)))

    assert {each.status_code for each in answers} == {201}
    assert len({each.json()["id"] for each in answers}) == 1
    accepted = [await charlie.post(ACCEPT, json={"token": each.json()["accept_token"]}) for each in answers]
    assert sorted(each.status_code for each in accepted) == [200, 400, 400, 400]


async def test_the_audit_list_has_the_masked_address(alice: Person, charlie: Person, conn: Conn) -> None:
    await invite(alice, charlie, "manager")

    found = await (await conn.execute(AUDIT, [alice.account.id, "team.member_invited"])).fetchall()

    assert found == [(f"c***@{charlie.account.email.partition('@')[2]}", "manager")]


async def test_support_does_not_invite(alice: Person, charlie: Person) -> None:
    support = await alice.admit_support(may_write=True)
    async with Client(alice.service, token=support.token) as client:
        answer = await client.post(INVITES, json={"email": charlie.account.email})

    assert answer.status_code == 403
    assert (await alice.get(TEAM)).json()["invites"] == []


@pytest.mark.parametrize("token", ["", "x" * 7, "x" * 201, None])
async def test_a_malformed_token_is_refused(charlie: Person, token: str | None) -> None:
    assert (await charlie.post(ACCEPT, json={"token": token})).status_code == 422


async def test_the_token_of_the_sandbox_names_the_credentials_it_needs(alice: Person, charlie: Person) -> None:
    made = await invite(alice.test, charlie)

    answer = await charlie.post(ACCEPT, json={"token": made["accept_token"]})

    assert answer.json()["next_action"] == "Accept it with test credentials."


async def test_the_refusal_of_another_address_shows_none(alice: Person, bob: Person, charlie: Person) -> None:
    answer = await bob.post(ACCEPT, json=await token_of(alice, charlie))

    assert code(answer) == (403, "invite_other_address")
    assert charlie.account.email not in answer.text


async def test_the_scope_is_needed_to_join(alice: Person, people: MakePerson) -> None:
    builder = await people("builder", Preset.DEVELOPER_FULL)

    answer = await builder.post(ACCEPT, json=await token_of(alice, builder))

    assert code(answer) == (403, "insufficient_scope")
    assert "team:write" in answer.text


async def test_without_credentials_nobody_joins(alice: Person, anyone: Client, charlie: Person) -> None:
    answer = await anyone.post(ACCEPT, json=await token_of(alice, charlie))

    assert answer.status_code == 401


async def test_opening_the_page_does_not_join(alice: Person, charlie: Person) -> None:
    token = await token_of(alice, charlie)

    shown = await charlie.get(JOIN, params=token, headers=BROWSER)

    assert "Accept only an invitation that you expect." in shown.text
    assert (await alice.get(TEAM)).json()["count"] == 1


@pytest.mark.parametrize("kind", ["used", "foreign", "unknown"])
async def test_the_page_says_why_an_invitation_is_refused(
    alice: Person, bob: Person, charlie: Person, kind: str
) -> None:
    token = await token_of(alice, bob if kind == "foreign" else charlie)
    if kind == "used":
        await charlie.post(ACCEPT, json=token)
        await charlie.delete(f"{TEAM}/members/{charlie.account.id}", headers=of(alice))

    answer = await charlie.post(JOIN, data={"token": "x" * 43} if kind == "unknown" else token, headers=BROWSER)

    assert answer.status_code == {"used": 409, "foreign": 403, "unknown": 400}[kind]
    assert "You have not joined" in answer.text


async def test_a_program_gets_the_refusal_of_the_page_as_json(charlie: Person) -> None:
    answer = await charlie.get(JOIN, params={"token": "x" * 43}, headers={"Accept": "application/json"})

    assert code(answer) == (400, "token_invalid")


async def test_another_site_cannot_accept_in_the_browser_of_a_member(alice: Person, charlie: Person) -> None:
    token, session = await token_of(alice, charlie), await charlie.sign_in()
    async with Client(alice.service, cookie=session.token) as client:
        answer = await client.post(JOIN, data=token, headers={**BROWSER, "Origin": "https://evil.example"})

    assert answer.status_code == 403
    assert (await alice.get(TEAM)).json()["count"] == 1


async def test_an_unknown_invitation_is_not_found(alice: Person) -> None:
    assert code(await alice.delete(f"{INVITES}/{uuid4()}")) == (404, "invite_not_found")


async def test_an_accepted_invitation_cannot_be_revoked(alice: Person, charlie: Person) -> None:
    made = await invite(alice, charlie)
    await charlie.post(ACCEPT, json={"token": made["accept_token"]})

    assert code(await alice.delete(f"{INVITES}/{made['id']}")) == (404, "invite_not_found")


async def test_an_account_that_joins_again_has_the_role_of_the_new_invitation(
    alice: Person, charlie: Person
) -> None:
    await join(alice, charlie, "admin")
    await alice.delete(f"{TEAM}/members/{charlie.account.id}")

    await join(alice, charlie, "viewer")

    assert (await charlie.get(TEAM, headers=of(alice))).json()["your_role"] == "viewer"
