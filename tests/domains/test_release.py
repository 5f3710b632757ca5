import pytest

from builders.aliases.errors import NamesRefused
from builders.app import Service
from builders.domains.records import DomainSource
from builders.kit.db.connections import Conn, Database
from tests.cast import Client, Person
from tests.catalog.make import Loader, fresh
from tests.domains.make import PATH, add, assign, claim, published


async def test_a_repeated_release_changes_nothing(alice: Person, conn: Conn) -> None:
    added = await add(alice, fresh())

    first, second = [await alice.delete(f"{PATH}/{added['id']}") for _ in range(2)]

    assert (first.status_code, first.json()["status"]) == (200, "released")
    assert first.headers["ETag"] == second.headers["ETag"] == f'"{added["id"]}.2"'
    assert second.json() == first.json()
    [event] = await published(conn, alice, "domain.released")
    assert event["reason"] == "released"
    assert (await alice.get(f"{PATH}/{added['id']}")).json()["status"] == "released"


async def test_a_domain_with_names_cannot_be_released(alice: Person, service: Service, database: Database) -> None:
    given = await assign(service, alice, fresh())
    async with database.transaction() as conn:
        await claim(conn, alice, f"ada@{given.domain}")

    answer = await alice.delete(f"{PATH}/{given.id}")

    assert (answer.status_code, answer.json()["code"], answer.json()["alias_count"]) == (409, "domain_in_use", 1)
    assert (await alice.get(f"{PATH}/{given.id}")).json()["status"] == "live"


async def test_the_next_holder_can_claim_quarantined_names(
    alice: Person, bob: Person, service: Service, database: Database
) -> None:
    """The quarantine ends, because the mail of the domain belongs to its holder."""
    given = await assign(service, alice, fresh())
    async with database.transaction() as conn:
        await claim(conn, alice, f"ada@{given.domain}")
    [name] = (await alice.get("/v1/aliases")).json()["items"]
    assert (await alice.delete(f"/v1/aliases/{name['id']}")).json()["quarantined_until"] is not None

    assert (await alice.delete(f"{PATH}/{given.id}")).status_code == 200
    await assign(service, bob, given.domain)

    assert (await alice.get(f"/v1/aliases/{name['id']}")).json()["quarantined_until"] is None
    async with database.transaction() as conn:
        await claim(conn, bob, f"ada@{given.domain}")


async def test_names_on_a_catalog_domain_stay_in_quarantine(
    alice: Person, bob: Person, service: Service, load: Loader, database: Database
) -> None:
    domain = fresh()
    await load({"domain": domain})
    given = await assign(service, alice, domain, DomainSource.CATALOG)
    async with database.transaction() as conn:
        await claim(conn, alice, f"ada@{domain}")
    [name] = (await alice.get("/v1/aliases")).json()["items"]
    await alice.delete(f"/v1/aliases/{name['id']}")

    assert (await alice.delete(f"{PATH}/{given.id}")).status_code == 200

    with pytest.raises(NamesRefused):
        async with database.transaction() as conn:
            await claim(conn, bob, f"ada@{domain}")


async def test_another_version_is_412(alice: Person) -> None:
    added = await add(alice, fresh())

    answer = await alice.delete(f"{PATH}/{added['id']}", headers={"If-Match": f'"{added["id"]}.7"'})

    assert answer.status_code == 412


async def test_bob_gets_the_404_of_an_unknown_domain(alice: Person, bob: Person) -> None:
    added = await add(alice, fresh())

    assert (await bob.delete(f"{PATH}/{added['id']}")).status_code == 404
    assert (await alice.get(f"{PATH}/{added['id']}")).json()["status"] == "pending"


async def test_a_release_requires_credentials(anyone: Client) -> None:
    assert (await anyone.delete(f"{PATH}/x")).status_code == 401
