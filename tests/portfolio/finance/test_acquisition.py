"""The member `acquisition` of PATCH /v1/portfolio/domains/{domain_id}/finance, member by member."""

from typing import Any

import pytest

from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.finance.make import DOMAINS, Book, add_domain, amounts, changed, shown, usd

BOUGHT: dict[str, Any] = {"amount": usd("100"), "on": "2024-03-01", "venue": "Sedo"}


@pytest.mark.parametrize(
    ("patch", "entry", "venue"),
    [
        ({"amount": "50"}, ("acquisition", "2024-03-01", "-50.00"), "Sedo"),
        ({"amount": "50", "currency": "JPY"}, ("acquisition", "2024-03-01", "-50"), "Sedo"),
        ({"on": "2024-03-05"}, ("acquisition", "2024-03-05", "-100.00"), "Sedo"),
        ({"kind": "registration"}, ("registration", "2024-03-01", "-100.00"), "Sedo"),
        ({"venue": "Afternic"}, ("acquisition", "2024-03-01", "-100.00"), "Afternic"),
        ({"venue": None}, ("acquisition", "2024-03-01", "-100.00"), None),
    ],
)
async def test_a_correction_changes_what_it_names(
    book: Book, patch: dict[str, Any], entry: tuple[str, str, str], venue: str | None
) -> None:
    await book.change(acquisition=BOUGHT)

    found = await book.change(acquisition=patch)

    [before, after] = sorted(shown(found), key=lambda each: not each[3])
    assert (before[3], after[:3], after[3]) == (True, entry, False)
    [kept] = [each for each in found["entries"] if each["voided_at"] is None]
    assert kept["memo"] == venue


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        ({}, (["acquisition"], "patch_empty")),
        ({"currency": "EUR"}, (["acquisition"], "patch_empty")),
        ({"amount": None}, (["acquisition", "amount"], "money_amount")),
        ({"on": None}, (["acquisition", "on"], "date_type")),
        ({"kind": None}, (["acquisition", "kind"], "literal_error")),
        ({"amount": "1", "venue": " "}, (["acquisition", "venue"], "string_too_short")),
        ({"amount": "1", "currency": "eur"}, (["acquisition", "currency"], "string_pattern_mismatch")),
        ([], (["acquisition"], "model_attributes_type")),
        ("100", (["acquisition"], "model_attributes_type")),
    ],
)
async def test_what_does_not_fit_is_refused_where_it_is(
    book: Book, patch: Any, error: tuple[list[str], str]
) -> None:
    before = await book.change(acquisition=BOUGHT)

    assert (await book.refuse(acquisition=patch))[0] == error[0]

    assert shown(await book.get()) == shown(before)


@pytest.mark.parametrize(
    ("domain", "kind", "on"),
    [
        ({"acquired_on": "2020-05-01", "registered_on": "2010-01-01"}, "acquisition", "2020-05-01"),
        ({"acquired_on": "2020-05-01", "registered_on": "2010-01-01"}, "registration", "2020-05-01"),
        ({"registered_on": "2010-01-01"}, "registration", "2010-01-01"),
        ({"registered_on": "2010-01-01"}, "acquisition", None),
        ({}, "acquisition", None),
    ],
)
async def test_the_day_of_a_first_acquisition_is_that_of_the_domain(
    alice: Person, domain: dict[str, Any], kind: str, on: str | None
) -> None:
    book = await add_domain(alice, "pier.com", **domain)

    found = await book.change(acquisition={"amount": usd("5"), "kind": kind})

    expected = on or clock.now().date().isoformat()
    assert shown(found) == [(kind, expected, "-5.00", False)]
    assert (await book.domain())["acquired_on"] == expected


async def test_null_without_an_acquisition_changes_nothing(book: Book) -> None:
    assert (await book.change(acquisition=None))["changes"] == []


async def test_an_acquisition_whose_entry_is_voided_is_recorded_anew(book: Book) -> None:
    first = (await book.change(acquisition=BOUGHT))["entries"][0]["id"]

    found = await book.change(entries_void=[first], acquisition={"amount": usd("7"), "on": "2024-03-05"})

    assert [each[2:] for each in shown(found)] == [("-100.00", True), ("-7.00", False)]
    assert changed(found)["acquisition"][1]["venue"] is None


async def test_an_entry_that_is_named_twice_is_voided_once(book: Book) -> None:
    sold = await book.change(acquisition=BOUGHT, sale={"gross": usd("300"), "sold_on": "2024-03-05"})
    named = [each["id"] for each in sold["entries"]]

    found = await book.change(entries_void=[*named, *named])

    assert [each[3] for each in shown(found)] == [True, True]
    assert (found["status"], amounts(found, "net_position")) == ("owned", ["0.00"])


async def test_a_purchase_that_is_no_base_currency_follows_a_new_one(book: Book) -> None:
    await book.change(acquisition={"amount": {"amount": "100", "currency": "GBP"}, "on": "2024-03-04"})

    found = await book.change(base_currency="GBP")

    assert amounts(found, "cost_basis") == ["100.00"]
    assert found["entries"][0]["fx_rate"] == "1"


async def test_a_stranger_and_a_test_key_change_no_acquisition(book: Book, bob: Person) -> None:
    await add_domain(bob, "harbour.com")
    for client in (bob, book.owner.test):
        answer = await client.patch(f"{DOMAINS}/{book.domain_id}/finance", json={"acquisition": BOUGHT})
        assert answer.status_code == 404
    assert (await book.get())["entries"] == []
