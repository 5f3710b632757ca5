"""Filters together, orders and pages of the list: each is what follows from the single ones."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.portfolio.domains import changes, names as domain_names
from builders.portfolio.domains.records import DomainSort, NewDomain, Ownership, PortfolioDomainStatus
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add, names

SINGLE: dict[str, str] = {
    "status": "owned",
    "ownership": "leased",
    "registrar": "GANDI",
    "tag": "Geo",
    "folder": "Ports",
    "tld": "com",
    "auto_renew": "true",
    "lifecycle": "expiring",
    "decision": "undecided",
    "expiring_within_days": "40",
    "q": "b",
}


@pytest.fixture
async def owner(alice: Person, database: Database) -> Person:
    """Alice has 32 domains, in which each value that a filter asks for is there and is missing."""
    new = []
    for at in range(32):
        members: dict[str, Any] = {
            "registrar": ("Gandi", "gandi", "Porkbun")[at % 3],
            "tags": [["geo"], [], ["geo", "brand"]][at % 3 if at % 2 else 1],
            "folder": "Ports" if at % 5 else None,
            "auto_renew": (True, False, None)[at % 5 % 3],
            "expires_at": None if at % 7 == 6 else clock.now() + timedelta(days=9 * (at % 6) - 4, minutes=1),
        }
        if at % 5 == 1:
            lease = {"ownership": Ownership.LEASED, "counterparty": "Carol"}
            members |= {**lease, "status": PortfolioDomainStatus.LEASED if at % 2 else PortfolioDomainStatus.OWNED}
        name = f"{'ab'[at % 2]}{'cb'[at % 3 // 2]}-{at:02}.{('com', 'co.uk')[at % 8 == 7]}"
        new.append(NewDomain(name=domain_names.parse_name(name), **members))
    async with database.transaction() as conn:
        await changes.add_domains(conn, account_id=alice.account.id, new=new)
    return alice


async def test_two_filters_select_what_both_select(owner: Person) -> None:
    everything = {*await names(owner, limit=500)}
    single = {name: {*await names(owner, limit=500, **{name: value})} for name, value in SINGLE.items()}
    for name, found in single.items():
        assert found, name
        assert (found == everything) == (name == "decision"), name

    for one, other in itertools.combinations(SINGLE, 2):
        both = {one: SINGLE[one], other: SINGLE[other]}
        assert {*await names(owner, limit=500, **both)} == single[one] & single[other], both


@pytest.mark.parametrize("sort", DomainSort)
@pytest.mark.parametrize("limit", [1, 7, 32])
async def test_pages_of_each_order_are_the_whole_list(owner: Person, sort: DomainSort, limit: int) -> None:
    query: dict[str, Any] = {"sort": sort.value, "tag": "geo"}
    whole = await names(owner, limit=500, **query)
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (
            await owner.get(DOMAINS, params={**query, "limit": limit, **({"cursor": cursor} if cursor else {})})
        ).json()
        found += [each["domain"] for each in page["items"]]
        cursor = page["next_cursor"]

    assert found == whole
    assert len(whole) == len({*whole}) > 7


@pytest.mark.parametrize("name", ["domain", "expires_at", "created_at", "updated_at"])
async def test_an_order_is_that_of_the_shown_values(owner: Person, name: str) -> None:
    items = (await owner.get(DOMAINS, params={"sort": name, "limit": 500})).json()["items"]

    values = [each[name] or "9999" for each in items]
    assert values == sorted(values)
    back = (await owner.get(DOMAINS, params={"sort": f"-{name}", "limit": 500})).json()["items"]
    assert back == items[::-1]


async def test_a_domain_that_is_removed_between_two_pages_moves_no_other(owner: Person) -> None:
    whole = await names(owner, sort="domain", limit=500)
    first = (await owner.get(DOMAINS, params={"sort": "domain", "limit": 5})).json()
    for name in (whole[4], whole[5], whole[20]):  # the last one of the page, the next one, and a later one
        assert (await owner.delete(f"{DOMAINS}/{name}")).status_code == 204

    rest = await names(owner, sort="domain", limit=500, cursor=first["next_cursor"])

    assert rest == [each for each in whole[6:] if each != whole[20]]


async def test_a_domain_that_is_added_behind_the_page_is_listed(owner: Person) -> None:
    first = (await owner.get(DOMAINS, params={"sort": "domain", "limit": 5})).json()
    await add(owner, "aa.com")
    await add(owner, "zz.com")

    rest = await names(owner, sort="domain", limit=500, cursor=first["next_cursor"])

    assert (rest[-1], "aa.com" in rest, len(rest)) == ("zz.com", False, 32 - 5 + 1)


async def test_a_cursor_of_another_portfolio_shows_nothing_of_it(owner: Person, bob: Person) -> None:
    await add(bob, "zulu.com")
    cursor = (await owner.get(DOMAINS, params={"sort": "domain", "limit": 1})).json()["next_cursor"]

    answer = await bob.get(DOMAINS, params={"sort": "domain", "cursor": cursor})

    assert answer.status_code == 422 or [each["domain"] for each in answer.json()["items"]] == ["zulu.com"]


@pytest.mark.parametrize(
    ("days", "within", "is_found"),
    [
        *((0.0, 0, True), (0.25, 0, True), (0.75, 0, False), (0.75, 1, True), (1.75, 1, False), (-0.25, 30, True)),
        *((-0.75, 30, False), (30.25, 30, True), (120.25, 120, True), (121.25, 120, False)),
    ],
)
async def test_the_days_of_a_filter_are_calendar_days(
    alice: Person, days: float, within: int, is_found: bool
) -> None:
    clock.move(datetime(2026, 11, 22, 12, tzinfo=UTC) - clock.now())
    expires_at = clock.now() + timedelta(days=days)
    await add(alice, expires_at=expires_at.isoformat())

    assert bool(await names(alice, expiring_within_days=within)) is is_found


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ({"registrar": "\u00d6ko GmbH"}, {"registrar": "\u00f6ko gmbh"}),
        ({"registrar": "\u00d6ko GmbH"}, {"registrar": "O\u0308ko GmbH"}),
        ({"registrar": "Porkbun"}, {"registrar": " porkbun "}),
        ({"tags": ["B\u00fccher"]}, {"tag": "b\u00dcCHER"}),
        ({"tags": ["b\u00fccher"]}, {"tag": "bu\u0308cher"}),
        ({"folder": "H\u00e4fen"}, {"folder": " Ha\u0308fen "}),
        ({}, {"q": "ha\u0308fen"}),
        ({}, {"q": "H\u00c4FEN"}),
        ({}, {"q": "xn--hfen-loa"}),
    ],
)
async def test_a_text_is_found_in_each_of_its_forms(alice: Person, kept: Any, asked: dict[str, str]) -> None:
    added = await add(alice, "h\u00e4fen.com", **kept)
    await add(alice, "other.com")

    assert await names(alice, **asked) == [added["domain"]]
