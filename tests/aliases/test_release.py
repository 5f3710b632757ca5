"""Names that their owner releases: into quarantine, from which only they get them back."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.aliases.make import ALIASES, Owner, prune, spec, told, wish
from tests.cast import Client, Person


@pytest.fixture
async def ada(owner: Owner, domain: str) -> UUID:
    """A name of Alice's."""
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
    assert [name for name, _ in await told(conn, alice.account.id)] == ["alias.created", "alias.deleted"]


async def test_to_release_it_again_changes_nothing(alice: Person, ada: UUID, conn: Conn) -> None:
    first = (await alice.delete(f"{ALIASES}/{ada}")).json()
    again = await alice.delete(f"{ALIASES}/{ada}", headers={"If-Match": f'"{ada}.1"'})
    assert (again.status_code, again.json()) == (200, first)
    assert len(await told(conn, alice.account.id)) == 2


async def test_a_name_released_by_many_at_once_is_told_of_once(alice: Person, ada: UUID, conn: Conn) -> None:
    answers = await asyncio.gather(*(alice.delete(f"{ALIASES}/{ada}") for _ in range(5)))
    assert {each.status_code for each in answers} == {200}
    assert len(await told(conn, alice.account.id, "alias.deleted")) == 1


async def test_only_the_account_has_it_back_before_the_quarantine_ends(
    alice: Person, bob: Person, ada: UUID, owner: Owner, database: Database, domain: str
) -> None:
    await alice.delete(f"{ALIASES}/{ada}")
    other = Owner.of(database, bob)
    assert await other.sees(wish("ada", domain)) == {"ada": "quarantined"}
    assert await owner.sees(wish("ada", domain)) == {}
    await owner.claim(spec("ada", domain))
    gone = (await alice.get(f"{ALIASES}/{ada}")).json()
    assert (gone["status"], gone["quarantined_until"]) == ("deleted", None)


async def test_after_the_quarantine_it_is_free(
    alice: Person, bob: Person, ada: UUID, database: Database, domain: str
) -> None:
    await alice.delete(f"{ALIASES}/{ada}")
    clock.move(timedelta(days=91))
    await prune(database)
    assert await Owner.of(database, bob).sees(wish("ada", domain)) == {}
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["quarantined_until"] is None


async def test_a_version_that_was_not_seen_is_not_released(alice: Person, ada: UUID) -> None:
    await alice.patch(f"{ALIASES}/{ada}", json={"note": "x"})
    answer = await alice.delete(f"{ALIASES}/{ada}", headers={"If-Match": f'"{ada}.1"'})
    assert answer.status_code == 412
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["status"] == "active"


async def test_a_suspended_name_can_be_released(alice: Person, ada: UUID, conn: Conn) -> None:
    await conn.execute("UPDATE aliases SET status = 'suspended', resumes_as = 'active' WHERE id = %s", [ada])
    assert (await alice.delete(f"{ALIASES}/{ada}")).json()["status"] == "deleted"


async def test_bob_releases_nothing_of_alices(alice: Person, bob: Person, ada: UUID) -> None:
    for each in (ada, ids.new(), "odd"):
        assert (await bob.delete(f"{ALIASES}/{each}")).status_code == 404
    assert (await alice.test.delete(f"{ALIASES}/{ada}")).status_code == 404
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["status"] == "active"


async def test_who_lacks_the_scope_or_credentials_is_refused(dana: Person, anyone: Client, ada: UUID) -> None:
    assert (await dana.delete(f"{ALIASES}/{ada}")).json()["scope"] == "aliases:write"
    assert (await anyone.delete(f"{ALIASES}/{ada}")).status_code == 401


async def test_a_sandbox_releases_in_its_own_realm(
    alice: Person, ada: UUID, database: Database, domain: str
) -> None:
    twin = await Owner.twin_of(database, alice).claim_one("ada", domain)
    assert (await alice.test.delete(f"{ALIASES}/{twin}")).json()["quarantined_until"] is not None
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["status"] == "active"
