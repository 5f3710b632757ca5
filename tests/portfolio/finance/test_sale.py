"""The member `sale` of PATCH /v1/portfolio/domains/{domain_id}/finance."""

import asyncio
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.finance import jobs
from tests.cast import Person
from tests.portfolio.finance.make import DOMAINS, SALE, Book, add_domain, amounts, changed, shown, usd
from tests.portfolio.imports.make import load
from tests.worker import Worker


async def test_a_sale_sets_the_status_and_its_void_restores_it(book: Book, conn: Conn) -> None:
    await book.owner.patch(f"{DOMAINS}/{book.domain_id}", json={"status": "listed"})
    before = await book.change(acquisition={"amount": "100", "on": "2024-03-01"})
    found = await book.change(sale=SALE)
    assert changed(found)["status"] == ("listed", "sold")
    assert changed(found)["sale"] == (
        None,
        {
            "gross": usd("1000.00"),
            "sold_on": "2024-03-04",
            "commission": None,
            "commission_rate": "0.15",
            "fees": [
                {"kind": "marketplace_fee", "amount": usd("20.00"), "on": None},
                {"kind": "escrow_fee", "amount": usd("5.00"), "on": "2024-03-05"},
            ],
            "installments": [],
            "venue": None,
            "buyer_ref": None,
        },
    )
    assert shown(found)[1:] == [
        ("sale", "2024-03-04", "1000.00", False),
        ("commission", "2024-03-04", "-150.00", False),
        ("marketplace_fee", "2024-03-04", "-20.00", False),
        ("escrow_fee", "2024-03-05", "-5.00", False),
    ]
    assert amounts(found["sale"], "gross", "costs", "net") == ["1000.00", "175.00", "825.00"]
    assert amounts(found, "realized_profit") == ["725.00"]
    assert (await book.domain())["status"] == "sold"
    found = await book.change(sale=None)
    assert changed(found)["status"] == ("sold", "listed")
    figures = ("cost_basis", "total_cost", "net_position", "realized_profit", "sale", "roi", "xirr", "status")
    assert {name: found[name] for name in figures} == {name: before[name] for name in figures}
    assert (await book.change(sale=None))["changes"] == []
    cursor = await conn.execute(
        "SELECT name FROM kit_outbox WHERE account_id = %s AND name LIKE 'portfolio.domain.%%' ORDER BY id",
        [book.owner.account.id],
    )
    assert [name for (name,) in await cursor.fetchall()].count("portfolio.domain.sold") == 1


async def test_a_sale_is_corrected_by_a_merge_patch(book: Book) -> None:
    await book.change(sale=SALE)
    found = await book.change(sale={"venue": "Afternic", "buyer_ref": "B-1"})
    assert (found["sale"]["venue"], found["sale"]["buyer_ref"]) == ("Afternic", "B-1")
    found = await book.change(sale={"sold_on": "2024-03-05", "commission": "100"})
    live = [each for each in shown(found) if not each[3]]
    assert sorted(live) == [
        ("commission", "2024-03-05", "-100.00", False),
        ("escrow_fee", "2024-03-05", "-5.00", False),
        ("marketplace_fee", "2024-03-05", "-20.00", False),
        ("sale", "2024-03-05", "1000.00", False),
    ]
    assert found["sale"]["commission_rate"] is None
    found = await book.change(sale={"commission_rate": "0.1", "fees": None})
    assert amounts(found["sale"], "costs") == ["100.00"]
    assert (await book.change(sale={"commission_rate": "0.1"}))["changes"] == []
    found = await book.change(sale={"gross": usd("2000")})
    assert amounts(found["sale"], "gross", "costs") == ["2000.00", "200.00"]
    assert (await book.domain())["status"] == "sold"


async def test_an_instalment_counts_from_the_day_on_which_it_was_received(book: Book) -> None:
    payments = [
        {"amount": "300.01", "on": "2024-04-04", "received_on": "2024-04-10"},
        {"amount": "300.01", "on": "2024-05-04", "received_on": "2024-05-04"},
    ]
    found = await book.change(
        sale={"gross": usd("1000"), "sold_on": "2024-03-04", "commission_rate": "0.1", "installments": payments}
    )
    assert shown(found) == [
        ("sale", "2024-03-04", "399.98", False),
        ("commission", "2024-03-04", "-40.00", False),
        ("sale_installment", "2024-04-10", "300.01", False),
        ("commission", "2024-04-10", "-30.00", False),
        ("sale_installment", "2024-05-04", "300.01", False),
        ("commission", "2024-05-04", "-30.00", False),
    ]
    found = await book.get(as_of="2024-04-30")
    assert amounts(found["sale"], "gross", "costs", "net", "price", "outstanding") == [
        *("699.99", "70.00", "629.99", "1000.00", "300.01")
    ]
    found = await book.change(sale={"installments": None})
    assert amounts(found["sale"], "gross", "outstanding") == ["1000.00", "0.00"]


