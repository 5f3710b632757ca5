"""/v1/portfolio/exchange-rates: rates of currencies that the European Central Bank does not quote."""

from decimal import Decimal
from typing import Any

import pytest

from tests.cast import Person
from tests.portfolio.finance.make import Book, add_domain, amounts

RATES = "/v1/portfolio/exchange-rates"
ON = "2024-03-04"  # a dollar is 1 / 1.0846 euros


def aed(amount: str = "100.00", on: str = ON, currency: str = "AED") -> dict[str, Any]:
    return {"kind": "renewal", "amount": amount, "currency": currency, "occurred_on": on}


def rate(currency: str, since: str, rate: str, quote_currency: str = "USD") -> dict[str, str]:
    return {"currency": currency, "since": since, "rate": rate, "quote_currency": quote_currency}


async def put(owner: Person, *rates: dict[str, str]) -> dict[str, Any]:
    answer = await owner.put(RATES, json={"rates": rates})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_an_entry_is_converted_at_an_own_rate_which_is_marked(book: Book) -> None:
    found = await book.change(entries_add=[aed()])
    [warning] = [each for each in found["warnings"] if each["code"] == "unconverted_entries"]
    assert "AED" in warning["message"]

    await put(book.owner, rate("AED", "2024-01-01", "0.2723"))

    found = await book.get()
    [entry] = found["entries"]
    assert (entry["fx_rate"], entry["fx_date"], entry["fx_source"]) == ("0.2723", "2024-01-01", "own")
    assert amounts(found, "total_cost") == ["27.23"]
    [warning] = [each for each in found["warnings"] if each["code"] == "own_rates"]
    assert "AED" in warning["message"]
    assert found["unconverted"] == []


async def test_a_rate_of_the_bank_is_marked_as_its_own(book: Book) -> None:
    found = await book.change(entries_add=[aed(currency="GBP"), aed(currency="USD")])
    assert [each["fx_source"] for each in found["entries"]] == ["bank", None]


async def test_a_rate_counts_from_its_day_until_the_next_one(book: Book) -> None:
    days = ("2024-03-01", "2024-03-04", "2024-03-05")
    await put(book.owner, rate("VND", "2024-03-02", "0.00004"), rate("VND", "2024-03-05", "0.00005"))
    found = await book.change(entries_add=[aed("1000000", on, "VND") for on in days])
    assert [each["base_amount"] and each["base_amount"]["amount"] for each in found["entries"]] == [
        *(None, "40.00", "50.00")
    ]


async def test_other_rates_convert_again(book: Book) -> None:
    await book.change(entries_add=[aed()])
    totals = []
    for rates in ([rate("AED", "2024-01-01", "0.25")], [rate("AED", "2024-01-01", "0.5")], []):
        await put(book.owner, *rates)
        totals += amounts(await book.get(), "total_cost")
    assert totals == ["25.00", "50.00", "0.00"]


async def test_an_own_rate_leads_to_every_base_currency(book: Book) -> None:
    hrk, dirhams = rate("HRK", "2023-01-01", "0.132722808415", "EUR"), rate("AED", "2023-01-01", "0.25")
    await put(book.owner, hrk, dirhams)
    await book.change(entries_add=[aed(currency="HRK"), aed()], base_currency="GBP")
    shown = {each["currency"]: each["base_amount"]["amount"] for each in map(flat, (await book.get())["entries"])}
    euros = Decimal("13.2722808415")
    assert shown == {
        "HRK": f"{euros * Decimal('0.85505'):.2f}",
        "AED": f"{Decimal(25) / Decimal('1.0846') * Decimal('0.85505'):.2f}",
    }


def flat(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "currency": entry["amount"]["currency"]}


async def test_a_sale_in_a_stablecoin_has_a_profit(book: Book) -> None:
    await put(book.owner, rate("USDC", "2024-01-01", "0.9998"))
    found = await book.change(
        acquisition={"amount": "100", "on": "2024-01-01"},
        sale={"gross": {"amount": "1000", "currency": "USDC"}, "sold_on": ON, "fees": [{"amount": "20"}]},
    )
    assert found["sale"]["price"] == {"amount": "1000.00", "currency": "USDC"}
    assert amounts(found["sale"], "gross", "costs") == ["999.80", "20.00"]


