"""The team of a portfolio: members, roles, and portfolios of others."""

import asyncio
import json
from uuid import uuid4

import pytest

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.team.make import TEAM, code, invite, join, of


async def test_a_new_account_has_a_team_of_its_own(alice: Person) -> None:
    found = (await alice.get(TEAM)).json()
    assert found["team_id"] == found["owner_account_id"] == str(alice.account.id)
    assert found["your_role"] == "owner"
    assert [each["role"] for each in found["members"]] == ["owner"]
    assert found["count"] == 1
    assert found["memberships"] == found["invites"] == []
    assert set(found["roles"]) == {"owner", "admin", "manager", "accountant", "viewer"}
    assert "finance.view" not in found["roles"]["viewer"]


@pytest.mark.parametrize("portfolio", ["", "none", "0193a1b2-0000-7000-8000-000000000099"])
async def test_an_unknown_portfolio_is_not_found(alice: Person, portfolio: str) -> None:
    answer = await alice.get(TEAM, headers={"X-Portfolio-Account": portfolio})
    assert code(answer) == (404, "portfolio_not_found")


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


@pytest.mark.parametrize(
    ("role", "invited", "changed", "deleted", "sees_invites"),
    [
        # The statuses of invitations of an owner, admin, manager, accountant and viewer.
        pytest.param("owner", [201, 201, 201, 201, 201], 200, 204, True, id="an owner manages all members"),
        pytest.param("admin", [403, 201, 201, 201, 201], 403, 403, True, id="an admin manages all but owners"),
        pytest.param("manager", [403] * 5, 403, 403, False, id="a manager manages no member"),
        pytest.param("accountant", [403] * 5, 403, 403, False, id="an accountant manages no member"),
        pytest.param("viewer", [403] * 5, 403, 403, False, id="a viewer manages no member"),
    ],
)
async def test_what_a_role_may_do_in_the_team(
    role: str,
    invited: list[int],
    changed: int,
    deleted: int,
    alice: Person,
    bob: Person,
    charlie: Person,
    *,
    sees_invites: bool,
) -> None:
    await join(alice, charlie, role)
    for given, status in zip(ROLES, invited, strict=True):
        answer = await charlie.post(
            f"{TEAM}/invites", json={"email": bob.account.email, "role": given}, headers=of(alice)
        )
        assert answer.status_code == status, (given, answer.text)
        assert answer.json().get("code") == ("forbidden_role" if status == 403 else None)
    await join(alice, bob, "owner")
    path = f"{TEAM}/members/{bob.account.id}"
    answer = await charlie.patch(path, json={"role": "viewer", "note": "leaves"}, headers=of(alice))
    assert answer.status_code == changed
    answer = await charlie.delete(path, headers=of(alice))
    assert answer.status_code == deleted
    if not sees_invites:
        assert (await charlie.get(TEAM, headers=of(alice))).json()["invites"] == []


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


async def test_the_scope_is_needed(people: MakePerson) -> None:
    builder = await people("builder")
    assert code(await builder.get(TEAM)) == (403, "insufficient_scope")
