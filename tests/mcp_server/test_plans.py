import asyncio

from builders.app import Service
from builders.webhooks.feed import FeedWaiters
from tests.cast import Person, replaced
from tests.mcp_server.make import Agent, call, connect, refuse
from tests.worker import Worker

UNKNOWN = "00000000-0000-0000-0000-000000000000"
POLICY = "/v1/sandbox/approval-policy"


async def test_names_are_found_under_a_price(agent: Agent, domain: str) -> None:
    found = await call(agent, "search_names", words=f"ada@{domain}", max_price="12.00")
    assert (found["names"][0]["price"], found["names"][0]["interval"]) == (
        {"amount": "12.00", "currency": "USD"},
        "year",
    )
    assert (await call(agent, "search_names", words=f"ada@{domain}", max_price="11.99"))["names"] == []


async def test_a_claim_is_a_plan(agent: Agent, domain: str) -> None:
    claim = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
    result = await agent.call_tool("make_plan", {"claims": [claim]})
    plan = result.structured_content
    assert plan["summary"]["create"] == 1
    assert plan["actions"][0]["price"] == {"amount": "12.00", "currency": "USD", "interval": "year"}
    links = {each.uri for each in result.content if each.type == "resource_link"}
    assert f"http://builders.test/v1/sandbox/plans/{plan['id']}" in {str(each) for each in links}


async def test_a_plan_is_shown_with_the_tool_that_follows(agent: Agent, domain: str) -> None:
    claim = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
    plan = await call(agent, "make_plan", claims=[claim])
    again = await call(agent, "show_plan", plan_id=plan["id"])
    assert again["digest"] == plan["digest"]
    assert again["next_actions"][0]["url"] == plan["review_url"]  # a new destination needs a person
    assert again["next_actions"][1]["arguments"] == {"until": "approval", "plan_id": plan["id"]}


async def test_the_same_call_has_one_effect(agent: Agent, domain: str) -> None:
    claim = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
    first = await call(agent, "make_plan", claims=[claim])
    second = await call(agent, "make_plan", claims=[claim])
    third = await call(agent, "make_plan", claims=[claim], attempt=2)
    assert (first["id"], second["replayed"]) == (second["id"], True)
    assert third["id"] != first["id"]


async def test_the_plan_of_a_stranger_is_not_found(
    service: Service, agent: Agent, bob: Person, domain: str
) -> None:
    claim = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
    plan = await call(agent, "make_plan", claims=[claim])
    async with connect(service, bob.key) as other:
        assert (await refuse(other, "show_plan", plan_id=plan["id"]))["status"] == 404


async def test_a_refusal_has_code_reason_and_next_action(agent: Agent) -> None:
    refusal = await refuse(agent, "show_plan", plan_id=UNKNOWN)
    assert (refusal["code"], refusal["status"]) == ("plan_not_found", 404)
    assert {"reason", "next_actions"} <= refusal.keys()


async def test_a_missing_scope_is_named(service: Service, dana: Person) -> None:
    async with connect(service, dana.key) as agent:
        refusal = await refuse(agent, "list_names")
    assert (refusal["code"], refusal["scope"]) == ("insufficient_scope", "aliases:read")


async def test_an_unknown_argument_is_refused(agent: Agent) -> None:
    refusal = await refuse(agent, "search_names", words="ada", max_prise="1.00")
    assert refusal["errors"][0]["did_you_mean"] == "max_price"


async def test_an_unknown_argument_of_a_claim_is_refused(agent: Agent, domain: str) -> None:
    refusal = await refuse(agent, "make_plan", claims=[{"address": f"ada@{domain}", "forward": []}])
    assert refusal["errors"][0]["member"] == "claims.0.forward"


async def test_a_mistyped_argument_is_refused_and_not_quoted(agent: Agent) -> None:
    refusal = await refuse(agent, "list_names", limit="33333")
    assert (refusal["code"], refusal["errors"][0]["member"]) == ("arguments_invalid", "limit")
    assert "Correct the arguments" in refusal["next_actions"][0]["why"]
    assert "33333" not in str(refusal)


async def test_a_person_approves_outside_and_the_agent_waits(alice: Person, agent: Agent, domain: str) -> None:
    async with alice.browser() as browser:
        await browser.put(POLICY, json={"mode": "always"})
        claim = {"address": f"ada@{domain}", "forward_to": ["ada@example.net"]}
        plan = await call(agent, "make_plan", claims=[claim])
        assert (plan["approval"]["state"], "url" in plan["next_actions"][0]) == ("required", True)
        pending = await call(agent, "wait", until="approval", plan_id=plan["id"], seconds=0)
        assert (pending["pending"], pending["state"]) == (True, "required")
        body = {"decision": "approve", "digest": plan["digest"]}
        decided = await browser.post(f"/v1/sandbox/plans/{plan['id']}/approval", json=body)
        assert decided.status_code == 200, decided.text
    done = await call(agent, "wait", until="approval", plan_id=plan["id"])
    assert (done["pending"], done["state"]) == (False, "approved")


async def test_an_event_ends_a_wait(alice: Person, agent: Agent, worker: Worker) -> None:
    start = (await call(agent, "wait", until="event", types=["project.*"], seconds=0))["cursor"]
    waiting = asyncio.create_task(call(agent, "wait", until="event", types=["project.*"], cursor=start))
    await alice.post("/v1/builders/projects", json={"name": "Orders"})
    await worker.work()
    waited = await waiting
    assert (waited["pending"], waited["events"][0]["type"]) == (False, "project.created")
    assert "Orders" in waited["events"][0]["untrusted_data"]


async def test_a_process_that_stops_ends_a_wait_with_a_cursor(service: Service, agent: Agent) -> None:
    async with FeedWaiters(service.api.state.database) as closed:
        closed.close()
        with replaced(service, feed_waiters=closed):
            waited = await call(agent, "wait", until="event", types=["project.*"])
    assert waited["pending"]
    assert waited["next_actions"][0]["arguments"]["cursor"] == waited["cursor"]


async def test_a_wait_of_over_20_s_is_refused(agent: Agent) -> None:
    await call(agent, "wait", until="event", seconds=0)
    assert (await refuse(agent, "wait", until="event", seconds=21))["code"] == "arguments_invalid"


async def test_a_wait_for_a_plan_needs_its_id(agent: Agent) -> None:
    assert (await refuse(agent, "wait", until="approval"))["code"] == "arguments_invalid"
