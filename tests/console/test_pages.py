"""Every page: it shows what the account has, to its owner alone."""

import gzip
import html
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from builders.console import views
from builders.console.pages import PAGES
from builders.kit.callers import Caller
from builders.kit.http.callers import Authenticate
from builders.kit.values import clock, ids
from tests.cast import Client, Person, replaced
from tests.console.visitor import Visitor, heading
from tests.plans import make
from tests.plans.approval.make import appoint, join_team
from tests.webhooks import make as webhooks

Visit = Callable[[Person], Awaitable[Visitor]]
LISTS = [each.path for each in PAGES if "{" not in each.path and each.path != "claim"]
SINGLE = [each.path for each in PAGES if "{" in each.path and not each.may_all_fail]


@pytest.mark.parametrize("space", ["/console", "/console/test"])
@pytest.mark.parametrize("path", LISTS)
async def test_a_page_of_an_empty_account_says_what_to_do_next(browser: Visitor, space: str, path: str) -> None:
    page = await browser.open(f"{space}/{path}".removesuffix("/"))

    assert heading(page)
    assert page.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", SINGLE)
async def test_what_does_not_exist_is_404_with_a_page(browser: Visitor, path: str) -> None:
    at = "/".join(str(ids.new()) if part.startswith("{") else part for part in path.split("/"))

    assert "Inbox" in (await browser.open(f"/console/{at}", 404)).text


@pytest.mark.parametrize("path", LISTS)
async def test_a_page_asks_a_stranger_to_sign_in(anyone: Client, path: str) -> None:
    page = await anyone.get(f"/console/{path}".removesuffix("/"), headers={"Accept": "text/html"})

    assert page.status_code == 401
    assert f'value="/console/{path}"'.removesuffix('/"') in page.text


@pytest.mark.parametrize(
    ("path", "status"), [("", 404), ("/names", 404), ("/test", 404), ("/do/name-change", 405)]
)
async def test_a_program_gets_no_page(alice: Person, path: str, status: int) -> None:
    answer = await alice.get(f"/console{path}", headers={"Accept": "text/html"})

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_name_is_shown_with_its_destination(browser: Visitor, name: str, domain: str) -> None:
    page = await browser.open(f"/console/names/{name}")

    assert heading(page).startswith(f"ada@{domain}")
    assert "ada@example.net" in page.text


async def test_the_names_of_another_account_are_not_shown(visit: Visit, bob: Person, name: str) -> None:
    await (await visit(bob)).open(f"/console/names/{name}", 404)


@pytest.mark.usefixtures("name")
async def test_a_list_has_a_filter(browser: Visitor, domain: str) -> None:
    page = await browser.open("/console/names?q=nothing-like-it")

    assert f"ada@{domain}" not in page.text
    assert "No name matches the filter." in page.text


async def test_a_wrong_filter_is_explained(browser: Visitor) -> None:
    assert "status" in (await browser.open("/console/names?status=lost", 422)).text


async def test_the_sandbox_is_left_with_the_query_of_the_page(browser: Visitor) -> None:
    page = await browser.open("/console/test/claim?local_part=zoe&domain=harbour.example")

    assert 'href="/console/claim?local_part=zoe&amp;domain=harbour.example">Leave the sandbox' in page.text


async def test_the_sandbox_is_left_at_the_begin_of_a_list(browser: Visitor) -> None:
    page = await browser.open("/console/test/names?q=ada&cursor=of-another-account", 422)

    assert 'href="/console/names?q=ada">Leave the sandbox' in page.text


async def test_a_refused_page_of_a_team_leads_to_the_inbox_of_the_person(browser: Visitor) -> None:
    page = await browser.open(f"/console/of/{ids.new()}/portfolio", 404)

    assert '<a href="/console">Inbox</a></p>' in page.text


async def test_a_plan_shows_each_change(browser: Visitor, alice: Person, domain: str) -> None:
    planned = await make.plan(alice, make.alias(f"ada@{domain}"))
    page = await browser.open(f"/console/plans/{planned['id']}")

    assert "ada@example.net" in page.text
    assert "12.00 <small>USD</small>" in page.text
    assert planned["digest"] in page.text
    key = (await alice.get(f"/v1/api-keys/{planned['created_by']}")).json()
    assert f"<dd>the key {key['label']}</dd>" in page.text


async def test_a_promotion_shows_its_journal(browser: Visitor, alice: Person, domain: str) -> None:
    promotion = await make.apply(alice, make.alias(f"ada@{domain}"))
    page = await browser.open(f"/console/promotions/{promotion['id']}")

    assert heading(page) == "Promotion succeeded"
    assert "1 of 1 steps" in page.text


async def test_an_invoice_shows_its_lines(browser: Visitor, alice: Person, domain: str) -> None:
    promotion = await make.apply(alice, make.alias(f"ada@{domain}"))
    page = await browser.open(f"/console/invoices/{promotion['invoices'][0]['id']}")

    assert f"ada@{domain}" in page.text


