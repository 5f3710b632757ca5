"""PATCH /v1/portfolio/domains/{domain_id}/finance."""

import asyncio
from functools import partial
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from builders.portfolio.ledger import currencies
from tests.cast import Person
from tests.portfolio.finance.make import SALE, Book, add_domain, amounts, changed, first_error, shown, usd
from tests.portfolio.team.make import code, join, of


async def test_an_acquisition_is_recorded_corrected_and_voided(book: Book) -> None:
    found = await book.change(acquisition={"amount": "95", "on": "2024-03-01", "venue": "Sedo"})
    assert changed(found)["acquisition"][1]["venue"] == "Sedo"
    assert amounts(found, "cost_basis") == ["95.00"]
    assert (await book.domain())["acquired_on"] == "2024-03-01"
    found = await book.change(acquisition={"amount": {"amount": "100", "currency": "GBP"}, "on": "2024-03-04"})
    assert shown(found) == [
        ("acquisition", "2024-03-01", "-95.00", True),
        ("acquisition", "2024-03-04", "-100.00", False),
    ]
    assert found["entries"][1]["memo"] == "Sedo"
    assert found["entries"][1]["fx_date"] == "2024-03-04"
    assert amounts(found, "cost_basis") == ["126.85"]  # 100 * 1.0846 / 0.85505
    found = await book.change(acquisition={"kind": "registration"})
    assert shown(found)[-1] == ("registration", "2024-03-04", "-100.00", False)
    found = await book.change(acquisition={"kind": "registration"})
    assert found["changes"] == []
    found = await book.change(acquisition=None)
    assert amounts(found, "cost_basis", "total_cost") == ["0.00", "0.00"]
    assert [each["void_reason"] for each in found["entries"]] == [
        *("Replaced by a correction.", "Replaced by a correction.", "Voided by a member.")
    ]
    assert await book.refuse(acquisition={"on": "2024-01-01"}) == (["acquisition", "amount"], "missing")


async def test_the_price_given_with_a_new_domain_is_its_acquisition(alice: Person) -> None:
    made = await add_domain(
        alice, "pier.com", purchase={"amount": "12", "currency": "USD", "on": "2024-03-01", "kind": "registration"}
    )
    assert amounts(await made.get(), "cost_basis") == ["12.00"]
    found = await made.change(acquisition={"amount": "13"})
    assert shown(found)[-1] == ("registration", "2024-03-01", "-13.00", False)
    assert amounts(found, "cost_basis") == ["13.00"]
    assert {each["reference"] for each in found["entries"]} == {None}


async def test_entries_are_added_and_voided(book: Book) -> None:
    add = [
        {"kind": "privacy", "amount": "3", "currency": "USD", "occurred_on": "2024-03-04", "memo": "first year"},
        {"kind": "refund", "amount": 1.5, "reference": "R-1"},
    ]
    found = await book.change(entries_add=add)
    assert amounts(found, "carrying_cost", "refunds", "total_cost") == ["3.00", "1.50", "1.50"]
    assert [each["code"] for each in found["warnings"]][-1] == "amount_as_number"
    first = found["entries"][0]["id"]
    assert {("entries_add", None)} == {(each["field"], each["from"]) for each in found["changes"]}
    found = await book.change(entries_void=[first])
    assert amounts(found, "carrying_cost", "total_cost") == ["0.00", "-1.50"]
    assert changed(found) == {"entries_void": (first, None)}
    assert (await book.change(entries_void=[first]))["changes"] == []
    again = await book.change(entries_add=[add[1]])  # the same reference is recorded once
    assert again["changes"] == []


async def test_prices_pin_and_notes_are_those_of_the_domain(book: Book) -> None:
    prices = {name: usd("10") for name in ("estimated_value", "asking_price", "renewal_price")}
    found = await book.change(**prices, pinned=True, notes=" Keep it. ")
    domain = await book.domain()
    assert [domain[name] for name in prices] == [usd("10.00")] * 3
    assert (domain["pinned"], domain["notes"]) == (True, "Keep it.")
    assert set(changed(found)) == {*prices, "pinned", "notes"}
    found = await book.change(**dict.fromkeys(prices), notes=None, pinned=False)
    assert changed(found)["asking_price"] == (usd("10.00"), None)
    found = await book.change(asking_price="7", currency="GBP")
    assert found["asking_price"] == {"amount": "7.00", "currency": "GBP"}


