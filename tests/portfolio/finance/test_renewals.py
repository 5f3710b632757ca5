"""POST /v1/portfolio/domains/{domain_id}/finance/renewals."""

import asyncio
import json
from datetime import UTC, date, datetime, timedelta

from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.finance.renewals import add_years
from tests.portfolio.finance.make import Book, add_domain, amounts, first_error, usd


async def test_a_renewal_moves_the_expiry_by_a_year(book: Book, conn: Conn) -> None:
    made = await book.renew("12.34", order_ref="A-1042", memo="by card")
    assert made["domain"] == {"id": book.domain_id, "domain": "harbour.com", "expires_at": "2028-02-28T00:00:00Z"}
    assert (made["expiry_advanced_by_days"], made["duplicate_of"], made["warnings"]) == (365, None, [])
    entry = made["entry"]
    assert (entry["kind"], entry["amount"], entry["years"]) == ("renewal", usd("12.34"), 1)
    assert (entry["reference"], entry["memo"], entry["source"]) == ("A-1042", "by card", "manual")
    assert entry["occurred_on"] == clock.now().date().isoformat()
    assert amounts(made["finance"], "carrying_cost") == ["12.34"]
    assert (await book.domain())["expires_at"] == "2028-02-28T00:00:00Z"
    cursor = await conn.execute(
        "SELECT name, data FROM kit_outbox WHERE account_id = %s ORDER BY id", [book.owner.account.id]
    )
    events = {name: json.loads(data) for name, data in await cursor.fetchall()}
    assert events["portfolio.renewal.recorded"] == {
        "entry_id": entry["id"],
        "domain_id": book.domain_id,
        "domain": "harbour.com",
        "amount": usd("12.34"),
        "renewed_on": entry["occurred_on"],
        "years": 1,
        "expires_at": "2028-02-28T00:00:00Z",
        "previous_expires_at": "2027-02-28T00:00:00Z",
        "duplicate_of": None,
    }
    assert events["portfolio.expiry.changed"]["expires_at"] == "2028-02-28T00:00:00Z"


async def test_every_valid_renewal_is_accepted_and_a_likely_duplicate_named(book: Book) -> None:
    first = await book.renew("10.00", renewed_on="2024-03-01")
    again = await book.renew("10.50", renewed_on="2024-03-08")
    assert again["duplicate_of"] == first["entry"]["id"]
    assert [each["code"] for each in again["warnings"]] == ["likely_duplicate"]
    assert again["domain"]["expires_at"] == "2029-02-28T00:00:00Z"
    for amount, body in (
        ("10.51", {"renewed_on": "2024-03-01", "kind": "redemption"}),
        ("10.00", {"renewed_on": "2024-03-01", "years": 2}),
        ("10.00", {"renewed_on": "2024-03-16"}),
        ("11.03", {"renewed_on": "2024-03-08"}),
        ({"amount": "10.00", "currency": "EUR"}, {"renewed_on": "2024-03-01"}),
    ):
        made = await book.renew(amount, **body, new_expires_at="2030-02-28")
        assert made["duplicate_of"] is None, (amount, body)
    await book.change(entries_void=[first["entry"]["id"], again["entry"]["id"]])
    made = await book.renew("10.20", renewed_on="2024-02-25", new_expires_at="2030-02-28")
    assert made["duplicate_of"] is None


async def test_the_same_order_twice_is_a_likely_duplicate(book: Book) -> None:
    first = await book.renew("10", renewed_on="2023-03-01", order_ref="A-1")
    other = await add_domain(book.owner, "pier.com")
    assert (await other.renew("10", renewed_on="2023-03-01", order_ref="A-1"))["duplicate_of"] is None
    again = await book.renew("50", renewed_on="2024-03-01", years=2, order_ref="A-1")
    assert again["duplicate_of"] == first["entry"]["id"]


