"""Holds that end before their time."""

from builders.aliases.records import Name
from builders.kit.db.connections import Conn, Database
from tests.aliases.make import ALIASES, Owner, fresh, registry, spec, wish
from tests.cast import Person


async def test_a_name_that_is_let_go_is_free_at_once(database: Database, conn: Conn) -> None:
    ada, bob, domain = Owner(database), Owner(database), fresh()
    held = [wish(each, domain) for each in ("ada", "grace")]
    await ada.hold(*held)
    await ada.let_go(*(each.name for each in held), Name(domain, "never"))
    assert await bob.sees(*held) == {}
    assert await registry(conn, domain) == {}
    await bob.claim(spec("ada", domain))
    await ada.let_go(held[0].name)
    assert await registry(conn, domain) == {held[0].name: "claimed"}


async def test_others_holds_and_what_is_claimed_or_quarantined_stay(database: Database, conn: Conn) -> None:
    ada, bob, domain = Owner(database), Owner(database), fresh()
    await bob.hold(wish("bob", domain))
    await ada.claim(spec("claimed", domain), spec("gone", domain))
    await ada.release((await ada.aliases())["gone"])
    await ada.hold(wish("gone", domain))
    keys = ("bob", "claimed", "gone")
    await ada.let_go(*(Name(domain, key) for key in keys))
    states = await registry(conn, domain)
    assert [states[Name(domain, key)] for key in keys] == ["held", "claimed", "quarantined"]


async def test_a_hold_that_ends_leaves_a_quarantine_as_it_was(
    alice: Person, owner: Owner, domain: str, conn: Conn
) -> None:
    ada = await owner.claim_one("ada", domain)
    await owner.release((await owner.aliases())["ada"])
    before = (await alice.get(f"{ALIASES}/{ada}")).json()
    await owner.hold(wish("ada", domain))
    await owner.let_go(Name(domain, "ada"))
    assert await registry(conn, domain) == {Name(domain, "ada"): "quarantined"}
    after = (await alice.get(f"{ALIASES}/{ada}")).json()
    assert before["quarantined_until"] is not None
    assert after == before


async def test_a_sandbox_lets_go_in_its_own_realm(database: Database, conn: Conn) -> None:
    live, domain = Owner(database), fresh()
    sandbox = Owner(database, realm=live.account_id, account_id=live.account_id)
    await live.hold(wish("ada", domain))
    await sandbox.let_go(Name(domain, "ada"))
    assert await registry(conn, domain) == {Name(domain, "ada"): "held"}
