"""GET /v1/portfolio/entries: what was booked on a domain and on the whole portfolio."""

from typing import Any

import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Database
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.portfolio.finance.make import DOMAINS, SALE, Book, add_domain
from tests.portfolio.ledger.make import add_rates
from tests.portfolio.team.make import code, join, of

ENTRIES = "/v1/portfolio/entries"


def cost(amount: str, on: str, kind: str = "renewal", currency: str = "USD") -> dict[str, str]:
    return {"kind": kind, "amount": amount, "currency": currency, "occurred_on": on}


async def read(person: Client, headers: Any = None, **query: Any) -> dict[str, Any]:
    answer = await person.get(ENTRIES, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def amounts(person: Client, **query: Any) -> list[str]:
    return [each["amount"]["amount"] for each in (await read(person, **query))["items"]]


@pytest.fixture
async def owner(alice: Person, database: Database) -> Person:
    await add_rates(database)
    harbour, pier = await add_domain(alice, "harbour.com"), await add_domain(alice, "pier.com")
    await harbour.change(
        entries_add=[
            cost("1.00", "2024-03-01"),
            cost("2.00", "2024-03-04", "lease_income", "EUR"),
            cost("3.00", "2024-03-04"),
        ]
    )
    await pier.change(entries_add=[cost("4.00", "2024-03-05", "tax"), cost("5.00", "2024-03-02")])
    [mistake] = [each["id"] for each in (await read(alice, domain="pier.com", kind="renewal"))["items"]]
    await pier.change(entries_void=[mistake])
    return alice


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {"1.00", "2.00", "3.00", "4.00", "5.00"}),
        ({"domain": "harbour.com"}, {"1.00", "2.00", "3.00"}),
        ({"from": "2024-03-02", "to": "2024-03-04"}, {"2.00", "3.00", "5.00"}),
        ({"kind": "renewal"}, {"1.00", "3.00", "5.00"}),
        ({"kind": "renewal", "voided": "false"}, {"1.00", "3.00"}),
        ({"voided": "true"}, {"5.00"}),
        ({"source": "manual", "currency": "EUR"}, {"2.00"}),
        ({"source": "sale"}, set()),
        ({"domain": "pier.com", "kind": "tax", "currency": "USD", "from": "2024-03-05"}, {"4.00"}),
    ],
)
async def test_each_filter_selects_entries_and_the_total(
    owner: Person, query: dict[str, str], expected: set[str]
) -> None:
    found = await read(owner, **query, include_total="true")
    assert {each["amount"]["amount"] for each in found["items"]} == expected
    assert found["total"] == len(found["items"]) == len(expected)


@pytest.mark.parametrize(("sort", "is_reversed"), [("occurred_on", False), ("-occurred_on", True)])
@pytest.mark.parametrize("domain", [None, "harbour.com"])
async def test_pages_have_each_entry_once_by_day(
    owner: Person, sort: str, is_reversed: bool, domain: str | None
) -> None:
    found: list[dict[str, Any]] = []
    query: dict[str, Any] = {"sort": sort, "limit": 2, **({} if domain is None else {"domain": domain})}
    while query.get("cursor", "") is not None:
        page = await read(owner, **query)
        found += page["items"]
        query["cursor"] = page["next_cursor"]
    days = [each["occurred_on"] for each in found]
    assert days == sorted(days, reverse=is_reversed)
    assert len({each["id"] for each in found}) == len(found) == (5 if domain is None else 3)


async def test_an_entry_is_that_of_the_finance_of_its_domain(owner: Person) -> None:
    [entry] = (await read(owner, currency="EUR"))["items"]
    finance = (await owner.get(f"{DOMAINS}/harbour.com/finance")).json()
    [same] = [each for each in finance["entries"] if each["id"] == entry["id"]]
    assert entry == {**same, "domain": "harbour.com", "domain_id": finance["domain_id"]}
    assert entry["base_amount"] == {"amount": "2.17", "currency": "USD"}


async def test_the_entries_of_a_sale_have_their_source(book: Book) -> None:
    await book.change(sale=SALE)
    found = (await read(book.owner, source="sale", domain="harbour.com", sort="occurred_on"))["items"]
    assert [each["kind"] for each in found] == ["sale", "commission", "marketplace_fee", "escrow_fee"]


async def test_the_entries_of_a_removed_domain_are_void_and_nameless(owner: Person) -> None:
    assert (await owner.delete(f"{DOMAINS}/pier.com", params={"history": "delete"})).status_code == 204
    found = (await read(owner, voided="true"))["items"]
    assert {(each["amount"]["amount"], each["domain"]) for each in found} == {("4.00", None), ("5.00", None)}


async def test_who_reads_entries(
    owner: Person, bob: Person, charlie: Person, dana: Person, people: MakePerson
) -> None:
    assert (await read(bob))["items"] == []
    assert code(await bob.get(ENTRIES, headers=of(owner))) == (404, "portfolio_not_found")
    assert code(await bob.get(ENTRIES, params={"domain": "harbour.com"})) == (404, "portfolio_domain_not_found")
    await join(owner, charlie, "viewer")
    assert code(await charlie.get(ENTRIES, headers=of(owner))) == (403, "forbidden_role")
    assert code(await dana.get(ENTRIES)) == (403, "insufficient_scope")
    accountant = await people("ann", Preset.DOMAINER_FULL)
    await join(owner, accountant, "accountant")
    assert await read(accountant, headers=of(owner)) == await read(owner)
    assert (await read(owner.test))["items"] == []


@pytest.mark.parametrize(
    "query", [{"kind": "gift"}, {"source": "bank"}, {"currency": "usd"}, {"from": "soon"}, {"sort": "amount"}]
)
async def test_a_wrong_filter_is_refused(alice: Person, query: dict[str, str]) -> None:
    answer = await alice.get(ENTRIES, params=query)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", *query])


@pytest.mark.parametrize(
    ("query", "loc"),
    [
        ({"from": "1979-12-31"}, "from"),
        ({"to": "2200-01-01"}, "to"),
        ({"from": "2024-03-02", "to": "2024-03-01"}, "to"),
    ],
)
async def test_days_that_a_summary_refuses_are_refused(alice: Person, query: dict[str, str], loc: str) -> None:
    for path in (ENTRIES, "/v1/portfolio/summary"):
        answer = await alice.get(path, params=query)
        [error] = answer.json()["detail"]
        assert (answer.status_code, error["loc"], error["type"]) == (422, ["query", loc], "date_range"), path