async def test_a_planned_instalment_counts_nowhere_until_it_is_received(book: Book) -> None:
    planned = {"amount": "600", "on": "2024-04-04"}
    await book.change(acquisition={"amount": "100", "on": "2024-03-01"})
    found = await book.change(
        sale={"gross": usd("1000"), "sold_on": "2024-03-04", "commission_rate": "0.1", "installments": [planned]}
    )
    assert shown(found)[1:] == [
        ("sale", "2024-03-04", "400.00", False),
        ("commission", "2024-03-04", "-40.00", False),
    ]
    assert amounts(found, "realized_profit", "net_position") == ["260.00", "260.00"]
    assert amounts(found["sale"], "gross", "price", "outstanding") == ["400.00", "1000.00", "600.00"]
    assert [each["code"] for each in found["warnings"]] == ["short_holding", "overdue_installments"]
    listed = (await book.domain())["finance"]
    assert listed["net_position"] == usd("260.00")

    before = {each["id"] for each in found["entries"]}
    found = await book.change(sale={"installments": [{**planned, "received_on": "2024-05-01"}]})
    assert amounts(found, "realized_profit") == ["800.00"]
    assert found["sale"]["installments"] == [
        {"amount": usd("600.00"), "on": "2024-04-04", "received_on": "2024-05-01"}
    ]
    assert before == {each["id"] for each in found["entries"][:3]}
    assert shown(found)[3:] == [
        ("sale_installment", "2024-05-01", "600.00", False),
        ("commission", "2024-05-01", "-60.00", False),
    ]
    assert [each["code"] for each in found["warnings"]] == ["short_holding"]


async def test_a_sale_of_which_no_instalment_was_received_keeps_its_terms(book: Book) -> None:
    parts = [{"amount": "500", "on": "2024-04-04"}, {"amount": "500", "on": "2024-05-04"}]
    found = await book.change(sale={"gross": usd("1000"), "sold_on": "2024-03-04", "installments": parts})
    assert shown(found) == [("sale", "2024-03-04", "0.00", False)]
    found = await book.change(sale={"installments": [parts[0], {**parts[1], "received_on": "2024-05-05"}]})
    assert [each for each in shown(found) if not each[3]] == [("sale_installment", "2024-05-05", "500.00", False)]
    assert amounts(found["sale"], "price", "outstanding") == ["1000.00", "500.00"]
    assert (await book.change(sale=None))["sale"] is None


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ({"amount": "1000.01", "on": "2024-04-04"}, "installments_exceed_price"),
        ({"amount": "1", "currency": "EUR", "on": "2024-04-04"}, "currency_mixed"),
        ({"amount": "1", "on": "2024-04-04", "received_on": "2199-01-01"}, "date_in_future"),
    ],
)
async def test_an_instalment_that_does_not_fit_is_refused(book: Book, part: dict[str, str], code: str) -> None:
    error = await book.refuse(sale={"gross": usd("1000"), "sold_on": "2024-03-04", "installments": [part]})
    assert error == (["sale", "installments"], code)


async def test_an_instalment_is_not_received_after_the_day_of_the_account(book: Book) -> None:
    assert (await book.owner.patch("/v1/me", json={"timezone": "Pacific/Pago_Pago"})).status_code == 200
    tomorrow = (clock.now() - timedelta(hours=11)).date() + timedelta(days=1)
    part = {"amount": "1", "on": "2024-04-04", "received_on": tomorrow.isoformat()}
    sale = {"gross": usd("1000"), "sold_on": "2024-03-04", "installments": [part]}

    assert await book.refuse(sale=sale) == (["sale", "installments"], "date_in_future")


async def mark_sold(database: Database, settings: Settings, at: datetime) -> None:
    """Run the hourly job at a time."""
    with clock.moved(at - clock.now()):
        async with database.transaction() as conn:
            await queue.defer(conn, jobs.mark_sold, timestamp=0)
        await Worker(database, settings).work()


