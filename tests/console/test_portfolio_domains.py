"""The list of the domains of a portfolio, as a page."""

import csv
from collections.abc import Awaitable, Callable

from tests.cast import Client, Person
from tests.console.money import LIKE_AMOUNT, amounts_in, amounts_of
from tests.console.portfolio_scene import add, fill
from tests.console.visitor import Visitor, fields_of
from tests.sandbox.approval.make import join_team

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


async def test_the_view_is_exported(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{LIST}?tag=brand&sort=-roi&columns=folder")
    link = page.text.partition(" download>")[0].rpartition('href="')[2].rstrip('"').replace("&amp;", "&")
    file = await browser.get(link)
    rows = list(csv.DictReader(file.text.splitlines()))

    assert file.headers["content-type"] == "text/csv; charset=utf-8"
    assert file.headers["content-disposition"] == 'attachment; filename="portfolio.csv"'
    assert [(each["domain"], each["renewal_price"]) for each in rows] == [("harbour.com", "12.34")]


async def test_a_viewer_sees_no_amount(visit: Visit, alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join_team(alice, charlie, "viewer")
    viewer, space = await visit(charlie), f"/console/of/{alice.account.id}/portfolio/domains"
    page = await viewer.open(f"{space}?columns={MONEY},roi,tags")
    file = await viewer.get(f"{space}.csv")

    assert "harbour.com" in page.text
    assert not LIKE_AMOUNT.findall(page.text)
    assert "renewal_price" not in fields_of(page, "columns-choose")["columns"]
    assert file.status_code == 200
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
