"""A member that asks for less than the operation does is refused: a warning would come after the effect."""

import json
from typing import Any
from uuid import UUID

import pytest

from builders.kit.callers import APPROVE
from builders.kit.http.bodies import UNSUPPORTED
from tests.cast import Person
from tests.contract.document import operations, parameters
from tests.published import published

DOCUMENT = published().document
OPERATIONS = operations(DOCUMENT)
# The body is another's, signed by them, or a form of our own pages.
OTHERS = {
    *("POST /v1/invoices/stripe", "POST /v1/auth/login/page"),
    *("POST /v1/account/email-verification/confirm/page", "POST /v1/aliases/destinations/confirm/page"),
    *("POST /v1/leads/confirm/page", "POST /v1/portfolio/team/join", "POST /v1/account/erasure/cancel"),
}
WRITING = [name for name in OPERATIONS if not name.startswith("GET ") and name not in OTHERS]


def body_schema(operation: dict[str, Any]) -> dict[str, Any]:
    """The schema of the body that the operation takes; of several forms the first."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    schema = next((each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"), schema)
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        schema = next(iter(schema.get("oneOf", [])), schema)
    found: dict[str, Any] = schema
    return found


def example(operation: dict[str, Any]) -> dict[str, Any]:
    """A body that the operation takes."""
    schema = body_schema(operation)
    kinds = {name: each["const"] for name, each in schema.get("properties", {}).items() if "const" in each}
    return kinds | dict(next(iter(schema.get("examples", [{}]))))


@pytest.mark.parametrize("name", WRITING)
async def test_no_operation_ignores_one(alice: Person, dana: Person, name: str) -> None:
    method, path = name.split()
    operation = OPERATIONS[name]
    scope = operation.get("x-scope", "")
    is_portfolio = scope.partition(":")[0] in {"portfolio", "registrars", "transfers", "team"}
    known = body_schema(operation).get("properties", {})
    member = next(each for each in ("dry_run", "read_only") if each not in known)
    needed = [
        part for (where, part), each in parameters(operation).items() if where == "query" and each["required"]
    ]
    async with alice.browser() as browser:
        client = browser if scope in {APPROVE, "mail:read"} else dana if is_portfolio else alice
        answer = await client.request(
            method,
            path.replace("{", "").replace("}", ""),
            params=dict.fromkeys(needed, "x" * 20),
            content=json.dumps({**example(operation), member: False}),
            headers={"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"},
        )

    assert answer.status_code == 422
    assert member in [each["loc"][-1] for each in answer.json()["detail"]]


@pytest.mark.parametrize("member", sorted(UNSUPPORTED))
async def test_the_write_has_no_effect(alice: Person, member: str) -> None:
    answer = await alice.post("/v1/builders/projects", json={"name": "x", member: True})

    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["body", member], "member_unsupported")
    assert (await alice.get("/v1/builders/projects")).json()["items"] == []


async def test_another_unknown_member_is_a_warning(alice: Person) -> None:
    answer = await alice.post("/v1/builders/projects", json={"name": "x", "expires_at": "2030-01-01T00:00:00Z"})

    assert answer.status_code == 201
    assert [each["field"] for each in answer.json()["warnings"]] == ["expires_at"]


async def test_a_body_that_is_not_used_is_small(alice: Person) -> None:
    body = {f"note{at}": 1 for at in range(5_000)}
    answer = await alice.request("DELETE", f"/v1/builders/projects/{UUID(int=1)}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "body_unexpected")
