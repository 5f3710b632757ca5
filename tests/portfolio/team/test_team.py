"""The team of a portfolio: invitations, roles, removal, and portfolios of others."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import MakePerson

TEAM = "/v1/portfolio/team"


@pytest.fixture
async def alice(people: MakePerson) -> Person:
    return await people("alice", Preset.DOMAINER_FULL)


@pytest.fixture
async def bob(people: MakePerson) -> Person:
    return await people("bob", Preset.DOMAINER_FULL)


@pytest.fixture
async def charlie(people: MakePerson) -> Person:
    return await people("charlie", Preset.DOMAINER_FULL)


def of(owner: Person) -> dict[str, str]:
    return {"X-Portfolio-Account": str(owner.account.id)}


async def invite(owner: Client, person: Person, role: str = "viewer", **more: Any) -> dict[str, Any]:
    body = {"email": person.account.email, "role": role, **more}
    answer = await owner.post(f"{TEAM}/invites", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def join(owner: Person, person: Person, role: str = "viewer") -> None:
    made = await invite(owner, person, role)
    answer = await person.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert answer.status_code == 200, answer.text


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_a_new_account_has_a_team_of_its_own(alice: Person) -> None:
    found = (await alice.get(TEAM)).json()
    assert found["team_id"] == found["owner_account_id"] == str(alice.account.id)
    assert found["your_role"] == "owner"
    assert [each["role"] for each in found["members"]] == ["owner"]
    assert found["count"] == 1
    assert found["memberships"] == found["invites"] == []
    assert set(found["roles"]) == {"owner", "admin", "manager", "accountant", "viewer"}
    assert "finance.view" not in found["roles"]["viewer"]


async def test_an_invited_account_joins_and_selects_the_portfolio(
    alice: Person, bob: Person, charlie: Person
) -> None:
    made = await invite(alice, charlie, "accountant")
    assert made["status"] == "pending"
    assert [each["id"] for each in (await alice.get(TEAM)).json()["invites"]] == [made["id"]]
    assert code(await charlie.get(TEAM, headers=of(alice))) == (404, "portfolio_not_found")

    accepted = await charlie.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert accepted.json()["team_id"] == str(alice.account.id)
    assert accepted.json()["member"]["email"] == charlie.account.email
    repeated = await charlie.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert repeated.json() == accepted.json()

    team = (await charlie.get(TEAM, headers=of(alice))).json()
    assert team["your_role"] == "accountant"
    assert [each["account_id"] for each in team["members"]] == [str(alice.account.id), str(charlie.account.id)]
    [membership] = (await charlie.get(TEAM)).json()["memberships"]
    assert membership["owner_account_id"] == str(alice.account.id)
    assert membership["role"] == "accountant"
    assert code(await bob.get(TEAM, headers=of(alice))) == (404, "portfolio_not_found")


@pytest.mark.parametrize("portfolio", ["", "none", "0193a1b2-0000-7000-8000-000000000099"])
async def test_an_unknown_portfolio_is_not_found(alice: Person, portfolio: str) -> None:
    answer = await alice.get(TEAM, headers={"X-Portfolio-Account": portfolio})
    assert code(answer) == (404, "portfolio_not_found")


async def test_only_the_invited_verified_address_can_accept(
    alice: Person, bob: Person, people: MakePerson
) -> None:
    unverified = await people("una", Preset.DOMAINER_FULL, verified=False)
    token = {"token": (await invite(alice, unverified))["accept_token"]}
    assert code(await bob.post(f"{TEAM}/accept", json=token)) == (403, "invite_other_address")
    assert code(await unverified.post(f"{TEAM}/accept", json=token)) == (403, "email_unverified")
    assert code(await bob.post(f"{TEAM}/accept", json={"token": "x" * 43})) == (400, "token_invalid")
    assert (await alice.get(TEAM)).json()["count"] == 1


async def test_an_invitation_that_is_renewed_has_a_new_token(alice: Person, charlie: Person) -> None:
    first = await invite(alice, charlie)
    second = await invite(alice, charlie, "manager")
    assert second["id"] == first["id"]
    old = await charlie.post(f"{TEAM}/accept", json={"token": first["accept_token"]})
    assert code(old) == (400, "token_invalid")
    new = await charlie.post(f"{TEAM}/accept", json={"token": second["accept_token"]})
    assert new.json()["role"] == "manager"
    again = await alice.post(f"{TEAM}/invites", json={"email": charlie.account.email})
    assert code(again) == (409, "already_member")


async def test_an_expired_or_revoked_invitation_is_gone(alice: Person, bob: Person, charlie: Person) -> None:
    revoked, late = await invite(alice, bob), await invite(alice, charlie)
    path = f"{TEAM}/invites/{revoked['id']}"
    assert code(await charlie.delete(path)) == (404, "invite_not_found")
    assert (await alice.delete(path)).status_code == 204
    assert code(await alice.delete(path)) == (404, "invite_not_found")
    assert code(await alice.delete(f"{TEAM}/invites/none")) == (404, "invite_not_found")
    answer = await bob.post(f"{TEAM}/accept", json={"token": revoked["accept_token"]})
    assert code(answer) == (410, "invite_expired")
    clock.move(timedelta(hours=169))
    answer = await charlie.post(f"{TEAM}/accept", json={"token": late["accept_token"]})
    assert code(answer) == (410, "invite_expired")
    assert (await alice.get(TEAM)).json()["invites"] == []


async def test_an_invitation_ends_with_the_right_to_invite(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie, "owner")
    body = {"email": bob.account.email, "role": "owner"}
    token = {"token": (await charlie.post(f"{TEAM}/invites", json=body, headers=of(alice))).json()["accept_token"]}
    path = f"{TEAM}/members/{charlie.account.id}"
    await alice.patch(path, json={"role": "admin"})
    assert code(await bob.post(f"{TEAM}/accept", json=token)) == (410, "invite_expired")
    await alice.delete(path)
    assert code(await bob.post(f"{TEAM}/accept", json=token)) == (410, "invite_expired")


async def test_an_invitation_is_accepted_once(alice: Person, charlie: Person) -> None:
    token = {"token": (await invite(alice, charlie))["accept_token"]}
    answers = await asyncio.gather(*(charlie.post(f"{TEAM}/accept", json=token) for _ in range(4)))
    assert {each.status_code for each in answers} == {200}
    assert (await alice.get(TEAM)).json()["count"] == 2
    own = f"{TEAM}/members/{charlie.account.id}"
    assert (await charlie.delete(own, headers=of(alice))).status_code == 204
    assert code(await charlie.post(f"{TEAM}/accept", json=token)) == (409, "invite_used")


async def test_the_own_account_stays_owner(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "owner")
    own = f"{TEAM}/members/{alice.account.id}"
    for who, headers in ((alice, {}), (charlie, of(alice))):
        assert code(await who.patch(own, json={"role": "viewer"}, headers=headers)) == (409, "last_owner")
        assert code(await who.delete(own, headers=headers)) == (409, "last_owner")
    assert code(await alice.post(f"{TEAM}/invites", json={"email": alice.account.email})) == (
        409,
        "already_member",
    )


async def test_of_two_owners_who_demote_each_other_one_stays(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, bob, "owner")
    await join(alice, charlie, "owner")
    pairs = [(bob, charlie), (charlie, bob)]
    answers = await asyncio.gather(
        *(
            who.patch(f"{TEAM}/members/{whom.account.id}", json={"role": "viewer"}, headers=of(alice))
            for who, whom in pairs
        )
    )
    assert sorted(each.status_code for each in answers) == [200, 403]
    members = (await alice.get(TEAM)).json()["members"]
    assert sorted(each["role"] for each in members) == ["owner", "owner", "viewer"]


ROLES = ("owner", "admin", "manager", "accountant", "viewer")


@pytest.mark.parametrize("role", ROLES)
async def test_what_a_role_may_do_in_the_team(role: str, alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie, role)
    manages = role in {"owner", "admin"}
    for given in ROLES:
        may = manages and (role == "owner" or given != "owner")
        answer = await charlie.post(
            f"{TEAM}/invites", json={"email": bob.account.email, "role": given}, headers=of(alice)
        )
        assert answer.status_code == (201 if may else 403), (given, answer.text)
        if not may:
            assert answer.json()["code"] == "forbidden_role"
    await join(alice, bob, "owner")
    path = f"{TEAM}/members/{bob.account.id}"
    expected = 200 if role == "owner" else 403
    answer = await charlie.patch(path, json={"role": "viewer", "note": "leaves"}, headers=of(alice))
    assert answer.status_code == expected
    answer = await charlie.delete(path, headers=of(alice))
    assert answer.status_code == {"owner": 204, "admin": 403}.get(role, 403)
    assert ((await charlie.get(TEAM, headers=of(alice))).json()["invites"] == []) or manages


async def test_a_change_of_role_keeps_the_note(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)
    path = f"{TEAM}/members/{charlie.account.id}"
    noted = await alice.patch(path, json={"role": "manager", "note": "Books the renewals."})
    assert noted.json()["note"] == "Books the renewals."
    kept = await alice.patch(path, json={"role": "admin"})
    assert (kept.json()["role"], kept.json()["note"]) == ("admin", "Books the renewals.")
    cleared = await alice.patch(path, json={"role": "admin", "note": None})
    assert cleared.json()["note"] is None
    assert code(await alice.patch(f"{TEAM}/members/{uuid4()}", json={"role": "admin"})) == (
        404,
        "member_not_found",
    )
    noted = await alice.patch(path, json={"note": "x"})
    assert (noted.json()["role"], noted.json()["note"]) == ("admin", "x")
    assert (await alice.patch(path, json={"role": None})).status_code == 422


async def test_the_sandbox_has_a_team_of_its_own(alice: Person, charlie: Person) -> None:
    made = await invite(alice.test, charlie)
    assert code(await charlie.post(f"{TEAM}/accept", json={"token": made["accept_token"]})) == (
        400,
        "token_invalid",
    )
    joined = await charlie.test.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert joined.json()["team_id"] == str(alice.account.id)
    assert (await charlie.test.get(TEAM, headers=of(alice))).json()["count"] == 2
    assert code(await charlie.get(TEAM, headers=of(alice))) == (404, "portfolio_not_found")
    assert (await alice.get(TEAM)).json()["count"] == 1
    assert (await charlie.get(TEAM)).json()["memberships"] == []
    assert len((await charlie.test.get(TEAM)).json()["memberships"]) == 1


async def test_each_change_is_an_event(alice: Person, charlie: Person, bob: Person, conn: Conn) -> None:
    revoked = await invite(alice, bob)
    await alice.delete(f"{TEAM}/invites/{revoked['id']}")
    await join(alice, charlie)
    path = f"{TEAM}/members/{charlie.account.id}"
    for _ in range(2):  # the second changes nothing
        await alice.patch(path, json={"role": "manager"})
    await alice.delete(path)

    found = await conn.execute(
        "SELECT name, data FROM kit_outbox WHERE account_id = %s AND name LIKE 'portfolio.%%' ORDER BY id",
        [alice.account.id],
    )
    events = [(name, json.loads(data)) for name, data in await found.fetchall()]
    assert [name.removeprefix("portfolio.team.") for name, _ in events] == [
        *("invited", "invite_revoked", "invited", "joined", "role_changed", "member_removed")
    ]
    assert events[0][1]["email"] == f"b***@{bob.account.email.partition('@')[2]}"
    assert events[4][1] == {
        "account_id": str(charlie.account.id),
        "role": "manager",
        "previous_role": "viewer",
    }


async def test_an_invitation_is_mailed_with_its_link(alice: Person, charlie: Person, conn: Conn) -> None:
    sent = "SELECT recipient FROM mail_messages WHERE account_id = ANY(%s) AND letter = 'team_invite'"
    await invite(alice.test, charlie)
    own = [[alice.account.id, alice.account.sandbox_id]]
    assert await (await conn.execute(sent, own)).fetchall() == []
    await invite(alice, charlie, message="Please help with the renewals.")
    assert len(await (await conn.execute(sent, own)).fetchall()) == 1


async def test_the_scope_is_needed(people: MakePerson) -> None:
    builder = await people("builder")
    assert code(await builder.get(TEAM)) == (403, "insufficient_scope")


async def test_the_token_of_an_invitation_is_not_replayed(alice: Person, charlie: Person) -> None:
    headers = {"Idempotency-Key": "invite-1"}
    body = {"email": charlie.account.email}
    first = await alice.post(f"{TEAM}/invites", json=body, headers=headers)
    second = await alice.post(f"{TEAM}/invites", json=body, headers=headers)
    assert second.json() == {name: value for name, value in first.json().items() if name != "accept_token"}


async def test_the_page_of_an_invitation(alice: Person, charlie: Person) -> None:
    token = (await invite(alice, charlie, "manager"))["accept_token"]
    session = await charlie.sign_in()
    browser = {"Accept": "text/html"}
    async with Client(alice.service, cookie=session.token) as client:
        shown = await client.get(f"{TEAM}/join", params={"token": token}, headers=browser)
        assert shown.status_code == 200
        assert "role manager" in shown.text
        own = {**browser, "Origin": "http://builders.test"}
        joined = await client.post(f"{TEAM}/join", data={"token": token}, headers=own)
        assert "Welcome to the team" in joined.text
        bad = await client.get(f"{TEAM}/join", params={"token": "x" * 43}, headers=browser)
        assert bad.status_code == 400
        assert "You have not joined" in bad.text
    assert (await charlie.get(TEAM, headers=of(alice))).json()["your_role"] == "manager"
    async with Client(alice.service) as stranger:
        asked = await stranger.get(f"{TEAM}/join", params={"token": token}, headers=browser)
        assert asked.status_code == 401
        assert "Sign in" in asked.text
