"""Changes of many domains: a page shows them, the next form makes them."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from builders.kit.db.connections import Database
from builders.portfolio.domains import changes, names
from builders.portfolio.domains.records import MAX_BULK, NewDomain
from tests.cast import Person
from tests.console.portfolio_scene import fill
from tests.console.visitor import Visitor, heading
from tests.plans.approval.make import join_team
from tests.plans.make import Json

Visit = Callable[[Person], Awaitable[Visitor]]
LIST = "/console/portfolio/domains"


async def held(alice: Person) -> dict[str, Json]:
    """Alice's domains by name."""
    async with alice.browser() as api:
        return {each["domain"]: each for each in (await api.get("/v1/portfolio/domains")).json()["items"]}


async def preview(browser: Visitor, query: str = "", /, **typed: Any) -> httpx.Response:
    return await browser.submit(await browser.open(LIST + query), "domains-preview", **typed)


async def test_the_selected_domains_are_changed_as_it_was_shown(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    before = await held(alice)
    ids = [before[name]["id"] for name in ("harbour.com", "pier.net")]
    typed = {"domains": ids, "set.folder": "Spring", "set.asking_price": "1200 USD", "add_tags": "sale, spring"}
    page = await preview(browser, **typed)

    assert heading(page) == "What changes"
    assert "1200.00 USD" in page.text
    assert await held(alice) == before

    done = await browser.submit(page, "domains-change")
    after = await held(alice)
    assert " changed." in done.text
    assert [each["domain"] for each in after.values() if each["folder"] == "Spring"] == ["pier.net", "harbour.com"]
    assert {"sale", "spring"} <= {*after["harbour.com"]["tags"]}
    assert after["quay.org"] == before["quay.org"]


async def test_all_domains_of_the_view_are_changed(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await preview(browser, "?tag=brand&sort=-roi", all="true", clear="folder", **{"set.auto_renew": "true"})
    done = await browser.submit(page, "domains-change")

    found = await held(alice)
    changed = {name for name, each in found.items() if each["auto_renew"] and each["folder"] is None}
    assert done.url.params["tag"] == "brand"
    assert changed == {name for name, each in found.items() if "brand" in each["tags"]}


async def test_a_decision_is_shown_and_recorded(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await preview(browser, domains=(await held(alice))["harbour.com"]["id"], decision="drop")
    assert "undecided" in page.text

    await browser.submit(page, "domains-change")
    dropped = await browser.open(f"{LIST}?decision=drop")
    assert "harbour.com" in dropped.text
    assert "pier.net" not in dropped.text


async def test_a_decision_taken_after_the_page_is_kept(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    harbour = (await held(alice))["harbour.com"]["id"]
    page = await preview(browser, domains=harbour, decision="drop")
    async with alice.browser() as api:
        renewed = {"domains": [harbour], "set": {"decision": "renew"}}
        (await api.patch("/v1/portfolio/renewals/bulk", json=renewed)).raise_for_status()

    refused = await browser.submit(page, "domains-change")

    assert (refused.status_code, "nothing is changed" in refused.text) == (409, True)
    assert re.findall(r'"(Before|After)">(\w+)<', refused.text) == [("Before", "renew"), ("After", "drop")]
    assert "harbour.com" in (await browser.open(f"{LIST}?decision=renew")).text
    await browser.submit(refused, "domains-change")
    assert "harbour.com" in (await browser.open(f"{LIST}?decision=drop")).text


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"set.folder": "Ports"}, "Select domains, or choose all domains of this view."),
        ({"all": "true"}, "at least one tag"),
        ({"all": "true", "set.asking_price": "cheap"}, "set.asking_price"),
        ({"all": "true", "set.folder": "Ports", "decision": "drop"}, "one of them at a time"),
    ],
)
async def test_a_form_that_cannot_be_shown_says_why_and_keeps_what_was_typed(
    browser: Visitor, alice: Person, typed: Json, told: str
) -> None:
    await fill(alice)
    page = await preview(browser, **typed)

    assert told in page.text
    assert all(f'value="{value}"' in page.text for name, value in typed.items() if name.startswith("set."))


async def test_more_domains_than_one_request_changes_are_changed_in_parts(
    browser: Visitor, alice: Person, database: Database
) -> None:
    new = [NewDomain(name=names.parse_name(f"port-{at}.com")) for at in range(MAX_BULK + 3)]
    async with database.transaction() as conn:
        await changes.add_domains(conn, account_id=alice.account.id, new=new)
    first = await preview(browser, "?q=port-", all="true", add_tags="sea")
    assert "1000 would change" in first.text
    left = await browser.submit(first, "domains-preview")
    second = await browser.submit(first, "domains-change")
    assert "3 would change" in left.text
    assert "3 would change" in second.text
    assert "The domains before these are changed." in second.text
    done = await browser.submit(second, "domains-change")
    assert " changed." in done.text

    async with alice.browser() as api:
        tags = (await api.get("/v1/portfolio/tags")).json()["items"]
    assert tags == [{"tag": "sea", "count": MAX_BULK + 3}]


async def test_a_member_who_may_not_edit_selects_nothing(visit: Visit, alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join_team(alice, charlie, "accountant")
    page = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio/domains")

    assert "harbour.com" in page.text
    assert "/do/domains-preview" not in page.text
    assert 'name="domains"' not in page.text
