"""The real account of a sandbox account."""

from builders.identity import accounts
from builders.kit.db.connections import Database
from builders.kit.values import ids
from tests.cast import Person


async def test_an_account_and_its_sandbox_account_have_the_same_real_account(
    database: Database, alice: Person, bob: Person
) -> None:
    asked = [alice.account.id, alice.account.sandbox_id, bob.account.sandbox_id, ids.new()]
    for _ in range(2):  # the second time from the cache
        async with database.connection() as conn:
            found = await accounts.load_real_accounts(conn, account_ids=asked)
        assert found == {
            alice.account.id: alice.account.id,
            alice.account.sandbox_id: alice.account.id,
            bob.account.sandbox_id: bob.account.id,
        }


async def test_the_cache_is_bounded(database: Database, alice: Person, bob: Person) -> None:
    async with database.connection() as conn:
        for each in (alice, bob, alice):
            wanted = [each.account.sandbox_id]
            found = await accounts.load_real_accounts(conn, account_ids=wanted, max_cached=1)
            assert found == {each.account.sandbox_id: each.account.id}
    assert len(accounts._real_ids) == 1
