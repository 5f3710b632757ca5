"""Revenue of the tests, and what the ledger has of it."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.domains import changes, names as domain_names
from builders.portfolio.domains.records import NewDomain
from builders.portfolio.ledger.records import Entry
from tests.cast import Client, Person
from tests.portfolio.ledger.make import list_entries

PARKING, REVENUE = "/v1/portfolio/parking", "/v1/portfolio/parking/revenue"


def database_of(person: Person) -> Database:
    database: Database = person.service.api.state.database
    return database


async def add_domains(person: Person, *names: str, price: str | None = None, **fields: Any) -> dict[str, UUID]:
    """Add domains to the person's portfolio; return their ids by name."""
    new = [
        NewDomain(
            name=domain_names.parse_name(name),
            renewal_price=None if price is None else Money.of(price, "USD"),
            **fields,
        )
        for name in names
    ]
    async with database_of(person).transaction() as conn:
        written = await changes.add_domains(conn, account_id=person.account.id, new=new)
    return {name: each.id for name, each in zip(names, written, strict=True)}


def day(ago: int = 0) -> str:
    return str(clock.now().date() - timedelta(days=ago))


async def record(owner: Client, body: Any, headers: Any = None) -> dict[str, Any]:
    answer = await owner.post(REVENUE, json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def outcomes(reply: dict[str, Any]) -> list[str]:
    return [each["outcome"] for each in reply["results"]]


async def report(owner: Client, headers: Any = None, **query: Any) -> dict[str, Any]:
    answer = await owner.get(PARKING, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def entries(person: Person, domain_id: UUID) -> Sequence[Entry]:
    async with database_of(person).connection() as conn:
        return await list_entries(conn, account_id=person.account.id, domain_id=domain_id)


async def days_of(person: Person, name: str = "harbour.com") -> list[tuple[str, str]]:
    """Day and exact amount of the recorded revenue of a domain."""
    rows = (await person.get("/v1/portfolio/export")).json()["rows"]
    [row] = [each for each in rows if each["domain"] == name]
    return [(each["on"], each["amount"]) for each in row["parking"]]


async def valid(person: Person, domain_id: UUID) -> list[tuple[date, str]]:
    """Day and amount of the entries that are not void."""
    return [(each.occurred_on, str(each.money)) for each in await entries(person, domain_id) if not each.is_void]
