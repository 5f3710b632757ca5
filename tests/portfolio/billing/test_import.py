"""Charges in files: each template, each column, each refusal."""

from typing import Any

import pytest

from builders.portfolio.billing.charge_imports import CHARGES
from tests.cast import Person
from tests.portfolio.billing.make import BILLING, IMPORT, add_domains, charges, entries, load, ok
from tests.portfolio.team.make import code
from tests.published import published

NAMES = ("harbour.com", "lantern.com")


async def test_the_sample_of_each_template_imports_without_a_complaint(alice: Person, bob: Person) -> None:
    await add_domains(alice, *NAMES)
    listed = ok(await alice.get(f"{BILLING}/templates"))
    assert [each["id"] for each in listed["items"]] == [
        *("generic", "cloudflare", "dynadot", "gandi", "namecheap", "porkbun", "spaceship", "parking-generic"),
    ]
    for template in listed["items"]:
        sample, rows = template["sample_csv"], len(template["sample_csv"].splitlines()) - 1
        assert sample.startswith(template["header_row"])
        if template["id"] == "parking-generic":
            answer = await alice.post(template["import_path"], json={"csv": sample})
            assert answer.json()["summary"]["created"] == rows, answer.text
            continue
        done = await load(alice, sample)
        assert (done["detected"]["format"], done["detected"]["unmapped_columns"]) == (template["id"], [])
        assert set(done["detected"]["mapping"]) == {each["name"] for each in template["columns"]}
        assert done["summary"]["created"] == done["matched"] == done["applied"] == rows, done
        assert (done["unmatched"], done["detected"]["dates_ambiguous"]) == ([], False)
        assert not any(each["errors"] or each["warnings"] for each in done["results"])
        assert (await load(alice, sample))["summary"]["unchanged"] == rows
        assert template["provider"] in {None, done["provider"]}
    kinds = {each["kind"] for each in (await charges(alice))["items"]}
    assert kinds >= {"renewal", "registration", "transfer", "refund", "privacy"}
    one = await alice.get(f"{BILLING}/templates", params={"provider": "Gandi", "format": "csv"})
    assert (one.headers["content-type"], one.text) == (
        "text/csv; charset=utf-8",
        CHARGES.formats["gandi"].sample_csv,
    )
    assert 'filename="gandi.csv"' in one.headers["content-disposition"]
    described = published().document["paths"][f"{BILLING}/templates"]["get"]["responses"]["200"]["content"]
    assert set(described) == {"application/json", "text/csv"}
    other = ok(await bob.get(f"{BILLING}/templates", params={"provider": "ovh"}))
    assert [each["id"] for each in other["items"]] == ["generic"]


ANY_FORM = (
    "My billing history;;;;;;;\n"
    "Paid;Name;Extension;What;Sum;Currency;VAT;Colour\n"
    "13/02/2026;harbour;.com;Renew 2 years;1.234,50;EUR;205,75;red\n"
    "14/02/2026;bücher;de;Create;(10,00);EUR;;\n"
    "15/02/2026;lantern;com;Refund;10,00;EUR;;\n"
    "16/02/2026;lantern;com;Renew;ten;EUR;;\n"
    "17/02/2026;lantern;com;Renew;$5;EUR;;\n"
    "99/02/2026;lantern;com;Renew;5;EUR;;\n"
    "18/02/2026;lantern;com;Renew;5;JPY;;\n"
    "19/02/2099;lantern;com;Renew;5;EUR;;\n"
    "Total;;;;1.249,50;EUR;;\n"
)


_UNSEEN = {
    *("likely_encodings", "sheet", "omitted_sheets", "hidden_sheets", "merged_cells", "merged_rows"),
    *("time_zones", "currency_symbols", "assumed_currency", "warnings"),
}


