"""Hostile text in what a portfolio and its files contain: it stays text, and every page still answers."""

import re

import pytest

from tests.cast import Person
from tests.console.portfolio_scene import add, in_days
from tests.console.test_hostile import MARKUP, check
from tests.console.test_portfolio_import import choose
from tests.console.visitor import Visitor
from tests.portfolio.finance.make import usd

PAGES = ("portfolio", "portfolio/domains?columns=notes,tags,folder,registrar", "portfolio/renewals")


@pytest.fixture(params=MARKUP)
def text(request: pytest.FixtureRequest) -> str:
    """Return a hostile text."""
    return MARKUP[request.param]


async def test_what_a_domain_contains_stays_text(browser: Visitor, alice: Person, text: str) -> None:
    tag = re.sub("[,;|]", " ", text.lower())[:50].strip()
    async with alice.browser() as api:
        domain_id = await add(
            api,
            "harbour.com",
            tags=[tag],
            **dict.fromkeys(("folder", "registrar", "notes"), text),
            expires_at=in_days(9),
        )
        entry = {"kind": "other_cost", "amount": usd("1.00"), "memo": text, "reference": text}
        path = f"/v1/portfolio/domains/{domain_id}"
        assert (await api.patch(f"{path}/finance", json={"entries_add": [entry]})).is_success
        assert (await api.patch(path, json={"folder": f"{text} 2"})).is_success

    for path in (f"portfolio/domains/{domain_id}", f"portfolio/history/{domain_id}", PAGES[1]):
        check(await browser.open(f"/console/{path}"), text)
    for path in PAGES:
        page = await browser.get(f"/console/{path}", params={"tag": tag})
        assert (page.status_code, "harbour.com" in page.text) == (200, True)
        check(page, tag)


async def test_a_saved_view_stays_text(browser: Visitor, text: str) -> None:
    page = await browser.open("/console/portfolio/domains?q=a")
    check(await browser.submit(page, "view-save", name=text[:50]), text[:50])


@pytest.mark.parametrize("text", [*MARKUP.values(), '=HYPERLINK("https://evil.example")'])
async def test_a_file_stays_text(browser: Visitor, text: str) -> None:
    column = text.replace('"', '""')
    page = await choose(browser, f'domain,"{column}"\nharbour.com,"{column}"\n"{column}",\n')
    check(page, text)
    done = await browser.submit(page, "import-start")
    check(done, text)


async def test_the_query_of_a_saved_view_stays_an_address(browser: Visitor, alice: Person) -> None:
    """A program may save any query: of unknown columns, of parameters that are none, of markup."""
    queries = {"markup": 'q="><script>alert(1)</script>', "columns": "columns=nope,net,net", "unknown": "nope=1"}
    async with alice.browser() as api:
        views = [{"name": name, "query": query} for name, query in queries.items()]
        assert (await api.patch("/v1/portfolio/views", json={"views": views})).is_success
    page = await browser.open("/console/portfolio/domains")

    assert "<script>alert" not in page.text
    opened = {name: await browser.get(f"/console/portfolio/domains?{query}") for name, query in queries.items()}
    statuses = {name: each.status_code for name, each in opened.items()}
    assert statuses == {"markup": 200, "columns": 200, "unknown": 422}
