"""The team of a portfolio, as a page: roles are changed, also by an admin in the space of the account."""

import re
from collections.abc import Awaitable, Callable

import pytest

from builders.identity.records import Preset
from tests.cast import Person
from tests.conftest import MakePerson
from tests.console.visitor import Visitor
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]
MANAGES = {"member-change", "member-remove", "member-invite"}


async def role_of(owner: Person, member: Person) -> str:
    async with owner.browser() as api:
        members = (await api.get("/v1/portfolio/team")).json()["members"]
    return str(next(each["role"] for each in members if each["account_id"] == str(member.account.id)))


def role_form(member: Person) -> dict[str, str]:
    return {"member_account_id": str(member.account.id), "role": "accountant"}


async def test_a_role_is_changed(browser: Visitor, alice: Person, charlie: Person) -> None:
    await join_team(alice, charlie, "viewer")
    page = await browser.open("/console/team")
    assert f'aria-label="Role of {charlie.account.email}"' in page.text
    after = await browser.submit(page, "member-change", **role_form(charlie))

    assert "The member is changed." in after.text
    assert await role_of(alice, charlie) == "accountant"


async def test_an_admin_manages_the_team_of_the_account(
    visit: Visit, alice: Person, charlie: Person, people: MakePerson
) -> None:
    erin = await people("erin", Preset.DOMAINER_FULL)
    await join_team(alice, charlie, "admin")
    await join_team(alice, erin, "viewer")
    admin, space = await visit(charlie), f"/console/of/{alice.account.id}"
    page = await admin.open(f"{space}/team")
    await admin.submit(page, "member-change", **role_form(erin))

    assert await role_of(alice, erin) == "accountant"
    assert f'href="{space}/team"' in (await admin.open(f"{space}/portfolio")).text
    assert "approve_plans" not in page.text  # only the account itself gives the permission


@pytest.mark.parametrize("role", ["manager", "accountant", "viewer"])
async def test_other_members_see_who_is_on_the_team(
    visit: Visit, alice: Person, charlie: Person, role: str
) -> None:
    await join_team(alice, charlie, role)
    page = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/team")

    assert alice.account.email in page.text
    assert not {*re.findall(r"/do/([a-z-]+)", page.text)} & MANAGES