async def test_a_sale_in_the_future_sells_on_its_day_in_the_time_zone(
    book: Book, database: Database, settings: Settings
) -> None:
    answer = await book.owner.patch("/v1/me", json={"timezone": "Pacific/Auckland"})
    assert answer.status_code == 200, answer.text
    sold_on = clock.now().date() + timedelta(days=40)
    found = await book.change(sale={"gross": usd("1000"), "sold_on": sold_on.isoformat()})
    assert (found["status"], found["sale"], found["realized_profit"]) == ("owned", None, None)
    midnight = datetime.combine(sold_on, time(), ZoneInfo("Pacific/Auckland"))

    await mark_sold(database, settings, midnight - timedelta(minutes=5))
    before = (await book.domain())["status"]
    await mark_sold(database, settings, midnight + timedelta(minutes=5))

    assert (before, (await book.domain())["status"]) == ("owned", "sold")
    assert changed(await book.change(sale=None))["status"] == ("sold", "owned")


async def test_a_sale_without_a_day_is_of_today_in_the_time_zone(book: Book) -> None:
    await book.owner.patch("/v1/me", json={"timezone": "Pacific/Kiritimati"})
    today = datetime.now(ZoneInfo("Pacific/Kiritimati")).date()

    found = await book.change(sale={"gross": usd("1000")})

    assert (found["status"], found["sale"]["sold_on"]) == ("sold", today.isoformat())


async def test_a_sale_that_is_moved_to_the_future_is_not_sold_yet(
    book: Book, database: Database, settings: Settings
) -> None:
    await book.change(sale=SALE)
    later = clock.now().date() + timedelta(days=40)
    found = await book.change(sale={"sold_on": later.isoformat()})
    assert changed(found)["status"] == ("sold", "owned")
    await book.change(sale=None)

    await mark_sold(database, settings, clock.now() + timedelta(days=41))

    assert (await book.domain())["status"] == "owned"


async def test_the_consignor_gets_a_share_of_the_net(alice: Person) -> None:
    made = await add_domain(
        alice, "consigned.com", ownership="consigned", counterparty="Carol", revenue_share="70"
    )
    on = {"occurred_on": "2024-03-01"}
    add = [{"kind": "renewal", "amount": "25", **on}, {"kind": "lease_income", "amount": "10", **on}]
    assert amounts((await made.change(entries_add=add))["income"], "lease") == ["10.00"]  # which is not divided
    found = await made.change(
        sale={
            **SALE,
            "fees": None,
            "commission_rate": "0.1",
            "installments": [{"amount": "333.33", "on": "2024-04-04", "received_on": "2024-04-04"}],
        }
    )
    assert [each[:3] for each in shown(found) if each[0] == "other_cost"] == [
        ("other_cost", "2024-03-04", "-420.00"),
        ("other_cost", "2024-04-04", "-210.00"),
    ]
    assert amounts(found["sale"], "gross", "costs", "net") == ["1000.00", "730.00", "270.00"]
    assert (amounts(found, "realized_profit"), found["roi"]) == (["255.00"], 10.2)
    assert found["sale"]["own_share"] == 0.3
    assert changed(await made.change(sale=None))["status"] == ("sold", "consigned")


@pytest.mark.usefixtures("book")
async def test_the_fees_of_a_consigned_sale_are_in_any_currency(alice: Person) -> None:
    made = await add_domain(
        alice, "consigned.com", ownership="consigned", counterparty="Carol", revenue_share="70"
    )
    fees = [{"amount": "100", "currency": "GBP", "on": "2024-03-05"}]
    sale = {"gross": usd("1000"), "sold_on": "2024-03-04", "fees": fees, "commission": "50", "currency": "EUR"}

    found = await made.change(sale={**sale, "gross": usd("1000")})

    # 54.23 is 50 EUR at 1.0846, and 126.78 are 100 GBP at 1.0849 / 0.85573 of the next day.
    share = next(each for each in shown(found) if each[0] == "other_cost")
    assert share[2] == "-573.29"  # 70 % of 818.99
    assert amounts(found["sale"], "costs", "net") == ["754.30", "245.70"]


