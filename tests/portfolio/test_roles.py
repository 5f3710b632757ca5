"""Who may do what in a portfolio: each operation for each role, a stranger and a test key.

The annotation of a handler names its scope and its permission; roles.toml has what is sent.
"""

import json
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from builders.app import ROUTERS, Service
from builders.identity.records import Preset
from builders.kit.http.routes import Route
from builders.kit.values import clock, ids
from builders.portfolio.team.records import PERMISSIONS, Permission, TeamRole
from tests.cast import Client, Person, make_person
from tests.portfolio.team.make import code, join, of

ROLES = tuple(role.value for role in TeamRole)
ACTORS = (*ROLES, "stranger", "test-key")
OPERATIONS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("roles.toml").read_text(encoding="utf-8"))
AMOUNT, SHARE = "4321.09", "12.34"  # of all domains: no identifier contains them
DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
ROUTES = {
    f"{method} {route.path}": route
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, Route) and route.path.startswith("/v1/portfolio")
    for method in route.methods or ()
}
# About the account of the caller, or about an invitation that the token names: no portfolio is selected.
WITHOUT_PORTFOLIO = {
    "GET /v1/portfolio/renewals.ics",
    "GET /v1/portfolio/team/join",
    "GET /v1/portfolio/webhooks/catalog",
    "POST /v1/portfolio/team/accept",
    "POST /v1/portfolio/team/join",
    "POST /v1/portfolio/webhooks/{webhook_id}/test",
}
REFUSALS = {403: "forbidden_role", 404: "portfolio_not_found"}  # when other callers succeed


@dataclass(frozen=True, slots=True)
class Team:
    """A portfolio, those who call, and what each of them asks about."""

    headers: Mapping[str, str]  # select the portfolio
    actors: Mapping[str, Client]
    unscoped: Client  # a key without the scopes of the portfolio
    subjects: Mapping[str, Mapping[str, str]]  # path parameters of each actor

    async def request(self, client: Client, operation: str, actor: str) -> httpx.Response:
        """Send an operation with what the actor asks about."""
        row = OPERATIONS[operation]
        method, path = operation.split()
        values = {**self.subjects[actor], "actor": actor}
        values |= {name: _filled(row[name], values) for name in values.keys() & row.keys()}
        sent = json.loads(_filled(json.dumps(row.get("body")), values))
        content = {"data": sent} if path.endswith("/join") else {"json": sent}
        return await client.request(
            method, _filled(path, values), params=row.get("query"), headers=self.headers, **content
        )


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


@pytest.fixture(scope="module")
async def team(service: Service) -> AsyncIterator[Team]:
    """The portfolio of Alice, with a member of each role."""
    async with AsyncExitStack() as stack:

        async def person(name: str, preset: Preset = Preset.DOMAINER_FULL) -> Person:
            made = await make_person(service, name=name, preset=preset)
            return await stack.enter_async_context(made)

        alice, bob, dana = await person("alice"), await person("bob"), await person("dana", Preset.DEVELOPER_FULL)
        members = {role: await person(role) for role in ROLES}
        for role, member in members.items():
            await join(alice, member, role)
        newcomers = [await person("newcomer") for _ in range(5)]
        for newcomer in newcomers:
            await join(alice, newcomer)
        changed = dict(zip(("owner", "admin"), newcomers[:2], strict=True))
        removed = dict(zip(("owner", "admin"), newcomers[2:4], strict=True))
        yield Team(
            headers=of(alice),
            actors={**members, "stranger": bob, "test-key": members["owner"].test},
            unscoped=dana,
            subjects={
                actor: {
                    **await _subjects(alice, actor),
                    "member_account_id": str(changed.get(actor, newcomers[4]).account.id),
                    "removed_member_id": str(removed.get(actor, newcomers[4]).account.id),
                }
                for actor in ACTORS
            },
        )


