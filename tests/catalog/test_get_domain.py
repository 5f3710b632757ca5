import pytest

from tests.cast import Client
from tests.catalog.make import Loader, fresh

PATH = "/v1/catalog/domains"


FULL = {
    "title": "Harbour",
    "tagline": "Safe.",
    "description": "A calm name.",
    "categories": "travel|nature",
    "tags": "sea",
    "mail_mode": "alias",
    "price_amount": "24",
    "price_currency": "EUR",
    "price_interval": "month",
    "price_tier": "plus",
    "short_name_prices": "3:60",
    "min_local_length": "2",
    "separator_policy": "distinct",
    "featured": "true",
    "rank": "7",
}


async def test_returns_all_fields_of_a_domain(anyone: Client, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain, **FULL})
    shown = (await anyone.get(f"{PATH}/{domain}")).json()
    for made in ("id", "created_at", "updated_at"):
        assert shown.pop(made)
    assert shown == {
        "domain": domain,
        "unicode_domain": domain,
        "tld": "example",
        "title": "Harbour",
        "tagline": "Safe.",
        "description": "A calm name.",
        "categories": ["travel", "nature"],
        "tags": ["sea"],
        "status": "live",
        "mail_mode": "alias",
        "catch_all": False,
        "claimable": True,
        "price": {"amount": "24.00", "currency": "EUR", "interval": "month", "tier": "plus"},
        "short_name_prices": [{"max_len": 3, "amount": "60.00", "currency": "EUR"}],
        "min_local_length": 2,
        "separator_policy": "distinct",
        "featured": True,
        "rank": 7,
        "assets": {"logo": None, "cover": None, "icon": None},
        "popularity": "low",
    }


async def test_an_idn_is_read_by_either_form(anyone: Client, load: Loader) -> None:
    domain = fresh("bücher")
    await load({"domain": domain})
    by_unicode = await anyone.get(f"{PATH}/{domain.upper()}")
    shown = by_unicode.json()
    assert shown["unicode_domain"] == domain
    assert shown["domain"].startswith("xn--")
    assert (await anyone.get(f"{PATH}/{shown['domain']}.")).json() == shown


@pytest.mark.parametrize("name", ["nowhere.example", "example", "-", "a_b.example", "..%2Fetc", "%20", "x" * 3000])
async def test_a_domain_outside_the_catalog_is_404(anyone: Client, name: str) -> None:
    answer = await anyone.get(f"{PATH}/{name}")
    assert answer.status_code == 404
    assert answer.json()["code"] in {"domain_not_found", "not_found"}


async def test_the_current_etag_gives_304_until_the_domain_changes(anyone: Client, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain, "title": "Old"})
    etag = (await anyone.get(f"{PATH}/{domain}")).headers["etag"]
    await load({"domain": fresh()})
    assert (await anyone.get(f"{PATH}/{domain}", headers={"If-None-Match": f'"x", {etag}'})).status_code == 304
    await load({"domain": domain, "title": "New"})
    assert (await anyone.get(f"{PATH}/{domain}", headers={"If-None-Match": etag})).json()["title"] == "New"