@pytest.mark.usefixtures("book")
async def test_a_consigned_sale_with_a_fee_that_has_no_rate_is_refused(alice: Person) -> None:
    made = await add_domain(
        alice, "consigned.com", ownership="consigned", counterparty="Carol", revenue_share="70"
    )
    sale = {"gross": usd("1000"), "sold_on": "2024-03-04", "fees": [{"amount": "100", "currency": "AED"}]}
    assert await made.refuse(sale=sale) == (["sale", "fees"], "rate_missing")


@pytest.mark.usefixtures("book")
async def test_a_consigned_sale_with_a_commission_that_has_no_rate_names_it(alice: Person) -> None:
    made = await add_domain(
        alice, "consigned.com", ownership="consigned", counterparty="Carol", revenue_share="70"
    )
    sale = {"gross": usd("1000"), "sold_on": "2024-03-04", "commission": "100", "currency": "AED"}
    assert await made.refuse(sale=sale) == (["sale", "commission"], "rate_missing")


@pytest.mark.usefixtures("book")
async def test_the_refusal_of_a_fee_before_the_rates_of_the_bank_says_what_is_accepted(alice: Person) -> None:
    made = await add_domain(
        alice, "consigned.com", ownership="consigned", counterparty="Carol", revenue_share="70"
    )
    sale = {"gross": usd("1000"), "sold_on": "1995-01-02", "fees": [{"amount": "100", "currency": "EUR"}]}
    answer = await alice.patch(made.path, json={"sale": sale})
    assert "Send the amount in USD" in answer.json()["detail"][0]["msg"]


async def test_the_entry_of_the_price_voids_the_sale(book: Book) -> None:
    entries = (await book.change(sale=SALE))["entries"]
    price, commission = entries[0]["id"], entries[1]["id"]
    assert await book.refuse(entries_void=[commission]) == (["entries_void", 0], "entry_of_sale")
    assert await book.refuse(entries_void=[price], sale={"venue": "Sedo"}) == (
        ["entries_void", 0],
        "entry_of_sale",
    )
    found = await book.change(entries_void=[price])
    assert (found["sale"], found["status"]) == (None, "owned")
    assert all(each[3] for each in shown(found))


async def test_an_imported_sale_is_voided_by_its_price(alice: Person, book: Book) -> None:
    await load(alice, "domain,sale price,sale date\nharbour.com,900,2024-03-04\n")
    found = await book.get()
    assert amounts(found["sale"], "gross", "costs", "net", "price") == ["900.00", "0.00", "900.00", "900.00"]
    found = await book.change(entries_void=[found["entries"][0]["id"]])
    assert (found["sale"], found["status"]) == (None, "owned")


async def test_a_sale_replaces_proceeds_that_came_without_one(book: Book) -> None:
    await book.change(entries_add=[{"kind": "sale_installment", "amount": "900", "occurred_on": "2024-03-04"}])
    found = await book.change(sale={"gross": usd("950"), "sold_on": "2024-03-04"})
    assert amounts(found["sale"], "gross", "price") == ["950.00", "950.00"]


async def test_of_two_sales_at_once_one_is_recorded(book: Book) -> None:
    await asyncio.gather(
        *(book.change(sale={"gross": usd(gross), "sold_on": "2024-03-04"}) for gross in ("1", "2"))
    )
    found = await book.get()
    assert [each[0] for each in shown(found) if not each[3]].count("sale") == 1
    assert found["sale"]["gross"] in (usd("1.00"), usd("2.00"))


@pytest.mark.parametrize("kind", ["buyer_refund", "chargeback"])
async def test_what_the_buyer_gets_back_lowers_the_profit(book: Book, kind: str) -> None:
    await book.change(acquisition={"amount": "100", "on": "2024-03-01"}, sale=SALE)
    back = {"kind": kind, "amount": "300", "occurred_on": "2024-04-01"}
    found = await book.change(entries_add=[back])
    assert amounts(found["sale"], "gross", "refunded", "costs", "net") == ["1000.00", "300.00", "175.00", "525.00"]
    assert amounts(found, "total_cost", "realized_profit") == ["100.00", "425.00"]
    assert found["sale"]["price"] == usd("1000.00")


async def test_a_correction_of_the_sale_keeps_what_the_buyer_got_back(book: Book) -> None:
    await book.change(
        sale=SALE, entries_add=[{"kind": "chargeback", "amount": "300", "occurred_on": "2024-04-01"}]
    )
    found = await book.change(sale={"gross": usd("2000")})
    assert amounts(found["sale"], "gross", "refunded") == ["2000.00", "300.00"]
