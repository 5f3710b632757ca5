"""The public pages: home, the catalog, the search and the sitemap, as everybody and every cache sees them."""

import html
import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from builders.app import Service
from builders.catalog.suggestion_index import SuggestionIndex
from builders.console import front
from builders.console.api import SEARCH
from builders.demo.images import cover
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.catalog.make import Loader, fresh, make_domain
from tests.console.visitor import heading
from tests.plans import make

LOCATION = re.compile("<loc>([^<]+)</loc>")
PUBLIC = {"Accept": ACCEPT}
RANKS = itertools.count(900_000)  # a newer shop is the first of the catalog


@pytest.fixture
def load(service: Service, tmp_path: Path) -> Loader:
    """Return a loader of catalog files."""
    return Loader(service, tmp_path)


@pytest.fixture
async def shop(load: Loader) -> str:
    """Return a domain with a picture, on which names can be claimed."""
    domain = fresh()
    (load.folder / "cover.png").write_bytes(cover(domain, "Shop"))
    row = {"domain": domain, "title": "Shop", "tagline": "For <b>sellers</b>", "categories": "fun"}
    prices = {"price_amount": "24.00", "price_currency": "EUR", "short_name_prices": "3:60.00"}
    await load({**row, **prices, "featured": "true", "rank": next(RANKS), "cover": "cover.png"})
    return domain


async def see(client: Client, path: str, status: int = 200, **query: str) -> httpx.Response:
    """Return a public page."""
    page = await client.get(f"{path}?{urlencode(query)}" if query else path, headers=PUBLIC)
    assert page.status_code == status, page.text
    return page


def names_of(page: httpx.Response) -> list[str]:
    """Return the names that a page offers."""
    return [re.sub("<wbr>", "", each) for each in re.findall(r'<th scope="row">(.*?)</th>', page.text)]


