"""The report by domain, day and provider, and its CSV export."""

import unicodedata
from pathlib import Path
from typing import Any, Literal

import pytest

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.portfolio.parking import report as parking_report
from builders.portfolio.parking.records import GroupBy, ReportQuery
from tests.cast import Person
from tests.portfolio.ledger.make import add_rates
from tests.portfolio.parking.make import add_domains, database_of, day, record, report
from tests.portfolio.reads import Traced, traced
from tests.portfolio.team.make import join, of

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


async def items(alice: Person, **query: Any) -> dict[str, dict[str, Any]]:
    """Return the items of a filled portfolio by domain."""
    await fill(alice)
    return {each["domain"]: each for each in (await report(alice, days=10, **query))["items"]}


async def test_the_items_of_a_report_by_domain(alice: Person) -> None:
    assert list(await items(alice)) == ["harbour.com", "lighthouse.com", "pier.com"]


async def test_a_domain_with_all_figures(alice: Person) -> None:
    harbour = (await items(alice))["harbour.com"]
    assert (harbour["revenue"], harbour["visits"], harbour["clicks"]) == (usd("30.00"), 150, 10)
    assert (harbour["rpm"], harbour["ctr"], harbour["epc"]) == ("200.0000", "0.0667", "3.0000")
    assert (harbour["renewal_cost_prorated"], harbour["net"]) == (usd("10.00"), usd("20.00"))


async def test_a_domain_that_costs_more_than_it_earns(alice: Person) -> None:
    lighthouse = (await items(alice))["lighthouse.com"]
    assert (lighthouse["revenue"], lighthouse["net"]) == (usd("2.17"), usd("-7.83"))  # 2 EUR at 1.0849
    assert lighthouse["roi_flag"] == "below_renewal"


async def test_a_domain_whose_revenue_has_no_rate(alice: Person) -> None:
    pier = (await items(alice))["pier.com"]
    assert (pier["revenue"], pier["unconverted"], pier["net"]) == (usd("0.00"), 1, None)


async def test_the_totals_of_a_report(alice: Person) -> None:
    await fill(alice)
    totals = (await report(alice, days=10))["totals"]
    assert (totals["revenue"], totals["renewal_cost_prorated"]) == (usd("32.17"), usd("20.00"))
    assert (totals["net"], totals["unknown_renewal_price"], totals["unconverted"]) == (usd("12.17"), 1, 1)


async def test_the_totals_in_the_recorded_currencies(alice: Person) -> None:
    await fill(alice)
    euro, dollar, gold = (await report(alice, days=10))["totals"]["by_currency"]
    assert (euro["amount"], dollar, gold["amount"]) == ("2.00", usd("30.00"), "1.00")


async def test_the_days_of_a_report_for_a_chart(alice: Person) -> None:
    await fill(alice)
    found = [(each["day"], each["revenue"]) for each in (await report(alice, days=10))["daily"]]
    assert found == [(day(2), usd("20.00")), (day(1), usd("12.17"))]


async def test_the_report_by_day(alice: Person) -> None:
    await fill(alice)
    found = [(each["day"], each["revenue"]) for each in (await report(alice, group_by="day"))["items"]]
    assert found == [(day(2), usd("20.00")), (day(1), usd("12.17"))]


async def test_the_report_by_provider(alice: Person) -> None:
    await fill(alice)
    found = (await report(alice, group_by="provider", days=60))["items"]
    assert [(each["provider"], each["revenue"]) for each in found] == [
        ("sedo", usd("121.17")),
        ("bodis", usd("10.00")),
    ]


async def test_the_report_of_a_domain_at_a_provider(alice: Person) -> None:
    await fill(alice)
    one = await report(alice, domain="HARBOUR.com", provider="Sedo")
    assert (one["totals"]["revenue"], one["totals"]["domains"]) == (usd("20.00"), 1)
    assert one["items"][0]["provider"] == "sedo"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
async def test_a_provider_is_found_in_either_normal_form(alice: Person, form: Literal["NFC", "NFD"]) -> None:
    await add_domains(alice, "harbour.com")
    provider = unicodedata.normalize("NFD", "Möwe")
    await record(alice, {"domain": "harbour.com", "amount": "1.00", "date": day(1), "provider": provider})
    found = await report(alice, provider=unicodedata.normalize(form, "Möwe"))
    assert found["totals"]["domains"] == 1


