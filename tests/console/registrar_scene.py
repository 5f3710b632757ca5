"""A connected registrar whose list of domains differs from the portfolio, and its charges."""

from typing import Any

from tests.cast import Person
from tests.console.portfolio_scene import add, in_days
from tests.portfolio.billing.make import bill, line
from tests.portfolio.finance.make import usd
from tests.portfolio.registrars.reconcile_make import ahead, connect, hold

RECONCILE = "/v1/portfolio/registrars/reconcile"
CHARGES = "/v1/portfolio/registrars/billing/charges"


async def differ(owner: Person) -> None:
    """Let Porkbun hold three domains: with another expiry, another price, and one that the portfolio lacks."""
    connection = await connect(owner)
    async with owner.browser() as browser:
        await add(browser, "harbour.com", registrar="Porkbun", expires_at=in_days(300), auto_renew=True)
        priced = {"renewal_price": usd("98.76"), "expires_at": ahead(365).isoformat(), "auto_renew": True}
        await add(browser, "pier.net", registrar="Porkbun", **priced)
    await hold(owner, connection, "harbour.com", "pier.net", "quay.org", price="12.34")


async def charge(owner: Person) -> None:
    """Let a bill name one domain of the portfolio, and nothing of another one."""
    async with owner.browser() as browser:
        await add(browser, "ferry.com")
    lines = [
        line("12.34", "ferry.com", order_id="1", description="Renewal of ferry.com for 12.34"),
        line("45.67", order_id="2", description="A renewal for 45.67"),
    ]
    await bill(owner, *lines, applies=False)


async def split_charge(owner: Person) -> None:
    """Split the charge that names nothing, for 45.67, between two domains."""
    await charge(owner)
    found = (await charges(owner))["2"]
    async with owner.browser() as browser:
        await add(browser, "gull.com")
        parts = [
            {"domain": domain, "amount": {"amount": amount, "currency": "USD"}}
            for domain, amount in (("ferry.com", "20.00"), ("gull.com", "25.67"))
        ]
        answer = await browser.post(f"{CHARGES}/{found['id']}/split", json={"parts": parts})
    assert answer.status_code == 200, answer.text


async def findings(owner: Person) -> dict[str, Any]:
    async with owner.browser() as browser:
        found = (await browser.get(RECONCILE)).json()["findings"]
    return {each["category"]: each for each in found}


async def charges(owner: Person) -> dict[str, Any]:
    async with owner.browser() as browser:
        found = (await browser.get(CHARGES)).json()["items"]
    return {each["order_id"]: each for each in found}
