"""One domain is added to the portfolio and removed; pasted names are previewed as a file."""

from collections.abc import Awaitable, Callable

import pytest

from tests.cast import Person
from tests.console.visitor import Visitor, heading
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]
PAGE = "/console/portfolio/import"


async def domains(owner: Person) -> list[dict[str, str]]:
    async with owner.browser() as api:
        return sorted((await api.get("/v1/portfolio/domains")).json()["items"], key=lambda each: each["domain"])


async def held(owner: Person, *, booked: bool = False) -> str:
    """Add a domain; return its id."""
    body = {"domain": "harbour.com", "currency": "USD", **({"purchase": {"amount": "12.00"}} if booked else {})}
    async with owner.browser() as api:
        answer = await api.post("/v1/portfolio/domains", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_one_domain_is_added_with_its_price(browser: Visitor, alice: Person) -> None:
    typed = {"domain": "harbour.com", "registrar": "Porkbun", "purchase.amount": "$1,200.50", "folder": "Ports"}
    done = await browser.submit(await browser.open(PAGE), "portfolio-domain-add", **typed)
    [found] = await domains(alice)

    assert "harbour.com" in heading(done)
    assert "1,200.50" in done.text
    assert (found["domain"], found["registrar"], found["folder"]) == ("harbour.com", "Porkbun", "Ports")


async def test_a_domain_that_is_there_is_refused_in_the_form(browser: Visitor, alice: Person) -> None:
    await held(alice)
    done = await browser.submit(await browser.open(PAGE), "portfolio-domain-add", domain="harbour.com")

    assert done.status_code == 409
    assert 'value="harbour.com"' in done.text


@pytest.mark.parametrize("names", ["harbour.com\nquay.org", "harbour.com, quay.org", "harbour.com;quay.org\n\n"])
async def test_pasted_names_are_previewed_and_imported(browser: Visitor, alice: Person, names: str) -> None:
    found = await browser.submit(await browser.open(PAGE), "import-preview", names=names)
    assert "Import 2 rows" in found.text
    assert await domains(alice) == []
    await browser.submit(found, "import-start")

    assert [each["domain"] for each in await domains(alice)] == ["harbour.com", "quay.org"]


async def test_a_pasted_text_that_is_no_name_is_marked(browser: Visitor) -> None:
    found = await browser.submit(await browser.open(PAGE), "import-preview", names="harbour.com\nnot-a-name")

    assert "Import 2 rows" in found.text
    assert 'class="refused"' in found.text


async def test_a_domain_is_removed(browser: Visitor, alice: Person) -> None:
    page = await browser.open(f"/console/portfolio/remove/{await held(alice)}")
    done = await browser.submit(page, "portfolio-domain-remove")

    assert heading(done) == "Domains of the portfolio"
    assert await domains(alice) == []


async def test_a_domain_with_entries_is_removed_only_with_them(browser: Visitor, alice: Person) -> None:
    page = await browser.open(f"/console/portfolio/remove/{await held(alice, booked=True)}")
    refused = await browser.submit(page, "portfolio-domain-remove")
    assert (refused.status_code, len(await domains(alice))) == (409, 1)
    await browser.submit(page, "portfolio-domain-remove", history="delete")

    assert await domains(alice) == []


async def test_a_manager_removes_no_history(visit: Visit, alice: Person, charlie: Person) -> None:
    await join_team(alice, charlie, "manager")
    path = f"/console/of/{alice.account.id}/portfolio/remove/{await held(alice, booked=True)}"
    browser = await visit(charlie)
    page = await browser.open(path)
    assert 'name="history"' not in page.text
    refused = await browser.submit(page, "portfolio-domain-remove", history="delete")

    assert (refused.status_code, len(await domains(alice))) == (403, 1)


async def test_a_viewer_removes_nothing(visit: Visit, alice: Person, charlie: Person) -> None:
    await join_team(alice, charlie, "viewer")
    path = f"/console/of/{alice.account.id}/portfolio/remove/{await held(alice)}"

    assert "/do/portfolio-domain-remove" not in (await (await visit(charlie)).open(path)).text


async def test_a_stranger_opens_no_page_of_a_domain(visit: Visit, alice: Person, bob: Person) -> None:
    await (await visit(bob)).open(f"/console/portfolio/remove/{await held(alice)}", status=404)
