"""Members: bad input, strangers, leaving, memberships in other portfolios, and what the audit list says."""

import asyncio
from datetime import datetime
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from tests.cast import Client, Person
from tests.portfolio.team.make import TEAM, code, invite, join, of

AUDIT = "SELECT about FROM identity_audit WHERE account_id = %s AND action = %s"


def path_of(person: Person) -> str:
    """Return the path of a person as a member."""
    return f"{TEAM}/members/{person.account.id}"


@pytest.mark.parametrize(
    ("body", "member"),
    [
        pytest.param({"role": "king"}, "role", id="an unknown role"),
        pytest.param({"role": None}, "role", id="no role"),
        pytest.param({"note": ""}, "note", id="an empty note"),
        pytest.param({"note": "x" * 501}, "note", id="a note that is too long"),
        pytest.param({"note": 1}, "note", id="a number as a note"),
    ],
)
async def test_an_invalid_change_is_refused_at_its_member(
    alice: Person, charlie: Person, body: dict[str, Any], member: str
) -> None:
    await join(alice, charlie)

    answer = await alice.patch(path_of(charlie), json=body)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", member]]


async def test_a_change_of_nothing_is_refused(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)

    assert (await alice.patch(path_of(charlie), json={})).status_code == 422


async def test_an_id_that_is_none_is_refused(alice: Person) -> None:
    assert (await alice.patch(f"{TEAM}/members/nobody", json={"role": "admin"})).status_code == 422


async def test_a_stranger_changes_no_member(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie)

    answer = await bob.patch(path_of(charlie), json={"role": "owner"}, headers=of(alice))

    assert code(answer) == (404, "portfolio_not_found")


async def test_a_stranger_removes_no_member(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie)

    assert code(await bob.delete(path_of(charlie), headers=of(alice))) == (404, "portfolio_not_found")
    assert (await alice.get(TEAM)).json()["count"] == 2


async def test_a_member_of_another_team_is_not_found(alice: Person, bob: Person, charlie: Person) -> None:
    await join(bob, charlie)

    assert code(await alice.delete(path_of(charlie))) == (404, "member_not_found")


async def test_a_viewer_can_leave(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)

    assert (await charlie.delete(path_of(charlie), headers=of(alice))).status_code == 204

    assert code(await charlie.get(TEAM, headers=of(alice))) == (404, "portfolio_not_found")


async def test_a_member_that_left_has_no_membership(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)
    await charlie.delete(path_of(charlie), headers=of(alice))

    assert (await charlie.get(TEAM)).json()["memberships"] == []


async def test_leaving_twice_is_not_found(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)
    answers = [await charlie.delete(path_of(charlie), headers=of(alice)) for _ in range(2)]

    assert [each.status_code for each in answers] == [204, 404]


async def test_of_two_removals_at_once_one_finds_the_member(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)

    answers = await asyncio.gather(*(alice.delete(path_of(charlie)) for _ in range(3)))

    assert sorted(each.status_code for each in answers) == [204, 404, 404]


async def test_a_member_that_is_removed_meanwhile_changes_nobody(
    alice: Person, bob: Person, charlie: Person
) -> None:
    await join(alice, bob)
    await join(alice, charlie, "admin")

    removed, changed = await asyncio.gather(
        alice.delete(path_of(charlie)), charlie.patch(path_of(bob), json={"role": "manager"}, headers=of(alice))
    )

    assert removed.status_code == 204
    assert changed.status_code in {200, 403, 404}
    [role] = [each["role"] for each in (await alice.get(TEAM)).json()["members"] if each["role"] != "owner"]
    assert role == ("manager" if changed.status_code == 200 else "viewer")


async def test_an_admin_does_not_promote_to_owner(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, bob)
    await join(alice, charlie, "admin")

    answer = await charlie.patch(path_of(bob), json={"role": "owner"}, headers=of(alice))

    assert code(answer) == (403, "forbidden_role")
    assert answer.json()["next_action"] == "Ask an owner of the team."


