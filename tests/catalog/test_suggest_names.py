import pytest

from builders.kit.db.connections import Database
from tests.cast import Client, Person
from tests.catalog.make import Loader, fresh
from tests.catalog.test_check import take

PATH = "/v1/catalog/suggest"


async def addresses(client: Client, **params: str) -> list[str]:
    return [each["address"] for each in (await client.get(PATH, params=params)).json()["items"]]


async def test_suggests_names_with_price_and_reasons(anyone: Client, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain, "categories": "music", "price_amount": "24", "price_tier": "plus"})
    found = (await anyone.get(PATH, params={"q": f"Jane Doe@{domain}", "limit": "1"})).json()
    assert found["tokens"] == ["jane", "doe"]
    assert found["items"] == [
        {
            "address": f"jane.doe@{domain}",
            "local_part": "jane.doe",
            "domain": domain,
            "category": "music",
            "price": {"amount": "24.00", "currency": "USD", "interval": "year", "tier": "plus"},
            "available": True,
            "score": 90,
            "why": [{"code": "dot", "points": 93}, {"code": "tier", "points": -3}],
        }
    ]


async def test_only_free_names_are_suggested(
    anyone: Client, alice: Person, database: Database, load: Loader
) -> None:
    domain = fresh()
    await load({"domain": domain})
    assert (await addresses(anyone, q=f"jane@{domain}"))[0] == f"jane@{domain}"
    await take(database, alice, domain, "jane")
    left = await addresses(anyone, q=f"jane@{domain}")
    assert left
    assert f"jane@{domain}" not in left


async def test_every_suggestion_is_available_when_it_is_checked(anyone: Client, load: Loader) -> None:
    await load({"domain": fresh(), "featured": "true"})
    for q in ("", "ada lovelace"):
        for address in await addresses(anyone, q=q, limit="24"):
            local_part, _, domain = address.partition("@")
            answer = await anyone.get("/v1/catalog/check", params={"local_part": local_part, "domain": domain})
            assert answer.json()["available"], address


async def test_the_same_query_gives_the_same_bytes(anyone: Client, load: Loader) -> None:
    await load({"domain": fresh()})
    first, again = [await anyone.get(PATH, params={"q": "ada music"}) for _ in range(2)]
    assert first.content == again.content
    known = await anyone.get(PATH, params={"q": "ada music"}, headers={"If-None-Match": first.headers["etag"]})
    assert known.status_code == 304


async def test_the_default_limit_is_twelve(anyone: Client, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain})
    assert len(await addresses(anyone, q=f"ada@{domain}")) == 12
    assert len(await addresses(anyone, q=f"ada@{domain}", limit="3")) == 3


@pytest.mark.parametrize("limit", ["0", "25", "x", ""])
async def test_a_limit_out_of_bounds_is_422(anyone: Client, limit: str) -> None:
    assert (await anyone.get(PATH, params={"limit": limit})).status_code == 422


@pytest.mark.parametrize(
    "q", ["@", "", "jane@", "@nowhere", "+", "\U0001f600", "яна", "a" * 8000, "%", "'", "a@" * 900]
)
async def test_any_query_gets_200(anyone: Client, q: str) -> None:
    assert (await anyone.get(PATH, params={"q": q})).status_code == 200
