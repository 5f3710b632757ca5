"""The expiry of a domain after a renewal, and what the reply says about it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import clock
from builders.portfolio.finance.renewals import add_years
from tests.cast import Person
from tests.portfolio.finance.make import DOMAINS, Book, add_domain, first_error, usd
from tests.portfolio.team.make import code, join, of

MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - in UTC


@given(MOMENTS, st.integers(0, 10), st.integers(0, 10))
def test_years_add_up_but_for_a_leap_day(at: datetime, one: int, other: int) -> None:
    apart = abs(add_years(add_years(at, one), other) - add_years(at, one + other))
    assert apart <= (timedelta(days=1) if (at.month, at.day) == (2, 29) else timedelta(0))


async def test_a_leap_day_is_renewed_to_the_last_of_february(alice: Person) -> None:
    book = await add_domain(alice, "leap.com", expires_at="2028-02-29T12:00:00Z")

    made = await book.renew("10.00")

    assert (made["domain"]["expires_at"], made["expiry_advanced_by_days"]) == ("2029-02-28T12:00:00Z", 365)


@pytest.mark.parametrize(
    ("hours", "is_accepted"),
    [(-1, True), (23, True), (25, False)],  # another time zone is a day ahead at most
)
async def test_the_latest_expiry_is_ten_years_from_now(book: Book, hours: int, *, is_accepted: bool) -> None:
    given_ = add_years(clock.now(), 10) + timedelta(hours=hours)

    answer = await book.owner.post(
        f"{book.path}/renewals", json={"amount": "1", "new_expires_at": given_.isoformat()}
    )

    if is_accepted:
        assert datetime.fromisoformat(answer.json()["domain"]["expires_at"]) == given_
    else:
        assert first_error(answer) == (["new_expires_at"], "expiry_too_far")
        assert (await book.get())["entries"] == []


@pytest.mark.parametrize(("days", "is_accepted"), [(-3650, True), (0, True), (1, True), (2, False)])
async def test_a_payment_is_not_of_a_later_day_than_tomorrow(book: Book, days: int, *, is_accepted: bool) -> None:
    on = (clock.now() + timedelta(days=days)).date().isoformat()

    answer = await book.owner.post(f"{book.path}/renewals", json={"amount": "1", "renewed_on": on})

    if is_accepted:
        assert answer.json()["entry"]["occurred_on"] == on
    else:
        assert first_error(answer) == (["renewed_on"], "date_in_future")


async def test_a_domain_in_redemption_is_held_again_after_its_renewal(alice: Person) -> None:
    expired = clock.now() - timedelta(days=50)
    book = await add_domain(alice, "late.com", expires_at=expired.isoformat())
    assert (await book.domain())["lifecycle"] == "redemption"

    made = await book.renew("80.00", kind="redemption")

    assert (made["entry"]["kind"], (await book.domain())["lifecycle"]) == ("redemption", "active")


async def test_a_redemption_is_no_price_of_the_next_renewal(book: Book) -> None:
    await book.renew("12.00", renewed_on="2024-03-04")
    await book.renew("99.00", renewed_on="2024-03-05", kind="redemption")

    found = (await book.get())["next_renewal"]

    assert (found["price"], found["price_source"]) == (usd("12.00"), "last_renewal")


@pytest.mark.parametrize(("years", "price"), [(1, "10.00"), (3, "3.33"), (7, "1.43"), (10, "1.00")])
async def test_the_price_of_a_year_is_rounded(book: Book, years: int, price: str) -> None:
    made = await book.renew("10.00", years=years)

    assert made["finance"]["next_renewal"]["price"] == usd(price)


async def test_a_void_renewal_is_no_price_of_the_next_one(book: Book) -> None:
    await book.renew("12.00", renewed_on="2024-03-04")
    later = await book.renew("99.00", renewed_on="2024-06-04")

    found = await book.change(entries_void=[later["entry"]["id"]])

    assert found["next_renewal"]["price"] == usd("12.00")


async def test_the_registrar_of_a_renewal_is_that_of_the_domain_unless_given(book: Book) -> None:
    await book.owner.patch(f"{DOMAINS}/{book.domain_id}", json={"registrar": "Porkbun"})

    found = [(await book.renew("1", **body))["entry"]["registrar"] for body in ({}, {"registrar": "Gandi"})]

    assert found == ["Porkbun", "Gandi"]
    assert (await book.domain())["registrar"] == "Porkbun"


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("accountant", 200), ("manager", 200)])
async def test_a_role_decides_who_records_a_renewal(
    alice: Person, charlie: Person, book: Book, role: str, status: int
) -> None:
    await join(alice, charlie, role)

    answer = await charlie.post(f"{book.path}/renewals", json={"amount": "1"}, headers=of(alice))

    assert answer.status_code == status, answer.text
    if status == 403:
        assert code(answer) == (403, "forbidden_role")
    assert len((await book.get())["entries"]) == (status == 200)
