"""Revenue in CSV files: by provider, by the names of columns, and with what people do to them."""

from datetime import timedelta
from typing import Any

import pytest

from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.parking.make import REVENUE, add_domains, day, outcomes, record, report, valid
from tests.portfolio.team.make import code

ABOVE = (
    "Name,Total Hits,Total Uniques,Total Reported,Total Clicks,Total Revenue,Total CTR,Total EPC,Total RPM\n"
    'harbour.com,"2,100",1300,1250,90,"$1,038.44",6.9%,$4.27,$295\n'
    "lighthouse.com,10,9,9,0,$0.00,0%,$0.00,$0\n"
    "www.pier.com,1,1,1,0,$1.00,0%,$0.00,$0\n"
    "Total,2111,1310,1260,90,$1039.44,,,\n"
)


async def test_the_report_of_above_com(alice: Person) -> None:
    found = await add_domains(alice, "harbour.com", "lighthouse.com", "pier.com")
    until = clock.now().date().replace(day=1) - timedelta(days=1)
    body = {"csv": ABOVE, "period": {"from": str(until.replace(day=1)), "to": str(until)}}
    reply = await record(alice, body)
    assert outcomes(reply) == ["created", "created", "error", "skipped"]
    assert [each["line"] for each in reply["results"]] == [2, 3, 4, 5]
    assert reply["results"][2]["errors"][0]["did_you_mean"] == "pier.com"
    assert await valid(alice, found["harbour.com"]) == [(until, "1038.44 USD")]
    assert await valid(alice, found["lighthouse.com"]) == []
    totals = (await report(alice, days=60, provider="above.com"))["totals"]
    assert (totals["revenue"], totals["visits"]) == ({"amount": "1038.44", "currency": "USD"}, 1309)
    assert outcomes(await record(alice, body)) == ["unchanged", "unchanged", "error", "skipped"]


@pytest.mark.parametrize(
    ("text", "more", "amount"),
    [
        ("domain,date,revenue\nharbour.com,{day},1.00\n", {}, "1.00 USD"),
        ("\ufeffDomain Name;Day;Earnings;Currency\r\nharbour.com;{day};1,00;EUR\r\n", {}, "1.00 EUR"),
        ("Stats of the month\n\nDomain\tDate\tIncome\tVisitors\nharbour.com\t{day}\t€1.00\t7\n", {}, "1.00 EUR"),
        ("domain,from,to,revenue,provider\nHARBOUR.com,{day},{day},1.00,Sedo\n", {}, "1.00 USD"),
        ('domain,revenue,reference\nharbour.com,1.00,"r 1"\n', {"date": "{day}"}, "1.00 USD"),
        ("domain,date,net\nharbour.com,{day},1.00\n", {"currency": "GBP", "provider": "bodis"}, "1.00 GBP"),
    ],
)
async def test_columns_are_found_by_their_names(
    alice: Person, text: str, more: dict[str, Any], amount: str
) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    more = {name: value.format(day=day(1)) for name, value in more.items()}
    assert outcomes(await record(alice, {"csv": text.format(day=day(1)), **more})) == ["created"]
    assert [found for _, found in await valid(alice, domain_id)] == [amount]


async def test_a_bad_line_is_named_and_the_others_are_recorded(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    lines = [
        "domain,date,revenue,clicks,reference",
        f"harbour.com,{day(1)},1.00,3,a",
        f"harbour.com,{day(1)},-1.00,,b",
        f"harbour.com,{day(1)},,,c",
        "harbour.com,yesterday,1.00,,d",
        "harbour.com,,1.00,,e",
        f",{day(1)},1.00,,f",
        f"harbour.com,{day(1)},1.00,some,g",
        f"harbour.com,{day(1)},1.00,,{'h' * 101}",
        f"harbour.com,{day(-9)},1.00,,i",
        f'harbour.com,"{day(1)},1.00,,j',
        f"harbour.com,{day(1)},2.00,,k",
        f"unknown.com,{day(1)},2.00,,l",
    ]
    reply = await record(alice, {"csv": "\n".join(lines)})
    found = {each["line"]: [error["code"] for error in each["errors"]] for each in reply["results"]}
    assert found == {
        2: [],
        3: ["amount_negative"],
        4: ["revenue_missing"],
        5: ["date_invalid"],
        6: ["date_missing"],
        7: ["domain_missing"],
        8: [],
        9: [],
        10: ["date_invalid"],
        11: ["csv_malformed"],
        12: [],
        13: ["portfolio_domain_not_found"],
    }
    warned = {each["line"]: each["warnings"][0]["code"] for each in reply["results"] if each["warnings"]}
    assert warned == {8: "number_invalid", 9: "text_too_long"}
    assert reply["summary"]["created"] == 4


async def test_a_file_is_sent_as_it_is_with_its_options_in_the_query(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    query = {"mapping": '{"revenue": "Erlös"}', "from": day(1), "currency": "EUR", "provider": "Sedo"}
    content = "Domain;Erlös\nharbour.com;1,50\n".encode("cp1252")
    answer = await alice.post(REVENUE, content=content, params=query, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 201, answer.text
    assert (outcomes(answer.json()), answer.json()["detected"]["encoding"]) == (["created"], "cp1252")
    assert [found for _, found in await valid(alice, domain_id)] == ["1.50 EUR"]


async def test_dates_with_two_meanings_are_not_guessed(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    text = "domain,date,revenue\nharbour.com,03/04/2024,1.00\n"
    answer = await alice.post(REVENUE, json={"csv": text})
    assert code(answer) == (422, "dates_ambiguous")
    domain_id = (await add_domains(alice, "lighthouse.com"))["lighthouse.com"]
    proven = f"{text}lighthouse.com,21/04/2024,1.00\n"
    assert outcomes(await record(alice, {"csv": proven})) == ["created", "created"]
    assert [str(when) for when, _ in await valid(alice, domain_id)] == ["2024-04-21"]
    given = await record(alice, {"csv": text, "date_order": "mdy"})
    assert outcomes(given) == ["created"]
