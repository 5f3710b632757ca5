"""What each role may do: its permissions, whom it may change, and which amounts it sees."""

from itertools import pairwise
from typing import Any

import pytest

from builders.portfolio.team.records import PERMISSIONS, Permission, TeamRole
from builders.portfolio.team.roles import DESCRIPTIONS, describe, list_permissions, may_assign
from tests.cast import Person
from tests.portfolio.team.make import TEAM, code, invite, join, of

DOMAINS = "/v1/portfolio/domains"
RANKED = list(TeamRole)
PRICED: dict[str, Any] = {"domain": "harbour.com", "renewal_price": {"amount": "43.21", "currency": "USD"}}


@pytest.mark.parametrize("permission", Permission)
def test_each_permission_is_described(permission: Permission) -> None:
    assert DESCRIPTIONS[permission].endswith(".")


@pytest.mark.parametrize(("higher", "lower"), list(pairwise(RANKED)))
def test_a_role_has_the_permissions_of_the_role_below_it(higher: TeamRole, lower: TeamRole) -> None:
    assert PERMISSIONS[lower] <= PERMISSIONS[higher]


@pytest.mark.parametrize(
    ("role", "lacking"),
    [
        ("owner", []),
        ("admin", []),
        ("manager", ["history.delete", "registrars.manage", "auth_codes.request", "team.manage"]),
        (
            "accountant",
            ["portfolio.edit", "history.delete", "registrars.manage", "auth_codes.request", "team.manage"],
        ),
        (
            "viewer",
            [
                *("finance.view", "portfolio.edit", "finance.edit", "history.delete"),
                *("registrars.manage", "auth_codes.request", "team.manage"),
            ],
        ),
    ],
)
def test_what_a_role_lacks(role: str, lacking: list[str]) -> None:
    held = list_permissions(TeamRole(role))
    assert [each for each in Permission if each not in held] == lacking


@pytest.mark.parametrize("role", TeamRole)
async def test_the_team_names_the_permissions_of_each_role(alice: Person, role: TeamRole) -> None:
    assert (await alice.get(TEAM)).json()["roles"][role] == [str(each) for each in list_permissions(role)]


@pytest.mark.parametrize("actor", TeamRole)
@pytest.mark.parametrize("role", TeamRole)
def test_a_role_assigns_roles_up_to_its_own(actor: TeamRole, role: TeamRole) -> None:
    manages = actor in {TeamRole.OWNER, TeamRole.ADMIN}
    assert may_assign(actor, role=role) == (manages and RANKED.index(role) >= RANKED.index(actor))


def test_the_table_of_the_docs_has_a_column_for_each_role() -> None:
    rows = {row[0]: row[2:] for row in describe()}
    assert rows["`finance.view`"] == ("yes", "yes", "yes", "yes", "")


@pytest.mark.parametrize(("role", "amount"), [("accountant", "43.21"), ("viewer", None)])
async def test_a_role_sees_amounts_or_null(alice: Person, charlie: Person, role: str, amount: str | None) -> None:
    await alice.post(DOMAINS, json=PRICED)
    await join(alice, charlie, role)
    [found] = (await charlie.get(DOMAINS, headers=of(alice))).json()["items"]
    assert (found["renewal_price"] or {}).get("amount") == amount


@pytest.mark.parametrize(("role", "status"), [("manager", 201), ("accountant", 403), ("viewer", 403)])
async def test_a_role_adds_domains_or_not(alice: Person, charlie: Person, role: str, status: int) -> None:
    await join(alice, charlie, role)
    added = await charlie.post(DOMAINS, json={"domain": "harbour.com"}, headers=of(alice))
    assert added.status_code == status


async def test_a_domain_that_a_member_adds_is_the_owners(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "manager")
    await charlie.post(DOMAINS, json={"domain": "harbour.com"}, headers=of(alice))
    shown = [(await each.get(DOMAINS)).json()["items"] for each in (alice, charlie)]
    assert [[row["domain"] for row in rows] for rows in shown] == [["harbour.com"], []]


async def test_a_new_role_counts_at_once(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "manager")
    await alice.patch(f"{TEAM}/members/{charlie.account.id}", json={"role": "viewer"})
    refused = await charlie.post(DOMAINS, json={"domain": "harbour.com"}, headers=of(alice))
    assert code(refused) == (403, "forbidden_role")


async def test_a_removed_member_sees_nothing_at_once(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "manager")
    await alice.delete(f"{TEAM}/members/{charlie.account.id}")
    assert code(await charlie.get(DOMAINS, headers=of(alice))) == (404, "portfolio_not_found")


@pytest.mark.parametrize("role", ["owner", "admin"])
async def test_a_role_that_manages_the_team_sees_its_invitations(
    alice: Person, bob: Person, charlie: Person, role: str
) -> None:
    await join(alice, charlie, role)
    made = await invite(alice, bob)
    seen = (await charlie.get(TEAM, headers=of(alice))).json()
    assert [each["id"] for each in seen["invites"]] == [made["id"]]


@pytest.mark.parametrize("role", RANKED[1:])
async def test_each_role_can_leave(alice: Person, charlie: Person, role: TeamRole) -> None:
    await join(alice, charlie, role)
    left = await charlie.delete(f"{TEAM}/members/{charlie.account.id}", headers=of(alice))
    assert left.status_code == 204


async def test_the_role_of_a_second_owner_can_be_changed(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "owner")
    changed = await alice.patch(f"{TEAM}/members/{charlie.account.id}", json={"role": "viewer"})
    assert changed.json()["role"] == "viewer"


async def test_a_second_owner_changes_owners(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, bob, "owner")
    await join(alice, charlie, "owner")
    changed = await charlie.patch(f"{TEAM}/members/{bob.account.id}", json={"role": "admin"}, headers=of(alice))
    assert changed.json()["role"] == "admin"