async def test_a_webhook_shows_its_deliveries(browser: Visitor, alice: Person) -> None:
    made = await webhooks.create(alice, label="orders")
    page = await browser.open(f"/console/webhooks/{made['id']}")

    assert heading(page) == "orders enabled"
    assert made["signing_secret"] not in page.text


async def test_an_id_is_found(browser: Visitor, name: str) -> None:
    page = await browser.open(f"/console/search?q={name}")

    assert f'<a href="/console/names/{name}">' in page.text


async def test_each_kind_is_found_by_its_id_and_opens(browser: Visitor, everything: dict[str, str]) -> None:
    of_portfolio = {"portfolio", "import", "run"}  # no kind of the search
    for page, found in (each for each in everything.items() if each[0] not in of_portfolio):
        results = await browser.open(f"/console/search?q={found}")
        assert f'<a href="/console/{page}/{found}">' in results.text, page
        assert heading(await browser.open(f"/console/{page}/{found}"))


@pytest.mark.usefixtures("everything")
async def test_the_inbox_lists_what_needs_a_person(browser: Visitor, alice: Person) -> None:
    soon = (clock.now() + timedelta(days=10)).isoformat()
    row = {"domain": f"bücher-{ids.new().hex}.com", "expires_at": soon}
    async with alice.browser() as own:
        answer = await own.post("/v1/portfolio/domains", json=row)
    assert answer.status_code == 201, answer.text
    page = await browser.open("/console")

    for section in (
        "Invoices to pay",
        "Mailboxes that are not confirmed",
        "Domains that need a step",
        "expire within 30 days",
    ):
        assert section in page.text
    assert f'<span title="{answer.json()["domain"]}">{row["domain"]}</span>' in page.text


async def test_the_team_and_the_sessions_show_everybody(browser: Visitor, alice: Person, charlie: Person) -> None:
    await join_team(alice, charlie)
    await alice.admit_support()

    assert charlie.account.email in (await browser.open("/console/team")).text
    assert "sam@vendor.example" in (await browser.open("/console/sessions")).text


async def test_a_membership_leads_to_the_account_of_the_team(visit: Visit, alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    page = await (await visit(charlie)).open("/console/team")

    assert f'href="/console/of/{alice.account.id}/approval"' in page.text


async def test_the_sandbox_of_no_account_is_never_the_live_one(browser: Visitor, alice: Person) -> None:
    await browser.open("/console/test/names")
    with replaced(alice.service, authenticate=_WithoutSandbox(alice.service.api.state.authenticate)):
        await browser.open("/console/test/names", 401)


class _WithoutSandbox:
    """The authenticator, of an account whose sandbox does not exist."""

    def __init__(self, inner: Authenticate) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def __call__(self, *given: Any, **named: Any) -> Caller:
        return await self._inner(*given, **named)

    async def find_other_mode(self, caller: Caller) -> Caller | None:
        return None if caller.mode == "live" else caller


@pytest.mark.usefixtures("name")
async def test_a_word_is_searched_in_names(browser: Visitor, domain: str) -> None:
    assert f"ada@{domain}" in (await browser.open("/console/search?q=ada")).text


async def test_the_sandbox_shows_no_live_name(browser: Visitor, name: str) -> None:
    page = await browser.open(f"/console/test/names/{name}", 404)

    assert "Sandbox: nothing here is real." in page.text
    assert "<title>TEST" in page.text


async def test_a_support_session_sees_a_banner(alice: Person, name: str) -> None:
    async with Visitor(alice, await alice.admit_support()) as support:
        page = await support.open(f"/console/names/{name}")
    assert "Support session of sam@vendor.example" in page.text


async def test_a_page_names_its_requests(browser: Visitor, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")

    assert f'curl "http://builders.test/v1/aliases/{name}" -H "X-API-Key: $KEY"' in html.unescape(page.text)


async def test_pages_allow_only_their_own_style_and_script(browser: Visitor) -> None:
    page = await browser.open("/console")

    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["cross-origin-opener-policy"] == "same-origin"


async def test_the_script_is_small(browser: Visitor) -> None:
    script = await browser.open(views.SCRIPT.address)

    assert len(gzip.compress(script.content)) <= 25_000
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|eval|document\.write", script.text)


@pytest.mark.parametrize("path", LISTS)
async def test_the_filters_of_a_page_are_parameters_of_the_api(browser: Visitor, path: str) -> None:
    place = f"/console/{path}".removesuffix("/")
    filters = re.findall(r'<form class="filters".*?</form>', (await browser.open(place)).text, re.DOTALL)
    names = re.findall(r'<(?:input|select)[^>]* name="(\w+)"', " ".join(filters))
    refused = {name: (await browser.get(place, params={name: "1"})).text for name in names}

    assert not [name for name, text in refused.items() if "Unknown query parameter" in text]
