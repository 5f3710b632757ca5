"""The limits of an agent: a call of a tool counts as the request of the API that it sends."""

from collections import Counter

from builders.app import Service
from tests.cast import Person
from tests.mcp_server.make import connect, message, post

KEYS, PROJECTS = "/v1/api-keys", "/v1/builders/projects"
LIST = message("tools/list")
NEW_KEY = {"label": "new", "key_kind": "live", "preset": "developer_full"}


async def list_tools(service: Service, key: str, times: int) -> Counter[int]:
    """Return the statuses of messages that send no request of the API."""
    return Counter([(await post(service, LIST, X_API_Key=key)).status_code for _ in range(times)])


async def codes(service: Service, key: str, times: int, tool: str, **arguments: object) -> list[str]:
    """Return the codes of the refusals of a tool; "" of a result."""
    async with connect(service, key) as agent:
        results = [await agent.call_tool(tool, arguments) for _ in range(times)]
    return [(each.structured_content or {}).get("code", "") if each.is_error else "" for each in results]


async def test_the_messages_of_a_key_are_limited_and_one_more_is_429(limited: Service, ada: Person) -> None:
    assert await list_tools(limited, ada.key, 61) == {200: 60, 429: 1}


async def test_each_key_has_messages_of_its_own(limited: Service, ada: Person) -> None:
    other = (await ada.post(KEYS, json=NEW_KEY)).json()["secret"]
    await list_tools(limited, ada.key, 61)
    assert await list_tools(limited, other, 1) == {200: 1}


async def test_messages_without_a_request_leave_those_of_the_key(limited: Service, ada: Person) -> None:
    await list_tools(limited, ada.key, 61)
    assert (await ada.get(PROJECTS)).headers["RateLimit"].startswith('"key";r=59;')


async def test_a_tool_counts_as_the_request_that_it_sends(limited: Service, ada: Person) -> None:
    assert await codes(limited, ada.key, 3, "list_names") == [""] * 3
    assert (await ada.get(PROJECTS)).headers["RateLimit"].startswith('"key";r=56;')


async def test_a_tool_has_the_last_request_of_the_key_and_is_refused_beyond_it(
    limited: Service, ada: Person
) -> None:
    for _ in range(58):
        await ada.get(PROJECTS)
    found = await codes(limited, ada.key, 3, "list_names")
    assert found == ["", "", "rate_limited"]


async def test_a_refusal_for_a_limit_says_when_to_call_again(limited: Service, ada: Person) -> None:
    for _ in range(60):
        await ada.get(PROJECTS)
    async with connect(limited, ada.key) as agent:
        refusal = (await agent.call_tool("list_names", {})).structured_content
    assert refusal is not None
    assert 0 < refusal["retry_after"] <= 60
    assert refusal["next_actions"]


async def test_a_plan_of_a_tool_counts_on_the_limit_of_plans(ada: Person) -> None:
    manifest = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": "x"}, "resources": {"aliases": []}}
    async with connect(ada.service, ada.key) as agent:
        results = [await agent.call_tool("make_plan", {"manifest": manifest, "attempt": at}) for at in range(1, 8)]
    assert [each.is_error for each in results] == [False] * 6 + [True]
    assert (await ada.post("/v1/sandbox/plan", json=manifest)).status_code == 429


async def test_an_operation_of_a_tool_counts_on_its_own_limit(limited: Service, ada: Person) -> None:
    """The API's own requests use up what `read_operation` may send."""
    for _ in range(60):
        await ada.get(PROJECTS)
    assert await codes(limited, ada.key, 1, "read_operation", operation_id="projects_list_projects") == [
        "rate_limited"
    ]
