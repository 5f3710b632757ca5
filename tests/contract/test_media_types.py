"""A body of another media type is 415, with the types that the operation accepts."""

from typing import Any

import httpx
import pytest

from builders.kit.callers import APPROVE
from tests.cast import Client, Person
from tests.contract.document import operations
from tests.published import published

OPERATIONS = operations(published().document)
STRIPE = "POST /v1/invoices/stripe"  # a signed body: its signature is checked first
WITH_BODY = sorted(name for name, each in OPERATIONS.items() if "requestBody" in each and name != STRIPE)
PROJECTS = "/v1/builders/projects"


def accepted(operation: dict[str, Any]) -> set[str]:
    """The media types that the document says."""
    return {
        *operation["requestBody"]["content"],
        *operation.get("x-also-reads", ()),
        *operation.get("x-reads-raw", ()),
    }


async def post(client: Client, content_type: str | None, content: bytes = b'{"name": "x"}') -> httpx.Response:
    headers = {} if content_type is None else {"Content-Type": content_type}
    return await client.post(PROJECTS, content=content, headers=headers)


@pytest.mark.parametrize("name", WITH_BODY)
async def test_each_operation_names_the_types_that_it_accepts(alice: Person, dana: Person, name: str) -> None:
    method, path = name.split()
    scope = OPERATIONS[name].get("x-scope", "")
    is_portfolio = scope.partition(":")[0] in {"portfolio", "registrars", "transfers", "team"}
    headers = {"Content-Type": "application/xml", "Sec-Fetch-Site": "same-origin"}
    path = path.replace("{", "").replace("}", "")
    async with alice.browser() as browser:
        client = browser if scope in {APPROVE, "mail:read"} else dana if is_portfolio else alice
        answer = await client.request(method, path, content=b"<x/>", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (415, "media_type_unsupported"), answer.text
    assert set(answer.headers["Accept"].split(", ")) == accepted(OPERATIONS[name])
    assert all(each in answer.json()["detail"] for each in accepted(OPERATIONS[name]))


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "application/xml", "text/json", "nonsense", None],
)
async def test_json_with_another_type_is_refused(alice: Person, content_type: str | None) -> None:
    answer = await post(alice, content_type)
    assert answer.status_code == 415
    assert "application/json" in answer.json()["next_action"]


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "application/vnd.api+json", "application/merge-patch+json"]
)
async def test_every_type_of_json_is_accepted(alice: Person, content_type: str) -> None:
    assert (await post(alice, content_type)).status_code == 201


async def test_a_compressed_body_is_refused(alice: Person) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = await alice.post(PROJECTS, content=b"\x1f\x8b", headers=headers)
    assert (answer.status_code, answer.headers["Accept-Encoding"]) == (415, "identity")


async def test_a_body_of_a_type_without_credentials_is_401(anyone: Client) -> None:
    assert (await post(anyone, "text/plain")).status_code == 401
