import json

from tests.cast import Person
from tests.clients.python.cli.make import Bld
from tests.mcp_server.make import VERSION, message

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


async def agent_key(alice: Person, **mandate: object) -> str:
    """Return a key with a mandate."""
    body = {
        "label": "agent",
        "preset": "developer_full",
        "key_kind": "live",
        "mandate": {"toolsets": ["names", "plans"], **mandate},
    }
    async with alice.browser() as browser:
        created = await browser.post("/v1/api-keys", json=body)
    assert created.status_code in {200, 201}, created.text
    return str(created.json()["secret"])


def lines(*messages: object) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in messages)


async def test_a_key_without_a_mandate_is_refused(bld: Bld) -> None:
    ran = await bld("mcp", given=lines(LIST))
    assert (ran.code, ran.out) == (2, "")
    assert "no mandate" in ran.err


async def test_messages_of_both_eras_are_copied(alice: Person, bld: Bld) -> None:
    key = await agent_key(alice)
    new = message("tools/list") | {"id": 2}
    assert VERSION in json.dumps(new)
    ran = await bld("mcp", given=lines(INITIALIZE, new), BUILDERS_API_KEY=key)
    answers = {each["id"]: each["result"] for each in map(json.loads, ran.out.splitlines())}
    assert answers[0]["protocolVersion"] == "2025-11-25"
    assert "make_plan" in [each["name"] for each in answers[2]["tools"]]


async def test_a_line_that_is_no_json_is_an_error(alice: Person, bld: Bld) -> None:
    ran = await bld("mcp", given="{\n", BUILDERS_API_KEY=await agent_key(alice))
    assert json.loads(ran.out)["error"]["code"] == -32700


async def test_a_notification_has_no_answer(alice: Person, bld: Bld) -> None:
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    ran = await bld("mcp", given=lines(notification), BUILDERS_API_KEY=await agent_key(alice))
    assert (ran.code, ran.out) == (0, "")