@pytest.mark.parametrize("group_by", ["domain", "day", "provider"])
async def test_pages_show_each_group_once(alice: Person, group_by: str) -> None:
    await fill(alice)
    whole = await report(alice, group_by=group_by, days=60)
    items = list[Any]()
    query: dict[str, Any] = {"group_by": group_by, "days": 60, "limit": 1}
    for _ in whole["items"]:
        page = await report(alice, **query)
        items += page["items"]
        assert page["totals"] == whole["totals"]
        query["cursor"] = page["next_cursor"]
    assert query["cursor"] is None
    assert items == whole["items"]


async def test_a_viewer_sees_no_money(alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join(alice, charlie, "viewer")
    found = await report(charlie, headers=of(alice))
    for each in (*found["items"], *found["daily"], found["totals"]):
        hidden = ("revenue", "rpm", "epc", "net", "renewal_cost_prorated", "roi_flag", "by_currency")
        assert {each.get(name) for name in hidden} == {None}


async def test_a_viewer_sees_visits(alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join(alice, charlie, "viewer")
    found = (await report(charlie, headers=of(alice)))["items"]
    assert sorted(each["visits"] or 0 for each in found) == [0, 0, 150]


async def test_a_viewer_reads_page_after_page(alice: Person, charlie: Person) -> None:
    """The sequence of the items does not tell which domain earns most."""
    await fill(alice)
    await join(alice, charlie, "viewer")
    query: dict[str, Any] = {"headers": of(alice), "limit": 1}
    names, cursor = list[str](), dict[str, Any]()
    for _ in range(3):
        page = await report(charlie, **query, **cursor)
        names += [each["domain"] for each in page["items"]]
        cursor = {"cursor": page["next_cursor"]}
    assert names == ["harbour.com", "lighthouse.com", "pier.com"]


async def test_the_export_of_a_viewer_has_no_money(alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join(alice, charlie, "viewer")
    text = (await charlie.get(CSV, headers=of(alice))).text
    assert f"harbour.com,sedo,{day(29)},{day(0)},100,10,,USD,,0.1000," in text


async def test_the_lines_of_the_export(alice: Person) -> None:
    await fill(alice)
    since, until = day(9), day(0)
    assert (await alice.get(CSV, params={"days": 10})).text.splitlines() == [
        "domain,provider,from,to,visits,clicks,revenue,currency,rpm,ctr,epc",
        f"harbour.com,bodis,{since},{until},50,,10.00,USD,200.0000,,",
        f"harbour.com,sedo,{since},{until},100,10,20.00,USD,200.0000,0.1000,2.0000",
        f"lighthouse.com,sedo,{since},{until},,,2.00,EUR,,,",
        f"pier.com,sedo,{since},{until},,,1.00,XAU,,,",
    ]


async def test_the_export_is_a_file_that_nobody_stores(alice: Person) -> None:
    headers = (await alice.get(CSV)).headers
    assert headers["content-type"] == "text/csv; charset=utf-8"
    assert headers["content-disposition"] == 'attachment; filename="parking.csv"'
    assert headers["cache-control"] == "private, no-store"


async def test_the_export_has_a_head(alice: Person) -> None:
    assert (await alice.head(CSV)).status_code == 200


async def test_the_export_by_day(alice: Person) -> None:
    await fill(alice)
    lines = (await alice.get(CSV, params={"group_by": "day", "days": 10})).text.splitlines()
    assert f",sedo,{day(2)},{day(2)},100,10,20.00,USD,200.0000,0.1000,2.0000" in lines


async def test_the_export_can_be_recorded_again(alice: Person, bob: Person) -> None:
    await fill(alice)
    text = (await alice.get(CSV, params={"days": 10})).text
    await add_domains(bob, "harbour.com", "lighthouse.com", "pier.com")
    assert (await record(bob, {"csv": text}))["summary"]["created"] == 4
    assert (await bob.get(CSV, params={"days": 10})).text == text


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
    query = ReportQuery(days=10, group_by=GroupBy.DOMAIN, domain=None, provider=None)
    with traced(conn, folder) as found:
        await parking_report.get_report(
            conn, account_id=owner.account.id, query=query, page=PageRequest(limit=1, seal=str), shows_finance=True
        )
    return found
