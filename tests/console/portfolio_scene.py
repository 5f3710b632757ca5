"""A portfolio with prices, costs, income, an estimate and renewals, for the pages of domainers."""

from datetime import timedelta
from typing import Any

from builders.kit.values import clock
from tests.cast import Client, Person
from tests.portfolio.finance.make import usd

DOMAINS = "/v1/portfolio/domains"


async def add(browser: Client, domain: str, *entries: tuple[str, str], **members: Any) -> str:
    """Add a domain with entries of the ledger: their kinds and amounts. Return its id."""
    made = await browser.post(DOMAINS, json={"domain": domain, **members})
    assert made.status_code == 201, made.text
    domain_id = str(made.json()["id"])
    if entries:
        booked = [{"kind": kind, "amount": usd(amount)} for kind, amount in entries]
        answer = await browser.patch(f"{DOMAINS}/{domain_id}/finance", json={"entries_add": booked})
        assert answer.status_code == 200, answer.text
    return domain_id


def in_days(days: int) -> str:
    return (clock.now() + timedelta(days=days)).isoformat()


async def fill(owner: Person) -> str:
    """Add three domains to a portfolio; return the id of the first, which has everything."""
    async with owner.browser() as browser:
        domain_id = await add(
            browser,
            "harbour.com",
            ("acquisition", "1234.56"),
            ("parking_revenue", "78.91"),
            ("renewal", "11.13"),
            tags=["brand"],
            folder="Best",
            notes="Ask the broker.",
            estimated_value=usd("2345.67"),
            renewal_price=usd("12.34"),
            expires_at=in_days(20),
        )
        await add(
            browser, "pier.net", ("registration", "9.87"), renewal_price=usd("23.45"), expires_at=in_days(50)
        )
        await add(browser, "quay.org", expires_at=in_days(400))
    return domain_id