@pytest.mark.usefixtures("book")
async def test_a_price_in_a_stablecoin_divides_fees_in_dollars(alice: Person) -> None:
    await put(alice, rate("USDT", "2024-01-01", "0.5"))
    made = await add_domain(
        alice, "consigned.com", ownership="consigned", counterparty="Carol", revenue_share="50"
    )
    sale = {"gross": {"amount": "1000", "currency": "USDT"}, "sold_on": ON}
    found = await made.change(sale={**sale, "fees": [{"amount": "100", "currency": "USD"}]})
    share = next(each for each in found["entries"] if each["kind"] == "other_cost")
    assert share["amount"] == {"amount": "400.00", "currency": "USDT"}  # half of 1000 less 200


@pytest.mark.usefixtures("book")
async def test_rates_are_listed_by_currency_and_day(alice: Person, bob: Person) -> None:
    coin = rate("USDC", "2024-01-01", "1")
    later, first = rate("AED", "2024-03-01", "0.26", "EUR"), rate("AED", "2024-01-01", "0.25")

    replaced = await put(alice, coin, later, first)

    assert (await alice.get(RATES)).json() == {"rates": [first, later, coin]}
    assert replaced == {"rates": [first, later, coin], "warnings": []}
    assert (await bob.get(RATES)).json() == {"rates": []}


@pytest.mark.usefixtures("book")
async def test_a_small_rate_is_read_without_an_exponent(alice: Person) -> None:
    small = rate("IRR", "2024-01-01", "0.000000750000")
    assert (await put(alice, small))["rates"] == [small]
    assert (await alice.get(RATES)).json() == {"rates": [small]}


@pytest.mark.usefixtures("book")
async def test_a_rate_of_an_unknown_currency_has_a_warning(alice: Person) -> None:
    unknown = rate("AEX", "2024-01-01", "0.27")
    replaced = await put(alice, rate("AED", "2024-01-01", "0.27"), unknown)
    [warning] = replaced["warnings"]
    assert (warning["field"], warning["code"]) == ("rates.1.currency", "currency_unknown")
    assert unknown in replaced["rates"]


async def test_entries_in_a_stablecoin_are_listed_by_its_name(book: Book) -> None:
    await book.change(entries_add=[aed(currency="USDC"), aed()])
    found = (await book.owner.get("/v1/portfolio/entries", params={"currency": "USDC"})).json()
    assert [each["amount"]["currency"] for each in found["items"]] == ["USDC"]


async def test_rates_of_others_do_not_count(bob: Person, book: Book) -> None:
    await put(bob, rate("AED", "2024-01-01", "0.25"))
    found = await book.change(entries_add=[aed()])
    assert len(found["unconverted"]) == 1


TWICE = [rate("AED", "2024-01-01", "1"), rate("AED", "2024-01-01", "2")]


@pytest.mark.parametrize(
    ("rates", "loc", "kind"),
    [
        ([rate("GBP", ON, "1")], [0, "currency"], "currency_quoted"),
        ([rate("AED", ON, "1", "VND")], [0, "quote_currency"], "currency_unknown"),
        (TWICE, [1, "since"], "rate_twice"),
        ([rate("AED", ON, "0")], [0, "rate"], "greater_than"),
        ([rate("AED", ON, "0.1234567890123")], [0, "rate"], "decimal_max_places"),
        ([rate("ABCD", ON, "1")], [0, "currency"], "string_pattern_mismatch"),
        ([rate("AED", ON, "1", "USDC")], [0, "quote_currency"], "string_pattern_mismatch"),
        pytest.param(
            [rate("AED", ON, "1")] * 1001, [], "too_long", marks=pytest.mark.maximum("own_rates"), id="too many"
        ),
    ],
)
async def test_a_rate_that_does_not_fit_is_refused(
    book: Book, rates: list[dict[str, str]], loc: list[str | int], kind: str
) -> None:
    answer = await book.owner.put(RATES, json={"rates": rates})
    error = answer.json()["detail"][0]
    assert (answer.status_code, error["loc"], error["type"]) == (422, ["body", "rates", *loc], kind)
