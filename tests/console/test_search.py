"""The search box: it finds what its label names, of the own account alone."""

import re
from collections.abc import Awaitable, Callable

import httpx
import pytest

from tests.cast import Person
from tests.console.visitor import Visitor
from tests.plans import make
from tests.webhooks import make as webhooks

Visit = Callable[[Person], Awaitable[Visitor]]


@pytest.fixture
async def found_by(alice: Person, everything: dict[str, str]) -> dict[str, str]:
    """Return the text that finds each kind of thing, by the address of its page."""

    async def read(path: str) -> httpx.Response:
        return await alice.get(f"{path}/{everything[path.rpartition('/')[2]]}")

    async with alice.browser() as api:
        held = (await api.post("/v1/portfolio/domains", json={"domain": "bücher-harbour.com"})).json()
    domain = (await read("/v1/domains")).json()["domain"]
    hook = await webhooks.create(alice, label="Orders of the Shop", url="https://93.184.215.14/orders")
    return {
        f"names/{everything['names']}": "ada@",
        f"domains/{everything['domains']}": domain[4:20].upper(),
        f"portfolio/domains/{held['id']}": "bücher-harbour.com",
        f"projects/{everything['projects']}": "hop",
        f"webhooks/{hook['id']}": "orders of",
        f"plans/{everything['plans']}": "ACME",
        f"invoices/{everything['invoices']}": (await read("/v1/invoices")).json()["number"].lower(),
        f"deliveries/{everything['deliveries']}": "alias.created",
    }


async def search(browser: Visitor, text: str) -> httpx.Response:
    page = await browser.get("/console/search", params={"q": text})
    assert page.status_code == 200, page.text
    return page


async def test_each_kind_of_thing_is_found(browser: Visitor, found_by: dict[str, str]) -> None:
    found = {
        page: f'href="/console/{page}"' in (await search(browser, text)).text for page, text in found_by.items()
    }

    assert found == dict.fromkeys(found_by, True)


async def test_nothing_of_another_account_is_found(visit: Visit, bob: Person, found_by: dict[str, str]) -> None:
    browser = await visit(bob)
    pages = [await search(browser, text) for text in found_by.values()]

    assert [re.findall(r"Nothing of yours matches", each.text) for each in pages] == [
        ["Nothing of yours matches"]
    ] * len(pages)


@pytest.mark.parametrize("text", ["x" * 253, "%", "_", "\\", "' OR 1=1", "🔭", "INV-"])
async def test_any_text_is_searched_as_it_is(browser: Visitor, found_by: dict[str, str], text: str) -> None:
    page = await search(browser, text)

    assert not [each for each in found_by if f'href="/console/{each}"' in page.text]
    assert "Not shown" not in page.text


async def test_an_empty_search_asks_for_a_text(browser: Visitor) -> None:
    assert "Type what you look for" in (await search(browser, " ")).text


async def test_the_lists_of_the_api_are_filtered(alice: Person, everything: dict[str, str], domain: str) -> None:
    await make.plan(alice, make.alias(f"bea@{domain}"), name="second-mail")

    async def count(path: str, **query: str) -> int:
        answer = await alice.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return len(answer.json()["items"])

    number = (await alice.get(f"/v1/invoices/{everything['invoices']}")).json()["number"]
    assert {
        "plans": [await count("/v1/sandbox/plans", q=each) for each in ("", "SECOND", "third")],
        "projects": [await count("/v1/builders/projects", q=each) for each in ("", "sHO", "shops")],
        "archived": [
            await count("/v1/builders/projects", q=each, include_archived="true") for each in ("sho", "x")
        ],
        "domains": [await count("/v1/domains", q=each) for each in ("", "OWN-", "other")],
        "invoices": [
            await count("/v1/invoices", number=each) for each in (number, number[:-1], f" {number.lower()}")
        ],
        "paid": [await count("/v1/invoices", number=number, status=each) for each in ("open", "paid")],
    } == {
        "plans": [2, 1, 0],
        "projects": [1, 1, 0],
        "archived": [1, 0],
        "domains": [1, 1, 0],
        "invoices": [1, 0, 1],
        "paid": [1, 0],
    }
