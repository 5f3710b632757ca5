"""Two requests at once about the same domains: one waits for the other, and neither fails.

Every writer locks in one order: domains by id, the base currency, entries, and what belongs to the domains.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.portfolio.domains import changes, lookups
from builders.portfolio.domains.records import ChangeSource, DomainChange, domain_patch
from builders.portfolio.ledger import currencies, entries as ledger_entries
from tests.cast import Person
from tests.conftest import MakePerson
from tests.kit.db.locks import waiting
from tests.portfolio.domains.make import DOMAINS
from tests.portfolio.imports.make import load, undo
from tests.portfolio.ledger.make import MONDAY, add_rates, entry, list_entries
from tests.portfolio.parking.make import add_domains, record
from tests.portfolio.renewals.make import BULK

T = TypeVar("T")
NAMES = ("harbour.com", "pier.com")


@pytest.fixture
async def alice(people: MakePerson) -> Person:
    return await people("alice", Preset.DOMAINER_FULL)


async def entry_ids(conn: Conn, person: Person, *domain_ids: UUID) -> list[UUID]:
    """Return the entries of domains, in the order of their ids."""
    found = await ledger_entries.list_entries_by_domain(conn, account_id=person.account.id, domain_ids=domain_ids)
    return sorted(each.id for entries in found.values() for each in entries)


async def void(conn: Conn, person: Person, *ids: UUID) -> None:
    await ledger_entries.void_entries(conn, account_id=person.account.id, ids=ids, reason="Two at once.")


async def start(conn: Conn, request: Awaitable[T], *, waiters: int = 1) -> asyncio.Future[T]:
    """Start a request; return when `waiters` sessions wait for locks."""
    started = asyncio.ensure_future(request)
    async with asyncio.timeout(60):
        while await waiting(conn) < waiters and not started.done():
            await asyncio.wait([started], timeout=0.01)
    return started


@asynccontextmanager
async def rolled_back(database: Database) -> AsyncIterator[Conn]:
    """A transaction of somebody else that changes nothing."""
    async with database.connection() as conn, conn.transaction(force_rollback=True):
        yield conn


async def test_the_undo_of_an_import_and_a_change_of_finance(
    alice: Person, database: Database, conn: Conn
) -> None:
    added = await add_domains(alice, NAMES[0])
    imported = await load(alice, f"domain,cost,bought\n{NAMES[0]},5,2024-01-01\n")
    [bought] = await entry_ids(conn, alice, *added.values())
    async with database.transaction() as changing:
        await lookups.lock_domain(changing, account_id=alice.account.id, key=NAMES[0])
        undone = await start(conn, undo(alice, imported))
        await void(changing, alice, bought)
    assert (await undone)["state"] == "undone"


async def test_work_that_begins_before_an_undo_is_kept(alice: Person, database: Database, conn: Conn) -> None:
    """The undo decides under the locks of the domains."""
    imported = await load(alice, "\n".join(("domain", *NAMES)))
    async with database.transaction() as working:
        domain = await lookups.lock_domain(working, account_id=alice.account.id, key=NAMES[0])
        undone = await start(conn, undo(alice, imported))
        change = DomainChange(id=domain.id, patch=domain_patch(notes="Call Ada"))
        await changes.change_domains(
            working, account_id=alice.account.id, changes=[change], source=ChangeSource.REGISTRAR
        )
    assert (await undone)["undo"] == {"rows": 2, "removed": 1, "restored": 0, "kept": 1}


async def test_an_import_and_another_change_of_its_domains(alice: Person, database: Database, conn: Conn) -> None:
    first, last = (await add_domains(alice, *NAMES)).values()
    async with database.transaction() as changing:
        await lookups.lock_domain(changing, account_id=alice.account.id, key=str(first))
        importing = load(alice, f"domain,folder\n{NAMES[1]},A\n{NAMES[0]},B\n")
        imported = await start(conn, importing)
        await lookups.lock_domain(changing, account_id=alice.account.id, key=str(last))
    assert (await imported)["summary"]["updated"] == 2


async def test_parking_revenue_and_the_removal_of_its_domain(
    alice: Person, database: Database, conn: Conn
) -> None:
    [domain_id] = (await add_domains(alice, NAMES[0])).values()
    days = {"period": {"from": str(MONDAY), "to": str(MONDAY + timedelta(days=1))}, "currency": "USD"}
    rows = [{"domain": NAMES[0], "amount": "4.00", "provider": each} for each in ("sedo", "bodis")]
    await record(alice, {**days, "rows": rows})
    _, last = await entry_ids(conn, alice, domain_id)
    async with rolled_back(database) as third:
        await void(third, alice, last)
        recorded = await start(
            conn, record(alice, {**days, "rows": [{**each, "amount": "6.00"} for each in rows]})
        )
        removed = await start(conn, alice.delete(f"{DOMAINS}/{NAMES[0]}?history=delete"), waiters=2)
    assert (await recorded)["summary"]["updated"] == 2
    assert (await removed).status_code == 204


async def test_decisions_and_the_undo_of_the_import_of_their_domains(
    alice: Person, database: Database, conn: Conn
) -> None:
    imported = await load(alice, "\n".join(("domain", *NAMES)))
    ids = {each["domain"]: each["id"] for each in imported["results"]}

    async def decide(*names: str, decision: str) -> int:
        items = [{"domain_id": name, "decision": decision} for name in names]
        return (await alice.patch(BULK, json={"items": items})).status_code

    assert await decide(NAMES[0], decision="drop") == 200
    async with rolled_back(database) as third:
        await third.execute(
            "INSERT INTO portfolio_renewals_decisions (account_id, domain_id, decision, decided_at, decided_by)"
            " VALUES (%s, %s, 'renew', now(), %s)",
            [alice.account.id, ids[NAMES[1]], alice.account.id],
        )
        decided = await start(conn, decide(*NAMES, decision="renew"))
        undone = await start(conn, undo(alice, imported), waiters=2)
    assert await decided == 200
    assert (await undone)["undo"]["kept"] == 2


async def test_a_new_base_currency_and_a_change_of_finance(alice: Person, database: Database, conn: Conn) -> None:
    await add_rates(database)
    [domain_id] = (await add_domains(alice, NAMES[0])).values()
    async with database.transaction() as posting:
        await ledger_entries.post_entries(
            posting, account_id=alice.account.id, entries=[entry(domain_id) for _ in range(3)]
        )
    target: dict[str, Any] = {"account_id": alice.account.id}
    async with database.transaction() as setting:  # a job would convert the other two
        await currencies.set_base_currency(setting, **target, base_currency="EUR", batch_size=1)
    _, second, third = await entry_ids(conn, alice, domain_id)
    async with database.transaction() as changing:
        await currencies.lock_base_currency(changing, account_id=alice.account.id)
        await void(changing, alice, third)
        converted = await start(conn, currencies.convert_entries(database, **target, batch_size=2))
        await void(changing, alice, second)
    await converted
    found = await list_entries(conn, account_id=alice.account.id, domain_id=domain_id)
    assert [each.base_currency for each in found if each.base_amount] == ["EUR"] * 3
