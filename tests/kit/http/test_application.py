"""The OpenAPI document, and the page that shows it without internet access."""

import base64
import hashlib
import html
import json
import re

import pytest

from builders.app import Service, read_document
from builders.kit.http.application import make_app
from builders.kit.process.version import REVISION
from tests.cast import Client
from tests.contract.document import operations


async def test_the_page_has_a_language_and_needs_neither_scripts_nor_other_addresses(anyone: Client) -> None:
    answer = await anyone.get("/docs")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.text.startswith('<!doctype html>\n<html lang="en">')
    assert "<script" not in answer.text
    assert not re.search(r"""\s(?:on\w+|style)=["']""", answer.text)  # the policy would refuse both
    loaded = re.findall(r"""<link[^>]*href="([^"]+)"|\ssrc=|@import|url\(""", answer.text)
    assert loaded == ["/favicon.ico"]
    [style] = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    assert "script-src" not in policy
    assert "prefers-color-scheme: dark" in style


async def test_each_link_of_the_page_leads_somewhere(anyone: Client) -> None:
    page = (await anyone.get("/docs")).text

    links = set(re.findall(r"""<a href="([^"]+)""", page))
    ids = re.findall(r"""\sid="([^"]+)""", page)
    assert len(ids) == len(set(ids))
    assert links - {f"#{each}" for each in ids} == {"/openapi.json"}


async def test_the_page_shows_each_part_of_the_document(anyone: Client, service: Service) -> None:
    document = service.openapi()
    page = html.unescape(re.sub("<[^>]+>", "", (await anyone.get("/docs")).text))

    listed, components = operations(document), document["components"]
    shown = [
        *listed,
        *document["webhooks"],
        *components["schemas"],
        *components["examples"],
    ]
    shown += [each["operationId"] for each in listed.values()]
    shown += [name for each in listed.values() for name in each["responses"]]
    shown += [part["name"] for each in listed.values() for part in each.get("parameters", ())]
    shown += [name for schema in components["schemas"].values() for name in schema.get("properties", ())]
    assert [each for each in shown if each not in page] == []


async def test_the_page_has_a_command_for_an_operation(anyone: Client) -> None:
    page = html.unescape((await anyone.get("/docs")).text)

    assert (
        'curl -X POST "$SERVICE/v1/portfolio/domains" \\\n  -H "X-API-Key: $KEY" \\\n'
        '  -H "Content-Type: application/json" \\\n  -d \'{\n  "domain": "harbour.example"\n}\''
    ) in page
    assert 'curl "$SERVICE/v1/catalog/check?local_part=$LOCAL_PART&domain=$DOMAIN"</pre>' in page
    assert 'curl "$SERVICE/v1/sandbox/plans/$PLAN_ID" \\\n  -H "X-API-Key: $KEY"</pre>' in page


async def test_the_page_is_compressed_and_kept_by_its_tag(anyone: Client) -> None:
    answer = await anyone.get("/docs", headers={"Accept-Encoding": "gzip"})
    plain = await anyone.get("/docs", headers={"Accept-Encoding": "identity"})
    again = await anyone.get("/docs", headers={"If-None-Match": answer.headers["etag"]})

    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 205_000
    assert (plain.text, "content-encoding" in plain.headers) == (answer.text, False)
    assert (again.status_code, again.content) == (304, b"")


async def test_the_document_is_served_unchanged(anyone: Client, service: Service) -> None:
    answer = await anyone.get("/openapi.json")

    document = answer.json()
    assert document == service.openapi()
    assert document["info"]["version"] == REVISION
    assert "Problem" in document["components"]["schemas"]
    assert "/docs" not in document["paths"]


@pytest.mark.parametrize("tag", [each["name"] for each in read_document()["tags"]])
async def test_a_part_of_the_document_has_the_operations_of_a_tag(anyone: Client, tag: str) -> None:
    part = (await anyone.get("/openapi.json", params={"tag": tag})).json()

    every = operations(read_document())
    assert operations(part).keys() == {name for name, each in every.items() if tag in each["tags"]}
    assert [each["name"] for each in part["tags"]] == [tag]


@pytest.mark.parametrize("tag", ["portfolio", "sandbox", "webhooks", "probes"])
async def test_a_part_of_the_document_has_the_components_that_it_needs(anyone: Client, tag: str) -> None:
    part = (await anyone.get("/openapi.json", params={"tag": tag})).json()

    needed = set(re.findall(r'"#/components/(\w+/[^"]+)"', json.dumps(part)))
    there = {f"{kind}/{name}" for kind, named in part["components"].items() for name in named}
    schemes = {f"securitySchemes/{name}" for name in read_document()["components"]["securitySchemes"]}
    assert there == needed | schemes


async def test_the_part_about_plans_is_a_fraction_of_the_document(anyone: Client) -> None:
    whole, part = await anyone.get("/openapi.json"), await anyone.get("/openapi.json?tag=sandbox")
    assert len(part.content) < len(whole.content) / 3


async def test_an_unknown_tag_is_refused_with_the_known_ones(anyone: Client) -> None:
    answer = await anyone.get("/openapi.json?tag=names")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", "tag"]
    assert "sandbox" in answer.json()["detail"][0]["msg"]


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
        ("GET", "/docs/nothing", 404),
        ("POST", "/docs", 405),
        ("POST", "/redoc", 405),
        ("DELETE", "/openapi.json", 405),
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
