"""A write without a day is of today, and a report ends today: days are those of the account."""

from datetime import UTC, datetime
from typing import Any

import pytest

from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.finance.make import DOMAINS

NEW_YEAR = datetime(2026, 12, 31, 20, tzinfo=UTC)  # already the next year in Tokyo
FINANCE = f"{DOMAINS}/harbour.com/finance"


@pytest.fixture(autouse=True)
async def owner(alice: Person) -> Person:
    clock.move(NEW_YEAR - clock.now())
    assert (await alice.patch("/v1/me", json={"timezone": "Asia/Tokyo"})).status_code == 200
    return alice


async def entry_days(owner: Person) -> list[tuple[str, str]]:
    found = (await owner.get(FINANCE)).json()
    return [(each["kind"], each["occurred_on"]) for each in found["entries"]]


async def test_a_purchase_with_the_domain(owner: Person) -> None:
    body = {"domain": "harbour.com", "purchase": {"amount": "9.00", "currency": "USD"}}
    assert (await owner.post(DOMAINS, json=body)).json()["acquired_on"] == "2027-01-01"
    assert await entry_days(owner) == [("acquisition", "2027-01-01")]


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ({"acquisition": {"amount": "9.00"}}, ["acquisition"]),
        ({"entries_add": [{"kind": "tax", "amount": "9.00"}]}, ["tax"]),
        ({"sale": {"gross": "9.00"}}, ["sale"]),
    ],
)
async def test_a_write_of_finance(owner: Person, body: dict[str, Any], kinds: list[str]) -> None:
    await owner.post(DOMAINS, json={"domain": "harbour.com"})
    answer = await owner.patch(FINANCE, json=body)
    assert answer.status_code == 200, answer.text
    assert await entry_days(owner) == [(each, "2027-01-01") for each in kinds]


async def test_a_renewal(owner: Person) -> None:
    await owner.post(DOMAINS, json={"domain": "harbour.com"})
    answer = await owner.post(f"{FINANCE}/renewals", json={"amount": "9.00"})
    assert answer.status_code == 200, answer.text
    assert await entry_days(owner) == [("renewal", "2027-01-01")]


async def test_a_parking_report_ends_today(owner: Person) -> None:
    found = (await owner.get("/v1/portfolio/parking", params={"days": 2})).json()
    assert found["period"] == {"from": "2026-12-31", "to": "2027-01-01", "days": 2}
