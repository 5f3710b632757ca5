"""Hostile text in each field that a page shows: it stays text, and every page still answers."""

from typing import Any

import pytest

from tests.cast import Person
from tests.console.visitor import Visitor, fields_of
from tests.sandbox import make
from tests.webhooks import make as webhooks

TEXTS = {
    "script": "<script>alert(1)</script>",
    "attribute": '" autofocus onfocus="alert(1)',
    "entity": "&lt;b&gt;&#39;",
    "template": "{{ 7*7 }}{% raw %}",
    "right to left": "\u202egnp.exe",
    "zero width": "a\u200bb\ufeff",
    "long word": "x" * 200,
    "lines": "one\ntwo",
}


@pytest.fixture(params=TEXTS)
def text(request: pytest.FixtureRequest) -> str:
    """Return a hostile text."""
    return TEXTS[request.param]


async def test_a_note_stays_text(browser: Visitor, alice: Person, name: str, text: str) -> None:
    await alice.patch(f"/v1/aliases/{name}", json={"note": text})
    page = await browser.open(f"/console/names/{name}")

    stored = (await alice.get(f"/v1/aliases/{name}")).json()["note"]
    assert "<script>alert" not in page.text
    assert "onfocus=" not in page.text.replace("&#34; autofocus onfocus=&#34;", "")
    assert stored is None or fields_of(page, "name-change")["_before.note"] == stored


async def test_a_label_of_a_webhook_stays_text(browser: Visitor, alice: Person, text: str) -> None:
    answer = await alice.post(webhooks.PATH, json=webhooks.WANTED | {"label": text})
    pages = ["/console/webhooks", "/console/deliveries", "/console"]
    if answer.status_code == 200:
        pages.append(f"/console/webhooks/{answer.json()['id']}")

    for path in pages:
        assert "<script>alert" not in (await browser.open(path)).text


async def test_members_of_a_project_stay_text(browser: Visitor, alice: Person, text: str) -> None:
    answer = await alice.post("/v1/builders/projects", json={"name": text[:80], "description": text})
    if answer.status_code == 200:
        page = await browser.open(f"/console/projects/{answer.json()['id']}")
        assert "<script>alert" not in page.text
    assert "<script>alert" not in (await browser.open("/console/projects")).text


async def test_a_profile_stays_text(browser: Visitor, alice: Person, text: str) -> None:
    for member in ("display_name", "company"):
        await alice.patch("/v1/me", json={member: text[:80]})

    assert "<script>alert" not in (await browser.open("/console/account")).text


async def test_a_manifest_stays_text(browser: Visitor, alice: Person, domain: str, text: str) -> None:
    body: Any = make.manifest([make.alias(f"ada@{domain}", note=text)])
    answer = await alice.post(make.PLAN, json=body)
    if answer.status_code == 200:
        page = await browser.open(f"/console/plans/{answer.json()['id']}")
        assert "<script>alert" not in page.text
    assert "<script>alert" not in (await browser.open("/console/plans")).text


@pytest.mark.parametrize("path", ["/console/search", "/console/names", "/"])
async def test_a_query_stays_text(browser: Visitor, path: str, text: str) -> None:
    page = await browser.get(path, params={"q": text})

    assert page.status_code in {200, 422}
    assert "<script>alert" not in page.text


async def test_what_was_typed_stays_text(browser: Visitor, name: str, text: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-change", destinations="no address", note=text)

    assert after.status_code == 422
    assert "<script>alert" not in after.text


async def test_ten_thousand_characters_are_refused_with_a_page(browser: Visitor, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-change", note="x" * 10_000)

    assert after.status_code == 422
    assert "note" in after.text


@pytest.mark.parametrize("fields", [{"a" * 5000: "b"}, {f"f{at}": "x" for at in range(500)}, {"note": "\0"}])
async def test_a_strange_form_is_refused(browser: Visitor, name: str, fields: dict[str, str]) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-change", **fields)

    assert after.status_code in {200, 422}


@pytest.mark.parametrize(
    "path",
    [
        "names/destinations",
        "domains/claimable",
        "invoices/billing-details",
        "invoices/stripe",
        "search/destinations",
        "names/a%2Fb",
        "names/a%3Fb",
        "names/%2e%2e",
        "names/%ED%A0%80",
    ],
)
async def test_what_is_no_identifier_is_no_page(browser: Visitor, path: str) -> None:
    page = await browser.open(f"/console/{path}", 404)

    assert page.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("alias_id", ["destinations", "../domains", "a?b", ""])
async def test_a_form_reaches_no_other_operation(browser: Visitor, name: str, alias_id: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-release", alias_id=alias_id)

    assert after.status_code == 404
