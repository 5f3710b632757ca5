"""Operations on many domains, as manifests use them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from builders.app import Service
from builders.domains import account_domains
from builders.domains.records import AccountDomain, DomainChange
from builders.kit.db.connections import Conn, Database
from builders.kit.values import ids
from builders.kit.values.conflicts import KeysTaken, ResourcesChanged
from tests.cast import Person
from tests.catalog.make import Loader, fresh
from tests.domains.make import add, assign, make_live, published
from tests.domains.nameserver import Nameserver
from tests.wire import counted

MANIFEST = "acme-mail"


def change(domain: AccountDomain, key: str | None = None, **members: object) -> DomainChange:
    """Return a change of the manifest key and the given members only."""
    wanted = DomainChange(
        id=domain.id,
        version=domain.version,
        catch_all=domain.catch_all,
        default_destination=domain.default_destination,
        manifest=MANIFEST if key else None,
        manifest_key=key,
    )
    return replace(wanted, **members)  # type: ignore[arg-type] # by their names


async def update(database: Database, person: Person, changes: Sequence[DomainChange]) -> None:
    """Change domains in one transaction."""
    async with database.transaction() as conn:
        await account_domains.update_many(conn, account_id=person.account.id, changes=changes)


async def managed(database: Database, person: Person) -> dict[str, AccountDomain]:
    """Return the domains that the manifest manages, by key."""
    async with database.connection() as conn:
        found = await account_domains.load_domains(
            conn, account_id=person.account.id, domains=[], manifest=MANIFEST
        )
    return {each.manifest_key or "": each for each in found.values()}


async def test_find_domains_returns_live_domains_of_the_account(
    alice: Person, bob: Person, service: Service, dns: Nameserver, conn: Conn
) -> None:
    live, given = await make_live(alice, dns, fresh()), await assign(service, alice, fresh())
    waiting, bobs = await add(alice, fresh()), await make_live(bob, dns, fresh())
    asked = [live["domain"], given.domain, waiting["domain"], bobs["domain"], "nowhere.example"]

    found = await account_domains.load_domains(conn, account_id=alice.account.id, domains=asked)

    assert found.keys() == {live["domain"], given.domain}
    assert all(each.claimable for each in found.values())


async def test_a_domain_that_is_in_the_catalog_too_has_its_rules(
    alice: Person, service: Service, load: Loader, conn: Conn
) -> None:
    given = await assign(service, alice, fresh())
    await load({"domain": given.domain, "min_local_length": 3})

    found = await account_domains.load_domains(conn, account_id=alice.account.id, domains=[given.domain])

    assert found[given.domain].rules.min_length == 3


async def test_a_lock_for_a_claim_delays_the_release(alice: Person, service: Service, database: Database) -> None:
    given = await assign(service, alice, fresh())
    async with database.transaction() as conn:
        await account_domains.load_domains(conn, account_id=alice.account.id, domains=[given.domain], lock=True)
        releasing = asyncio.create_task(alice.delete(f"/v1/domains/{given.id}"))
        done, _ = await asyncio.wait({releasing}, timeout=0.2)
        assert not done
    assert (await releasing).status_code == 200


async def test_the_number_of_statements_does_not_depend_on_the_number_of_changes(
    alice: Person, service: Service, database: Database, conn: Conn, tmp_path: Path
) -> None:
    counts: list[int] = []
    for count in (2, 8):
        given = [await assign(service, alice, fresh()) for _ in range(count)]
        async with database.transaction() as writing:
            with counted(writing, tmp_path / "wire") as sent:
                changes = [change(each, each.domain, default_destination="a@example.net") for each in given]
                await account_domains.update_many(writing, account_id=alice.account.id, changes=changes)
        counts += sent

    assert counts[0] == counts[1]
    assert len(await published(conn, alice, "domain.updated")) == 10
    assert {each.default_destination for each in (await managed(database, alice)).values()} == {"a@example.net"}


async def test_one_changed_version_stops_all_changes(alice: Person, service: Service, database: Database) -> None:
    first, second = [await assign(service, alice, fresh()) for _ in range(2)]

    with pytest.raises(ResourcesChanged) as refused:
        await update(database, alice, [change(first, "one"), change(second, "two", version=9)])

    assert refused.value.changed == {second.id}
    assert await managed(database, alice) == {}


async def test_a_key_belongs_to_one_domain_and_two_can_be_swapped(
    alice: Person, service: Service, database: Database
) -> None:
    first, second = [await assign(service, alice, fresh()) for _ in range(2)]
    await update(database, alice, [change(first, "one"), change(second, "two")])
    before = await managed(database, alice)

    with pytest.raises(KeysTaken) as refused:
        await update(database, alice, [change(before["one"], "two")])
    await update(database, alice, [change(before["one"], "two"), change(before["two"], "one")])

    assert refused.value.keys == {(MANIFEST, "two")}
    after = await managed(database, alice)
    assert (after["one"].id, after["two"].id) == (second.id, first.id)


async def test_domains_of_another_account_cannot_be_changed(
    alice: Person, bob: Person, service: Service, database: Database
) -> None:
    given = await assign(service, alice, fresh())

    with pytest.raises(ResourcesChanged):
        await update(database, bob, [change(given, "mine"), change(replace(given, id=ids.new()), "other")])


async def test_no_manifest_manages_a_released_domain(alice: Person, service: Service, database: Database) -> None:
    given = await assign(service, alice, fresh())
    await update(database, alice, [change(given, "one")])
    await alice.delete(f"/v1/domains/{given.id}")

    assert await managed(database, alice) == {}
