"""A connection is a key: it acts, spends, waits, reads mail and is revoked as one, by its tokens."""

from pathlib import Path
from typing import Any

import pytest

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from tests.cast import Person
from tests.identity.oauth.program import Program, Publisher, browsing
from tests.mcp_server.make import message, post
from tests.plans.approval.make import ALWAYS, decide, join_team, set_policy
from tests.plans.make import Domains, Json, alias, apply, get_alias
from tests.webhooks.make import create

TWENTY = [{"amount": "20.00", "currency": "USD"}]
SPENDS: Json = {
    "toolsets": ["names", "plans"],
    "read_only": False,
    "outward": True,
    "max_total_per_plan": TWENTY,
    "max_total_per_30_days": TWENTY,
}


@pytest.fixture
async def domain(database: Database, tmp_path: Path, assets: Path) -> str:
    """Return a live domain, whose names cost 12 USD a year."""
    return await Domains(database, folder=tmp_path, assets=assets)()


async def call(program: Program, tokens: Json, tool: str, **arguments: Any) -> Json:
    """Call a tool as the program does; return its result, or its refusal."""
    body = message("tools/call", name=tool, arguments=arguments)
    answer = await post(program.service, body, Authorization=f"Bearer {tokens['access_token']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()["result"]["structuredContent"]
    return found


async def promote(program: Program, tokens: Json, address: str) -> tuple[Json, Json]:
    """Plan a name and promote the plan, if need be when a person approves; return both results."""
    claim = {"address": address, "forward_to": ["ada@example.net"]}
    plan = await call(program, tokens, "make_plan", claims=[claim])
    asked = {"plan_id": plan["id"], "digest": plan["digest"], "when_approved": True}
    return plan, await call(program, tokens, "promote_plan", **asked)


async def connections_of(program: Program) -> list[Json]:
    found: list[Json] = (await program.browser.get("/v1/auth/connections")).json()["items"]
    return found


async def always_ask(program: Program, alice: Person) -> None:
    """Let people approve each plan, and keep the connection. The policy ends other sessions: sign in again."""
    [made] = await connections_of(program)
    await set_policy(alice, **ALWAYS, connections=[made["id"]])
    async with browsing(program.service, alice) as browser:
        program.browser.cookies = browser.cookies


async def test_it_acts_within_its_amounts(program: Program, domain: str) -> None:
    tokens = await program.connect(mandate=SPENDS, key_kind="live")
    _, promotion = await promote(program, tokens, f"ada@{domain}")
    [made] = await connections_of(program)

    assert promotion["status"] == "succeeded"
    assert made["left"] == [{"amount": "8.00", "currency": "USD"}]


async def test_a_second_connection_continues_the_sum(program: Program, domain: str) -> None:
    await promote(program, await program.connect(mandate=SPENDS, key_kind="live"), f"ada@{domain}")
    again = await program.connect(mandate=SPENDS, key_kind="live")
    _, refusal = await promote(program, again, f"bea@{domain}")

    assert (refusal["code"], refusal["kind"]) == ("mandate_exceeded", "max_total")


async def test_the_audit_names_it(program: Program, alice: Person, domain: str) -> None:
    await promote(program, await program.connect(mandate=SPENDS, key_kind="live"), f"ada@{domain}")
    [made] = await connections_of(program)
    entries = (await alice.get("/v1/account/audit")).json()["items"]

    agent = {"type": "agent", "id": made["id"], "label": "Ada s Editor"}
    assert agent in [each["actor"] for each in entries]


async def test_what_waits_starts_when_a_person_approves(
    program: Program, alice: Person, domain: str, database: Database
) -> None:
    tokens = await program.connect(mandate=SPENDS, key_kind="live")
    await always_ask(program, alice)
    plan, waiting = await promote(program, tokens, f"ada@{domain}")
    await decide(alice, plan)
    await queue.run_pending(database, program.service.api.state.settings)
    started = (await alice.get(f"/v1/sandbox/promotions/{waiting['id']}")).json()

    assert (waiting["status"], started["status"]) == ("waiting", "succeeded")


async def test_what_waits_does_not_start_without_the_connection(
    program: Program, alice: Person, domain: str, database: Database
) -> None:
    tokens = await program.connect(mandate=SPENDS, key_kind="live")
    await always_ask(program, alice)
    plan, waiting = await promote(program, tokens, f"ada@{domain}")
    [made] = await connections_of(program)
    await program.browser.delete(f"/v1/auth/connections/{made['id']}")
    await decide(alice, plan)
    await queue.run_pending(database, program.service.api.state.settings)
    ended = (await alice.get(f"/v1/sandbox/promotions/{waiting['id']}")).json()

    assert (waiting["status"], ended["status"]) == ("waiting", "failed")


@pytest.mark.parametrize(
    ("is_named", "refusal"), [(True, (None, None)), (False, ("insufficient_scope", "mail:read"))]
)
async def test_it_reads_the_mail_of_a_rule_that_names_it(
    program: Program, alice: Person, domain: str, *, is_named: bool, refusal: tuple[str | None, str | None]
) -> None:
    name = await get_alias(alice, await apply(alice, alias(f"ada@{domain}")))
    hook = await create(alice, events=["invoice.created"])
    reader = await program.connect(mandate={"toolsets": ["mail"]}, key_kind="live")
    [made] = await connections_of(program)
    other = await program.connect(mandate={"toolsets": ["mail"]}, key_kind="live")
    rule = {"webhook_id": hook["id"], "key_id": made["id"]}
    answer = await program.browser.put(f"/v1/aliases/{name['id']}/receive-as-event", json=rule)
    assert answer.status_code == 200, answer.text
    found = await call(program, reader if is_named else other, "read_mail", alias_id=name["id"])

    assert (found.get("code"), found.get("scope")) == refusal


@pytest.mark.parametrize(("is_named", "domains"), [(True, 1), (False, 0)])
async def test_a_portfolio_of_a_team_is_a_member_of_the_mandate(
    reading: Service, publisher: Publisher, alice: Person, dana: Person, *, is_named: bool, domains: int
) -> None:
    await join_team(alice, dana)
    async with alice.browser() as owner:
        await owner.post("/v1/portfolio/domains", json={"domain": "harbour.example"})
    mandate = {"toolsets": ["portfolio"], "portfolio_account": str(alice.account.id) if is_named else None}
    async with browsing(reading, dana) as browser:
        program = Program(reading, publisher, browser)
        found = await call(program, await program.connect(mandate=mandate, key_kind="live"), "portfolio_summary")
        await program.client.aclose()

    assert found["domains"] == domains
