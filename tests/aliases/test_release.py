"""An owner releases names into quarantine, and only the owner can claim them before it ends."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.aliases.make import ALIASES, Owner, prune, prune_aliases, published, spec, wanted
from tests.cast import Client, Person


@pytest.fixture
async def ada(owner: Owner, domain: str) -> UUID:
    """Return the id of a name of Alice."""
    return await owner.claim_one("ada", domain)


async def test_a_released_name_is_in_quarantine(alice: Person, ada: UUID, conn: Conn) -> None:
    answer = await alice.delete(f"{ALIASES}/{ada}")
    assert answer.status_code == 200, answer.text
    gone = answer.json()
    assert (gone["status"], gone["managed_by"], gone["renews_at"], gone["version"]) == ("deleted", None, None, 2)
    until = datetime.fromisoformat(gone["quarantined_until"])
    assert timedelta(days=89) < until - clock.now() <= timedelta(days=90)
    said = {name: gone.pop(name) for name in ("charges", "claim_undone", "free_reclaim")}
    assert said == {"charges": [], "claim_undone": True, "free_reclaim": None}
    assert (await alice.get(f"{ALIASES}/{ada}")).json() == gone
    assert [name for name, _ in await published(conn, alice.account.id)] == ["alias.created", "alias.deleted"]


async def test_a_second_release_changes_nothing(alice: Person, ada: UUID, conn: Conn) -> None:
    first = (await alice.delete(f"{ALIASES}/{ada}")).json()
    again = await alice.delete(f"{ALIASES}/{ada}", headers={"If-Match": f'"{ada}.1"'})
    assert (again.status_code, again.json()) == (200, first)
    assert len(await published(conn, alice.account.id)) == 2


async def test_concurrent_releases_publish_one_event(alice: Person, ada: UUID, conn: Conn) -> None:
    answers = await asyncio.gather(*(alice.delete(f"{ALIASES}/{ada}") for _ in range(5)))
    assert {each.status_code for each in answers} == {200}
    assert len(await published(conn, alice.account.id, "alias.deleted")) == 1


async def test_only_the_account_can_claim_it_again_before_the_quarantine_ends(
    alice: Person, bob: Person, ada: UUID, owner: Owner, database: Database, domain: str
) -> None:
    await alice.delete(f"{ALIASES}/{ada}")
    other = Owner.of(database, bob)
    assert await other.unavailable(wanted("ada", domain)) == {"ada": "quarantined"}
    assert await owner.unavailable(wanted("ada", domain)) == {}
    await owner.claim(spec("ada", domain))
    gone = (await alice.get(f"{ALIASES}/{ada}")).json()
    assert (gone["status"], gone["quarantined_until"]) == ("deleted", None)


async def test_after_the_quarantine_it_is_available(
    alice: Person, bob: Person, ada: UUID, database: Database, domain: str
) -> None:
    await alice.delete(f"{ALIASES}/{ada}")
    clock.move(timedelta(days=91))
    await prune(database)
    assert await Owner.of(database, bob).unavailable(wanted("ada", domain)) == {}
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["quarantined_until"] is None


async def test_a_release_of_another_version_is_refused(alice: Person, ada: UUID) -> None:
    await alice.patch(f"{ALIASES}/{ada}", json={"note": "x"})
    answer = await alice.delete(f"{ALIASES}/{ada}", headers={"If-Match": f'"{ada}.1"'})
    assert answer.status_code == 412
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["status"] == "active"


async def test_a_suspended_name_can_be_released(alice: Person, ada: UUID, conn: Conn) -> None:
    await conn.execute("UPDATE aliases SET status = 'suspended', resumes_as = 'active' WHERE id = %s", [ada])
    assert (await alice.delete(f"{ALIASES}/{ada}")).json()["status"] == "deleted"


async def test_bob_cannot_release_names_of_alice(alice: Person, bob: Person, ada: UUID) -> None:
    for each in (ada, ids.new(), "odd"):
        assert (await bob.delete(f"{ALIASES}/{each}")).status_code == 404
    assert (await alice.test.delete(f"{ALIASES}/{ada}")).status_code == 404
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["status"] == "active"


async def test_missing_scope_or_credentials_are_refused(dana: Person, anyone: Client, ada: UUID) -> None:
    assert (await dana.delete(f"{ALIASES}/{ada}")).json()["scope"] == "aliases:write"
    assert (await anyone.delete(f"{ALIASES}/{ada}")).status_code == 401


async def test_a_sandbox_releases_in_its_own_realm(
    alice: Person, ada: UUID, database: Database, domain: str
) -> None:
    sandbox = await Owner.of_sandbox(database, alice).claim_one("ada", domain)
    assert (await alice.test.delete(f"{ALIASES}/{sandbox}")).json()["quarantined_until"] is not None
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["status"] == "active"


async def test_a_released_name_is_deleted_after_400_days(
    alice: Person, ada: UUID, owner: Owner, database: Database, domain: str
) -> None:
    kept = await owner.claim_one("grace", domain)
    await alice.delete(f"{ALIASES}/{ada}")
    for days, code in ((399, 200), (2, 404)):
        clock.move(timedelta(days=days))
        await prune_aliases(database)
        assert (await alice.get(f"{ALIASES}/{ada}")).status_code == code
    assert (await alice.get(f"{ALIASES}/{kept}")).status_code == 200


@pytest.mark.parametrize(("paid", "code"), [(timedelta(days=500), 200), (None, 200), (timedelta(days=420), 404)])
async def test_a_released_name_that_was_paid_is_kept_until_its_period_ends(
    alice: Person, ada: UUID, database: Database, conn: Conn, paid: timedelta | None, code: int
) -> None:
    await alice.delete(f"{ALIASES}/{ada}")
    renews_at = paid and clock.now() + paid
    await conn.execute("UPDATE aliases SET price_amount = 5, renews_at = %s WHERE id = %s", [renews_at, ada])
    clock.move(timedelta(days=421))
    await prune_aliases(database)
    assert (await alice.get(f"{ALIASES}/{ada}")).status_code == code