async def test_a_file_of_any_form_is_read(alice: Person) -> None:
    await add_domains(alice, *NAMES, "xn--bcher-kva.de")
    mapping = {"amount": "Sum", "kind": "What", "date": "Paid"}
    body: dict[str, Any] = {"mapping": mapping, "provider": "manual:harbour-registrar"}
    tried = await load(alice, ANY_FORM, **body, dry_run=True)
    assert (tried["summary"]["created"], tried["dry_run"], (await charges(alice))["count"]) == (4, True, 0)
    assert {each["id"] for each in tried["results"]} == {None}  # no charge is recorded
    done = await load(alice, ANY_FORM, **body)
    found = done["detected"]
    assert {name: each for name, each in found.items() if name not in _UNSEEN} == {
        "format": "generic",
        "delimiter": ";",
        "file_type": "csv",
        "encoding": "utf-8",
        "header_line": 2,
        "date_order": "dmy",
        "dates_ambiguous": False,
        "decimal_mark": "comma",
        "numbers_ambiguous": False,
        "unmapped_columns": [{"column": "Colour", "did_you_mean": None}],
        "dropped_columns": [],
        "mapping": {**mapping, "domain": "Name", "tld": "Extension", "currency": "Currency", "tax": "VAT"},
    }
    assert (found["currency_symbols"], [each["code"] for each in found["warnings"]]) == ({}, [])
    assert [(each["line"], each["errors"][0]["code"]) for each in done["results"] if each["errors"]] == [
        *((6, "amount_invalid"), (7, "currency_conflict"), (8, "date_invalid"), (10, "date_in_future")),
    ]
    assert (done["summary"]["skipped"], done["summary"]["created"], done["applied"]) == (1, 4, 4)
    found = {each["domain"]: each for each in (await charges(alice))["items"] if each["kind"] != "refund"}
    assert (found["harbour.com"]["total"]["amount"], found["harbour.com"]["years"]) == ("1234.50", 2)
    assert found["harbour.com"]["tax"] == {"amount": "205.75", "currency": "EUR"}
    refunds = [each for each in (await charges(alice))["items"] if each["kind"] == "refund"]
    assert sorted(each["total"]["amount"] for each in refunds) == ["-10.00", "-10.00"]
    assert {str(each[1]) for each in await entries(alice)} == {"renewal", "refund"}


async def test_rows_of_json_and_what_is_refused(alice: Person) -> None:
    await add_domains(alice, *NAMES)
    rows = [
        {
            "date": "2026-03-01",
            "domain": "harbour.com",
            "type": "renewal",
            "amount": {"amount": "5", "currency": "EUR"},
        },
        {"date": "2026-03-01", "domain": "lantern.com", "amount": 7.5, "colour": "red"},
        {"date": "2026-03-01", "domain": "nobodys.com", "amount": "1"},
        {"date": None, "domain": "harbour.com", "amount": "1"},
    ]
    done = await load(alice, rows=rows, apply=False, currency="GBP")
    assert [(each["index"], each["outcome"]) for each in done["results"]] == [
        *((0, "created"), (1, "created"), (2, "created"), (3, "error")),
    ]
    assert (done["matched"], done["applied"], done["provider"]) == (2, 0, "manual:import")
    assert [(each["index"], each["domain"]) for each in done["unmatched"]] == [(2, "nobodys.com")]
    assert await entries(alice) == []
    totals = (await charges(alice))["totals"]["by_currency"]
    assert [(each["currency"], each["matched"]["amount"], each["unmatched"]["amount"]) for each in totals] == [
        *(("EUR", "5.00", "0.00"), ("GBP", "7.50", "1.00")),
    ]
    ambiguous = await load(alice, "Date,Domain,Amount\n02/03/2026,harbour.com,3\n", dry_run=True)
    assert ambiguous["detected"]["dates_ambiguous"] is True
    said = await load(alice, "Date,Domain,Amount\n02/03/2026,harbour.com,3\n", date_order="dmy")
    assert said["detected"]["dates_ambiguous"] is False
    assert (await charges(alice, **{"from": "2026-03-02", "to": "2026-03-02"}))["count"] == 1


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, "source_count"),
        ({"csv": "a", "rows": [{}]}, "source_count"),
        ({"csv": "Date,Domain\n2026-01-01,a.com\n"}, "column_missing"),
        ({"csv": "Amount,Domain\n1,a.com\n"}, "column_missing"),
        ({"csv": "Date,Amount\n2026-01-01,1\n"}, "column_missing"),
        ({"csv": "nothing at all"}, "column_missing"),
        ({"csv": "Date,Amount,Domain\n", "mapping": {"amount": "Nope"}}, "mapping_invalid"),
        ({"csv": "Date,Amount,Domain\n", "format": "parking-generic"}, "format_unknown"),
        ({"csv": "Date,Amount,Domain\n" + "2026-01-01,1,a.com\n" * 10_001}, "too_many_rows"),
    ],
)
async def test_what_is_no_file_of_charges_is_refused(alice: Person, body: dict[str, Any], found: str) -> None:
    answer = await alice.post(IMPORT, json=body)
    assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, found), answer.text


