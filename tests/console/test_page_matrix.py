"""Every page for every kind of person: who opens it, and that nobody else learns anything from it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import httpx
import pytest

from builders.console.actions import ACTIONS
from builders.console.pages import PAGES
from builders.identity.records import Preset
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.console.visitor import Visitor
from tests.forwarding.rules import mint, put_rule, receive
from tests.plans import make
from tests.plans.approval.make import ALWAYS, appoint, join_team, set_policy

Visit = Callable[[Person], Awaitable[Visitor]]
_DECIDING = ("plan-", "policy-", "decider-", "device-", "erasure-", "export-")
DECISIONS = {name for name in ACTIONS if name.startswith(_DECIDING)} - {"policy-change", "device-find"}


class Row(NamedTuple):
    """The status of a page: of the account's own, of others in the account's team space, and of others' own."""

    decider: int  # a member with `approve_plans`
    member: int  # of any role without it, and a stranger
    elsewhere: int  # the same address in the space of another account
    owner: int = 200
    support: int = 200
    signed_out: int = 401
    viewer: int | None = None  # a member who may not edit; None: as `member`
    accountant: int | None = None  # None: as `viewer`
    sandbox: int | None = None  # in the sandbox of another account; None: as elsewhere


LIST = Row(decider=404, member=404, elsewhere=200)  # shows what the account of the visitor has
ONE = Row(decider=404, member=404, elsewhere=404)
OF_TEAM = Row(decider=200, member=200, elsewhere=200)  # a list of the portfolio, for every role
# The address of each page below the first one, with ids of Alice, and what it answers. A new page needs a line.
EXPECTED: Mapping[str, tuple[str, Row]] = {
    "": ("", LIST),
    "search": ("search?q=ada", LIST),
    "search/{id}": ("search?q={names}", LIST),
    "claim": ("claim?local_part=zoe&domain=nowhere.example", LIST),
    "names": ("names", LIST),
    "names/{alias_id}": ("names/{names}", ONE),
    "names/{alias_id}/mail": ("names/{names}/mail", ONE),
    "names/{alias_id}/correspondents": ("names/{names}/correspondents", ONE),
    "mail/{alias_id}": ("mail/{names}", ONE._replace(support=403, sandbox=403)),  # the person in a fresh session
    "mail/{alias_id}/{message_id}": ("mail/{names}/{message}", ONE._replace(support=403, sandbox=403)),
    "plans": ("plans", Row(decider=200, member=403, elsewhere=200)),
    "plans/{plan_id}": ("plans/{waiting}", Row(decider=200, member=403, elsewhere=404)),
    "promotions/{promotion_id}": ("promotions/{promotions}", ONE),
    "domains": ("domains", LIST),
    "domains/{id}": ("domains/{domains}", ONE),
    "webhooks": ("webhooks", LIST),
    "webhooks/{webhook_id}": ("webhooks/{webhooks}", ONE),
    "deliveries": ("deliveries", LIST),
    "deliveries/{id}": ("deliveries/{deliveries}", ONE),
    "events": ("events", LIST),
    "keys": ("keys", LIST),
    "sessions": ("sessions", LIST),
    "emails": ("emails", LIST),
    "audit": ("audit", LIST),
    "projects": ("projects", LIST),
    "projects/{project_id}": ("projects/{projects}", ONE),
    "invoices": ("invoices", LIST),
    "invoices/{invoice_id}": ("invoices/{invoices}", ONE),
    "billing": ("billing", LIST),
    "account": ("account", LIST),
    "exports": ("exports", Row(decider=200, member=403, elsewhere=200)),
    "erasure": ("erasure", Row(decider=200, member=403, elsewhere=200)),
    "team": ("team", OF_TEAM),
    "approval": ("approval", Row(decider=200, member=403, elsewhere=200)),
    "portfolio": ("portfolio", OF_TEAM),
    "portfolio/domains": ("portfolio/domains", OF_TEAM),
    "portfolio/renewals": ("portfolio/renewals", OF_TEAM),
    "portfolio/parking": ("portfolio/parking", OF_TEAM),
    "portfolio/notices": ("portfolio/notices", OF_TEAM),
    "portfolio/import": ("portfolio/import", OF_TEAM),
    "portfolio/imports/{import_id}": (
        "portfolio/imports/{import}",
        Row(decider=403, member=200, elsewhere=404, viewer=403),
    ),
    "portfolio/registrars": ("portfolio/registrars", OF_TEAM),
    "portfolio/connect": ("portfolio/connect?provider=porkbun", OF_TEAM),
    "portfolio/registrars/bill": ("portfolio/registrars/bill", OF_TEAM),
    "portfolio/registrars/list": ("portfolio/registrars/list", OF_TEAM),
    "portfolio/parking/file": ("portfolio/parking/file", OF_TEAM),
    "portfolio/registrars/inventory": ("portfolio/registrars/inventory", OF_TEAM),
    "portfolio/registrars/charges": ("portfolio/registrars/charges", OF_TEAM),
    "portfolio/registrars/reconcile": ("portfolio/registrars/reconcile", OF_TEAM),
    "portfolio/runs/{run_id}": ("portfolio/runs/{run}", Row(decider=200, member=200, elsewhere=404)),
    "portfolio/domains/{domain_id}": (
        "portfolio/domains/{portfolio}",
        Row(decider=200, member=200, elsewhere=404),
    ),
    "portfolio/currencies": ("portfolio/currencies", OF_TEAM),
    "portfolio/entries": (
        "portfolio/entries",
        Row(decider=403, member=200, elsewhere=200, viewer=403, accountant=200),
    ),
    "portfolio/sale/{domain_id}": ("portfolio/sale/{portfolio}", Row(decider=200, member=200, elsewhere=404)),
    "portfolio/remove/{domain_id}": (
        "portfolio/remove/{portfolio}",
        Row(decider=200, member=200, elsewhere=404),
    ),
    "portfolio/history/{domain_id}": (
        "portfolio/history/{portfolio}",
        Row(decider=200, member=200, elsewhere=404),
    ),
    # Last, since a refusal of a person's page is in the audit list of who opened it.
    "connect/{asked_id}": ("connect/{machine}", ONE._replace(owner=404, support=403, sandbox=403)),  # no such
    "connections": ("connections", LIST),
    "device": ("device", LIST),
    "device/{request_id}": ("device/{machine}", ONE._replace(support=403, sandbox=403)),  # a person decides
}


