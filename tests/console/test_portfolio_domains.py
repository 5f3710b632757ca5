"""The list of the domains of a portfolio, as a page."""

import csv
import html
from collections.abc import Awaitable, Callable

import httpx
import pytest

from builders.kit.db.connections import Database
from builders.portfolio.domains import changes, names
from builders.portfolio.domains.records import NewDomain
from tests.cast import Client, Person
from tests.console.money import LIKE_AMOUNT, amounts_in, amounts_of
from tests.console.portfolio_scene import add, fill
from tests.console.visitor import Visitor, fields_of
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]
LIST = "/console/portfolio/domains"
MONEY = "renewal_price,estimated_value,cost,income,net,renewal_price_base,asking_price,min_offer"


async def test_each_figure_is_that_of_the_api(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{LIST}?columns={MONEY}")
    async with alice.browser() as api:
        listed = (await api.get("/v1/portfolio/domains")).json()["items"]

    assert amounts_of(page) == amounts_in([[each[name] for name in MONEY.split(",")] for each in listed])


async def test_a_filter_and_an_order_are_in_the_address(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{LIST}?sort=domain&status=owned&tag=&q=.")
    names = [page.text.index(f">{each}<") for each in ("harbour.com", "pier.net", "quay.org")]

    assert names == sorted(names)
    assert 'aria-sort="ascending"' in page.text
    assert "quay.org" not in (await browser.open(f"{LIST}?tag=brand")).text


async def test_pages_keep_the_view(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{LIST}?sort=domain&limit=1&columns=tags")
    following = page.text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    second = await browser.open(following.replace("&amp;", "&"))

    assert "pier.net" in second.text
    assert "columns=tags" in following


@pytest.mark.parametrize("limit", ["51", "500", "1" * 5_000])
async def test_a_page_has_at_most_50_domains(
    browser: Visitor, alice: Person, database: Database, limit: str
) -> None:
    new = [NewDomain(name=names.parse_name(f"port-{at:02}.com")) for at in range(51)]
    async with database.transaction() as conn:
        await changes.add_domains(conn, account_id=alice.account.id, new=new)
    page = await browser.open(f"{LIST}?sort=domain&limit={limit}")

    assert [f">port-{at:02}.com<" in page.text for at in (0, 49, 50)] == [True, True, False]


async def test_the_columns_are_kept_for_each_person(
    visit: Visit, browser: Visitor, alice: Person, charlie: Person
) -> None:
    await fill(alice)
    await join_team(alice, charlie, "manager")
    page = await browser.open(f"{LIST}?q=harbour")
    after = await browser.submit(page, "columns-choose", columns=["", "notes", "folder"])
    of_charlie = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio/domains")

    assert (after.url.params["q"], "Ask the broker." in after.text) == ("harbour", True)
    assert "12.34" not in after.text
    assert "Ask the broker." not in of_charlie.text


async def test_a_view_is_saved_opened_and_removed(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{LIST}?tag=brand&sort=-roi&columns=folder&limit=50")
    saved = await browser.submit(page, "view-save", name="Brands")
    address = f"{LIST}?tag=brand&amp;sort=-roi&amp;columns=folder"
    assert f'<a href="{address}">Brands</a>' in saved.text

    opened = await browser.open(address.replace("&amp;", "&"))
    assert "pier.net" not in opened.text
    removed = await browser.submit(opened, "view-remove")
    assert "Brands" not in removed.text


async def test_a_second_view_leaves_the_first(browser: Visitor) -> None:
    page = await browser.open(LIST)
    await browser.submit(page, "view-save", name="One")
    after = await browser.submit(await browser.open(f"{LIST}?q=a"), "view-save", name="Two")

    assert all(f">{each}</a>" in after.text for each in ("One", "Two"))


def export_of(page: httpx.Response) -> str:
    """Return the address of the file of a page."""
    found = page.text.partition(">Export this view as CSV")[0].rpartition('href="')[2].rstrip('"')
    return html.unescape(found)


async def test_the_file_has_the_rows_the_columns_and_the_order_of_the_view(
    browser: Visitor, alice: Person
) -> None:
    await fill(alice)
    page = await browser.open(f"{LIST}?status=owned&sort=-net&columns=net,folder,tags,auto_renew&limit=1")
    file = await browser.get(export_of(page))

    assert file.headers["content-type"] == "text/csv; charset=utf-8"
    assert file.headers["content-disposition"] == 'attachment; filename="portfolio.csv"'
    assert list(csv.reader(file.text.splitlines())) == [
        ["domain", "net", "net_currency", "folder", "tags", "auto_renew"],
        ["quay.org", "0.00", "USD", "", "", ""],
        ["pier.net", "-9.87", "USD", "", "", ""],
        ["harbour.com", "-1166.78", "USD", "Best", "brand", ""],
    ]


@pytest.mark.parametrize("accept", ["*/*", "text/csv", "application/octet-stream"])
async def test_a_browser_that_saves_the_link_gets_the_file(browser: Visitor, alice: Person, accept: str) -> None:
    """Chromium sends `Accept: */*` for a link with `download`, and for "Save link as"."""
    await fill(alice)
    file = await browser.get(export_of(await browser.open(LIST)), headers={"Accept": accept})

    assert (file.status_code, file.headers["content-type"]) == (200, "text/csv; charset=utf-8")


async def test_a_program_with_a_key_is_shown_no_file(alice: Person) -> None:
    refused = await alice.get(f"{LIST}.csv")

    assert (refused.status_code, refused.json()["detail"]) == (
        404,
        "The API has no such path: it is a page for browsers.",
    )


async def test_the_file_has_the_columns_that_the_person_has_saved(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    await browser.submit(await browser.open(LIST), "columns-choose", columns=["", "notes"])
    file = await browser.get(export_of(await browser.open(f"{LIST}?tag=brand")))

    assert file.text.splitlines() == ["domain,notes", "harbour.com,Ask the broker."]


async def test_a_cell_of_the_file_is_no_formula(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        await add(api, "harbour.com", notes='=HYPERLINK("https://evil.example")', folder="@SUM(1)")
    file = await browser.get(f"{LIST}.csv?columns=notes,folder")

    assert list(csv.reader(file.text.splitlines()))[1] == [
        "harbour.com",
        '\'=HYPERLINK("https://evil.example")',
        "'@SUM(1)",
    ]


async def test_a_file_has_all_pages_of_the_list(browser: Visitor, alice: Person, database: Database) -> None:
    new = [NewDomain(name=names.parse_name(f"port-{at:03}.com")) for at in range(501)]
    async with database.transaction() as conn:
        await changes.add_domains(conn, account_id=alice.account.id, new=new)
    file = await browser.get(f"{LIST}.csv?sort=domain&columns=tld")

    assert file.text.split() == ["domain,tld", *(f"port-{at:03}.com,com" for at in range(501))]


async def test_a_file_of_a_wrong_filter_is_refused_with_a_page(browser: Visitor) -> None:
    refused = await browser.get(f"{LIST}.csv?expiring_within_days=soon")

    assert (refused.status_code, "expiring within days" in refused.text) == (422, True)
    assert f'<a href="{LIST}">The page without the filter</a>' in refused.text


async def test_a_viewer_sees_no_amount(visit: Visit, alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join_team(alice, charlie, "viewer")
    viewer, space = await visit(charlie), f"/console/of/{alice.account.id}/portfolio/domains"
    page = await viewer.open(f"{space}?columns={MONEY},roi,tags")
    file = await viewer.get(f"{space}.csv?columns={MONEY},roi,tags")

    assert "harbour.com" in page.text
    assert not LIKE_AMOUNT.findall(page.text)
    assert "renewal_price" not in fields_of(page, "columns-choose")["columns"]
    assert file.text.splitlines()[0] == "domain,tags"
    assert not LIKE_AMOUNT.findall(file.text)
    await viewer.open(f"{space}?sort=-roi", 403)


async def test_a_file_is_for_members_alone(visit: Visit, alice: Person, bob: Person, anyone: Client) -> None:
    await fill(alice)
    space = f"/console/of/{alice.account.id}/portfolio/domains.csv"
    theirs = await (await visit(bob)).get(space)
    own = await (await visit(bob)).get(f"{LIST}.csv")

    assert (theirs.status_code, "harbour" in theirs.text) == (404, False)
    assert (own.status_code, "harbour" in own.text) == (200, False)
    assert (await anyone.get(space)).status_code == 401


async def test_the_sandbox_exports_its_own_domains(browser: Visitor, alice: Person) -> None:
    await fill(alice)

    assert "harbour" not in (await browser.get("/console/test/portfolio/domains.csv")).text


async def test_a_wrong_column_is_ignored(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        await add(api, "harbour.com", folder="Best")

    assert "Best" in (await browser.open(f"{LIST}?columns=folder,password")).text


async def test_a_column_that_is_named_again_and_again_is_shown_once(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{LIST}?columns={','.join(['net', 'tld'] * 100)}")

    assert page.text.count('<th scope="col"') == len(["domain", "net", "tld"])
