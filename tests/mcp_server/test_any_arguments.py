"""Any arguments of any tool get an answer or a refusal that names what is wrong, and reach no other account."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.app import Service
from builders.mcp_server.server import TOOLS
from tests.cast import Person
from tests.changes import MEMBERS, changed_json
from tests.mandates import machine
from tests.mcp_server.make import Json, message, post
from tests.random_cases import cases

# Correct ones, or nearly so: each example changes them.
USUAL: dict[str, Json] = {
    "search_names": {"words": "ada lovelace", "limit": 5},
    "make_plan": {"aliases": [{"address": "ada@harbour.example", "destinations": ["ada@example.net"]}]},
    "read_operation": {"operation_id": "projects_list_projects", "query": {"limit": 1}, "only": ["name"]},
    "write_operation": {"operation_id": "projects_create", "body": {"name": "Orders"}, "attempt": 1},
    "search_operations": {"words": "list projects"},
    "import_table": {"csv": "domain,cost\nharbour.com,5\n"},
    "preview_table": {"csv": "domain,cost\nharbour.com,5\n"},
}
REFUSED = "arguments_invalid"


def usual(name: str) -> Any:
    """Return arguments of a tool: those above, or a value for each of its properties."""
    schema = next(each.input_schema for each in TOOLS if each.name == name)
    return USUAL.get(name, dict.fromkeys(schema.get("properties", ()), "x"))


@pytest.fixture
async def key(alice: Person) -> str:
    """Return a key of Alice's machine, with a mandate for everything."""
    return (await machine(alice)).key


@pytest.mark.fuzzer
@cases(40)
@given(name=st.sampled_from([each.name for each in TOOLS]), data=st.data())
async def test_any_arguments_of_a_tool_are_used_or_refused(
    service: Service, key: str, bob: Person, name: str, data: st.DataObject
) -> None:
    arguments = data.draw(changed_json(usual(name)) | st.dictionaries(st.text(max_size=8), MEMBERS, max_size=3))
    sent = message("tools/call", name=name, arguments=arguments)
    answer = await post(service, sent, X_API_Key=key)
    assert answer.status_code in {200, 400, 403, 413, 422}, answer.text
    assert "Traceback" not in answer.text
    assert str(bob.account.id) not in answer.text
    body = answer.json()
    if answer.status_code != 200 or "error" in body:
        return
    found = body["result"]["structuredContent"]
    if body["result"]["isError"]:
        assert found["code"] != "internal_error", found
        assert found["reason"]
        assert found["next_actions"]
        if found["code"] == REFUSED:
            assert found.get("errors") or found["reason"]