@pytest.fixture
async def ids_of(
    alice: Person, charlie: Person, erin: Person, everything: dict[str, str], domain: str
) -> dict[str, str]:
    """Return ids of Alice's things; Charlie decides about her plans, Erin is on her team."""
    await join_team(alice, erin, "manager")
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    name, hook = {"id": everything["names"]}, {"id": everything["webhooks"]}
    assert (await put_rule(alice, name, hook, await mint(alice))).status_code == 200
    message = await receive(alice, everything["names"])
    planned = await make.plan(alice, make.alias(f"bea@{domain}", "private@example.net"))
    asked = (await alice.post("/v1/auth/device/authorize", json={"host": "ada-laptop"})).json()
    async with alice.browser() as browser:
        answer = await browser.post("/v1/auth/device/code", json={"user_code": asked["user_code"]})
    return {**everything, "waiting": planned["id"], "machine": answer.json()["id"], "message": message}


@pytest.fixture
async def erin(people: MakePerson) -> Person:
    return await people("erin", Preset.DOMAINER_FULL)


@pytest.fixture
def others(bob: Person, charlie: Person, erin: Person) -> Mapping[str, Person]:
    return {"bob": bob, "charlie": charlie, "erin": erin}


async def open_all(client: Client, space: str, ids_of: Mapping[str, str]) -> dict[str, httpx.Response]:
    """Return the answer of each page of a space."""
    found = {}
    for path, (address, _) in EXPECTED.items():
        target = f"{space}/{address.format_map(ids_of)}".removesuffix("/")
        found[path] = await client.get(target, headers={"Accept": ACCEPT})
    return found


def statuses(pages: Mapping[str, httpx.Response]) -> dict[str, int]:
    return {path: page.status_code for path, page in pages.items()}


def expected(column: str) -> dict[str, int]:
    return {path: getattr(row, column) for path, (_, row) in EXPECTED.items()}


def leaks(pages: Mapping[str, httpx.Response], alice: Person, ids_of: Mapping[str, str], domain: str) -> set[str]:
    """Return the pages that contain what only Alice's account knows, except what the request itself said."""
    names = {f"{each}@{domain}" for each in ("ada", "bea")}  # the domain itself is in the public catalog
    private = {alice.account.email, *names, "private@example.net", "Shop", "93.184.215.14", *ids_of.values()}
    found = set()
    for path, page in pages.items():
        asked = httpx.URL(page.request.url).raw_path.decode()
        if any(each in page.text for each in private if each not in asked):
            found.add(path)
    return found


