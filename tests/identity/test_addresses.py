"""The functions that verify and change an account's email address; the profile decides who may call them."""

import json
from typing import Any

import pytest

from builders.identity import accounts
from builders.identity.errors import AccountNotFound, EmailTaken
from builders.identity.records import Account
from builders.kit.db.connections import Conn, Database
from builders.kit.http.pagination import PageRequest
from builders.kit.values import ids

PUBLISHED = """
    SELECT name, data FROM kit_outbox WHERE account_id = %s AND (name ~ '^email' OR name = 'account.created')
    ORDER BY id
"""


async def make(database: Database, *, verified: bool = False) -> Account:
    async with database.transaction() as conn:
        return await accounts.create_account(conn, email=fresh(), verified=verified)


def fresh() -> str:
    return f"ada-{ids.new().hex}@example.net"


async def published_events(conn: Conn, account: Account) -> list[tuple[str, dict[str, Any]]]:
    found = await conn.execute(PUBLISHED, [account.id])
    return [(name, json.loads(data)) for name, data in await found.fetchall()]


@pytest.mark.parametrize("verified", [True, False])
async def test_a_new_account_says_whether_its_address_is_confirmed(
    database: Database, conn: Conn, *, verified: bool
) -> None:
    assert await published_events(conn, await make(database, verified=verified)) == [
        ("account.created", {"verified": verified})
    ]


async def test_an_address_is_verified_once(database: Database, conn: Conn) -> None:
    account = await make(database)
    for _ in range(2):
        async with database.transaction() as own:
            assert await accounts.verify_email(own, account_id=account.id, email=f" {account.email.upper()}")

    after = await accounts.get_account(conn, account_id=account.id)
    assert after.email_verified_at is not None
    assert [name for name, _ in await published_events(conn, account)] == ["account.created", "email.verified"]
    audited = await accounts.list_audit(conn, account_id=account.id, page=PageRequest())
    assert audited.items.count('"email.verified"') == 1


async def test_another_address_than_the_accounts_is_not_verified(database: Database, conn: Conn) -> None:
    account = await make(database)

    assert not await accounts.verify_email(conn, account_id=account.id, email=fresh())
    assert not await accounts.verify_email(conn, account_id=ids.new(), email=account.email)
    assert (await accounts.get_account(conn, account_id=account.id)).email_verified_at is None


async def test_an_address_is_changed_and_taken_as_confirmed(database: Database, conn: Conn) -> None:
    account, email = await make(database), fresh()
    async with database.transaction() as own:
        await accounts.change_email(own, account_id=account.id, email=email)

    after = await accounts.get_account_by_email(conn, email=email)
    assert (after.id, after.sandbox_id) == (account.id, account.sandbox_id)
    assert after.email_verified_at is not None
    assert [name for name, _ in await published_events(conn, account)][1:] == ["email.changed", "email.verified"]


async def test_a_taken_address_spoils_no_transaction(database: Database) -> None:
    one, other = await make(database), await make(database)

    async with database.transaction() as conn:
        with pytest.raises(EmailTaken):
            await accounts.change_email(conn, account_id=one.id, email=other.email)
        assert (await accounts.get_account(conn, account_id=one.id)).email == one.email


async def test_an_unknown_account_has_no_address(conn: Conn) -> None:
    with pytest.raises(AccountNotFound):
        await accounts.change_email(conn, account_id=ids.new(), email=fresh())