async def test_a_file_is_sent_as_it_is_with_its_options_in_the_query(alice: Person) -> None:
    await add_domains(alice, "xn--bcher-kva.de")
    content = "Tag;Domäne;Summe\n13.02.2026;bücher.de;9,50\n".encode("utf-16")
    mapping = '{"date": "Tag", "domain": "Domäne", "amount": "Summe"}'
    query = {"format": "generic", "mapping": mapping, "currency": "EUR", "provider": "manual:dock"}
    done = ok(await alice.post(IMPORT, content=content, params=query, headers={"Content-Type": "text/csv"}))
    assert (done["detected"]["encoding"], done["provider"], done["applied"]) == ("utf-16", "manual:dock", 1)
    assert [each["total"] for each in (await charges(alice))["items"]] == [{"amount": "9.50", "currency": "EUR"}]


async def test_a_name_of_a_description_in_a_guessed_encoding_refuses_its_row(alice: Person) -> None:
    rows = (
        "Продление;пример.com;9,50",
        "Продление пример.com;;9,50",
        "Продление и т.д harbour.com;;9,50",
        "Пример.com;a.com;5",
    )
    content = "\n".join(["Date;Description;Domain;Amount", *(f"2026-01-02;{each}" for each in rows)]).encode(
        "cp1251"
    )
    for query, codes in (
        ({}, [["encoding_ambiguous"], ["encoding_ambiguous"], [], []]),
        ({"encoding": "cp1251"}, [[], [], [], []]),
    ):
        answer = await alice.post(
            IMPORT, content=content, params={"currency": "EUR", **query}, headers={"Content-Type": "text/csv"}
        )
        found = [[error["code"] for error in each["errors"]] for each in ok(answer)["results"]]
        assert found == codes


async def test_a_bad_optional_cell_of_a_charge_is_ignored_with_a_warning(alice: Person) -> None:
    await add_domains(alice, *NAMES)
    row = {"date": "2026-03-01", "domain": "harbour.com", "amount": "9.00", "order": "A" * 300, "tax": "some"}
    done = await load(alice, rows=[row], provider="manual:dock")
    [result] = done["results"]
    assert (result["outcome"], [each["code"] for each in result["warnings"]]) == (
        *("created", ["text_too_long", "amount_invalid"]),
    )


async def test_money_that_is_paid_into_an_account_is_no_refund(alice: Person) -> None:
    rows = [
        {"date": "2026-03-01", "type": "Account credit", "description": "Top-up", "amount": "50.00"},
        {"date": "2026-03-02", "type": "Credit added", "description": "", "amount": "25.00"},
        {"date": "2026-03-03", "type": "", "description": "Renewal harbour.com, credit card", "amount": "10.00"},
        {"date": "2026-03-04", "type": "Credit", "description": "harbour.com", "amount": "3.00"},
        {"date": "2026-03-05", "type": "Refund to account credit", "description": "harbour.com", "amount": "2.00"},
    ]
    await load(alice, rows=rows, provider="manual:dock")
    found = [(each["kind"], each["total"]["amount"]) for each in (await charges(alice))["items"]]
    assert found[::-1] == [
        *(("other", "50.00"), ("other", "25.00"), ("renewal", "10.00"), ("refund", "-3.00"), ("refund", "-2.00")),
    ]
    tried = await load(alice, rows=[{"date": "2026-03-06", "domain": "nobodys.com", "amount": "1"}], dry_run=True)
    assert [each["charge_id"] for each in tried["unmatched"]] == [None]


async def test_an_unknown_registrar_is_refused(alice: Person) -> None:
    body = {"csv": "Date,Amount,Domain\n", "provider": "Namecheep"}
    assert code(await alice.post(IMPORT, json=body)) == (404, "provider_not_found")
