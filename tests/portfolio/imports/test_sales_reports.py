"""Reports of sales: the price, the fees, the buyer and the day of each, and why a row is refused."""

import json
from typing import Any

import pytest

from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS
from tests.portfolio.imports.make import counts, load, ok, undo

REPORT = (
    "Domain,Sale Date,Sale Price (USD),Commission,Escrow fee,Transaction ID\n"
    "harbour.com,2026-03-01,2500.00,375.00,12.50,T-1\n"
    "lantern.com,2026-03-02,,10.00,,T-2\n"
    "meadow.com,soon,900.00,,,T-3\n"
    "anchor.com,2026-03-04,much,,,T-4\n"
)


async def sales_of(owner: Person, name: str) -> list[dict[str, Any]]:
    rows = ok(await owner.get("/v1/portfolio/export"))["rows"]
    found: list[dict[str, Any]] = next(each["sales"] for each in rows if each["domain"] == name)
    return found


async def test_a_sale_is_recorded_with_its_terms(alice: Person) -> None:
    await load(alice, REPORT, format="afternic-sales")
    assert await sales_of(alice, "harbour.com") == [
        {
            "amount": "2500.00",
            "currency": "USD",
            "sold_on": "2026-03-01",
            "commission": {"amount": "375.00", "currency": "USD"},
            "fees": [{"amount": "12.50", "currency": "USD", "kind": "escrow_fee", "on": "2026-03-01"}],
            "installments": [],
            "venue": "Afternic",
            "buyer_ref": "T-1",
            "own_share": "1",
        }
    ]


async def test_a_row_without_a_price_or_a_day_is_refused_and_says_why(alice: Person) -> None:
    imported = await load(alice, REPORT, format="afternic-sales")
    assert counts(imported) == {"created": 1, "errors": 3}
    refused = {each["line"]: [(e["field"], e["code"]) for e in each["errors"]] for each in imported["results"]}
    assert refused == {
        2: [],
        3: [("Sale Price (USD)", "sale_amount_missing")],
        4: [("Sale Date", "date_invalid")],
        5: [("Sale Price (USD)", "amount_invalid")],
    }


async def test_net_proceeds_decide_the_commission(alice: Person) -> None:
    text = "Domain;Datum;Preis;Auszahlung;Währung\nharbour.de;03.04.2026;1.120,00;952,00;EUR\n"
    await load(alice, text, format="sedo-sales")
    [sale] = await sales_of(alice, "harbour.de")
    assert (sale["commission"], sale["venue"]) == ({"amount": "168.00", "currency": "EUR"}, "Sedo")


async def test_a_rate_is_the_commission(alice: Person) -> None:
    text = "Domain,Date,Price (EUR),Commission (%)\nharbour.com,2026-04-03,1000,9\n"
    await load(alice, text, format="dan-sales")
    [sale] = await sales_of(alice, "harbour.com")
    assert sale["commission_rate"] == "0.09"


async def test_net_proceeds_above_the_price_are_named(alice: Person) -> None:
    text = "Domain,Date,Price,Payout\nharbour.com,2026-04-03,1000,1200\n"
    imported = await load(alice, text, format="dan-sales")
    assert [each["code"] for each in imported["results"][0]["warnings"]] == ["sale_net_invalid"]
    assert "commission" not in (await sales_of(alice, "harbour.com"))[0]


async def test_a_report_again_has_no_effect_and_its_undo_removes_the_sale(alice: Person) -> None:
    first = await load(alice, REPORT, format="afternic-sales")
    assert counts(await load(alice, REPORT, format="afternic-sales")) == {"unchanged": 1, "errors": 3}
    assert len(await sales_of(alice, "harbour.com")) == 1
    undone = await undo(alice, first)
    assert undone["undo"]["rows"] == 4


async def test_a_sale_of_a_held_domain_sells_it(alice: Person, bob: Person) -> None:
    await load(alice, "Domain,Kaufpreis (USD),Kaufdatum\nharbour.com,100.50,2024-01-02\n")
    await load(alice, REPORT, format="afternic-sales")
    finance = ok(await alice.get("/v1/portfolio/domains/harbour.com/finance"))
    assert finance["sale"]["net"] == {"amount": "2112.50", "currency": "USD"}
    assert finance["realized_profit"]["amount"] == "2012.00"
    assert (await bob.get("/v1/portfolio/domains/harbour.com/finance")).status_code == 404


async def sell(owner: Person, sold_on: str, price: str = "2500.00") -> None:
    """Record a sale by hand."""
    await owner.post("/v1/portfolio/domains", json={"domain": "harbour.com"})
    sale = {"gross": {"amount": price, "currency": "USD"}, "sold_on": sold_on, "venue": "by hand"}
    ok(await owner.patch(f"{DOMAINS}/harbour.com/finance", json={"sale": sale}))


ONE = REPORT.partition("lantern.com")[0]  # of 2026-03-01


async def test_a_sale_of_another_day_is_recorded_with_a_warning_that_names_the_other_one(alice: Person) -> None:
    await sell(alice, "2026-02-20")
    [result] = (await load(alice, ONE, format="afternic-sales"))["results"]
    assert (result["outcome"], len(await sales_of(alice, "harbour.com"))) == ("updated", 2)
    [warning] = result["warnings"]
    assert (warning["code"], warning["field"]) == ("sale_similar", "sales")
    assert warning["message"].startswith("A sale of 2026-02-20 is recorded too (")
    path, _, body = warning["message"].partition("PATCH ")[2].partition(" ")
    ok(await alice.patch(path, json=json.loads(body)))
    [kept] = await sales_of(alice, "harbour.com")
    assert (kept["sold_on"], kept["venue"], kept["amount"]) == ("2026-03-01", "by hand", "2500.00")
    [again] = (await load(alice, ONE, format="afternic-sales"))["results"]  # it is the same sale from now on
    assert (again["outcome"], again["warnings"]) == ("unchanged", [])
    assert len(await sales_of(alice, "harbour.com")) == 1


@pytest.mark.parametrize(
    ("sold_on", "codes"),
    [
        ("2025-12-30", []),  # 61 days before
        ("2025-12-31", ["sale_similar"]),
        ("2026-04-30", ["sale_similar"]),  # 60 days after
        ("2026-05-01", []),
    ],
)
async def test_a_sale_of_more_than_sixty_days_apart_is_another_one(
    alice: Person, sold_on: str, codes: list[str]
) -> None:
    await sell(alice, sold_on)
    [result] = (await load(alice, ONE, format="afternic-sales"))["results"]
    assert [each["code"] for each in result["warnings"]] == codes


async def test_a_sale_of_the_same_day_is_the_same(alice: Person) -> None:
    await sell(alice, "2026-03-01")
    [result] = (await load(alice, ONE, format="afternic-sales"))["results"]
    assert (result["warnings"], len(await sales_of(alice, "harbour.com"))) == ([], 1)
