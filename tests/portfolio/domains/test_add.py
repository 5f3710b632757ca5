"""Domains are added to a portfolio."""

import pytest

from builders.portfolio.domains.records import FIELDS, REPORTED
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add

WHOLE = {
    "domain": "Bücher.COM",
    "ownership": "consigned",
    "counterparty": "Carol Ltd",
    "revenue_share": "12.5",
    "registrar": " Porkbun ",
    "registered_on": "2020-02-29",
    "acquired_on": "2024-03-01",
    "expires_at": "2027-03-01",
    "auto_renew": True,
    "locked": False,
    "privacy": None,
    "nameservers": ["NS1.Porkbun.com", "ns1.porkbun.com."],
    "renewal_price": {"amount": "12.3", "currency": "USD"},
    "asking_price": "5000",
    "min_offer": 99.5,
    "currency": "EUR",
    "estimated_value": {"amount": "1000", "currency": "JPY"},
    "tags": ["Books", "sale", "books "],
    "folder": "Germany",
    "notes": "Two lines.\r\nSecond.",
    "pinned": True,
    "lables": 1,
}


async def test_every_field_is_kept(alice: Person) -> None:
    assert {*FIELDS} - REPORTED - {"status"} <= WHOLE.keys()
    answer = await alice.post(DOMAINS, json=WHOLE)

    assert answer.status_code == 201, answer.text
    added = answer.json()
    assert (added["domain"], added["domain_unicode"], added["tld"]) == ("xn--bcher-kva.com", "bücher.com", "com")
    assert (added["status"], added["ownership"]) == ("consigned", "consigned")
    assert (added["counterparty"], added["revenue_share"]) == ("Carol Ltd", "12.50")
    assert (added["registrar"], added["expires_at"]) == ("Porkbun", "2027-03-01T00:00:00Z")
    assert (added["expiry_source"], added["locked"], added["privacy"]) == ("manual", False, None)
    assert added["nameservers"] == ["ns1.porkbun.com"]
    assert added["renewal_price"] == {"amount": "12.30", "currency": "USD"}
    assert added["asking_price"] == {"amount": "5000.00", "currency": "EUR"}
    assert added["estimated_value"] == {"amount": "1000", "currency": "JPY"}
    assert (added["tags"], added["notes"]) == (["books", "sale"], "Two lines.\nSecond.")
    assert sorted((each["field"], each["code"]) for each in added["warnings"]) == [
        ("lables", "unknown_field"),
        ("min_offer", "amount_as_number"),
    ]
    read = (await alice.get(f"{DOMAINS}/{added['id']}")).json()
    assert read == {name: value for name, value in added.items() if name != "warnings"}
    [item] = (await alice.get(DOMAINS)).json()["items"]
    assert item == {name: value for name, value in read.items() if name != "drop_dates"}


async def test_a_name_is_enough_and_is_found_in_each_form(alice: Person) -> None:
    answer = await alice.post(DOMAINS, json={"name": "harbour.co.uk"})

    assert answer.status_code == 201, answer.text
    added = answer.json()
    assert (added["status"], added["tld"], added["lifecycle"]) == ("owned", "co.uk", None)
    assert added["finance"]["total_cost"] == {"amount": "0.00", "currency": "USD"}
    for key in (added["id"], "harbour.co.uk", "HARBOUR.co.uk"):
        assert (await alice.get(f"{DOMAINS}/{key}")).json()["id"] == added["id"]
    for key in ("other.co.uk", "0193a1b2-0000-7000-8000-000000000099", "none"):
        refused = await alice.get(f"{DOMAINS}/{key}")
        assert (refused.status_code, refused.json()["code"]) == (404, "portfolio_domain_not_found")


async def test_a_duplicate_names_the_present_one(alice: Person, bob: Person) -> None:
    added = await add(alice, "bücher.com")

    refused = await alice.post(DOMAINS, json={"domain": "xn--bcher-kva.com"})

    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate_domain")
    assert refused.json()["domain_id"] == added["id"]
    assert (await add(bob, "bücher.com"))["id"] != added["id"]


async def test_a_purchase_is_a_cost(alice: Person) -> None:
    added = await add(alice, purchase={"amount": "1250", "currency": "USD", "on": "2024-03-01"})

    assert added["acquired_on"] == "2024-03-01"
    assert added["finance"] == {
        "total_cost": {"amount": "1250.00", "currency": "USD"},
        "net_position": {"amount": "-1250.00", "currency": "USD"},
        "unconverted": 0,
    }
    [item] = (await alice.get(DOMAINS)).json()["items"]
    assert item["finance"] == added["finance"]


@pytest.mark.parametrize(
    ("body", "loc", "kind"),
    [
        ({}, ["domain"], "missing"),
        ({"domain": "com"}, ["domain"], "domain_name"),
        ({"name": "www.harbour.com"}, ["name"], "domain_name"),
        ({"domain": "harbour.com", "counterparty": "Carol"}, ["counterparty"], "owned_domain"),
        ({"domain": "harbour.com", "revenue_share": "100.001"}, ["revenue_share"], "decimal_max_places"),
        ({"domain": "harbour.com", "renewal_price": "12"}, ["renewal_price"], "money_currency"),
        ({"domain": "harbour.com", "renewal_price": "1.5", "currency": "JPY"}, ["renewal_price"], "money_amount"),
        ({"domain": "harbour.com", "purchase": {"amount": "1"}}, ["purchase", "amount"], "money_currency"),
        ({"domain": "harbour.com", "expires_at": "0001-01-01T00:00:00+14:00"}, ["expires_at"], "date_range"),
        ({"domain": "harbour.com", "tags": ["a,b"]}, ["tags", 0], "text_form"),
        ({"domain": "harbour.com", "auto_renew": "yes"}, ["auto_renew"], "bool_type"),
    ],
)
async def test_a_wrong_member_is_named(
    alice: Person, body: dict[str, object], loc: list[str | int], kind: str
) -> None:
    refused = await alice.post(DOMAINS, json=body)

    assert refused.status_code == 422
    [error] = refused.json()["detail"]
    assert (error["loc"], error["type"]) == (["body", *loc], kind)
    assert (await alice.get(DOMAINS)).json()["items"] == []


async def test_a_pasted_address_is_refused_with_the_name(alice: Person) -> None:
    refused = await alice.post(DOMAINS, json={"domain": "https://www.harbour.co.uk/path?x=1"})

    [error] = refused.json()["detail"]
    assert error["did_you_mean"] == "harbour.co.uk"


async def test_an_amount_in_an_unknown_currency_has_a_warning(alice: Person) -> None:
    prices = {
        "renewal_price": {"amount": "9.00", "currency": "ZZZ"},
        "min_offer": {"amount": "1", "currency": "DEM"},
    }

    added = await add(alice, "harbour.com", **prices)

    assert [(each["field"], each["code"]) for each in added["warnings"]] == [
        ("renewal_price.currency", "currency_unknown")
    ]
    assert added["renewal_price"] == prices["renewal_price"]


async def test_an_unknown_currency_beside_an_amount_has_a_warning(alice: Person) -> None:
    bought = {"amount": "5.00", "on": "2026-02-01"}

    added = await add(alice, "harbour.com", currency="ZZZ", purchase=bought)

    assert [(each["field"], each["code"]) for each in added["warnings"]] == [("currency", "currency_unknown")]