async def test_the_base_currency_is_that_of_the_whole_portfolio(book: Book) -> None:
    other = await add_domain(book.owner, "pier.com")
    await other.change(entries_add=[{"kind": "renewal", "amount": "100", "occurred_on": "2024-03-04"}])
    found = await book.change(base_currency="EUR", entries_add=[{"kind": "renewal", "amount": "1"}])
    assert (found["base_currency"], changed(found)["base_currency"]) == ("EUR", ("USD", "EUR"))
    assert found["entries"][0]["amount"] == usd("1.00")  # in the currency that was the base when it was sent
    found = await other.get()
    assert amounts(found, "total_cost") == ["92.20"]
    assert (await other.get(base_currency="USD"))["total_cost"] == usd("100.00")
    assert await book.refuse(base_currency="XAU") == (["base_currency"], "currency_unknown")


async def test_a_new_base_currency_rounds_as_it_does_at_the_end(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_one = partial(currencies.set_base_currency, batch_size=1)  # a job converts the other entries
    monkeypatch.setattr(currencies, "set_base_currency", of_one)
    add = {"kind": "renewal", "amount": "0.01", "currency": "EUR", "occurred_on": "2024-03-04"}  # 1.63 JPY
    await book.change(entries_add=[add] * 3)
    found = await book.change(base_currency="JPY")
    assert [each["base_amount"]["amount"] for each in found["entries"]] == ["2"] * 3
    assert amounts(found, "total_cost", "net_position") == ["6", "-6"]


REFUSED: list[tuple[dict[str, Any], tuple[list[str | int], str]]] = [
    ({}, ([], "patch_empty")),
    ({"currency": "USD"}, ([], "patch_empty")),
    ({"sale": {}}, (["sale"], "patch_empty")),
    ({"sale": {"venue": "Sedo"}}, (["sale", "gross"], "missing")),
    ({"sale": {"gross": "-1"}}, (["sale", "gross"], "money_amount")),
    ({"sale": {"gross": None}}, (["sale", "gross"], "money_amount")),
    ({"sale": {"gross": "1", "commission_rate": 1.5}}, (["sale", "commission_rate"], "less_than_equal")),
    ({"sale": {"gross": "1.005"}}, (["sale", "gross"], "money_amount")),
    ({"sale": {**SALE, "commission": "1"}}, (["sale", "commission"], "commission_twice")),
    ({"acquisition": {"amount": "1", "kind": "renewal"}}, (["acquisition", "kind"], "literal_error")),
    ({"acquisition": {"amount": "1", "on": "1970-01-01"}}, (["acquisition", "on"], "date_range")),
    ({"entries_add": [{"kind": "sale", "amount": "1"}]}, (["entries_add", 0, "kind"], "entry_of_sale")),
    ({"entries_add": [{"kind": "gift", "amount": "1"}]}, (["entries_add", 0, "kind"], "enum")),
    ({"entries_add": [{"kind": "tax"}]}, (["entries_add", 0, "amount"], "missing")),
    (
        {"entries_add": [{"kind": "tax", "amount": "1", "years": 0}]},
        (["entries_add", 0, "years"], "greater_than_equal"),
    ),
    ({"sale": {"gross": "1", "id": "0193a1b2-0000-7000-8000-000000000099"}}, (["sale", "id"], "sale_unknown")),
    (
        {"entries_void": ["0193a1b2-0000-7000-8000-000000000099"]},
        (["entries_void", 0], "entry_unknown"),
    ),
    ({"base_currency": None}, (["base_currency"], "string_type")),
    ({"pinned": None}, (["pinned"], "bool_type")),
]


async def test_what_does_not_fit_is_refused_where_it_is(book: Book) -> None:
    for body, error in REFUSED:
        assert await book.refuse(**body) == error, body
    assert (await book.get())["entries"] == []


async def test_a_reference_of_another_entry_is_refused(book: Book) -> None:
    one = {"kind": "tax", "amount": "1", "reference": "T-1"}
    await book.change(entries_add=[one])
    other = await add_domain(book.owner, "pier.com")
    taken = (["entries_add", 0, "reference"], "reference_taken")
    assert await other.refuse(entries_add=[one]) == taken
    assert await book.refuse(entries_add=[{**one, "amount": "2"}]) == taken


async def test_a_patch_with_an_idempotency_key_adds_its_entries_once(book: Book) -> None:
    body = {"entries_add": [{"kind": "tax", "amount": "1"}]}
    headers = {"Idempotency-Key": "patch-1"}
    first = await book.owner.patch(book.path, json=body, headers=headers)
    again = await book.owner.patch(book.path, json=body, headers=headers)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
    assert len((await book.get())["entries"]) == 1
    other = await book.owner.patch(book.path, json={"notes": "x"}, headers=headers)
    assert first_error(other) == (["Idempotency-Key"], "key_reused")


async def test_an_entry_of_another_domain_is_unknown(book: Book, bob: Person) -> None:
    entry_id = (await book.change(entries_add=[{"kind": "tax", "amount": "1"}]))["entries"][0]["id"]
    for owner in (book.owner, bob):
        other = await add_domain(owner, "pier.com")
        assert await other.refuse(entries_void=[entry_id]) == (["entries_void", 0], "entry_unknown")


async def test_an_unknown_member_is_a_warning_after_those_of_the_sale(book: Book) -> None:
    found = await book.change(sale={"gross": "2"}, zzzz="x", notes="y")
    named = {each["field"]: each["did_you_mean"] for each in found["warnings"] if each["code"] == "unknown_field"}
    assert named == {"zzzz": None}
    assert found["warnings"][0]["code"] == "short_holding"


async def test_who_recorded_an_entry_is_known(alice: Person, charlie: Person, book: Book, conn: Conn) -> None:
    await join(alice, charlie, "accountant")
    await charlie.patch(book.path, json={"entries_add": [{"kind": "tax", "amount": "1"}]}, headers=of(alice))
    cursor = await conn.execute(
        "SELECT created_by FROM portfolio_ledger_entries WHERE domain_id = %s", [book.domain_id]
    )
    assert await cursor.fetchone() == (charlie.account.id,)


async def test_an_accountant_changes_the_ledger_and_not_the_domain(
    alice: Person, charlie: Person, book: Book
) -> None:
    await join(alice, charlie, "accountant")
    ledger: list[dict[str, Any]] = [
        {"acquisition": {"amount": "5"}},
        {"sale": {"gross": "9"}},
        {"entries_add": [{"kind": "tax", "amount": "1"}]},
        {"base_currency": "EUR"},
    ]
    prices = ("estimated_value", "asking_price", "renewal_price")
    domain: list[dict[str, Any]] = [{name: None} for name in (*prices, "notes")]
    for body in ledger:
        assert (await charlie.patch(book.path, json=body, headers=of(alice))).status_code == 200, body
    for body in (*domain, {"pinned": False}):
        refused = await charlie.patch(book.path, json={**ledger[0], **body}, headers=of(alice))
        assert code(refused) == (403, "forbidden_role"), body
        assert refused.json()["permission"] == "portfolio.edit"


async def test_the_base_currency_changes_while_others_record(book: Book) -> None:
    books = [await add_domain(book.owner, f"pier{at}.com") for at in range(3)]
    add = [{"kind": "tax", "amount": "1", "currency": "USD", "occurred_on": "2024-03-04"}]
    first = [(await each.change(entries_add=add))["entries"][0]["id"] for each in books]
    void = [each.change(entries_void=[at], entries_add=add) for each, at in zip(books, first, strict=True)]
    await asyncio.gather(book.change(base_currency="EUR"), *void, book.change(base_currency="GBP"))
    for each in books:
        found = await each.get()
        assert found["total_cost"]["currency"] == found["base_currency"]
        assert found["entries"][0]["base_amount"]["currency"] == found["base_currency"]


async def test_members_who_exchange_references_do_not_wait_for_each_other(book: Book) -> None:
    other = await add_domain(book.owner, "jetty.com")
    tax = {"kind": "tax", "amount": "1", "currency": "USD", "occurred_on": "2024-03-04"}
    for _ in range(5):
        first = (await book.change(entries_add=[{**tax, "reference": "A"}]))["entries"][-1]["id"]
        second = (await other.change(entries_add=[{**tax, "reference": "B"}]))["entries"][-1]["id"]
        answers = await asyncio.gather(
            book.owner.patch(
                book.path, json={"entries_void": [first], "entries_add": [{**tax, "reference": "B"}]}
            ),
            other.owner.patch(
                other.path, json={"entries_void": [second], "entries_add": [{**tax, "reference": "A"}]}
            ),
        )
        assert [first_error(each) for each in answers] == [
            (["entries_add", 0, "reference"], "reference_taken"),
            (["entries_add", 0, "reference"], "reference_taken"),
        ]
        await book.change(entries_void=[first])
        await other.change(entries_void=[second])
