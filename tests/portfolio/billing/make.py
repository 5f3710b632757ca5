"""Charges of the tests, and what the ledger has of them."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import httpx

from builders.kit.db.connections import Database
from builders.kit.values import clock, ids
from builders.portfolio.billing.bills import RecordedLine, record_lines
from builders.portfolio.billing.records import Booking, ChargeSource, Origin
from builders.portfolio.domains import changes, names as domain_names
from builders.portfolio.domains.records import NewDomain
from builders.portfolio.registrars.records import BilledLine, ChargeKind
from tests.cast import Client, Person

BILLING = "/v1/portfolio/registrars/billing"
CHARGES = f"{BILLING}/charges"
APPLY = f"{CHARGES}/apply"
IMPORT = f"{BILLING}/import"
ENTRIES = """
    SELECT domain_id, kind, amount, currency, source, charge_id::text FROM portfolio_ledger_entries
    WHERE account_id = %s AND voided_at IS NULL ORDER BY created_at, id
"""
PARTS = (("harbour.com", "10.00"), ("pier.com", "20.00"))  # of `shared_charge`
BOOKED = [("harbour.com", Decimal(10)), ("pier.com", Decimal(20))]
Json = dict[str, Any]


def database_of(person: Person) -> Database:
    database: Database = person.service.api.state.database
    return database


async def add_domains(person: Person, *names: str, **fields: Any) -> dict[str, UUID]:
    """Add domains to the person's portfolio; return their ids by A-label."""
    new = [NewDomain(name=domain_names.parse_name(name), **fields) for name in names]
    async with database_of(person).transaction() as conn:
        written = await changes.add_domains(conn, account_id=person.account.id, new=new)
    return {each.name.domain: found.id for each, found in zip(new, written, strict=True)}


def line(total: str, *named: str, **more: Any) -> BilledLine:
    """A line of a bill in US dollars of today, unless said otherwise."""
    values: dict[str, Any] = {
        "order_id": "1001",
        "line_id": "1",
        "charged_on": clock.now().date(),
        "description": "",
        "kind": ChargeKind.RENEWAL,
        "currency": "USD",
    }
    for name in ("tax", "fees"):
        more[name] = Decimal(more.get(name, 0))
    return BilledLine(domains=named, total=Decimal(total), **(values | more))


def origin(provider: str = "namesilo", **more: Any) -> Origin:
    values: dict[str, Any] = {
        "account": "default",
        "connection_id": None,
        "source": ChargeSource.API,
        "run_id": ids.new(),
    }
    return Origin(provider=provider, **(values | more))


async def bill(person: Person, *lines: BilledLine, applies: bool = True, **more: Any) -> Sequence[RecordedLine]:
    """Record lines as a sync does."""
    booking = Booking(applies=applies)
    async with database_of(person).transaction() as conn:
        return await record_lines(
            conn, account_id=person.account.id, lines=lines, origin=origin(**more), booking=booking
        )


async def charges(owner: Client, headers: Any = None, **query: Any) -> Json:
    return ok(await owner.get(CHARGES, params=query, headers=headers))


async def apply(owner: Client, **query: Any) -> Json:
    return ok(await owner.post(APPLY, params=query))


async def load(owner: Client, csv: str | None = None, **more: Any) -> Json:
    body = more if csv is None else {"csv": csv, **more}
    return ok(await owner.post(IMPORT, json=body))


async def entries(person: Person) -> list[tuple[Any, ...]]:
    """The entries that are not void: domain, kind, amount, currency, source, charge."""
    async with database_of(person).connection() as conn:
        return await (await conn.execute(ENTRIES, (person.account.id,))).fetchall()


async def shared_charge(alice: Person, total: str = "30.00", *named: str, **fields: Any) -> str:
    """Let a bill charge an amount for the domains that it names, if any; return the path of the charge."""
    await add_domains(alice, *(name for name, _ in PARTS))
    await bill(alice, line(total, *named, **fields), applies=False)
    [item] = (await charges(alice))["items"]
    return f"{CHARGES}/{item['id']}"


async def send_split(
    owner: Client, path: str, *parts: tuple[str, str], currency: str = "USD", **more: Any
) -> httpx.Response:
    listed = [{"domain": domain, "amount": {"amount": amount, "currency": currency}} for domain, amount in parts]
    return await owner.post(f"{path}/split", json={"parts": listed}, **more)


async def split(owner: Client, path: str, *parts: tuple[str, str], **more: Any) -> Json:
    return ok(await send_split(owner, path, *(parts or PARTS), **more))


async def take_back(owner: Client, path: str) -> Json:
    return ok(await owner.delete(f"{path}/split"))


async def booked(person: Person) -> list[tuple[str, Decimal]]:
    """The amounts of the ledger by the names of their domains."""
    names = {each["id"]: each["domain"] for each in ok(await person.get("/v1/portfolio/domains"))["items"]}
    return sorted((names[str(row[0])], row[2]) for row in await entries(person))


def ok(answer: Any) -> Json:
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def day(text: str) -> date:
    return date.fromisoformat(text)
