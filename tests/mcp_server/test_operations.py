import json
from typing import Any

import pytest

from builders.app import Service
from builders.kit.effects import Effect
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.mcp_server.operations import MAX_ANSWER, operations_of
from tests.cast import Person
from tests.mcp_server.make import Agent, call, connect, refuse


def test_no_tool_reaches_authority_sign_in_or_what_has_no_scope(service: Service) -> None:
    document = service.openapi()
    reachable = operations_of(service.api).by_id
    assert len(reachable) > 90
    for path, item in document["paths"].items():
        for operation in item.values():
            is_closed = operation.get("x-effect", "authority") == "authority" or path.startswith("/v1/auth/")
            assert not (is_closed and operation["operationId"] in reachable), path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("retry a webhook delivery", "webhooks_retry_delivery"),
        ("list my projects", "projects_list_projects"),
        ("release a name", "aliases_release"),
        ("split a charge", "portfolio_split_billing_charge"),
        ("change a domain of the portfolio", "portfolio_update_domain"),
    ],
)
async def test_words_find_an_operation(agent: Agent, words: str, expected: str) -> None:
    found = await call(agent, "search_operations", words=words)
    assert expected in [each["id"] for each in found["operations"][:5]]
    assert found["operations"][0].keys() == {"id", "summary", "effect", "scope", "takes"}


async def test_an_operation_is_described(agent: Agent) -> None:
    found = await call(agent, "search_operations", operation_id="projects_update")
    assert found["parameters"][0]["name"] == "project_id"
    assert "name" in str(found["body"])


async def test_an_operation_reads(alice: Person, agent: Agent) -> None:
    created = (await alice.post("/v1/builders/projects", json={"name": "Orders"})).json()
    read = await call(agent, "read_operation", operation_id="projects_get", path={"project_id": created["id"]})
    assert read["untrusted_data"]["name"] == "Orders"


async def test_only_some_members_are_shown(alice: Person, agent: Agent) -> None:
    await alice.post("/v1/builders/projects", json={"name": "Orders"})
    read = await call(agent, "read_operation", operation_id="projects_list_projects", only=["name"])
    assert read["untrusted_data"] == {"items": [{"name": "Orders"}], "next_cursor": None}


async def test_what_writes_is_not_read(agent: Agent) -> None:
    refusal = await refuse(agent, "read_operation", operation_id="projects_create")
    assert refusal["code"] == "operation_writes"


@pytest.mark.parametrize("operation", ["api_keys_create", "sandbox_decide", "portfolio_create_team_invite"])
async def test_what_has_authority_is_refused_with_the_place_for_a_person(agent: Agent, operation: str) -> None:
    refusal = await refuse(agent, "read_operation", operation_id=operation)
    assert (refusal["code"], refusal["next_actions"][0]["url"]) == (
        "person_required",
        "http://builders.test/console",
    )


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        ("split a billing charge into parts", "path charge_id*; body parts*(domain*, amount*)"),
        ("list API keys", "query limit, cursor"),
    ],
)
async def test_what_an_operation_takes_is_found_with_it(agent: Agent, words: str, takes: str) -> None:
    found = (await call(agent, "search_operations", words=words))["operations"]
    assert takes in [each.get("takes") for each in found]


async def test_only_a_person_is_said_of_what_has_authority(agent: Agent) -> None:
    found = await call(agent, "search_operations", words="mint an API key")
    assert found["operations"][0]["effect"] == "authority"
    assert "takes" not in found["operations"][0]
    assert found["next_actions"][0]["url"] == "http://builders.test/console"


@pytest.mark.parametrize("operation", ["auth_get_session", "auth_logout", "nothing"])
async def test_an_operation_that_no_tool_reaches_is_unknown(agent: Agent, operation: str) -> None:
    assert (await refuse(agent, "read_operation", operation_id=operation))["code"] == "operation_unknown"


@pytest.mark.parametrize("value", ["", "a/b", ".."])
async def test_a_parameter_is_one_segment_of_the_path(agent: Agent, value: str) -> None:
    refusal = await refuse(agent, "read_operation", operation_id="projects_get", path={"project_id": value})
    assert refusal["code"] == "arguments_invalid"


async def test_another_parameter_is_refused_as_by_the_api(agent: Agent) -> None:
    refusal = await refuse(agent, "read_operation", operation_id="projects_list_projects", query={"limits": 1})
    assert (refusal["code"], refusal["errors"][0]["member"]) == ("invalid", "limits")


async def test_what_is_no_text_has_no_position(agent: Agent) -> None:
    refusal = await refuse(agent, "read_operation", operation_id="projects_list_projects", position=1)
    assert refusal["code"] == "arguments_invalid"


async def test_a_line_that_is_longer_than_a_part_is_read_on(
    service: Service, agent: Agent, alice: Person, settings: Settings
) -> None:
    metadata = {f"note_{at}": "\N{SNOWMAN}" * 500 for at in range(10)}
    created = await alice.post("/v1/builders/projects", json={"name": "Orders", "metadata": metadata})
    assert created.status_code == 201, created.text
    requested = (await alice.post("/v1/account/exports")).json()
    await queue.run_pending(service.api.state.database, settings)
    whole = (await alice.get(f"/v1/account/exports/{requested['id']}/content")).text
    asked = {"operation_id": "account_get_export_content", "path": {"export_id": requested["id"]}}
    parts: list[str] = []
    actions: list[Any] = [{"arguments": asked}]
    while actions:
        part = await call(agent, "read_operation", **actions[0]["arguments"])
        parts, actions = [*parts, part["untrusted_data"]], part["next_actions"]
    assert "".join(parts) == whole
    assert max(len(json.dumps(each)) for each in parts) <= MAX_ANSWER


async def test_a_long_answer_is_refused(agent: Agent) -> None:
    refusal = await refuse(agent, "read_operation", operation_id="webhooks_list_events")
    assert refusal["code"] == "answer_too_large"


async def test_the_project_of_a_stranger_is_not_found(service: Service, alice: Person, bob: Person) -> None:
    created = (await alice.post("/v1/builders/projects", json={"name": "Orders"})).json()
    async with connect(service, bob.key) as agent:
        read = {"operation_id": "projects_get", "path": {"project_id": created["id"]}}
        assert (await refuse(agent, "read_operation", **read))["status"] == 404


def test_what_is_reachable_has_an_effect(service: Service) -> None:
    assert {each.effect for each in operations_of(service.api).by_id.values()} == set(Effect) - {Effect.AUTHORITY}
