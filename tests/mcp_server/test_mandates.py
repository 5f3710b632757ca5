"""What a credential does at /mcp: its mandate decides, and a key without one only reads and proposes."""

import asyncio

import pytest

from builders.app import Service
from builders.kit.effects import Effect
from builders.mcp_server.operations import operations_of
from builders.mcp_server.server import TOOLS
from builders.webhooks.feed import FeedWaiters
from tests.cast import Person, replaced
from tests.mcp_server.make import call, connect, refuse
from tests.plans.make import Json
from tests.worker import Worker

SPENDING: Json = {
    "outward": True,
    "max_total_per_plan": [{"amount": "20.00", "currency": "USD"}],
    "max_total_per_30_days": [{"amount": "20.00", "currency": "USD"}],
}


async def mint(alice: Person, *toolsets: str, kind: str = "live", **mandate: object) -> str:
    """Return a key with a mandate, which a person mints."""
    preset = "domainer_full" if "portfolio" in toolsets else "developer_full"
    body: Json = {
        "label": "agent",
        "preset": preset,
        "key_kind": kind,
        "mandate": {"toolsets": toolsets, **mandate},
    }
    async with alice.browser() as browser:
        created = await browser.post("/v1/api-keys", json=body)
    assert created.status_code in {200, 201}, created.text
    return str(created.json()["secret"])


async def names_of(service: Service, key: str) -> set[str]:
    async with connect(service, key) as agent:
        return {each.name for each in (await agent.list_tools()).tools}


CHANGING = {each.name for each in TOOLS if each.effect not in {Effect.READ, Effect.PROPOSE}}


async def test_a_key_without_a_mandate_sees_no_tool_that_changes(service: Service, alice: Person) -> None:
    assert not await names_of(service, alice.key) & CHANGING


@pytest.mark.parametrize("tool", sorted(CHANGING))
async def test_a_key_without_a_mandate_changes_nothing(service: Service, alice: Person, tool: str) -> None:
    ids = "00000000-0000-0000-0000-000000000000"
    arguments: dict[str, Json] = {
        "promote_plan": {"plan_id": ids, "digest": "x"},
        "reply_to_mail": {"alias_id": ids, "message_id": ids, "text": "Thanks"},
        "repeat": {"kind": "delivery", "id": ids},
        "import_table": {"csv": "domain\na.example", "digest": "x"},
        "write_operation": {"operation_id": "projects_create", "body": {"name": "Orders"}},
    }
    async with connect(service, alice.key) as agent:
        refusal = await refuse(agent, tool, **arguments[tool])
    assert (refusal["code"], refusal["reason"] != "") == ("mandate_exceeded", True)


async def test_a_mandate_shows_its_toolsets(service: Service, alice: Person) -> None:
    seen = await names_of(service, await mint(alice, "names"))
    assert {"search_names", "list_names"} == seen


async def test_a_tool_of_another_toolset_is_refused(service: Service, alice: Person) -> None:
    async with connect(service, await mint(alice, "money")) as agent:
        refusal = await refuse(agent, "search_names", words="ada")
    assert refusal["code"] == "mandate_exceeded"


async def test_an_operation_of_another_toolset_is_refused(service: Service, alice: Person) -> None:
    async with connect(service, await mint(alice, "api")) as agent:
        refusal = await refuse(agent, "read_operation", operation_id="aliases_list_aliases")
    assert refusal["code"] == "mandate_exceeded"


async def test_a_mandate_that_writes_promotes_within_its_amount(
    service: Service, alice: Person, domain: str
) -> None:
    key = await mint(alice, "names", "plans", read_only=False, **SPENDING)
    async with connect(service, key) as agent:
        one = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
        plan = await call(agent, "make_plan", claims=[one])
        promotion = await call(agent, "promote_plan", plan_id=plan["id"], digest=plan["digest"])
        assert promotion["status"] == "succeeded"
        two = [{"address": f"{name}@{domain}", "forward_to": ["ada@example.net"]} for name in ("bea", "cleo")]
        plan = await call(agent, "make_plan", claims=two)
        refusal = await refuse(agent, "promote_plan", plan_id=plan["id"], digest=plan["digest"])
    assert refusal["code"] == "mandate_exceeded"


