"""The names of an erased account: in quarantine without an owner, for at least a year."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.catalog.make import catch_up
from tests.erasure.test_execution import erase
from tests.plans import make

YEAR = timedelta(days=365)


async def claimed(person: Person, database: Database, folder: Path, assets: Path, local_part: str = "ada") -> str:
    domain = await make.Domains(database, folder=folder, assets=assets)()
    await make.apply(person, make.alias(f"{local_part}@{domain}"))
    for each in await make.list_invoices(database, person):
        await make.pay_invoice(database, person, each)
    await catch_up(person.service.api.state.catalog)
    return domain


async def check(client: Client, domain: str, local_part: str) -> Any:
    answer = await client.get("/v1/catalog/check", params={"domain": domain, "local_part": local_part})
    return answer.json()


async def test_nobody_claims_them_for_a_year(
    alice: Person, bob: Person, anyone: Client, database: Database, tmp_path: Path, assets: Path
) -> None:
    domain = await claimed(alice, database, tmp_path, assets)
    await erase(alice)
    found = await check(anyone, domain, "ada")
    assert (found["available"], found["reason"]) == (False, "quarantined")
    planned = await make.plan(bob, make.alias(f"ada@{domain}"))
    assert planned["errors"]
    clock.move(YEAR + timedelta(seconds=1))
    assert (await check(anyone, domain, "ada"))["available"] is True
    await make.apply(bob, make.alias(f"ada@{domain}"))  # also before the row is deleted
    await old_rows.delete(database, "aliases_quarantines")


async def test_nobody_claims_what_looks_like_them(
    alice: Person, anyone: Client, database: Database, tmp_path: Path, assets: Path
) -> None:
    domain = await claimed(alice, database, tmp_path, assets, "o1ive")
    await erase(alice)

    assert (await check(anyone, domain, "olive"))["available"] is False
    assert (await check(anyone, domain, "adam"))["available"] is True


async def test_what_is_stored_names_neither_name_nor_account(
    alice: Person, conn: Conn, database: Database, tmp_path: Path, assets: Path
) -> None:
    domain = await claimed(alice, database, tmp_path, assets)
    await erase(alice)
    names = "SELECT count(*) FROM aliases_names WHERE domain = %s"
    assert await (await conn.execute(names, [domain])).fetchone() == (0,)
    skeletons = "SELECT count(*) FROM aliases_skeletons WHERE domain = %s"
    assert await (await conn.execute(skeletons, [domain])).fetchone() == (0,)
    found = await (
        await conn.execute("SELECT to_jsonb(q) FROM aliases_quarantines AS q WHERE domain = %s", [domain])
    ).fetchall()
    assert [sorted(each) for (each,) in found] == [["domain", "hash", "until"]]
