"""The list of a portfolio's domains: pages, orders and filters."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.domains import changes, lookups, names as domain_names
from builders.portfolio.domains.records import DomainSort, NewDomain, Ownership, PortfolioDomainStatus, UsedTag
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add, names

SOLD, CONSIGNED = PortfolioDomainStatus.SOLD, Ownership.CONSIGNED
# Days until the expiry, and other members.
KEPT: dict[str, tuple[int | None, dict[str, Any]]] = {
    "delta.com": (400, {"tags": ["ports", "sale"], "registrar": "Porkbun"}),
    "alpha.com": (None, {"tags": ["ports"]}),
    "charlie.net": (10, {"status": SOLD, "registrar": "PORKBUN"}),
    "bücher.de": (-3, {"ownership": CONSIGNED, "tags": ["sale"]}),
    "echo-x.com": (10, {"registrar": "Gandi"}),
}


async def fill(database: Database, account_id: UUID) -> None:
    now = clock.now()
    for name, (days, members) in KEPT.items():
        expires_at = None if days is None else now + timedelta(days=days, minutes=1)
        new = NewDomain(name=domain_names.parse_name(name), expires_at=expires_at, **members)
        async with database.transaction() as conn:
            await changes.add_domains(conn, account_id=account_id, new=[new])


BOOKS = "xn--bcher-kva.de"
ORDERS = {
    DomainSort.CREATED: ["delta.com", "alpha.com", "charlie.net", BOOKS, "echo-x.com"],
    DomainSort.DOMAIN: ["alpha.com", "charlie.net", "delta.com", "echo-x.com", BOOKS],
    DomainSort.EXPIRES: [BOOKS, "charlie.net", "echo-x.com", "delta.com", "alpha.com"],
    DomainSort.UPDATED: ["delta.com", "charlie.net", BOOKS, "echo-x.com", "alpha.com"],
}
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set(ORDERS[DomainSort.DOMAIN])),
    ({"status": "sold"}, {"charlie.net"}),
    ({"status": "owned", "tag": "Ports"}, {"delta.com", "alpha.com"}),
    ({"registrar": "porkbun"}, {"delta.com", "charlie.net"}),
    ({"tag": "sale"}, {"delta.com", BOOKS}),
    ({"tag": "none"}, set()),
    ({"expiring_within_days": 30}, {"charlie.net", "echo-x.com"}),
    ({"expiring_within_days": 3650}, {"charlie.net", "echo-x.com", "delta.com"}),
    ({"q": "A"}, {"delta.com", "alpha.com", "charlie.net", BOOKS}),
    ({"q": "büch"}, {BOOKS}),
    ({"q": "%"}, set()),
    ({"q": "x_"}, set()),
]


async def test_each_order_and_filter(alice: Person, bob: Person, database: Database) -> None:
    await fill(database, alice.account.id)
    await add(bob, "bob.com", tags=["ports"])
    assert (await alice.patch(f"{DOMAINS}/alpha.com", json={"notes": "x"})).status_code == 200

    for sort, expected in ORDERS.items():
        for order, wanted in ((sort.value, expected), (f"-{sort.value}", expected[::-1])):
            found: list[str] = []
            query: dict[str, Any] = {"sort": order, "limit": 2}
            while query.get("cursor", "") is not None:
                page = (await alice.get(DOMAINS, params=query)).json()
                assert len(page["items"]) <= 2
                found += [each["domain"] for each in page["items"]]
                query["cursor"] = page["next_cursor"]
            assert found == wanted, order
    assert await names(alice) == ORDERS[DomainSort.CREATED][::-1]
    for query, expected_names in FILTERS:
        assert set(await names(alice, **query)) == expected_names, query
    number = len(ORDERS[DomainSort.CREATED])
    cursors = [
        (await alice.get(DOMAINS, params={"limit": limit})).json()["next_cursor"]
        for limit in (500, number, number - 1)
    ]
    assert [each is None for each in cursors] == [True, True, False]
    tags = (await alice.get("/v1/portfolio/tags")).json()["items"]
    assert tags == [{"tag": "ports", "count": 2}, {"tag": "sale", "count": 2}]


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 501},
        {"sort": "price"},
        {"status": "gone"},
        {"expiring_within_days": -1},
        {"expiring_within_days": 100_000},
        {"q": ""},
        {"cursor": "none"},
    ],
)
async def test_a_wrong_query_is_refused(alice: Person, query: dict[str, Any]) -> None:
    assert (await alice.get(DOMAINS, params=query)).status_code == 422


async def test_a_cursor_is_of_its_order(alice: Person, database: Database) -> None:
    await fill(database, alice.account.id)
    cursor = (await alice.get(DOMAINS, params={"limit": 1, "sort": "domain"})).json()["next_cursor"]

    refused = await alice.get(DOMAINS, params={"cursor": cursor, "sort": "expires_at"})

    assert (refused.status_code, refused.json()["code"]) == (422, "cursor_invalid")


async def test_the_most_frequent_tags_are_listed(alice: Person, conn: Conn) -> None:
    for name, tags in (
        ("harbour.com", ["port", "sea"]),
        ("pier.com", ["port", "wood"]),
        ("quay.com", ["port", "sea"]),
    ):
        assert (await alice.post(DOMAINS, json={"domain": name, "tags": tags})).status_code == 201
    listed = await lookups.list_tags(conn, account_id=alice.account.id, limit=2)
    assert listed == [UsedTag(tag="port", count=3), UsedTag(tag="sea", count=2)]


async def test_a_text_is_found_in_names_tags_and_notes(alice: Person, bob: Person) -> None:
    await add(alice, "alpha.com", notes="Angebot von BÜRO Nord, 100%")
    await add(alice, "beta.com", tags=["Büro"])
    await add(alice, "büro.de")
    await add(alice, "gamma.com", notes="Other")
    await add(bob, "bob.com", notes="büro")
    for text in ("büro", "BÜRO"):
        assert sorted(await names(alice, q=text)) == ["alpha.com", "beta.com", "xn--bro-hoa.de"]
    assert await names(alice, q="100%") == ["alpha.com"]
    assert await names(alice, q="0_%") == []
    assert (await alice.patch(f"{DOMAINS}/alpha.com", json={"notes": None})).status_code == 200
    assert (
        await alice.post(f"{DOMAINS}/bulk", json={"domains": ["beta.com"], "remove_tags": ["büro"]})
    ).status_code == 200
    assert await names(alice, q="büro") == ["xn--bro-hoa.de"]


async def test_the_total_is_that_of_the_filters_on_each_page(alice: Person, database: Database) -> None:
    await fill(database, alice.account.id)
    for query, expected in FILTERS:
        page = (await alice.get(DOMAINS, params={**query, "limit": 1, "include_total": "true"})).json()
        assert page["total"] == len(expected), query
    first = (await alice.get(DOMAINS, params={"limit": 2, "include_total": "true"})).json()
    following = (await alice.get(DOMAINS, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert (first["total"], following["total"], len(following["items"])) == (5, None, 2)
