"""Accounts and their sandbox twins."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.errors import UniqueViolation
from psycopg.rows import class_row

from builders.identity.records import Account
from builders.kit.db.connections import Conn

# The twin comes of the account's own row, so there is none where the address is taken.
INSERT_ACCOUNT = """
    WITH account AS (
        INSERT INTO identity_accounts (id, sandbox_of, email, name, email_verified_at, created_at)
        VALUES (%(id)s, NULL, %(email)s, %(name)s, %(verified_at)s, %(now)s)
        ON CONFLICT (email) WHERE sandbox_of IS NULL DO NOTHING
        RETURNING *
    )
    INSERT INTO identity_accounts (id, sandbox_of, email, name, email_verified_at, created_at)
    SELECT %(sandbox_id)s, id, email, name, email_verified_at, created_at FROM account
"""
FIND_ACCOUNT = """
    SELECT account.id, twin.id AS sandbox_id, account.email, account.name, account.email_verified_at,
           account.created_at
    FROM identity_accounts AS account JOIN identity_accounts AS twin ON twin.sandbox_of = account.id
    WHERE account.sandbox_of IS NULL
      AND (account.id = %(account_id)s::uuid OR account.email = %(email)s::text)
"""
LIST_ACCOUNTS = """
    SELECT account.id, sandbox.id AS sandbox_id, account.email, account.name, account.email_verified_at,
           account.created_at
    FROM identity_accounts AS account JOIN identity_accounts AS sandbox ON sandbox.sandbox_of = account.id
    WHERE account.sandbox_of IS NULL
      AND (%(containing)s::text IS NULL OR strpos(account.email, %(containing)s::text) > 0)
    ORDER BY account.id DESC LIMIT %(limit)s
"""
LIST_BY_ID = """
    SELECT account.id, twin.id AS sandbox_id, account.email, account.name, account.email_verified_at,
           account.created_at
    FROM identity_accounts AS account JOIN identity_accounts AS twin ON twin.sandbox_of = account.id
    WHERE account.sandbox_of IS NULL AND account.id = ANY(%(account_ids)s::uuid[])
"""
# Of an account and its twin at once: the twin shows the same address.
VERIFY_EMAIL = """
    UPDATE identity_accounts SET email_verified_at = %(now)s
    WHERE (id = %(account_id)s OR sandbox_of = %(account_id)s)
      AND email = %(email)s AND email_verified_at IS NULL
"""
CHANGE_EMAIL = """
    UPDATE identity_accounts SET email = %(email)s, email_verified_at = %(now)s
    WHERE id = %(account_id)s OR sandbox_of = %(account_id)s
"""
LIST_REAL = """
    SELECT id, coalesce(sandbox_of, id) FROM identity_accounts WHERE id = ANY(%(account_ids)s)
"""


async def insert_account(
    conn: Conn,
    *,
    account_id: UUID,
    sandbox_id: UUID,
    email: str,
    name: str,
    verified_at: datetime | None,
    now: datetime,
) -> bool:
    """Both twins, or nothing (False) when the address is taken."""
    row = {
        "id": account_id,
        "sandbox_id": sandbox_id,
        "email": email,
        "name": name,
        "verified_at": verified_at,
    }
    return (await conn.execute(INSERT_ACCOUNT, {**row, "now": now})).rowcount == 1


async def find_account(conn: Conn, *, account_id: UUID | None = None, email: str | None = None) -> Account | None:
    """A real account by its id or its address."""
    async with conn.cursor(row_factory=class_row(Account)) as cursor:
        await cursor.execute(FIND_ACCOUNT, {"account_id": account_id, "email": email})
        return await cursor.fetchone()


async def list_accounts(conn: Conn, *, containing: str | None, limit: int) -> Sequence[Account]:
    """Real accounts whose address contains the text, newest first."""
    async with conn.cursor(row_factory=class_row(Account)) as cursor:
        await cursor.execute(LIST_ACCOUNTS, {"containing": containing, "limit": limit}, prepare=False)
        return await cursor.fetchall()


async def list_accounts_by_id(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, Account]:
    """Return the real accounts of these identifiers; unknown ones are left out."""
    async with conn.cursor(row_factory=class_row(Account)) as cursor:
        await cursor.execute(LIST_BY_ID, {"account_ids": list(account_ids)})
        return {each.id: each for each in await cursor.fetchall()}


async def verify_email(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> bool:
    """Whether the account's address is this one and was not yet confirmed."""
    row = {"account_id": account_id, "email": email, "now": now}
    return (await conn.execute(VERIFY_EMAIL, row)).rowcount > 0


async def change_email(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> bool:
    """Whether the address was free, and so is the account's now."""
    try:
        async with conn.transaction():  # a savepoint: a clash would spoil the caller's transaction
            await conn.execute(CHANGE_EMAIL, {"account_id": account_id, "email": email, "now": now})
    except UniqueViolation:
        return False
    return True


async def list_real(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, UUID]:
    """The real account of each of these, twins and real ones alike."""
    rows = await (await conn.execute(LIST_REAL, {"account_ids": list(account_ids)})).fetchall()
    return dict(rows)
