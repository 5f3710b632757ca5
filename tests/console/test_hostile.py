"""Hostile text in each field that a page shows: it stays text, and every page still answers."""

import httpx
import pytest
from markupsafe import escape

from tests.cast import Person
from tests.console.visitor import Visitor, fields_of
from tests.plans import make
from tests.webhooks import make as webhooks

MARKUP = {
    "script": "<script>alert(1)</script>",
    "attribute": '" autofocus onfocus="alert(1)',
    "entity": "&lt;b&gt;&#39;",
    "template": "{{ 7*7 }}{% raw %}",
    "long word": "x" * 80,
}
# A description is stored without invisible characters; names, labels and notes with them are refused.
INVISIBLE = {"right to left": "\u202egnp.exe", "zero width": "a\u200bb\ufeff", "lines": "one\ntwo"}
TEXTS = MARKUP | INVISIBLE


@pytest.fixture(params=MARKUP)
def text(request: pytest.FixtureRequest) -> str:
    """Return a hostile text that names, labels and notes may contain."""
    return MARKUP[request.param]


@pytest.fixture(params=TEXTS)
def any_text(request: pytest.FixtureRequest) -> str:
    """Return a hostile text."""
    return TEXTS[request.param]


def check(page: httpx.Response, text: str) -> None:
    """Check that the page shows the text, and that nothing of it is markup."""
    assert str(escape(text)) in page.text
    assert "<script>alert" not in page.text
    assert 'onfocus="' not in page.text


async def test_a_note_stays_text(browser: Visitor, alice: Person, name: str, text: str) -> None:
    await alice.patch(f"/v1/aliases/{name}", json={"note": text})
    page = await browser.open(f"/console/names/{name}")

    check(page, text)
    assert fields_of(page, "name-change")["_before.note"] == text


async def test_a_label_of_a_webhook_stays_text(browser: Visitor, alice: Person, text: str) -> None:
    made = await webhooks.create(alice, label=text)

    for path in ("webhooks", "deliveries", f"webhooks/{made['id']}"):
        check(await browser.open(f"/console/{path}"), text)


async def test_the_name_of_a_project_stays_text(browser: Visitor, alice: Person, text: str) -> None:
    await alice.post("/v1/builders/projects", json={"name": text})

    check(await browser.open("/console/projects"), text)


async def test_the_description_of_a_project_stays_text(browser: Visitor, alice: Person, any_text: str) -> None:
    made = (await alice.post("/v1/builders/projects", json={"name": "Shop", "description": any_text})).json()

    check(await browser.open(f"/console/projects/{made['id']}"), made["description"])


@pytest.mark.parametrize("member", ["display_name", "company"])
async def test_a_profile_stays_text(browser: Visitor, alice: Person, member: str, text: str) -> None:
    await alice.patch("/v1/me", json={member: text})

    check(await browser.open("/console/account"), text)


async def test_a_manifest_stays_text(browser: Visitor, alice: Person, domain: str, text: str) -> None:
    planned = await make.plan(alice, make.alias(f"ada@{domain}", note=text))

    check(await browser.open(f"/console/plans/{planned['id']}"), text)


@pytest.mark.parametrize("path", ["/console/search", "/console/names", "/search"])
async def test_a_query_stays_text(browser: Visitor, path: str, any_text: str) -> None:
    check(await browser.get(path, params={"q": any_text}), any_text)


async def test_what_was_typed_stays_text(browser: Visitor, name: str, any_text: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-change", destinations="no address", note=any_text)

    check(after, any_text)
    assert fields_of(after, "name-change")["note"] == any_text


async def test_ten_thousand_characters_are_refused_with_a_page(browser: Visitor, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-change", note="x" * 10_000)

    assert after.status_code == 422
    assert "note" in after.text


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"a" * 5000: "b"}, 200), ({f"f{at}": "x" for at in range(500)}, 200), ({"note": "\0"}, 422)],
)
async def test_unknown_fields_are_ignored_and_nul_is_refused(
    browser: Visitor, name: str, fields: dict[str, str], status: int
) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-change", **fields)

    assert after.status_code == status


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
