from typing import Any
from uuid import UUID

import pytest

from builders.app import Service
from builders.domains import store
from builders.domains.records import AccountDomain, DomainSource
from builders.kit.db.connections import Conn
from tests.cast import Client, Person
from tests.catalog.make import Loader, fresh
from tests.domains.make import PATH, add, assign, make_live
from tests.domains.nameserver import Nameserver

CLAIMABLE = f"{PATH}/claimable"


async def pages(client: Client, **query: int) -> list[dict[str, Any]]:
    """Return the claimable domains of all pages."""
    found: list[dict[str, Any]] = []
    asked = {name: str(value) for name, value in query.items()}
    cursor: dict[str, str] = {}
    while True:
        answer = await client.get(CLAIMABLE, params={**asked, **cursor})
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        if answer.json()["next_cursor"] is None:
            return found
        cursor = {"cursor": answer.json()["next_cursor"]}


async def test_own_domains_come_first_then_the_catalog_by_rank(
    alice: Person, dns: Nameserver, load: Loader
) -> None:
    own = await make_live(alice, dns, fresh())
    top, below = fresh(), fresh()
    await load(
        {"domain": below, "rank": 900_000, "price_amount": "12.00", "min_local_length": 3},
        {"domain": top, "rank": 900_001, "price_amount": "24.00", "min_local_length": 1},
    )

    found = await pages(alice)

    names = [each["domain"] for each in found]
    assert names[0] == own["domain"]
    assert names.index(top) < names.index(below)
    assert (found[0]["source"], found[0]["price"], found[0]["mail_mode"]) == ("account", None, "both")
    vendors = found[names.index(below)]
    assert (vendors["source"], vendors["price"]["amount"], vendors["min_local_length"]) == ("catalog", "12.00", 3)


async def test_domains_that_are_not_claimable_are_not_listed(
    alice: Person, bob: Person, dns: Nameserver, load: Loader
) -> None:
    waiting = await add(alice, fresh())
    all_of_it = await make_live(alice, dns, fresh(), catch_all=True, default_destination="ada@example.net")
    bobs = await make_live(bob, dns, fresh())
    soon, caught, paused = fresh(), fresh(), fresh()
    await load(
        {"domain": soon, "status": "coming_soon", "catch_all": "false"},
        {"domain": caught, "status": "live", "catch_all": "true"},
        {"domain": paused, "status": "paused", "catch_all": "false"},
    )

    names = {each["domain"] for each in await pages(alice)}

    assert names.isdisjoint({waiting["domain"], all_of_it["domain"], bobs["domain"], soon, caught, paused})


async def test_an_assigned_catalog_domain_is_listed_once(alice: Person, service: Service, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain, "separator_policy": "distinct", "min_local_length": 4})
    await assign(service, alice, domain, DomainSource.CATALOG)

    [found] = [each for each in await pages(alice) if each["domain"] == domain]

    assert (found["source"], found["price"]) == ("account", None)
    # A name is one name for all, so the rules are the catalog's.
    assert (found["separator_policy"], found["min_local_length"]) == ("distinct", 4)


async def test_small_pages_list_the_same_as_one_page(alice: Person, service: Service, load: Loader) -> None:
    for _ in range(3):
        await assign(service, alice, fresh())
    await load(*({"domain": fresh(), "rank": 5 * (n % 2)} for n in range(7)))

    whole = await pages(alice)

    assert await pages(alice, limit=7) == whole
    assert len({each["domain"] for each in whole}) == len(whole)


async def test_the_collation_of_the_database_does_not_matter(
    alice: Person, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = fresh().removeprefix("shop-")
    names = [f"{each}{end}" for each in ("a-b", "aa", "ab", "a-c", "b-a", "ba")]
    for each in names:
        await assign(service, alice, each)
    listed = store.list_claimable

    async def sorted_by_collation(conn: Conn, *, account_id: UUID) -> list[AccountDomain]:
        return sorted(await listed(conn, account_id=account_id), key=lambda each: each.domain.replace("-", ""))

    monkeypatch.setattr(store, "list_claimable", sorted_by_collation)
    found = [each["domain"] for each in await pages(alice, limit=2) if each["source"] == "account"]

    assert found == sorted(names)


async def test_without_a_limit_a_page_has_at_most_a_thousand(alice: Person, load: Loader) -> None:
    await load(*({"domain": fresh()} for _ in range(1_001)))

    first = (await alice.get(CLAIMABLE)).json()

    assert len(first["items"]) == 1_000
    assert first["next_cursor"] is not None


async def test_a_sandbox_has_its_own_domains_and_the_same_catalog(
    alice: Person, dns: Nameserver, load: Loader
) -> None:
    await make_live(alice, dns, fresh())
    pretended = await make_live(alice.test, dns, fresh())
    shown = fresh()
    await load({"domain": shown})

    found = await pages(alice.test)

    assert [each["domain"] for each in found if each["source"] == "account"] == [pretended["domain"]]
    assert shown in {each["domain"] for each in found}


async def test_the_list_requires_credentials(anyone: Client) -> None:
    assert (await anyone.get(CLAIMABLE)).status_code == 401