def test_every_page_is_in_the_table() -> None:
    assert EXPECTED.keys() == {each.path for each in PAGES}


async def test_the_owner_opens_every_page(visit: Visit, alice: Person, ids_of: dict[str, str]) -> None:
    found = await open_all(await visit(alice), "/console", ids_of)

    assert statuses(found) == expected("owner")
    assert "/do/plan-approve" in found["plans/{plan_id}"].text


async def test_a_decider_opens_plans_and_the_policy_of_the_team(
    visit: Visit, alice: Person, charlie: Person, ids_of: dict[str, str], domain: str
) -> None:
    found = await open_all(await visit(charlie), f"/console/of/{alice.account.id}", ids_of)

    assert statuses(found) == expected("decider")
    refused = {path: page for path, page in found.items() if page.status_code != 200}
    assert not leaks(refused, alice, ids_of, domain)
    assert "/do/plan-approve" in found["plans/{plan_id}"].text


@pytest.mark.parametrize("role", ["admin", "manager", "accountant", "viewer"])
async def test_a_member_without_the_permission_opens_only_the_portfolio(
    visit: Visit, alice: Person, erin: Person, ids_of: dict[str, str], domain: str, role: str
) -> None:
    async with alice.browser() as browser:
        path = f"/v1/portfolio/team/members/{erin.account.id}"
        assert (await browser.patch(path, json={"role": role})).is_success
    found = await open_all(await visit(erin), f"/console/of/{alice.account.id}", ids_of)

    viewer = {path: row.viewer for path, (_, row) in EXPECTED.items() if row.viewer}
    viewer |= {path: row.accountant for path, (_, row) in EXPECTED.items() if row.accountant and role != "viewer"}
    assert statuses(found) == expected("member") | (viewer if role in {"accountant", "viewer"} else {})
    refused = {path: page for path, page in found.items() if page.status_code != 200}
    assert not leaks(refused, alice, ids_of, domain)


async def test_a_stranger_opens_nothing_of_an_account(
    visit: Visit, alice: Person, bob: Person, ids_of: dict[str, str], domain: str
) -> None:
    found = await open_all(await visit(bob), f"/console/of/{alice.account.id}", ids_of)

    assert statuses(found) == dict.fromkeys(EXPECTED, 404)
    assert not leaks(found, alice, ids_of, domain)


@pytest.mark.parametrize("space", ["/console", "/console/test"])
@pytest.mark.parametrize("name", ["bob", "erin", "charlie"])
async def test_ids_of_another_account_open_nothing_in_an_own_space(
    visit: Visit,
    alice: Person,
    others: Mapping[str, Person],
    ids_of: dict[str, str],
    domain: str,
    name: str,
    space: str,
) -> None:
    found = await open_all(await visit(others[name]), space, ids_of)

    in_sandbox = {path: row.sandbox for path, (_, row) in EXPECTED.items() if row.sandbox}
    assert statuses(found) == expected("elsewhere") | (in_sandbox if space.endswith("test") else {})
    of_team = {"team"} if name != "bob" else set()  # the page of one's memberships names their owners
    assert leaks(found, alice, ids_of, domain) <= of_team


async def test_who_is_signed_out_is_asked_to_sign_in(
    anyone: Client, alice: Person, ids_of: dict[str, str], domain: str
) -> None:
    for space in ("/console", "/console/test", f"/console/of/{alice.account.id}"):
        found = await open_all(anyone, space, ids_of)
        assert statuses(found) == expected("signed_out")
        assert not leaks(found, alice, ids_of, domain)


@pytest.mark.parametrize("may_write", [False, True])
async def test_support_sees_every_page_with_a_banner_and_decides_nothing(
    alice: Person, ids_of: dict[str, str], *, may_write: bool
) -> None:
    async with Visitor(alice, await alice.admit_support(may_write=may_write)) as support:
        found = await open_all(support, "/console", ids_of)

    assert statuses(found) == expected("support")
    assert all("Support session of sam@vendor.example" in page.text for page in found.values())
    shown = {name for page in found.values() for name in re.findall(r'/do/([\w-]+)"', page.text)}
    assert not shown & DECISIONS
