"""Reservations that are released before they expire, and the job that deletes expired ones."""

from datetime import timedelta

from builders.aliases import jobs as aliases_jobs
from builders.aliases.claims import PRUNE_BATCH
from builders.aliases.records import Name
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.aliases.make import ALIASES, Owner, fresh, registry, spec, wanted
from tests.cast import Person


async def test_a_released_reservation_is_available_immediately(database: Database, conn: Conn) -> None:
    ada, bob, domain = Owner(database), Owner(database), fresh()
    held = [wanted(each, domain) for each in ("ada", "grace")]
    await ada.reserve(*held)
    await ada.release_reservations(*(each.name for each in held), Name(domain, "never"))
    assert await bob.unavailable(*held) == {}
    assert await registry(conn, domain) == {}
    await bob.claim(spec("ada", domain))
    await ada.release_reservations(held[0].name)
    assert await registry(conn, domain) == {held[0].name: "claimed"}


async def test_other_reservations_and_claimed_or_quarantined_names_stay(database: Database, conn: Conn) -> None:
    ada, bob, domain = Owner(database), Owner(database), fresh()
    await bob.reserve(wanted("bob", domain))
    await ada.claim(spec("claimed", domain), spec("gone", domain))
    await ada.release((await ada.aliases())["gone"])
    await ada.reserve(wanted("gone", domain))
    keys = ("bob", "claimed", "gone")
    await ada.release_reservations(*(Name(domain, key) for key in keys))
    states = await registry(conn, domain)
    assert [states[Name(domain, key)] for key in keys] == ["held", "claimed", "quarantined"]


async def test_the_end_of_a_reservation_does_not_change_a_quarantine(
    alice: Person, owner: Owner, domain: str, conn: Conn
) -> None:
    ada = await owner.claim_one("ada", domain)
    await owner.release((await owner.aliases())["ada"])
    before = (await alice.get(f"{ALIASES}/{ada}")).json()
    await owner.reserve(wanted("ada", domain))
    await owner.release_reservations(Name(domain, "ada"))
    assert await registry(conn, domain) == {Name(domain, "ada"): "quarantined"}
    after = (await alice.get(f"{ALIASES}/{ada}")).json()
    assert before["quarantined_until"] is not None
    assert after == before


async def test_a_sandbox_releases_reservations_in_its_own_realm(database: Database, conn: Conn) -> None:
    live, domain = Owner(database), fresh()
    sandbox = Owner(database, realm=live.account_id, account_id=live.account_id)
    await live.reserve(wanted("ada", domain))
    await sandbox.release_reservations(Name(domain, "ada"))
    assert await registry(conn, domain) == {Name(domain, "ada"): "held"}


async def test_all_expired_reservations_are_deleted(database: Database, settings: Settings, conn: Conn) -> None:
    domain = fresh()
    many = PRUNE_BATCH + 200
    await Owner(database).reserve(*(wanted(f"crew{at:04}", domain) for at in range(many)))
    assert len(await registry(conn, domain)) == many
    clock.move(timedelta(hours=1))
    async with database.transaction() as own:
        await queue.defer(own, aliases_jobs.prune, timestamp=0)
    await queue.run_pending(database, settings)
    assert await registry(conn, domain) == {}
