"""The OpenAPI document, and pages that show it without internet access."""

import re

import pytest

from builders.app import Service
from builders.kit.http.application import make_app
from builders.kit.process.version import REVISION
from tests.cast import Client
from tests.contract.document import operations


@pytest.mark.parametrize("page", ["/docs", "/redoc"])
async def test_a_page_loads_nothing_from_other_origins(anyone: Client, page: str) -> None:
    answer = await anyone.get(page)

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    asked = re.findall(r"""(?:src|href)=["']([^"']+)""", answer.text)
    assert len(asked) >= 2
    for address in asked:
        found = await anyone.get(address)
        assert (address[0], found.status_code) == ("/", 200)
        is_file = address.startswith("/docs/assets/")
        assert found.headers["cache-control"].startswith("public" if is_file else "private")
    assert not re.search(r"https?://", re.sub(r"<noscript>.*</noscript>", "", answer.text, flags=re.DOTALL))
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy


async def test_the_document_is_served_unchanged(anyone: Client, service: Service) -> None:
    answer = await anyone.get("/openapi.json")

    document = answer.json()
    assert document == service.openapi()
    assert document["info"]["version"] == REVISION
    assert "Problem" in document["components"]["schemas"]
    assert "/docs" not in document["paths"]


def test_every_reference_in_the_document_leads_somewhere(service: Service) -> None:
    document = service.openapi()
    names = set(re.findall(r"'#/components/schemas/([^']+)'", str(document)))
    assert names
    assert names <= document["components"]["schemas"].keys()


def test_a_summary_is_the_first_sentence_and_not_repeated(service: Service) -> None:
    paths = service.openapi()["paths"]
    mint, read = paths["/v1/api-keys"]["post"], paths["/v1/api-keys/{key_id}"]["get"]
    assert mint["summary"] == "Mint an API key"
    assert mint["description"].startswith("Mint an API key. Only this response contains the secret.\n\n")
    assert mint["description"].endswith("\n\nRequires the scope `keys:write`.")
    assert (read["summary"], read["description"]) == ("Read one API key", "Requires the scope `keys:read`.")


def test_an_example_keeps_null_members(service: Service) -> None:
    [example] = service.openapi()["components"]["schemas"]["ApiKeyItem"]["examples"]
    assert example["expires_at"] is None


def test_a_list_shows_the_example_of_its_item(service: Service) -> None:
    schemas = service.openapi()["components"]["schemas"]
    item = schemas["ApiKeyItem"]["examples"]
    assert schemas["PageReply_ApiKeyItem_"]["examples"] == [{"items": item, "next_cursor": None}]
    assert schemas["Listing_ScopeReply_"]["examples"] == [{"items": schemas["ScopeReply"]["examples"]}]


@pytest.mark.parametrize(
    ("path", "method", "statuses"),
    [
        ("/livez", "get", set()),
        ("/v1/catalog/domains", "get", {"503"}),
        ("/v1/catalog/check", "get", {"503"}),
        ("/v1/catalog/assets/{filename}", "get", set()),
        ("/v1/api-keys", "get", {"503"}),
        ("/v1/api-keys", "post", {"413", "415", "503"}),
    ],
)
def test_refusals_outside_of_handlers_are_documented(
    service: Service, path: str, method: str, statuses: set[str]
) -> None:
    answers = operations(service.openapi())[f"{method.upper()} {path}"]["responses"]
    assert {"413", "415", "503"} & answers.keys() == statuses
    assert "400" in answers
    for status in statuses:
        assert "application/problem+json" in answers[status]["content"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/docs/assets/nothing.js", 404),
        ("GET", "/docs/assets/../../app.py", 404),
        ("GET", "/docs/assets/%2e%2e/__init__.py", 404),
        ("POST", "/docs", 405),
        ("DELETE", "/openapi.json", 405),
        ("PUT", "/docs/assets/swagger-ui.css", 405),
    ],
)
async def test_refusals_outside_of_routes_have_the_same_form(
    anyone: Client, method: str, path: str, status: int
) -> None:
    answer = await anyone.request(method, path)

    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


async def test_a_page_answers_head(anyone: Client) -> None:
    answer = await anyone.head("/docs")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")


def test_an_attribute_of_the_shared_state_can_be_deleted() -> None:
    state = make_app().state
    state.lamp = 1
    assert (state.lamp, state["lamp"]) == (1, 1)
    del state.lamp
    assert not hasattr(state, "lamp")
