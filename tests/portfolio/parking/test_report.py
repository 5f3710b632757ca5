"""The report by domain, day and provider, and its CSV export."""

from pathlib import Path
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.values import clock
from builders.portfolio.ledger import currencies
from builders.portfolio.parking import report as parking_report
from builders.portfolio.parking.records import GroupBy, Period, ReportQuery
from tests.cast import Client, Person
from tests.portfolio.ledger.make import add_rates
from tests.portfolio.parking.make import PARKING, add_domains, database_of, day, record, report
from tests.portfolio.reads import Traced, traced
from tests.portfolio.team.make import code, join, of

CSV = "/v1/portfolio/parking.csv"


def usd(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "USD"}


async def fill(alice: Person) -> None:
    """Three domains at two providers, with two currencies and one that has no rates."""
    await add_rates(database_of(alice))
    await add_domains(alice, "harbour.com", "lighthouse.com", price="365.00")
    await add_domains(alice, "pier.com")
    rows: list[dict[str, Any]] = [
        {
            "domain": "harbour.com",
            "date": day(2),
            "amount": "20.00",
            "visits": 100,
            "clicks": 10,
            "provider": "sedo",
        },
        {"domain": "harbour.com", "date": day(1), "amount": "10.00", "visits": 50, "provider": "bodis"},
        {"domain": "lighthouse.com", "date": day(1), "amount": "2.00", "currency": "EUR", "provider": "sedo"},
        {"domain": "pier.com", "date": day(1), "amount": "1.00", "currency": "XAU", "provider": "sedo"},
        {"domain": "pier.com", "date": day(40), "amount": "99.00", "provider": "sedo"},
    ]
    reply = await record(alice, {"rows": rows, "provider": "sedo"})
    assert reply["summary"]["created"] == len(rows), reply


async def test_the_report_by_domain(alice: Person, bob: Person) -> None:
    await fill(alice)
    found = await report(alice, days=10)
    assert found["period"] == {"from": day(9), "to": day(0), "days": 10}
    assert (found["base_currency"], found["count"], found["redacted"]) == ("USD", 3, [])
    harbour, lighthouse, pier = found["items"]
    assert [each["domain"] for each in found["items"]] == ["harbour.com", "lighthouse.com", "pier.com"]
    assert (harbour["revenue"], harbour["visits"], harbour["clicks"]) == (usd("30.00"), 150, 10)
    assert (harbour["rpm"], harbour["ctr"], harbour["epc"]) == ("200.0000", "0.0667", "3.0000")
    assert (harbour["renewal_cost_prorated"], harbour["net"]) == (usd("10.00"), usd("20.00"))
    assert (harbour["provider"], harbour["roi_flag"]) == (None, "covers_renewal")
    assert (lighthouse["revenue"], lighthouse["provider"]) == (usd("2.17"), "sedo")  # 2 EUR at 1.0849
    assert (lighthouse["visits"], lighthouse["rpm"], lighthouse["roi_flag"]) == (None, None, "below_renewal")
    assert lighthouse["net"] == usd("-7.83")
    assert (pier["revenue"], pier["unconverted"], pier["net"]) == (usd("0.00"), 1, None)
    assert pier["roi_flag"] == "no_revenue"
    totals = found["totals"]
    assert (totals["revenue"], totals["renewal_cost_prorated"]) == (usd("32.17"), usd("20.00"))
    assert (totals["net"], totals["unknown_renewal_price"], totals["unconverted"]) == (usd("12.17"), 1, 1)
    assert totals["by_currency"] == [
        {"amount": "2.00", "currency": "EUR"},
        usd("30.00"),
        {"amount": "1.00", "currency": "XAU"},
    ]
    assert [(each["day"], each["revenue"]) for each in found["daily"]] == [
        (day(2), usd("20.00")),
        (day(1), usd("12.17")),
    ]
    empty = await report(bob, days=365)
    assert (empty["items"], empty["daily"], empty["totals"]["revenue"]) == ([], [], usd("0.00"))
    async with database_of(alice).transaction() as conn:
        await currencies.set_base_currency(conn, account_id=alice.account.id, base_currency="EUR")
    in_euro = await report(alice, days=10, domain="lighthouse.com")
    assert in_euro["totals"]["revenue"] == {"amount": "2.00", "currency": "EUR"}


async def test_the_report_by_day_and_provider_and_its_filters(alice: Person) -> None:
    await fill(alice)
    days = await report(alice, group_by="day")
    assert [(each["day"], each["revenue"], each["roi_flag"]) for each in days["items"]] == [
        (day(2), usd("20.00"), None),
        (day(1), usd("12.17"), None),
    ]
    providers = await report(alice, group_by="provider", days=60)
    assert [(each["provider"], each["revenue"]) for each in providers["items"]] == [
        ("sedo", usd("121.17")),
        ("bodis", usd("10.00")),
    ]
    one = await report(alice, domain="HARBOUR.com", provider="Sedo")
    assert (one["totals"]["revenue"], one["totals"]["domains"]) == (usd("20.00"), 1)
    assert one["items"][0]["provider"] == "sedo"
    assert code(await alice.get(PARKING, params={"domain": "unknown.com"})) == (404, "portfolio_domain_not_found")
    assert (await alice.get(PARKING, params={"days": 366})).status_code == 422


