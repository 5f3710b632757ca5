import asyncio
from typing import Any

import psycopg
import pytest

from builders.identity import accounts
from builders.identity.errors import AccountNotFound, EmailTaken
from builders.identity.records import Account
from builders.kit.db.connections import Conn, Database
from builders.kit.values import ids

ROWS = "SELECT id, sandbox_of FROM identity_accounts WHERE email = %s ORDER BY sandbox_of IS NOT NULL"


@pytest.fixture
def email() -> str:
    """An address that no other test has."""
    return f"grace-{ids.new().hex}@example.net"


async def create(database: Database, email: str) -> Account:
    async with database.transaction() as conn:
        return await accounts.create_account(conn, email=email, verified=False)


async def rows(conn: psycopg.AsyncConnection[Any], email: str) -> list[Any]:
    return await (await conn.execute(ROWS, [email])).fetchall()


async def test_an_account_has_a_sandbox_account(
    database: Database, conn: psycopg.AsyncConnection[Any], email: str
) -> None:
    account = await create(database, f" {email.upper()} ")

    assert (account.email, account.name, account.email_verified_at) == (email, email.partition("@")[0], None)
    assert await rows(conn, email) == [(account.id, None), (account.sandbox_id, account.id)]
    assert await accounts.get_account(conn, account_id=account.id) == account
    assert await accounts.get_account_by_email(conn, email=f" {email.title()}") == account


async def test_an_address_has_one_account(
    database: Database, conn: psycopg.AsyncConnection[Any], email: str
) -> None:
    account = await create(database, email)

    with pytest.raises(EmailTaken, match=email):
        await create(database, email.upper())

    assert await rows(conn, email) == [(account.id, None), (account.sandbox_id, account.id)]


async def test_a_taken_address_spoils_no_transaction(database: Database, email: str) -> None:
    account = await create(database, email)

    async with database.transaction() as conn:
        with pytest.raises(EmailTaken):
            await accounts.create_account(conn, email=email, verified=True)
        assert await accounts.get_account_by_email(conn, email=email) == account


async def test_of_concurrent_requests_for_an_address_one_succeeds(
    database: Database, conn: psycopg.AsyncConnection[Any], email: str
) -> None:
    made = await asyncio.gather(*(create(database, email) for _ in range(6)), return_exceptions=True)

    [account] = [each for each in made if isinstance(each, Account)]
    assert [type(each) for each in made if each is not account] == [EmailTaken] * 5
    assert await rows(conn, email) == [(account.id, None), (account.sandbox_id, account.id)]


async def test_a_sandbox_account_is_not_a_real_account(
    database: Database, conn: psycopg.AsyncConnection[Any], email: str
) -> None:
    account = await create(database, email)

    for unknown in (account.sandbox_id, ids.new()):
        with pytest.raises(AccountNotFound):
            await accounts.get_account(conn, account_id=unknown)


async def test_an_unknown_address_is_an_error(conn: psycopg.AsyncConnection[Any], email: str) -> None:
    with pytest.raises(AccountNotFound, match=email):
        await accounts.get_account_by_email(conn, email=email)


async def test_an_address_is_found_however_its_domain_is_written(database: Database, conn: Conn) -> None:
    name = f"grace-{ids.new().hex}"
    account = await create(database, f"{name}@xn--bcher-kva.example")

    assert await accounts.get_account_by_email(conn, email=f" {name.upper()}@Bücher.Example") == account
