from tests.cast import Client
from tests.catalog.make import Loader, fresh

PATH = "/v1/catalog/categories"
SLUGS = (
    "tech developer design creator gaming music food travel "
    "fitness finance business education nature family fun short"
)


async def counts(client: Client) -> dict[str, int]:
    return {item["slug"]: item["domain_count"] for item in (await client.get(PATH)).json()["items"]}


async def test_lists_the_sixteen_categories_in_display_order(anyone: Client) -> None:
    items = (await anyone.get(PATH)).json()["items"]
    assert [item["slug"] for item in items] == SLUGS.split()
    assert [item["position"] for item in items] == list(range(1, 17))
    assert all(item["name"] and item["description"] for item in items)


async def test_counts_public_domains(anyone: Client, load: Loader) -> None:
    before = await counts(anyone)
    soon = fresh()
    await load(
        {"domain": fresh(), "categories": "nature|family", "status": "live"},
        {"domain": soon, "categories": "nature", "status": "coming_soon"},
        {"domain": fresh(), "categories": "nature", "status": "paused"},
    )
    after = await counts(anyone)
    assert (after["nature"] - before["nature"], after["family"] - before["family"]) == (2, 1)
    await load({"domain": soon, "categories": "fun", "status": "coming_soon"})
    assert (await counts(anyone))["nature"] == before["nature"] + 1


async def test_the_current_etag_gives_304(anyone: Client) -> None:
    first = await anyone.get(PATH)
    assert (await anyone.get(PATH, headers={"If-None-Match": first.headers["etag"]})).status_code == 304
