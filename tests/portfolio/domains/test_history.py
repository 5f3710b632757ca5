"""The history of a domain: what changed, when, from where, and who requested it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.domains import changes
from builders.portfolio.domains.records import ChangeSource, DomainChange, domain_patch
from builders.portfolio.finance import sales
from tests.cast import Person
from tests.plans.make import Json
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.imports.make import load, undo
from tests.portfolio.team.make import join, of

HARBOUR = f"{DOMAINS}/harbour.com"
HISTORY = f"{HARBOUR}/history"
COUNT = "SELECT count(*) FROM portfolio_domains_changes WHERE account_id = %s"


async def read(reader: Person, headers: Any = None, **query: Any) -> list[Json]:
    answer = await reader.get(HISTORY, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["items"]
    return items


async def patch(owner: Person, headers: Any = None, **members: Any) -> None:
    answer = await owner.patch(HARBOUR, json=members, headers=headers)
    assert answer.status_code == 200, answer.text


def members(item: Json) -> list[tuple[str, str | None, str | None]]:
    return [(each["member"], each["before"], each["after"]) for each in item["changes"]]


async def test_each_change_has_its_time_its_values_and_who_requested_it(alice: Person) -> None:
    await add(alice, tags=["sea"])
    await patch(alice, folder="Ports", tags=["sea", "sale"])
    with clock.moved(timedelta(days=2)):
        await patch(alice, asking_price="90", currency="USD", folder=None)
        written = (await alice.get(HARBOUR)).json()

        later, first = await read(alice)

    assert members(first) == [("tags", "sea", "sea, sale"), ("folder", None, "Ports")]
    assert members(later) == [("asking_price", None, "90.00 USD"), ("folder", "Ports", None)]
    assert later["created_at"] == written["updated_at"] > first["created_at"]
    assert {(each["source"], each["member_id"]) for each in (first, later)} == {("member", str(alice.account.id))}


async def test_what_changes_nothing_has_no_history(alice: Person) -> None:
    await add(alice, folder="Ports")
    await patch(alice, folder="Ports")
    body = {"domains": ["harbour.com"], "set": {"folder": "Ships"}, "dry_run": True}
    assert (await alice.post(f"{DOMAINS}/bulk", json=body)).status_code == 200

    assert await read(alice) == []


async def test_a_change_of_many_domains_is_in_the_history_of_each(alice: Person) -> None:
    await add(alice)
    await add(alice, "quay.com")
    body = {"domains": ["harbour.com", "quay.com"], "add_tags": ["sea"]}
    assert (await alice.post(f"{DOMAINS}/bulk", json=body)).status_code == 200

    [change] = await read(alice)
    assert members(change) == [("tags", None, "sea")]


async def test_a_renewal_and_a_decision_are_in_the_history(alice: Person) -> None:
    await add(alice, expires_at=f"{(clock.now() + timedelta(days=100)).date()}")
    decision = {"items": [{"domain_id": "harbour.com", "decision": "renew", "auto_renew": True}]}
    assert (await alice.patch("/v1/portfolio/renewals/bulk", json=decision)).status_code == 200
    renewal = {"amount": "12.34", "currency": "USD"}
    assert (await alice.post(f"{HARBOUR}/finance/renewals", json=renewal)).status_code == 200

    renewed, decided = await read(alice)
    assert members(decided) == [("auto_renew", None, "true")]
    assert [each["member"] for each in renewed["changes"]] == ["expires_at"]


async def test_an_import_and_its_undo_are_in_the_history(alice: Person) -> None:
    await add(alice, folder="Ports")
    imported = await load(alice, [{"domain": "harbour.com", "folder": "Ships"}], on_conflict="overwrite")
    await undo(alice, imported)

    undone, done = await read(alice)
    assert (members(done), members(undone)) == (
        [("folder", "Ports", "Ships")],
        [("folder", "Ships", "Ports")],
    )
    assert {(each["source"], each["member_id"]) for each in (done, undone)} == {("import", None)}


async def test_a_sale_whose_day_has_come_is_in_the_history(alice: Person, database: Database) -> None:
    await add(alice)
    sold_on = f"{(clock.now() + timedelta(days=300)).date()}"
    sale = {"gross": {"amount": "900", "currency": "USD"}, "sold_on": sold_on}
    assert (await alice.patch(f"{HARBOUR}/finance", json={"sale": sale})).status_code == 200
    with clock.moved(timedelta(days=400)):
        async with database.transaction() as conn:
            await sales.mark_sold(conn, account_id=alice.account.id, limit=10)

        [change] = await read(alice)
    assert (change["source"], members(change)) == ("sale", [("status", "owned", "sold")])


async def test_the_newest_is_first_on_pages_of_any_size(alice: Person, database: Database) -> None:
    added = await add(alice)
    async with database.transaction() as conn:
        for at in range(5):
            change = DomainChange(id=UUID(added["id"]), patch=domain_patch(folder=f"{at}"))
            await changes.change_domains(
                conn, account_id=alice.account.id, changes=[change], source=ChangeSource.REGISTRAR
            )
    found, cursor = list[str | None](), None
    while True:
        page = (await alice.get(HISTORY, params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
        found += [each["changes"][0]["after"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == ["4", "3", "2", "1", "0"]


async def test_the_member_who_requested_a_change_is_named(alice: Person, charlie: Person) -> None:
    await add(alice)
    await join(alice, charlie, "manager")
    await patch(charlie, headers=of(alice), folder="Ports")

    [change] = await read(alice)
    assert change["member_id"] == str(charlie.account.id)


@pytest.mark.parametrize(("role", "shown"), [("viewer", ["folder"]), ("accountant", ["asking_price", "folder"])])
async def test_prices_are_omitted_for_a_role_that_sees_no_money(
    alice: Person, charlie: Person, role: str, shown: list[str]
) -> None:
    await add(alice)
    await join(alice, charlie, role)
    await patch(alice, asking_price="90", currency="USD", folder="Ports")

    [change] = await read(charlie, headers=of(alice))
    assert [each["member"] for each in change["changes"]] == shown
    assert change["redacted"] == ["finance"] * ("asking_price" not in shown)


async def test_a_stranger_finds_no_history(alice: Person, bob: Person) -> None:
    added = await add(alice)
    await patch(alice, folder="Ports")
    await add(bob)

    assert await read(bob) == []
    assert (await bob.get(f"{DOMAINS}/{added['id']}/history")).status_code == 404


async def test_the_history_goes_with_the_domain(alice: Person, conn: Conn) -> None:
    await add(alice)
    await patch(alice, folder="Ports")
    assert (await alice.delete(HARBOUR)).status_code == 204

    assert await (await conn.execute(COUNT, [alice.account.id])).fetchall() == [(0,)]
