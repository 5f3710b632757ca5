"""Whose twin an account is."""

from builders.identity import accounts, service as identity
from builders.kit.db.connections import Database
from builders.kit.values import ids
from tests.cast import Person


async def test_a_twin_and_its_owner_are_both_the_owner(database: Database, alice: Person, bob: Person) -> None:
    asked = [alice.account.id, alice.account.sandbox_id, bob.account.sandbox_id, ids.new()]
    for _ in range(2):  # the second time from memory
        async with database.connection() as conn:
            found = await identity.find_real_accounts(conn, account_ids=asked)
        assert found == {
            alice.account.id: alice.account.id,
            alice.account.sandbox_id: alice.account.id,
            bob.account.sandbox_id: bob.account.id,
        }


async def test_no_more_is_remembered_than_fits(database: Database, alice: Person, bob: Person) -> None:
    before = accounts.MAX_CACHED
    accounts.MAX_CACHED = 1
    try:
        async with database.connection() as conn:
            for each in (alice, bob, alice):
                found = await identity.find_real_accounts(conn, account_ids=[each.account.sandbox_id])
                assert found == {each.account.sandbox_id: each.account.id}
        assert len(accounts._real_ids) == 1
    finally:
        accounts.MAX_CACHED = before
