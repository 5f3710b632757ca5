"""No operation ignores what asks for less: each is asked with a limit that it does not have."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from builders.kit.http.restrictions import ERROR_TYPE, RESTRICTIONS
from tests.cast import Client, Person
from tests.contract.document import operations, parameters
from tests.published import published

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "restrictions.md"
DOCUMENT = published().document
OPERATIONS = operations(DOCUMENT)
# Must always answer: liveness and public keys are asked by machines that add what they like.
ALWAYS = {"GET /livez", "GET /health", "GET /readyz", "GET /.well-known/jwks.json"}
# The body is another's, signed by them, or a form of our own pages.
OTHERS = {
    *("POST /v1/invoices/stripe", "POST /v1/auth/login/page"),
    *("POST /v1/account/email-verification/confirm/page", "POST /v1/aliases/destinations/confirm/page"),
    *("POST /v1/leads/confirm/page", "POST /v1/portfolio/team/join"),
}
WRITING = [
    name for name in OPERATIONS if name.split()[0] in {"POST", "PUT", "PATCH", "DELETE"} and name not in OTHERS
]


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


def members(operation: dict[str, Any]) -> set[str]:
    """The names of the members of the body."""
    return set(body_schema(operation).get("properties", {}))


def example(operation: dict[str, Any]) -> dict[str, Any]:
    """A body that the operation takes."""
    schema = body_schema(operation)
    kinds = {name: each["const"] for name, each in schema.get("properties", {}).items() if "const" in each}
    return kinds | dict(next(iter(schema.get("examples", [{}]))))


async def ask(client: Client, name: str, *, body: dict[str, Any], query: str = "") -> httpx.Response:
    method, path = name.split()
    operation = OPERATIONS[name]
    given = [
        f"{each['name']}={'x' * 20}"
        for (where, _), each in parameters(operation).items()
        if where == "query" and each.get("required")
    ]
    for where, part in parameters(operation):
        if where == "path":
            path = path.replace(f"{{{part}}}", "x")
    content = None if method in {"GET", "HEAD"} or not body else json.dumps(body)
    headers = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    url = f"{path}?{'&'.join([*given, query])}"
    return await client.request(method, url, content=content, headers=headers)


def locations(answer: httpx.Response) -> list[list[str]]:
    """What a 422 is about."""
    return [each["loc"] for each in answer.json()["detail"]]


def asker(name: str, *, alice: Person, dana: Person) -> Client:
    """Who holds the scope."""
    scope = OPERATIONS[name].get("x-scope", "")
    return dana if scope.partition(":")[0] in {"portfolio", "registrars", "transfers", "team"} else alice


def offers_dry_run(name: str) -> bool:
    """Whether the operation has what the others refuse."""
    content = OPERATIONS[name].get("requestBody", {}).get("content", {}).get("application/json", {})
    body = DOCUMENT["components"]["schemas"].get(content.get("schema", {}).get("$ref", "").rpartition("/")[2], {})
    return "dry_run" in body.get("properties", {}) or ("query", "dry_run") in parameters(OPERATIONS[name])


async def test_a_limit_in_the_query_is_never_ignored(alice: Person, dana: Person) -> None:
    ignored = []
    for name in sorted(OPERATIONS.keys() - ALWAYS):
        if offers_dry_run(name):
            continue
        client = asker(name, alice=alice, dana=dana)
        answer = await ask(client, name, body=example(OPERATIONS[name]), query="dry_run=true")
        if answer.status_code != 422 or ["query", "dry_run"] not in locations(answer):
            ignored.append((name, answer.status_code, answer.text))

    assert ignored == []


async def test_a_limit_in_the_body_is_never_ignored(alice: Person, dana: Person) -> None:
    ignored = []
    for name in WRITING:
        if offers_dry_run(name):
            continue
        client = asker(name, alice=alice, dana=dana)
        limit = "read_only" if "dry_run" in members(OPERATIONS[name]) else "dry_run"
        answer = await ask(client, name, body={**example(OPERATIONS[name]), limit: True})
        if answer.status_code != 422 or not any(limit in each for each in locations(answer)):
            ignored.append((name, answer.status_code, answer.text))

    assert ignored == []


def test_the_page_lists_every_name() -> None:
    rows = [f"| {each.reason} | {', '.join(f'`{name}`' for name in each.names)} |" for each in RESTRICTIONS]

    table = PAGE.read_text(encoding="utf-8").partition("| --- | --- |\n")[2].splitlines()

    assert table == rows


async def test_a_refusal_is_of_the_size_of_what_it_refuses(anyone: Client) -> None:
    wide: dict[str, Any] = {f"max_{number}": 1 for number in range(200)}
    deep = wide
    for _ in range(130):
        deep = {"x" * 80: deep}
    for body in (wide, deep, {"max": deep}):
        sent = json.dumps({"email": "ada@example.net", "more": body})
        headers = {"Content-Type": "application/json"}
        answer = await anyone.post("/v1/leads", content=sent, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (422, ERROR_TYPE)
        assert len(answer.content) < 16 * len(sent)
        assert len(answer.content) < 200_000


PATCHED = sorted(name.split()[1] for name in OPERATIONS if name.startswith("PATCH "))


@pytest.mark.parametrize("path", PATCHED)
async def test_an_object_can_be_sent_back_as_it_was_read(alice: Person, path: str) -> None:
    """A client that changes one member of what it read asks for nothing with the others."""
    operation = OPERATIONS[f"PATCH {path}"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    shown = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
    sent = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    others = shown.keys() - DOCUMENT["components"]["schemas"][sent]["properties"].keys()
    answer = await ask(alice, f"PATCH {path}", body=dict.fromkeys(others) | example(operation))

    assert others
    assert answer.status_code != 422, answer.text


LISTS = sorted(
    name
    for name, operation in OPERATIONS.items()
    if {("query", "limit"), ("query", "cursor")} <= parameters(operation).keys()
)


@pytest.mark.parametrize("asked", ["page", "per_page", "pageSize", "offset", "next_cursor"])
async def test_every_list_says_how_its_pages_work(alice: Person, dana: Person, asked: str) -> None:
    assert LISTS
    for name in LISTS:
        answer = await ask(asker(name, alice=alice, dana=dana), name, body={}, query=f"{asked}=2")
        assert answer.status_code == 422, name
        [error] = [each for each in answer.json()["detail"] if each["loc"] == ["query", asked]]
        assert "`cursor` is `next_cursor` of the page before" in error["msg"]
        assert error["did_you_mean"] in {"cursor", "limit"}


async def test_a_list_of_one_page_says_so(anyone: Client) -> None:
    answer = await anyone.get("/v1/catalog/suggest?q=ada&page=2")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["msg"] == "The list is one page: `limit` is the number of its items."


async def test_a_body_that_is_not_used_is_small(alice: Person) -> None:
    body = {f"note{at}": 1 for at in range(5_000)}
    answer = await alice.request("DELETE", f"/v1/builders/projects/{UUID(int=1)}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "body_unexpected")


async def test_unknown_query_parameters_are_compared_up_to_a_number(alice: Person) -> None:
    few, many = ({f"note{at}": "1" for at in range(count)} for count in (200, 201))
    assert (await alice.get("/v1/me", params=few)).status_code == 200
    answer = await alice.get("/v1/me", params=many)
    assert (answer.status_code, answer.json()["code"]) == (422, "too_many_parameters")