async def test_no_credential_of_a_machine_approves(service: Service, alice: Person) -> None:
    key = await mint(alice, "names", "plans", "api", read_only=False, outward=True)
    async with connect(service, key) as agent:
        for tool in ("read_operation", "write_operation"):
            refusal = await refuse(agent, tool, operation_id="sandbox_decide")
            assert refusal["code"] == "person_required"


async def test_a_mandate_for_plans_waits_for_an_approval(
    service: Service, alice: Person, domain: str, worker: Worker
) -> None:
    claim = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
    async with connect(service, await mint(alice, "names", "plans")) as agent, alice.browser() as browser:
        plan = await call(agent, "make_plan", claims=[claim])
        waiting = asyncio.create_task(call(agent, "wait", until="approval", plan_id=plan["id"]))
        body = {"decision": "approve", "digest": plan["digest"]}
        decided = await browser.post(f"/v1/sandbox/plans/{plan['id']}/approval", json=body)
        assert decided.status_code == 200, decided.text
        await worker.work()
        waited = await waiting
    assert (waited["pending"], waited["state"]) == (False, "approved")


async def test_a_mandate_for_plans_waits_for_the_end_of_a_promotion(
    service: Service, alice: Person, domain: str
) -> None:
    key = await mint(alice, "names", "plans", read_only=False, **SPENDING)
    claim = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
    async with connect(service, key) as agent:
        plan = await call(agent, "make_plan", claims=[claim])
        promotion = await call(agent, "promote_plan", plan_id=plan["id"], digest=plan["digest"])
        waited = await call(agent, "wait", until="promotion", promotion_id=promotion["id"])
    assert (waited["pending"], waited["state"]) == (False, "succeeded")


async def test_a_mandate_without_the_toolset_of_events_is_refused_to_wait_for_one(
    service: Service, alice: Person
) -> None:
    async with connect(service, await mint(alice, "plans")) as agent:
        refusal = await refuse(agent, "wait", until="event")
    assert (refusal["code"], refusal["kind"]) == ("mandate_exceeded", "toolset")


async def test_a_wait_for_an_approval_counts_on_the_maximum_of_waiting_requests(
    service: Service, alice: Person, domain: str
) -> None:
    claim = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
    async with (
        FeedWaiters(service.api.state.database) as none,
        connect(service, await mint(alice, "plans", "names")) as agent,
    ):
        none.max_account_waiters = 0
        plan = await call(agent, "make_plan", claims=[claim])
        with replaced(service, feed_waiters=none):
            refusal = await refuse(agent, "wait", until="approval", plan_id=plan["id"])
    assert (refusal["code"], refusal["retry_after"]) == ("too_many_waiters", 1)


async def test_an_operation_writes_once(service: Service, alice: Person) -> None:
    asked: Json = {"operation_id": "projects_create", "body": {"name": "Orders"}}
    async with connect(service, await mint(alice, "plans", "api", read_only=False)) as agent:
        first = await call(agent, "write_operation", **asked)
        second = await call(agent, "write_operation", **asked)
        third = await call(agent, "write_operation", **asked, attempt=2)
    assert first["untrusted_data"]["id"] == second["untrusted_data"]["id"] != third["untrusted_data"]["id"]
    assert second["replayed"]


async def test_what_reads_is_not_written(service: Service, alice: Person) -> None:
    async with connect(service, await mint(alice, "plans", "api", read_only=False)) as agent:
        refusal = await refuse(agent, "write_operation", operation_id="projects_list_projects")
    assert refusal["code"] == "operation_reads"


async def test_a_table_is_imported_by_its_digest(service: Service, dana: Person) -> None:
    table: Json = {"csv": "domain,registrar\na-1.example,porkbun\n"}
    async with connect(service, await mint(dana, "portfolio", read_only=False)) as agent:
        preview = await call(agent, "preview_table", **table)
        refusal = await refuse(agent, "import_table", csv="domain\nb-1.example\n", digest=preview["digest"])
        assert refusal["code"] == "preview_mismatch"
        imported = await call(agent, "import_table", **table, digest=preview["digest"])
    assert (imported["summary"]["created"], imported["failed_rows"]) == (1, [])


def test_what_a_mandate_never_allows_has_no_tool(service: Service) -> None:
    assert all(each.effect is not Effect.AUTHORITY for each in operations_of(service.api).by_id.values())