@pytest.mark.parametrize("group_by", ["domain", "day", "provider"])
async def test_pages_show_each_group_once(alice: Person, group_by: str) -> None:
    await fill(alice)
    whole = await report(alice, group_by=group_by, days=60)
    items, cursor = [], None
    while True:
        more: dict[str, str] = {} if cursor is None else {"cursor": cursor}
        page = await report(alice, group_by=group_by, days=60, limit=1, **more)
        items += page["items"]
        assert page["totals"] == whole["totals"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert items == whole["items"]


async def test_a_viewer_sees_no_money(alice: Person, bob: Person, charlie: Person, anyone: Client) -> None:
    await fill(alice)
    await join(alice, charlie, "viewer")
    found = await report(charlie, headers=of(alice))
    assert found["redacted"] == ["finance"]
    assert sorted(each["visits"] or 0 for each in found["items"]) == [0, 0, 150]
    assert [each["domain"] for each in found["items"]] == ["harbour.com", "lighthouse.com", "pier.com"]
    for each in (*found["items"], *found["daily"], found["totals"]):
        hidden = ("revenue", "rpm", "epc", "net", "renewal_cost_prorated", "roi_flag", "by_currency")
        assert {each.get(name) for name in hidden} == {None}
    page = await report(charlie, headers=of(alice), limit=1)
    rest = await report(charlie, headers=of(alice), limit=1, cursor=page["next_cursor"])
    assert rest["items"] == found["items"][1:2]
    text = (await charlie.get(CSV, headers=of(alice))).text
    assert "20.00" not in text
    assert f"harbour.com,sedo,{day(29)},{day(0)},100,10,,USD,,0.1000," in text
    assert code(await bob.get(CSV, headers=of(alice))) == (404, "portfolio_not_found")
    assert (await anyone.get(PARKING)).status_code == (await anyone.get(CSV)).status_code == 401


async def test_the_export_is_a_sheet_that_can_be_recorded_again(alice: Person, bob: Person) -> None:
    await fill(alice)
    answer = await alice.get(CSV, params={"days": 10})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="parking.csv"'
    assert answer.headers["cache-control"] == "private, no-store"
    since, until = day(9), day(0)
    assert answer.text.splitlines() == [
        "domain,provider,from,to,visits,clicks,revenue,currency,rpm,ctr,epc",
        f"harbour.com,bodis,{since},{until},50,,10.00,USD,200.0000,,",
        f"harbour.com,sedo,{since},{until},100,10,20.00,USD,200.0000,0.1000,2.0000",
        f"lighthouse.com,sedo,{since},{until},,,2.00,EUR,,,",
        f"pier.com,sedo,{since},{until},,,1.00,XAU,,,",
    ]
    assert (await alice.head(CSV)).status_code == 200
    by_day = (await alice.get(CSV, params={"group_by": "day", "days": 10})).text.splitlines()
    assert f",sedo,{day(2)},{day(2)},100,10,20.00,USD,200.0000,0.1000,2.0000" in by_day
    by_provider = (await alice.get(CSV, params={"group_by": "provider", "days": 10})).text.splitlines()
    assert len(by_provider) == 1 + 4
    await add_domains(bob, "harbour.com", "lighthouse.com", "pier.com")
    again = await record(bob, {"csv": answer.text})
    assert again["summary"]["created"] == 4
    assert (await report(bob, days=10))["totals"]["revenue"] == usd("32.17")
    assert (await bob.get(CSV)).text.count("harbour.com") == 2


async def test_a_provider_that_would_be_a_formula_is_escaped(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, {"domain": "harbour.com", "date": day(), "amount": "1", "provider": "=cmd|1"})
    assert "harbour.com,'=cmd|1," in (await alice.get(CSV)).text


async def test_a_page_reads_its_own_rows_and_sums(alice: Person, conn: Conn, tmp_path: Path) -> None:
    await fill(alice)
    few = await read_page(alice, conn, tmp_path)
    names = [f"more{number}.com" for number in range(50)]
    await add_domains(alice, *names, price="365.00")
    await record(
        alice, {"rows": [{"domain": name, "date": day(1), "amount": "0.50"} for name in names], "provider": "sedo"}
    )
    many = await read_page(alice, conn, tmp_path)
    assert (many.statements, many.rows) == (few.statements, few.rows)
    totals = (await report(alice, days=10, limit=1))["totals"]
    assert (totals["domains"], totals["renewal_cost_prorated"]) == (53, usd("520.00"))
    assert totals["unknown_renewal_price"] == 1


async def read_page(owner: Person, conn: Conn, folder: Path) -> Traced:
    period = Period.ending(clock.now().date(), days=10)
    query = ReportQuery(period=period, group_by=GroupBy.DOMAIN, domain=None, provider=None)
    with traced(conn, folder) as found:
        await parking_report.get_report(
            conn, account_id=owner.account.id, query=query, page=PageRequest(limit=1, seal=str), shows_finance=True
        )
    return found