async def test_an_admin_can_make_another_admin(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, bob)
    await join(alice, charlie, "admin")

    answer = await charlie.patch(path_of(bob), json={"role": "admin"}, headers=of(alice))

    assert answer.json()["role"] == "admin"


async def test_a_change_of_role_is_in_the_audit_list_of_the_owner(
    alice: Person, charlie: Person, conn: Conn
) -> None:
    await join(alice, charlie)
    await alice.patch(path_of(charlie), json={"role": "manager"})

    [(about,)] = await (await conn.execute(AUDIT, [alice.account.id, "team.role_changed"])).fetchall()

    assert about == {"member_id": str(charlie.account.id), "role": "manager", "previous_role": "viewer"}


async def test_a_removal_is_in_the_audit_list_of_the_owner(alice: Person, charlie: Person, conn: Conn) -> None:
    await join(alice, charlie, "accountant")
    await alice.delete(path_of(charlie))

    [(about,)] = await (await conn.execute(AUDIT, [alice.account.id, "team.member_removed"])).fetchall()

    assert about == {"member_id": str(charlie.account.id), "role": "accountant"}


async def test_a_note_alone_is_not_in_the_audit_list(alice: Person, charlie: Person, conn: Conn) -> None:
    await join(alice, charlie)
    await alice.patch(path_of(charlie), json={"note": "Books the renewals."})

    assert await (await conn.execute(AUDIT, [alice.account.id, "team.role_changed"])).fetchall() == []


async def test_support_changes_no_member(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)
    support = await alice.admit_support(may_write=True)
    async with Client(alice.service, token=support.token) as client:
        answer = await client.patch(path_of(charlie), json={"role": "owner"})

    assert answer.status_code == 403


async def test_the_owner_joined_when_the_account_was_created(alice: Person) -> None:
    [owner] = (await alice.get(TEAM)).json()["members"]

    assert datetime.fromisoformat(owner["joined_at"]) == alice.account.created_at
    assert (owner["email"], owner["name"], owner["status"]) == (alice.account.email, "Alice", "active")


async def test_members_are_listed_as_they_joined(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie)
    await join(alice, bob)

    members = (await alice.get(TEAM)).json()["members"]

    assert [each["name"] for each in members] == ["Alice", "Charlie", "Bob"]


async def test_memberships_name_their_owners(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie, "manager")
    await join(bob, charlie, "viewer")

    found = (await charlie.get(TEAM)).json()["memberships"]

    assert [(each["owner_name"], each["owner_email"], each["role"]) for each in found] == [
        ("Alice", alice.account.email, "manager"),
        ("Bob", bob.account.email, "viewer"),
    ]


async def test_a_membership_is_selected_by_the_id_that_it_shows(alice: Person, charlie: Person) -> None:
    await join(alice, charlie)
    [membership] = (await charlie.get(TEAM)).json()["memberships"]

    team = await charlie.get(TEAM, headers={"X-Portfolio-Account": membership["owner_account_id"]})

    assert team.json()["team_id"] == membership["team_id"]


async def test_the_own_id_selects_the_own_portfolio(alice: Person) -> None:
    assert (await alice.get(TEAM, headers=of(alice))).json()["your_role"] == "owner"


async def test_a_sandbox_account_cannot_be_selected(alice: Person, charlie: Person) -> None:
    made = await invite(alice.test, charlie)
    await charlie.test.post(f"{TEAM}/accept", json={"token": made["accept_token"]})

    answer = await charlie.test.get(TEAM, headers={"X-Portfolio-Account": str(alice.account.sandbox_id)})

    assert code(answer) == (404, "portfolio_not_found")


@pytest.mark.parametrize("role", ["manager", "accountant", "viewer"])
async def test_a_role_without_permission_is_told_which_it_lacks(alice: Person, charlie: Person, role: str) -> None:
    await join(alice, charlie, role)

    answer = await charlie.patch(path_of(charlie), json={"note": "x"}, headers=of(alice))

    assert (answer.json()["role"], answer.json()["permission"]) == (role, "team.manage")


async def test_without_credentials_the_team_is_not_shown(anyone: Client) -> None:
    assert (await anyone.get(TEAM)).status_code == 401
