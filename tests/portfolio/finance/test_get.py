"""GET /v1/portfolio/domains/{domain_id}/finance."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.domains import lookups
from builders.portfolio.domains.today import Today
from builders.portfolio.finance import overview
from builders.portfolio.ledger import entries
from builders.portfolio.ledger.records import EntryKind
from tests.cast import Client, Person
from tests.portfolio.finance.make import DOMAINS, Book, add_domain, amounts, first_error, usd
from tests.portfolio.ledger.make import entry
from tests.portfolio.team.make import code, join, of
from tests.wire import counted

VECTOR: dict[str, Any] = {
    "acquisition": {"amount": "100", "currency": "USD", "on": "2024-01-01"},
    "entries_add": [{"kind": "renewal", "amount": "10", "currency": "USD", "occurred_on": "2025-01-01"}],
    "sale": {"gross": usd("300"), "sold_on": "2026-01-01", "venue": "Sedo", "buyer_ref": "B-7"},
}


async def test_a_new_domain_has_no_figures(book: Book) -> None:
    found = await book.get()
    assert (found["domain"], found["domain_id"], found["base_currency"]) == ("harbour.com", book.domain_id, "USD")
    assert amounts(found, "cost_basis", "total_cost", "net_position", "realized_profit") == ["0.00"] * 3 + [None]
    assert found["sale"] is found["roi"] is found["xirr"] is found["holding_days"] is None
    assert found["xirr_reason"] == "no_flows"
    assert found["next_renewal"] == {"on": "2027-02-28", "price": None, "price_source": None, "years": 1}
    assert found["recommendation"]["verdict"] == "review"
    assert "missing_inputs" in found["recommendation"]["reasons"]
    assert found["entries"] == found["unconverted"] == found["warnings"] == found["redacted"] == []


async def test_the_vector_of_the_design(book: Book) -> None:
    await book.change(**VECTOR)
    found = await book.get(as_of="2026-01-01")
    assert amounts(found, "cost_basis", "carrying_cost", "total_cost", "realized_profit", "net_position") == [
        *("100.00", "10.00", "110.00", "190.00", "190.00")
    ]
    assert (found["roi"], found["holding_days"]) == (1.727273, 731)
    assert (found["annualized_roi"], found["xirr"], found["xirr_reason"]) == (0.650313, 0.681609, None)
    sale = found["sale"]
    assert (sale["gross"], sale["net"], sale["price"]) == (usd("300.00"), usd("300.00"), usd("300.00"))
    assert (sale["sold_on"], sale["venue"], sale["buyer_ref"]) == ("2026-01-01", "Sedo", "B-7")
    assert found["status"] == "sold"
    assert found["next_renewal"] is found["recommendation"] is None
    assert [each["kind"] for each in found["entries"]] == ["acquisition", "renewal", "sale"]
    assert [each["signed_amount"]["amount"] for each in found["entries"]] == ["-100.00", "-10.00", "300.00"]


async def test_a_day_before_the_sale_shows_what_was_known_then(book: Book) -> None:
    await book.change(**VECTOR)
    found = await book.get(as_of="2025-06-30")
    assert found["sale"] is None
    assert amounts(found, "total_cost", "realized_profit") == ["110.00", None]
    assert found["holding_days"] == 546


async def test_figures_of_any_size_have_the_published_form(book: Book) -> None:
    largest = {"amount": "9" * 15, "currency": "EUR"}
    add = {"kind": "renewal", "amount": largest, "occurred_on": "2024-03-04"}  # more than 15 digits in dollars
    await book.change(entries_add=[add, {**add, "kind": "lease_income"}, add], estimated_value=largest)
    found = await book.get(commission_rate="0.999999")  # each reply is compared with the document
    assert amounts(found, "carrying_cost", "breakeven_price") == [
        *("2169199999999997.84", "1084599999999998920000.00")
    ]
    listed = (await book.owner.get(DOMAINS)).json()["items"][0]
    assert listed["finance"]["total_cost"] == usd("2169199999999997.84")
    summary = (await book.owner.get("/v1/portfolio/summary", params={"months": 120})).json()
    assert summary["totals"]["net"] == usd("-1084599999999998.92")


async def test_a_domain_is_found_by_its_name_in_any_case(alice: Person, book: Book) -> None:
    for key in ("harbour.com", "HARBOUR.com", book.domain_id.upper()):
        assert (await alice.get(f"{DOMAINS}/{key}/finance")).json()["domain_id"] == book.domain_id


async def test_what_is_not_in_the_portfolio_is_not_found(alice: Person, bob: Person, book: Book) -> None:
    for key in ("other.com", "no name", str(uuid4())):
        assert code(await alice.get(f"{DOMAINS}/{key}/finance")) == (404, "portfolio_domain_not_found")
    for path in (book.path, f"{DOMAINS}/harbour.com/finance"):
        assert code(await bob.get(path)) == code(await alice.test.get(path)) == (404, "portfolio_domain_not_found")
        assert code(await bob.patch(path, json={"pinned": True})) == (404, "portfolio_domain_not_found")
        assert code(await bob.post(f"{path}/renewals", json={"amount": "1"})) == (
            404,
            "portfolio_domain_not_found",
        )


async def test_without_credentials_or_scope_there_is_no_answer(dana: Person, anyone: Client, book: Book) -> None:
    assert (await anyone.get(book.path)).status_code == 401
    assert code(await dana.get(book.path)) == (403, "insufficient_scope")
    assert code(await dana.patch(book.path, json={"pinned": True})) == (403, "insufficient_scope")
    assert code(await dana.post(f"{book.path}/renewals", json={"amount": "1"})) == (403, "insufficient_scope")


async def test_a_viewer_sees_no_money(alice: Person, charlie: Person, book: Book) -> None:
    await book.change(**VECTOR, renewal_price=usd("9"))
    await join(alice, charlie, "viewer")
    found = (await charlie.get(book.path, headers=of(alice))).json()
    assert found["redacted"] == ["finance"]
    shown = {name for name, value in found.items() if value not in (None, [])}
    assert shown == {"domain_id", "domain", "status", "base_currency", "as_of", "holding_days", "redacted"}
    held = await add_domain(alice, "pier.com", expires_at="2027-03-01", renewal_price=usd("9.00"))
    found = (await charlie.get(held.path, headers=of(alice))).json()
    assert found["next_renewal"] == {"on": "2027-03-01", "price": None, "price_source": None, "years": 1}
    assert "9.00" not in str(found)
    for answer in (
        await charlie.patch(book.path, json={"pinned": True}, headers=of(alice)),
        await charlie.post(f"{book.path}/renewals", json={"amount": "1"}, headers=of(alice)),
    ):
        assert code(answer) == (403, "forbidden_role")


async def test_a_domain_that_is_removed_takes_its_finance_along(alice: Person, book: Book, conn: Conn) -> None:
    await book.change(**VECTOR)
    assert (await alice.delete(f"{DOMAINS}/{book.domain_id}?history=delete")).status_code == 204
    assert code(await alice.get(book.path)) == (404, "portfolio_domain_not_found")
    again = await add_domain(alice, "harbour.com")
    found = await again.get()
    assert (found["entries"], found["sale"], found["status"]) == ([], None, "owned")
    cursor = await conn.execute(
        "SELECT count(*) FROM portfolio_finance_sales WHERE account_id = %s", [alice.account.id]
    )
    assert await cursor.fetchone() == (0,)


async def test_figures_in_another_currency_are_at_the_rate_of_each_day(book: Book) -> None:
    added = [
        {"kind": "registration", "amount": "100", "currency": "USD", "occurred_on": "2024-03-04"},
        {"kind": "renewal", "amount": "1500", "currency": "JPY", "occurred_on": "2024-03-05"},
        {"kind": "other_cost", "amount": "7", "currency": "EUR", "occurred_on": "2024-03-03"},
    ]
    await book.change(entries_add=added, estimated_value=usd("1000"))
    found = await book.get(base_currency="EUR", as_of="2024-03-10")
    # 100 / 1.0846, 1500 / 163.08; 1000 / 1.0849 at the last rate before the day
    assert amounts(found, "cost_basis", "carrying_cost", "total_cost") == ["92.20", "16.20", "108.40"]
    assert amounts(found, "unrealized_profit") == ["813.34"]
    found = await book.get(as_of="2024-03-10")
    # 1500 * 1.0849 / 163.08, and 7 * 1.0813 at the rate of the Friday before
    assert amounts(found, "cost_basis", "carrying_cost") == ["100.00", "17.55"]


async def test_entries_and_prices_without_a_rate_are_named(book: Book) -> None:
    await book.change(
        entries_add=[{"kind": "renewal", "amount": "3", "currency": "XAU", "occurred_on": "2024-03-04"}],
        asking_price={"amount": "1", "currency": "XAU"},
    )
    found = await book.get()
    assert [each["code"] for each in found["warnings"]] == ["unconverted_entries", "unconverted_prices"]
    assert found["unconverted"] == [found["entries"][0]["id"]]
    assert amounts(found, "total_cost") == ["0.00"]


REFUSED = [
    ({"base_currency": "usd"}, "base_currency", "string_pattern_mismatch"),
    ({"base_currency": "XAU"}, "base_currency", "currency_unknown"),
    ({"as_of": "1-1-2024"}, "as_of", "date_from_datetime_parsing"),
    ({"as_of": "0001-01-01"}, "as_of", "date_range"),
    ({"commission_rate": "1"}, "commission_rate", "less_than"),
    ({"commission_rate": "NaN"}, "commission_rate", "finite_number"),
]


async def test_a_wrong_query_is_refused(book: Book) -> None:
    for query, field, kind in REFUSED:
        assert first_error(await book.owner.get(book.path, params=query)) == ([field], kind), query


async def test_the_advice_weighs_a_sale_and_the_income_against_the_renewal(book: Book) -> None:
    recently = (clock.now() - timedelta(days=40)).date().isoformat()
    await book.change(
        estimated_value=usd("500"),
        renewal_price=usd("20"),
        entries_add=[{"kind": "parking_revenue", "amount": "6", "currency": "USD", "occurred_on": recently}],
    )
    advice = (await book.get())["recommendation"]
    assert (advice["expected_gain"], advice["verdict"], advice["score"]) == (usd("-9.00"), "drop", -29)
    advice = (await book.get(commission_rate="0.2"))["recommendation"]
    assert advice["expected_gain"] == usd("-10.00")
    changed = await book.change(pinned=True)
    assert changed["recommendation"]["verdict"] == "keep"
    assert changed["recommendation"]["reasons"] == ["user_pinned"]


async def test_the_price_of_the_next_renewal_is_that_of_the_last_one_unless_set(book: Book) -> None:
    await book.renew("30.00", years=3)
    found = (await book.get())["next_renewal"]
    assert (found["price"], found["price_source"]) == (usd("10.00"), "last_renewal")
    found = (await book.change(renewal_price=usd("11")))["next_renewal"]
    assert (found["price"], found["price_source"]) == (usd("11.00"), "domain")


@pytest.mark.parametrize("reference", ["renewal:1042", "acquisition/", "x/1/price", "\u0663/price", ":"])
async def test_any_text_is_a_reference(book: Book, reference: str) -> None:
    await book.change(sale={"gross": usd("300"), "sold_on": "2024-03-04"})
    found = await book.change(entries_add=[{"kind": "sale_installment", "amount": "7", "reference": reference}])
    assert [each["reference"] for each in found["entries"]] == [None, reference]
    assert found["sale"]["price"] == usd("300.00")
    changed = await book.change(sale={"gross": usd("400")})
    assert changed["sale"]["price"] == usd("400.00")


async def test_only_the_newest_entries_are_shown_and_all_count(book: Book, database: Database) -> None:
    visits = [entry(UUID(book.domain_id), "0.01", kind=EntryKind.PARKING_REVENUE)] * 510
    async with database.transaction() as conn:
        await entries.post_entries(conn, account_id=book.owner.account.id, entries=visits)
    found = await book.get()
    assert (len(found["entries"]), found["entries_count"]) == (500, 510)
    assert found["income"]["parking"] == usd("5.10")


async def test_the_figures_are_those_of_the_ledger_in_three_statements(
    book: Book, conn: Conn, tmp_path: Path
) -> None:
    kinds = [kind for kind in EntryKind if kind is not EntryKind.SALE]
    add = [
        {"kind": kind, "amount": f"{at}.01", "currency": currency, "occurred_on": "2024-03-04"}
        for at, kind in enumerate(kinds)
        for currency in ("EUR", "GBP")
    ]
    await book.change(**{**VECTOR, "entries_add": add}, estimated_value=usd("1"))
    account_id = book.owner.account.id
    with counted(conn, tmp_path / "wire") as sent:
        domain = await lookups.get_domain(conn, account_id=account_id, key="harbour.com")
        found = await overview.read_finance(
            conn, account_id=account_id, domain=domain, today=Today(clock.now()), currency="JPY"
        )
    assert sent == [3]
    assert len(found.entries) == 2 + 2 * len(kinds)
    shown = await book.get()
    [totals] = (
        await entries.list_totals(conn, account_id=account_id, domain_ids=[found.domain.id], today=date.max)
    ).values()
    assert shown["total_cost"] == totals.total_cost.to_wire()
    assert shown["net_position"] == shown["realized_profit"] == totals.net_position.to_wire()


@pytest.mark.parametrize(("years", "warns"), [(9, False), (11, True)])
async def test_an_entry_more_than_ten_years_ahead_is_warned_of(book: Book, years: int, warns: bool) -> None:
    on = (clock.now() + timedelta(days=365 * years)).date().isoformat()
    found = await book.change(entries_add=[{"kind": "renewal", "amount": "5", "occurred_on": on}])
    assert ("distant_entries" in {each["code"] for each in found["warnings"]}) is warns
