"""What people type as an amount in the forms of the console."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlencode

import pytest

from tests.cast import Person
from tests.console.portfolio_scene import add, fill, in_days
from tests.console.registrar_scene import charge
from tests.console.visitor import Visitor, fields_of
from tests.portfolio.finance.make import usd

# In the field of an entry, and what the ledger has; the base currency is USD.
TYPED = {
    "$12.50": "12.50 USD",
    "1,234.56 USD": "1234.56 USD",
    "12,50 EUR": "12.50 EUR",
    "€ 7": "7.00 EUR",
    "3,00": "3.00 USD",
    "1'234.50 chf": "1234.50 CHF",
    "500 JPY": "500 JPY",
}


Money: TypeAlias = Mapping[str, str]
# Sends a form with an amount; returns the amounts that the API then shows.
Form: TypeAlias = Callable[[Visitor, str, str], Awaitable[list[Money]]]


async def read(browser: Visitor, path: str) -> Any:
    answer = await browser.get(f"/v1/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def exported(browser: Visitor, domain_id: str) -> Any:
    name = (await read(browser, f"portfolio/domains/{domain_id}"))["domain"]
    return next(each for each in (await read(browser, "portfolio/export"))["rows"] if each["domain"] == name)


async def entry(browser: Visitor, domain_id: str, typed: str) -> list[Money]:
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    await browser.submit(page, "entry-add", kind="privacy", amount=typed, occurred_on="2026-01-05")
    found = (await read(browser, f"portfolio/domains/{domain_id}/finance"))["entries"]
    return [each["amount"] for each in found if each["kind"] == "privacy"]


async def renewal(browser: Visitor, domain_id: str, typed: str) -> list[Money]:
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    await browser.submit(page, "renewal-record", amount=typed, years="1")
    found = (await read(browser, f"portfolio/domains/{domain_id}/finance"))["entries"]
    return [each["amount"] for each in found if each["kind"] == "renewal"]


async def sale(browser: Visitor, domain_id: str, typed: str) -> list[Money]:
    page = await browser.open(f"/console/portfolio/sale/{domain_id}")
    await browser.submit(page, "sale-record", **{"sale.gross": typed, "sale.commission": typed})
    row = await exported(browser, domain_id)
    return [
        each
        for one in row["sales"]
        for each in (usd(one["amount"]) | {"currency": one["currency"]}, one["commission"])
    ]


async def prices(browser: Visitor, domain_id: str, typed: str) -> list[Money]:
    names = ("renewal_price", "asking_price", "min_offer", "estimated_value")
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    await browser.submit(page, "portfolio-domain-change", **dict.fromkeys(names, typed))
    found = await read(browser, f"portfolio/domains/{domain_id}")
    return [found[name] for name in names]


async def prices_of_many(browser: Visitor, domain_id: str, typed: str) -> list[Money]:
    page = await browser.open("/console/portfolio/domains")
    shown = await browser.submit(page, "domains-preview", all="true", **{"set.asking_price": typed})
    await browser.submit(shown, "domains-change")
    return [(await read(browser, f"portfolio/domains/{domain_id}"))["asking_price"]]


async def revenue(browser: Visitor, domain_id: str, typed: str) -> list[Money]:
    page = await browser.open("/console/portfolio/parking")
    await browser.submit(page, "parking-record", domain=domain_id, date="2026-01-05", amount=typed)
    row = await exported(browser, domain_id)
    return [{name: each[name] for name in ("amount", "currency")} for each in row["parking"]]


async def revenue_of_a_file(browser: Visitor, domain_id: str, typed: str) -> list[Money]:
    page = await browser.open("/console/portfolio/parking")
    await browser.submit(page, "parking-record", csv=f"Domain\tDate\tRevenue\n{domain_id}\t2026-01-05\t{typed}\n")
    row = await exported(browser, domain_id)
    return [{name: each[name] for name in ("amount", "currency")} for each in row["parking"]]


async def alert(browser: Visitor, _: str, typed: str) -> list[Money]:
    for text in ("", typed):  # without an amount whose currency would count
        page = await browser.open("/console/portfolio/notices")
        await browser.submit(page, "preferences-change", **{"cost_alert.monthly_renewals_above": text})
    found = await read(browser, "portfolio/notifications/preferences")
    return [found["cost_alert"]["monthly_renewals_above"]]


async def policy(browser: Visitor, _: str, typed: str) -> list[Money]:
    page = await browser.open("/console/approval")
    await browser.submit(page, "policy-change", require="when", amount_over=typed)
    found: list[Money] = (await read(browser, "sandbox/approval-policy"))["when"]["amount_over"]
    return found


FORMS: Mapping[str, Form] = {
    each.__name__: each
    for each in (entry, renewal, sale, prices, prices_of_many, revenue, revenue_of_a_file, alert, policy)
}


@pytest.mark.parametrize("form", FORMS)
async def test_an_amount_is_read_as_people_type_it(browser: Visitor, alice: Person, form: str) -> None:
    for at, (typed, expected) in enumerate(TYPED.items()):
        async with alice.browser() as api:
            domain_id = await add(api, f"harbour-{at}.com", expires_at=in_days(20))
        found = await FORMS[form](browser, domain_id, typed)
        assert {f"{each['amount']} {each['currency']}" for each in found} == {expected}, typed


async def test_an_amount_without_a_currency_keeps_that_of_the_field(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        domain_id = await add(api, "harbour.com", asking_price={"amount": "10.00", "currency": "CAD"})
    for typed, expected in (("12,50", "12.50"), ("$13", "13.00")):
        page = await browser.open(f"/console/portfolio/domains/{domain_id}")
        await browser.submit(page, "portfolio-domain-change", asking_price=typed)
        found = (await read(browser, f"portfolio/domains/{domain_id}"))["asking_price"]
        assert found == {"amount": expected, "currency": "CAD"}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("1.234", "can mean 1,234 or 1.234"),
        ("12 kr", "Write the code"),
        ("$12 EUR", "names two currencies"),
        ("twelve", "is not an amount"),
        ("12.345 USD ", "can mean 12,345"),
        ("0.0375 USD", "USD has 2 decimals"),
        ("-5 USD", "without a sign"),
    ],
)
async def test_an_amount_that_can_mean_two_things_is_asked_for_again(
    browser: Visitor, alice: Person, typed: str, told: str
) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    refused = await browser.submit(page, "entry-add", amount=typed)
    assert (refused.status_code, told in refused.text) == (422, True)
    assert fields_of(refused, "entry-add")["amount"].strip() == typed.strip()


# What the API reads for each form, with a place for the amount. Rows and files have the reader of files.
BODIES: Mapping[str, tuple[str, str, Callable[[Any], Any]]] = {
    "entry": (
        "PATCH",
        "portfolio/domains/{id}/finance",
        lambda it: {"entries_add": [{"kind": "tax", "amount": it}]},
    ),
    "renewal": ("POST", "portfolio/domains/{id}/finance/renewals", lambda it: {"amount": it}),
    "sale": ("PATCH", "portfolio/domains/{id}/finance", lambda it: {"sale": {"gross": it}}),
    "prices": ("PATCH", "portfolio/domains/{id}", lambda it: {"asking_price": it}),
    "prices_of_many": (
        "POST",
        "portfolio/domains/bulk",
        lambda it: {"domains": ["harbour.com"], "set": {"asking_price": it}},
    ),
    "revenue": (
        "POST",
        "portfolio/parking/revenue",
        lambda it: {"domain": "harbour.com", "date": "2026-01-05", "amount": it},
    ),
    "alert": (
        "PATCH",
        "portfolio/notifications/preferences",
        lambda it: {"cost_alert": {"monthly_renewals_above": it}},
    ),
    "policy": ("PUT", "sandbox/approval-policy", lambda it: {"require": "when", "when": {"amount_over": [it]}}),
}


@pytest.mark.parametrize("form", BODIES)
async def test_the_api_reads_decimals_alone(alice: Person, form: str) -> None:
    domain_id = await fill(alice)
    method, path, body = BODIES[form]
    async with alice.browser() as api:
        for typed in TYPED:
            for amount in (typed, {"amount": typed, "currency": "USD"}):
                answer = await api.request(method, f"/v1/{path.format(id=domain_id)}", json=body(amount))
                assert answer.status_code == 422, (typed, answer.text)


async def test_prices_of_many_domains_are_read_alike(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open("/console/portfolio/domains")
    shown = await browser.submit(page, "domains-preview", all="true", **{"set.asking_price": "1.250,00 €"})
    assert "1250.00 EUR" in shown.text


@pytest.mark.parametrize("name", ["budget", "drop_max_income"])
@pytest.mark.parametrize(
    ("typed", "read_as"),
    [
        ("$1,500.50", "1,500.50"),
        ("1.500,50", "1,500.50"),
        ("3,00 USD", "3.00"),
        ("20", "20.00"),
        ("1,500,50", None),
        ("1.500", None),
        ("€ 7", None),
    ],
)
async def test_an_amount_of_an_address_is_read_alike(
    browser: Visitor, alice: Person, name: str, typed: str, read_as: str | None
) -> None:
    """In the base currency: a bound or a budget of another one is none."""
    await fill(alice)
    page = await browser.open(f"/console/portfolio/renewals?{urlencode({name: typed})}")
    told = {"budget": "Of a budget of <", "drop_max_income": "with an income up to <span"}[name]
    assert (told in page.text, "not an amount" in page.text) == (read_as is not None, read_as is None)
    if read_as is not None:
        assert read_as in page.text.partition(told)[2][:60]


async def test_what_if_a_bound_is_typed_with_its_currency(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open("/console/portfolio/renewals?drop_max_income=%2420%2C00")
    shown = await browser.submit(page, "renewals-drop")
    assert ("pier.net" in shown.text, "harbour.com" in shown.text) == (True, False)


async def test_parts_of_a_charge_are_read_alike(browser: Visitor, alice: Person) -> None:
    await charge(alice)
    async with alice.browser() as api:
        await add(api, "gull.com")
    page = await browser.open("/console/portfolio/registrars/charges?state=unmatched")
    done = await browser.submit(page, "charge-split", parts="ferry.com $20\ngull.com 25,67 usd")
    assert "The charge is split" in done.text
