import pytest

from tests.cast import Client
from tests.catalog.make import Loader, fresh

PATH = "/v1/catalog/domains"


async def walk(client: Client, **params: str) -> list[str]:
    """Return the domains of all pages, in order."""
    found: list[str] = []
    cursor = None
    while True:
        answer = await client.get(PATH, params=params | ({"cursor": cursor} if cursor else {}))
        assert answer.status_code == 200
        page = answer.json()
        found += [item["domain"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def test_lists_by_rank_then_by_name(anyone: Client, load: Loader) -> None:
    word = fresh("order").partition(".")[0]
    await load(
        *({"domain": f"{label}.{word}.example", "rank": rank} for label, rank in [("c", 1), ("b", 2), ("a", 1)])
    )
    expected = [f"{label}.{word}.example" for label in ("b", "a", "c")]
    assert await walk(anyone, q=word) == expected
    assert await walk(anyone, q=word, limit="1") == expected


async def test_domains_that_begin_with_the_query_come_first_whatever_their_rank(
    anyone: Client, load: Loader
) -> None:
    word = fresh("word").partition(".")[0]
    await load(
        {"domain": f"x-{word}.example", "rank": 99, "title": "", "tags": ""},
        {"domain": f"{word}.example", "rank": 1, "title": "", "tags": ""},
        {"domain": fresh(), "rank": 98, "title": f"The {word.upper()} shop", "tags": ""},
        {"domain": fresh(), "rank": 97, "title": "", "tags": word[:30]},
    )
    found = await walk(anyone, q=word[:30].upper(), limit="1")
    assert found[:2] == [f"{word}.example", f"x-{word}.example"]
    assert len(found) == 4


async def test_a_category_lists_only_its_own_domains(anyone: Client, load: Loader) -> None:
    music, food = fresh(), fresh()
    await load({"domain": music, "categories": "music|fun"}, {"domain": food, "categories": "food"})
    found = await walk(anyone, category="music")
    assert music in found
    assert food not in found
    assert await walk(anyone, category="music", q=food) == []
    assert await walk(anyone, category="music", q=music) == [music]


async def test_an_unknown_category_is_empty(anyone: Client) -> None:
    assert await walk(anyone, category="nothing-of-the-kind") == []


async def test_domains_that_are_not_public_are_not_listed(anyone: Client, load: Loader) -> None:
    word = fresh("state").partition(".")[0]
    await load(
        *(
            {"domain": f"{status[:3]}.{word}.example", "status": status}
            for status in ("live", "coming_soon", "paused", "retired")
        )
    )
    assert await walk(anyone, q=word) == [f"com.{word}.example", f"liv.{word}.example"]


@pytest.mark.parametrize("limit", ["0", "501", "-1", "x", "1.5"])
async def test_a_limit_out_of_bounds_is_422(anyone: Client, limit: str) -> None:
    assert (await anyone.get(PATH, params={"limit": limit})).status_code == 422


async def test_a_cursor_of_another_search_is_422(anyone: Client, load: Loader) -> None:
    word = fresh("two").partition(".")[0]
    await load({"domain": f"a.{word}.example"}, {"domain": f"b.{word}.example"})
    cursor = (await anyone.get(PATH, params={"q": word, "limit": 1})).json()["next_cursor"]
    assert (await anyone.get(PATH, params={"q": word, "cursor": cursor})).status_code == 200
    for params in ({"q": "other", "cursor": cursor}, {"cursor": cursor}, {"q": word, "cursor": f"{cursor}x"}):
        assert (await anyone.get(PATH, params=params)).status_code == 422


async def test_the_current_etag_gives_304_until_the_catalog_changes(anyone: Client, load: Loader) -> None:
    await load({"domain": fresh()})
    first = await anyone.get(PATH)
    assert first.headers["cache-control"] == "public, max-age=60"
    known = {"If-None-Match": first.headers["etag"]}
    again = await anyone.get(PATH, headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    await load({"domain": fresh()})
    assert (await anyone.get(PATH, headers=known)).status_code == 200


@pytest.mark.parametrize(
    "q", ["", " ", "%", "_", "\\", "'; DROP TABLE catalog_domains", "\t\r\n", "ü" * 500, "\U0001f600"]
)
async def test_any_query_is_accepted(anyone: Client, q: str) -> None:
    assert (await anyone.get(PATH, params={"q": q})).status_code == 200