async def test_repeated_with_its_idempotency_key_it_is_recorded_once(book: Book) -> None:
    headers = {"Idempotency-Key": "renew-1"}
    path = f"{book.path}/renewals"
    answers = [await book.owner.post(path, json={"amount": "10"}, headers=headers) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert amounts(await book.get(), "carrying_cost") == ["10.00"]


async def test_two_at_once_both_count(book: Book) -> None:
    await asyncio.gather(*(book.renew("10", years=years) for years in (1, 2)))
    assert (await book.domain())["expires_at"] == "2030-02-28T00:00:00Z"
    assert amounts(await book.get(), "carrying_cost") == ["20.00"]


async def test_ten_years_from_now_are_the_latest_expiry(book: Book) -> None:
    latest = add_years(clock.now(), 10)
    made = await book.renew("99", years=10)
    assert [each["code"] for each in made["warnings"]] == ["expiry_capped"]
    assert datetime.fromisoformat(made["domain"]["expires_at"]) - latest < timedelta(minutes=1)
    made = await book.renew("99", years=1)
    assert made["expiry_advanced_by_days"] == 0
    body = {"amount": "1", "new_expires_at": (latest + timedelta(days=3)).isoformat()}
    error = first_error(await book.owner.post(f"{book.path}/renewals", json=body))
    assert error == (["new_expires_at"], "expiry_too_far")


async def test_a_given_expiry_counts_also_an_earlier_one(book: Book) -> None:
    made = await book.renew("10", new_expires_at="2029-05-01T02:00:00+02:00")
    assert made["domain"]["expires_at"] == "2029-05-01T00:00:00Z"
    made = await book.renew("10", new_expires_at="2028-05-01")
    assert made["expiry_advanced_by_days"] == -365
    assert "expiry_earlier" in [each["code"] for each in made["warnings"]]


async def test_an_unknown_expiry_stays_unknown(book: Book) -> None:
    other = await add_domain(book.owner, "pier.com")
    made = await other.renew("10")
    assert (made["domain"]["expires_at"], made["expiry_advanced_by_days"]) == (None, 0)
    assert [each["code"] for each in made["warnings"]] == ["expiry_unknown"]
    assert (await other.renew("10", new_expires_at="2027-01-01"))["domain"]["expires_at"] == "2027-01-01T00:00:00Z"


REFUSED: list[tuple[dict[str, object], tuple[list[str | int], str]]] = [
    ({}, (["amount"], "missing")),
    ({"amount": "-1"}, (["amount"], "money_amount")),
    ({"amount": "1", "years": 0}, (["years"], "greater_than_equal")),
    ({"amount": "1", "years": 11}, (["years"], "less_than_equal")),
    ({"amount": "1", "years": "1"}, (["years"], "int_type")),
    ({"amount": "1", "currency": "usd"}, (["currency"], "string_pattern_mismatch")),
    ({"amount": "1.5", "currency": "JPY"}, (["amount"], "money_amount")),
    ({"amount": "1", "renewed_on": "2126-01-01"}, (["renewed_on"], "date_in_future")),
    ({"amount": "1", "kind": "registration"}, (["kind"], "literal_error")),
    ({"amount": "1", "renewed_on": "yesterday"}, (["renewed_on"], "date_from_datetime_parsing")),
]


async def test_what_does_not_fit_is_refused(book: Book) -> None:
    for body, error in REFUSED:
        assert first_error(await book.owner.post(f"{book.path}/renewals", json=body)) == error, body
    assert (await book.get())["entries"] == []


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(1, 10))  # noqa: DTZ001 - put in UTC below
def test_years_keep_month_and_day_but_for_a_leap_day(at: datetime, years: int) -> None:
    at = at.replace(tzinfo=UTC)
    later = add_years(at, years)
    assert (later.year, later.month, later.time()) == (at.year + years, at.month, at.time())
    is_leap_day = (at.month, at.day) == (2, 29)
    assert later.day == (28 if is_leap_day and years % 4 else at.day) or later.year == 2100


def test_a_leap_day_becomes_the_28th_of_february() -> None:
    leap_day = datetime(2028, 2, 29, 12, tzinfo=UTC)
    assert add_years(leap_day, 1).date() == date(2029, 2, 28)
    assert add_years(leap_day, 4).date() == date(2032, 2, 29)