async def _subjects(alice: Person, actor: str) -> Mapping[str, str]:
    expires_at = (clock.now() + timedelta(days=10)).isoformat()
    money = {"amount": AMOUNT, "currency": "USD"}
    prices = dict.fromkeys(("renewal_price", "asking_price", "min_offer", "estimated_value", "purchase"), money)
    rest = {"ownership": "consigned", "revenue_share": SHARE, "expires_at": expires_at}
    harbour, day = f"harbour-{actor}.com", clock.now().date().isoformat()
    for domain in (harbour, f"old-{actor}.com"):
        await _post(alice, "domains", {"domain": domain, **prices, **rest})
    await _post(alice, "parking/revenue", {"domain": harbour, "date": day, **money, "visits": 10, "clicks": 1})
    imported = await _post(alice, "import", {"domains": [f"undone-{actor}.com"]})
    invited = await _post(alice, "team/invites", {"email": f"{actor}-{ids.new()}@example.net"})
    charged = await _post(
        alice, "registrars/billing/import", {"rows": [{"date": day, "domain": harbour, **money}]}
    )
    saved = await alice.put(f"/v1/portfolio/formats/old-{actor}", json={})
    assert saved.is_success, saved.text
    return {
        "name": f"new-{actor}",
        "domain_id": harbour,
        "charge_id": charged["results"][0]["id"],
        "import_id": imported["import_id"],
        "invite_id": invited["id"],
        "webhook_id": str(ids.new()),
        "provider": "manual:park.io",
    }


async def _post(alice: Person, path: str, body: object) -> dict[str, Any]:
    answer = await alice.post(f"/v1/portfolio/{path}", json=body)
    assert answer.is_success, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_no_operation_is_missing() -> None:
    paths = json.loads(DOCUMENT.read_text(encoding="utf-8"))["paths"]
    documented = {
        f"{method.upper()} {path}"
        for path, item in paths.items()
        if path.startswith("/v1/portfolio")
        for method in item.keys() & {"get", "post", "put", "patch", "delete"}
    }
    assert documented == OPERATIONS.keys()


def test_each_operation_on_a_portfolio_names_a_permission() -> None:
    without = {name for name, route in ROUTES.items() if route.needs is None or route.needs.permission is None}
    assert without == WITHOUT_PORTFOLIO


def _expected(operation: str) -> Mapping[str, int]:
    """Return the status for each caller."""
    row, route = OPERATIONS[operation], ROUTES[operation]
    if "status" in row:
        return dict.fromkeys(ACTORS, row["status"])
    assert route.needs is not None
    assert route.needs.permission is not None
    needed = {Permission(route.needs.permission), Permission(row.get("permission", route.needs.permission))}
    success = row.get("success", route.status_code or 200)
    of_roles = {role: success if needed <= PERMISSIONS[TeamRole(role)] else 403 for role in ROLES}
    return {**of_roles, "stranger": 404, "test-key": 404}


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_who_may(team: Team, operation: str) -> None:
    row = OPERATIONS[operation]
    if not row.get("public"):
        assert code(await team.request(team.unscoped, operation, "stranger")) == (403, "insufficient_scope")
    expected = _expected(operation)
    for actor, status in expected.items():
        answer = await team.request(team.actors[actor], operation, actor)
        assert answer.status_code == status, (actor, answer.text)
        if status in REFUSALS and status != expected["owner"]:
            assert code(answer) == (status, REFUSALS[status]), actor
        if row.get("money") and actor in ROLES:
            assert _shows_money(answer) is (actor != "viewer"), (actor, answer.text)
            if "json" in answer.headers["content-type"]:
                assert ('"redacted":["finance"]' in answer.text) is (actor == "viewer"), actor


def _shows_money(answer: httpx.Response) -> bool:
    """Return whether a reply contains money, or a text that says something about it."""
    if AMOUNT in answer.text or SHARE in answer.text:
        return True
    return "json" in answer.headers["content-type"] and any(_list_money(answer.json()))


def _list_money(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        if value.keys() == {"amount", "currency"}:
            yield value
        for each in value.values():
            yield from _list_money(each)
    elif isinstance(value, list):
        for each in value:
            yield from _list_money(each)


async def test_a_member_has_a_portfolio_of_their_own(team: Team) -> None:
    for role in ROLES:
        assert (await team.actors[role].get("/v1/portfolio/domains")).json()["items"] == []
