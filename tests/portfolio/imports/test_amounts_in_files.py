"""Amounts as public exports, price lists and bills write them, in each table that comes in."""

from decimal import Decimal

from builders.kit.db.connections import Database
from builders.portfolio.ledger import rates
from builders.portfolio.ledger.records import Rate
from tests.cast import Person
from tests.portfolio.domains.make import add
from tests.portfolio.imports.make import Json, load, ok
from tests.portfolio.imports.test_cells import CHARGES
from tests.portfolio.ledger.make import NEWEST, add_rates
from tests.portfolio.registrars.sync import INVENTORY

# The cell of the renewal price, the cell of the currency, and the price.
CELLS = [
    *(
        ("$1,234.56 USD", "", "1234.56 USD"),
        ("1.250,00 kr", "DKK", "1250.00 DKK"),
        ("Rp 150.000", "IDR", "150000.00 IDR"),
    ),
    *(("RM 45.90", "", "45.90 MYR"), ("R 120.00", "", "120.00 ZAR"), ("120 Kč", "", "120.00 CZK")),
    *(("69元", "", "69.00 CNY"), ("RMB 69.00", "", "69.00 CNY"), ("SFr. 1'234.50", "", "1234.50 CHF")),
    *(("$12.00/yr", "", "12.00 USD"), ("12.00*", "", "12.00 USD"), ("12,50 EUR", "", "12.50 EUR")),
    *(("€ 7", "", "7.00 EUR"), ("3,00", "", "3.00 USD")),
]


def shown(price: Json | None) -> str | None:
    return None if price is None else f"{price['amount']} {price['currency']}"


async def prices(person: Person, path: str = "/v1/portfolio/domains") -> list[str | None]:
    found = {each["domain"]: each for each in ok(await person.get(path))["items"]}
    return [shown(found[f"quay{at}.com"]["renewal_price"]) for at in range(len(CELLS))]


async def test_prices_of_a_file_are_read(alice: Person) -> None:
    lines = [f'quay{at}.com;"{cell}";{currency}' for at, (cell, currency, _) in enumerate(CELLS)]
    done = await load(alice, "\n".join(("Domain;Renewal price;Currency", *lines)).encode())
    assert done["summary"]["created"] == len(CELLS)
    assert await prices(alice) == [amount for *_, amount in CELLS]


async def test_prices_of_an_inventory_are_read_alike(alice: Person) -> None:
    rows = [
        {"domain": f"quay{at}.com", "renewal_price": cell, "currency": currency}
        for at, (cell, currency, _) in enumerate(CELLS)
    ]
    ok(await alice.post(f"{INVENTORY}/import", json={"provider": "manual:dock", "rows": rows}))
    assert await prices(alice, INVENTORY) == [amount for *_, amount in CELLS]


async def test_a_line_of_a_bill_can_have_a_symbol_and_a_code(alice: Person) -> None:
    csv = "Date,Domain,Amount\n2026-03-01,harbour.com,$12.17 USD\n2026-03-02,harbour.com,-1.250,00 kr\n"
    csv = csv.replace("-1.250,00 kr", '"-1.250,00 DKK kr"')
    done = ok(await alice.post(CHARGES, json={"provider": "manual:dock", "csv": csv}))
    assert [each["outcome"] for each in done["results"]] == ["created", "created"]
    items = ok(await alice.get("/v1/portfolio/registrars/billing/charges"))["items"]
    assert {shown(each["total"]) for each in items} == {"12.17 USD", "-1250.00 DKK"}


async def test_the_currency_of_the_account_settles_a_symbol(alice: Person, database: Database) -> None:
    await add_rates(database)  # of no later day
    async with database.transaction() as conn:  # the base currency is one that the bank quotes
        await rates.load_rates(conn, rates=[Rate(currency="CAD", quoted_on=NEWEST, rate=Decimal("1.47"))])
    held = await add(alice, "harbour.com")
    ok(await alice.patch(f"/v1/portfolio/domains/{held['id']}/finance", json={"base_currency": "CAD"}))
    await load(alice, b"domain,asking price,renewal price\nharbour.com,$5,6.00\n")
    [domain] = ok(await alice.get("/v1/portfolio/domains"))["items"]
    assert (shown(domain["asking_price"]), shown(domain["renewal_price"])) == ("5.00 CAD", "6.00 USD")


async def test_the_currency_of_the_request_settles_a_symbol(alice: Person) -> None:
    await load(alice, b"domain,asking price\nharbour.com,1.250 kr\n", currency="NOK")
    [domain] = ok(await alice.get("/v1/portfolio/domains"))["items"]
    assert shown(domain["asking_price"]) == "1250.00 NOK"