def meta(page: httpx.Response) -> Mapping[str, str]:
    """Return the properties of a page that other sites show."""
    found = re.findall(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">', page.text)
    return {name: html.unescape(value) for name, value in found}


@pytest.fixture(params=["/", "/catalog", "/catalog/{shop}", "/categories/fun", "/search?q=ada"])
def address(request: pytest.FixtureRequest, shop: str) -> str:
    """Return the address of each kind of public page."""
    return str(request.param).format(shop=shop)


async def test_a_public_page_is_kept_for_a_minute_by_every_cache(anyone: Client, address: str) -> None:
    page = await see(anyone, address)

    assert page.headers["cache-control"] == "public, max-age=60"
    assert page.headers["etag"]
    assert "set-cookie" not in page.headers
    assert "x-robots-tag" not in page.headers


async def test_a_public_page_is_not_sent_again(anyone: Client, address: str) -> None:
    page = await see(anyone, address)
    again = await anyone.get(address, headers={**PUBLIC, "If-None-Match": page.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == "public, max-age=60"


async def test_a_public_page_has_the_same_bytes_for_everybody(anyone: Client, alice: Person, address: str) -> None:
    cookie = {"Cookie": f"svc_access_token={await alice.sign_in()}"}
    pages = [await see(anyone, address), await anyone.get(address, headers={**PUBLIC, **cookie})]
    pages.append(await anyone.get(address, headers={**PUBLIC, "Cookie": "svc_access_token=forged"}))

    assert {page.content for page in pages} == {pages[0].content}
    assert alice.account.email not in pages[1].text


async def test_a_public_page_runs_only_scripts_of_this_service(anyone: Client, address: str) -> None:
    page = await see(anyone, address)

    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?! type=\"module\" src=\"/assets/)", page.text)
    for script in re.findall(r'src="(/assets/[^"]+)"', page.text):
        assert (await anyone.get(script)).status_code == 200


async def test_a_public_page_says_what_it_is_about(anyone: Client, address: str) -> None:
    page = await see(anyone, address)

    found = meta(page)
    assert found["description"]
    assert found["og:title"] in html.unescape(re.sub("<[^>]*>", "", page.text))
    assert found["og:url"].startswith("http")


async def test_home_shows_the_catalog_and_the_way_in(anyone: Client, shop: str) -> None:
    page = await see(anyone, "/")

    assert f'href="/catalog/{shop}"' in page.text
    assert 'href="/categories/fun"' in page.text
    assert '<img src="/v1/catalog/assets/' in page.text
    assert "24.00 <small>EUR</small></span> <small>a year" in page.text
    assert any(each.startswith("hello@") for each in names_of(page))
    assert 'action="/v1/auth/login"' in page.text
    assert all(f"<h3>{each}</h3>" in page.text for each in ("Developers", "Agents", "Domainers"))


async def test_a_search_of_an_older_address_is_found(anyone: Client) -> None:
    answer = await anyone.get("/?q=a%26b", headers=PUBLIC)

    assert (answer.status_code, answer.headers["location"]) == (308, "/search?q=a%26b")


async def test_the_page_of_a_domain_has_its_prices_and_five_free_names(anyone: Client, shop: str) -> None:
    page = await see(anyone, f"/catalog/{shop}")

    names = names_of(page)
    assert len(names) == front.FREE_NAMES
    assert {each.partition("@")[2] for each in names} == {shop}
    assert "24.00 <small>EUR" in page.text
    assert "60.00 <small>EUR" in page.text
    assert "only a claim reserves a name" in page.text
    assert "For &lt;b&gt;sellers&lt;/b&gt;" in page.text


async def test_a_name_of_the_page_can_be_claimed(anyone: Client, shop: str) -> None:
    for address in names_of(await see(anyone, f"/catalog/{shop}")):
        local_part, _, domain = address.partition("@")
        checked = (await anyone.get(f"/v1/catalog/check?local_part={local_part}&domain={domain}")).json()
        assert checked["available"], checked


async def test_a_claimed_name_leaves_the_page(anyone: Client, alice: Person, shop: str) -> None:
    before = names_of(await see(anyone, f"/catalog/{shop}"))
    await make.apply(alice, make.alias(before[0]))
    after = names_of(await see(anyone, f"/catalog/{shop}"))

    assert before[0] not in after
    assert len(after) == front.FREE_NAMES


async def test_the_picture_of_a_domain_is_that_of_its_card_elsewhere(anyone: Client, shop: str) -> None:
    found = meta(await see(anyone, f"/catalog/{shop}"))

    picture = await anyone.get(httpx.URL(found["og:image"]).path)
    assert picture.headers["content-type"] == "image/png"
    assert (found["og:image:width"], found["og:image:height"]) == ("1200", "630")
    assert found["og:description"] == "For <b>sellers</b>"


async def test_a_domain_is_found_by_either_form_of_its_name(anyone: Client, load: Loader) -> None:
    name = f"bücher-{fresh()}"
    await load({"domain": name, "price_amount": "1"})
    page = await see(anyone, f"/catalog/{name}")

    canonical = re.findall(r'<link rel="canonical" href="[^"]*(/catalog/[^"]+)">', page.text)
    assert canonical == [f"/catalog/{name.encode('idna').decode()}"]
    assert heading(page) == f"Names on {name}"


@pytest.mark.parametrize(
    "changed",
    [{"status": "coming_soon"}, {"status": "paused"}, {"status": "retired"}, {"catch_all": "true"}],
    ids=lambda changed: "-".join(changed.values()),
)
async def test_a_domain_without_names_to_claim_has_no_page(
    anyone: Client, load: Loader, changed: dict[str, str]
) -> None:
    domain = fresh()
    await load({"domain": domain, "categories": "fun", "price_amount": "1", "rank": "999999", **changed})

    assert domain not in (await see(anyone, f"/catalog/{domain}", 404)).text.replace(f"/catalog/{domain}", "")
    assert domain not in (await see(anyone, "/catalog")).text
    assert domain not in (await see(anyone, "/categories/fun")).text
    assert domain not in (await anyone.get("/sitemaps/1")).text


@pytest.mark.parametrize(
    "path",
    [
        "/catalog/nowhere.example",
        "/catalog/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/catalog/..%2F..%2Fetc",
        f"/catalog/{'a' * 300}.example",
        "/categories/nothing",
        "/categories/%3Cscript%3E",
        "/catalog?page=1000000",
        "/sitemaps/0",
        "/sitemaps/-1",
        "/sitemaps/999",
    ],
)
async def test_what_does_not_exist_is_404_without_what_was_sent(anyone: Client, path: str) -> None:
    page = await see(anyone, path, 404)

    assert "<script>" not in page.text
    assert "no-store" in page.headers["cache-control"]


@pytest.mark.parametrize("path", ["/catalog?page=0", "/catalog?page=x", "/categories/fun?page=-1", "/sitemaps/x"])
async def test_a_page_number_that_is_none_is_refused(anyone: Client, path: str) -> None:
    await see(anyone, path, 422)


async def test_the_pages_of_a_category_follow_each_other(anyone: Client, load: Loader) -> None:
    await load(*({"domain": fresh(), "categories": "fun", "price_amount": "1"} for _ in range(front.PER_PAGE + 1)))
    first, second = await see(anyone, "/categories/fun"), await see(anyone, "/categories/fun?page=2")

    assert 'rel="next" href="/categories/fun?page=2"' in first.text
    assert 'rel="prev" href="/categories/fun"' in second.text
    assert meta(first)["og:url"] != meta(second)["og:url"]


@pytest.mark.usefixtures("shop")
async def test_a_reserved_name_says_so_and_what_is_near(anyone: Client) -> None:
    page = await see(anyone, "/search", q="sales")

    assert "<code>sales</code> is reserved" in page.text
    assert names_of(page)


async def test_a_taken_name_says_so_and_what_is_near(anyone: Client, alice: Person, shop: str) -> None:
    await make.apply(alice, make.alias(f"ada@{shop}"))
    page = await see(anyone, "/search", q=f"ada@{shop}")

    assert f"ada@{shop}: The name is taken." in page.text
    assert f"ada@{shop}" not in names_of(page)
    assert names_of(page)
    assert alice.account.email not in page.text


async def test_a_search_says_no_more_about_a_name_than_a_check(anyone: Client, shop: str) -> None:
    checked = (await anyone.get("/v1/catalog/check?local_part=postmaster&domain=" + shop)).json()
    page = await see(anyone, "/search", q=f"postmaster@{shop}")

    told = re.sub("<[^>]+>", "", re.findall(r'<p class="notice wait">(.*?)</p>', page.text)[0])
    assert html.unescape(told) == checked["message"].replace("`", "")


async def test_a_search_has_a_quota_of_its_own(service: Service) -> None:
    route, _ = service.api.state.table.find("/search")[0]["GET"]

    assert route.limits.of_keys.policies == (SEARCH,)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("query", ["", " ", "@", "ada@", "@shop", "ada@@b", "x" * 5000, "ada@nowhere.example"])
async def test_any_query_has_a_page(anyone: Client, query: str) -> None:
    assert heading(await see(anyone, "/search", q=query)) == "Search names"


async def test_the_sitemap_lists_live_domains_in_parts(anyone: Client, load: Loader) -> None:
    domains = [fresh(), fresh()]
    await load(*({"domain": each, "price_amount": "1"} for each in domains))
    listed = []
    for part in LOCATION.findall((await anyone.get("/sitemap.xml")).text):
        listed += LOCATION.findall((await anyone.get(httpx.URL(part).path)).text)

    assert len(listed) == len(set(listed))
    assert {each.rpartition("/")[2] for each in listed} >= set(domains)


def test_the_parts_of_the_sitemap_are_all_domains_by_name() -> None:
    index = SuggestionIndex(map(make_domain, ("b.example", "c.example", "a.example")))

    parts = [[each.domain for each in index.by_name(start, start + 2)] for start in (0, 2, 4)]
    assert parts == [["a.example", "b.example"], ["c.example"], []]


async def test_crawlers_find_the_sitemap_and_the_pictures(anyone: Client) -> None:
    robots = (await anyone.get("/robots.txt")).text

    [sitemap] = re.findall(r"^Sitemap: (\S+)$", robots, re.MULTILINE)
    assert httpx.URL(sitemap).path == "/sitemap.xml"
    assert "Allow: /v1/catalog/assets/" in robots


async def test_no_public_page_is_an_operation_of_the_document(service: Service) -> None:
    assert not [
        path
        for path in service.openapi()["paths"]
        if not path.startswith(("/v1/", "/public/", "/.well", "/health", "/ready", "/live"))
    ]
