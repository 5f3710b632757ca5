"""Assignment of domains by the operator."""

import asyncio

import pytest

from builders.app import Service
from builders.domains import account_domains
from builders.domains.errors import DomainInCatalog, DomainInUse, DomainNotFound, DomainNotInCatalog, DomainTaken
from builders.domains.records import AccountDomainStatus, DomainProof, DomainSource
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from tests.cast import Person
from tests.catalog.make import Loader, fresh
from tests.domains.make import PATH, add, assign, claim, make_live, published
from tests.domains.nameserver import Nameserver


@pytest.mark.parametrize("source", [DomainSource.OWNED, DomainSource.LEASED, DomainSource.CONSIGNED])
async def test_a_domain_is_live_without_a_proof(
    alice: Person, service: Service, source: DomainSource, conn: Conn
) -> None:
    given = await assign(service, alice, fresh(), source)

    found = (await alice.get(f"{PATH}/{given.id}")).json()
    assert (found["status"], found["source"], found["verification"]["method"]) == ("live", source, "operator")
    assert (
        len(await published(conn, alice, "domain.added"))
        == len(await published(conn, alice, "domain.verified"))
        == 1
    )


async def test_a_repeat_changes_nothing(alice: Person, service: Service, conn: Conn) -> None:
    given = await assign(service, alice, fresh())

    assert await assign(service, alice, given.domain) == given
    assert len(await published(conn, alice, "domain.verified")) == 1


async def test_a_catalog_domain_can_be_assigned(alice: Person, service: Service, load: Loader) -> None:
    domain, all_of_it = fresh(), fresh()
    await load({"domain": domain, "catch_all": "false"}, {"domain": all_of_it, "catch_all": "true"})

    given = [await assign(service, alice, each, DomainSource.CATALOG) for each in (domain, all_of_it)]

    assert [(each.status, each.claimable) for each in given] == [
        (AccountDomainStatus.LIVE, True),
        (AccountDomainStatus.LIVE, False),
    ]


@pytest.mark.parametrize("source", [DomainSource.OWNED, DomainSource.LEASED])
async def test_a_domain_that_the_catalog_sells_cannot_be_owned_or_leased(
    alice: Person, service: Service, load: Loader, source: DomainSource
) -> None:
    domain = fresh()
    await load({"domain": domain})
    with pytest.raises(DomainInCatalog, match="all accounts can claim names"):
        await assign(service, alice, domain, source)

    await load({"domain": domain, "status": "retired"})
    assert (await assign(service, alice, domain, source)).source is source


async def test_the_source_catalog_needs_a_catalog_domain(alice: Person, service: Service) -> None:
    with pytest.raises(DomainNotInCatalog):
        await assign(service, alice, fresh(), DomainSource.CATALOG)


async def test_the_assignment_of_a_pending_domain_replaces_its_proof(alice: Person, service: Service) -> None:
    added = await add(alice, fresh())

    given = await assign(service, alice, added["domain"])

    assert str(given.id) == added["id"]
    assert (given.status, given.proof, given.source) == (
        AccountDomainStatus.LIVE,
        DomainProof.OPERATOR,
        DomainSource.LEASED,
    )


async def test_a_domain_of_another_account_cannot_be_assigned(
    alice: Person, bob: Person, service: Service, dns: Nameserver
) -> None:
    hers = await make_live(alice, dns, fresh())

    with pytest.raises(DomainTaken):
        await assign(service, bob, hers["domain"])


async def test_one_of_concurrent_assignments_succeeds(alice: Person, bob: Person, service: Service) -> None:
    domain = fresh()

    given = await asyncio.gather(
        assign(service, alice, domain), assign(service, bob, domain), return_exceptions=True
    )

    assert [type(each) for each in given].count(DomainTaken) == 1


async def test_an_invalid_domain_is_refused(alice: Person, service: Service) -> None:
    with pytest.raises(Invalid):
        await assign(service, alice, "localhost")


async def test_unassign_releases_the_domain(
    alice: Person, bob: Person, service: Service, database: Database
) -> None:
    given = await assign(service, alice, fresh())
    async with database.transaction() as conn:
        await account_domains.unassign(conn, domain=given.domain)

    assert (await alice.get(f"{PATH}/{given.id}")).json()["status"] == "released"
    assert (await assign(service, bob, given.domain)).status is AccountDomainStatus.LIVE
    async with database.connection() as conn:
        [event] = await published(conn, alice, "domain.released")
    assert event["reason"] == "unassigned"


async def test_a_domain_with_names_cannot_be_released(alice: Person, service: Service, database: Database) -> None:
    given = await assign(service, alice, fresh())
    async with database.transaction() as conn:
        await claim(conn, alice, f"ada@{given.domain}")

    with pytest.raises(DomainInUse):
        async with database.transaction() as conn:
            await account_domains.unassign(conn, domain=given.domain)


async def test_unassign_with_names_releases_them(
    alice: Person, bob: Person, service: Service, database: Database
) -> None:
    given = await assign(service, alice, fresh())
    async with database.transaction() as conn:
        for name in ("ada", "eve"):
            await claim(conn, alice, f"{name}@{given.domain}")
    async with database.transaction() as conn:
        await account_domains.unassign(conn, domain=given.domain, with_names=True)

    await assign(service, bob, given.domain)
    async with database.transaction() as conn:
        assert len(await published(conn, alice, "alias.deleted")) == 2
        await claim(conn, bob, f"ada@{given.domain}")


async def test_a_domain_without_a_holder_is_not_found(conn: Conn) -> None:
    with pytest.raises(DomainNotFound):
        await account_domains.unassign(conn, domain=fresh())


async def test_the_newest_domains_are_listed_without_those_of_sandboxes(
    alice: Person, service: Service, conn: Conn
) -> None:
    first, second = [await assign(service, alice, fresh()) for _ in range(2)]
    await add(alice.test, fresh())

    found = await account_domains.list_newest(conn, account_id=alice.account.id, limit=10)
    live = await account_domains.list_newest(conn, status=AccountDomainStatus.LIVE, limit=1000)

    assert [each.id for each in found] == [second.id, first.id]
    assert {first.id, second.id} <= {each.id for each in live}
