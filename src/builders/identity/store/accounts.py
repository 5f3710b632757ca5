"""Accounts, their sandbox accounts, their linked subjects of other issuers, and their audit list."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.errors import UniqueViolation
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from builders.identity.records import About, Account, AuditAction, Identity
from builders.kit.db.connections import Conn
from builders.kit.http.callers import Actor

# The sandbox account is inserted from the account's new row: no row is inserted when the address is taken.
INSERT_ACCOUNT = """
    WITH account AS (
        INSERT INTO identity_accounts (id, sandbox_of, email, name, email_verified_at, created_at)
        VALUES (%(id)s, NULL, %(email)s, %(name)s, %(email_verified_at)s, %(created_at)s)
        ON CONFLICT (email) WHERE sandbox_of IS NULL DO NOTHING
        RETURNING *
    )
    INSERT INTO identity_accounts (id, sandbox_of, email, name, email_verified_at, created_at)
    SELECT %(sandbox_id)s, id, email, name, email_verified_at, created_at FROM account
"""
COLUMNS = """
    account.id, sandbox.id AS sandbox_id, account.email, account.name, account.email_verified_at,
    account.created_at
"""
SELECT = f"""
    SELECT {COLUMNS}
    FROM identity_accounts AS account JOIN identity_accounts AS sandbox ON sandbox.sandbox_of = account.id
    WHERE account.sandbox_of IS NULL
"""
FIND_ACCOUNT = f"{SELECT} AND account.id = %(account_id)s"
FIND_ACCOUNT_BY_EMAIL = f"{SELECT} AND account.email = %(email)s"
LIST_ACCOUNTS = f"""
    {SELECT}
      AND (%(containing)s::text IS NULL OR strpos(account.email, %(containing)s::text) > 0)
    ORDER BY account.id DESC LIMIT %(limit)s
"""
LIST_ACCOUNTS_BY_ID = f"{SELECT} AND account.id = ANY(%(account_ids)s::uuid[])"
# The sandbox account has the same address.
VERIFY_EMAIL = """
    UPDATE identity_accounts SET email_verified_at = %(now)s
    WHERE (id = %(account_id)s OR sandbox_of = %(account_id)s)
      AND email = %(email)s AND email_verified_at IS NULL
"""
CHANGE_EMAIL = """
    UPDATE identity_accounts SET email = %(email)s, email_verified_at = %(now)s
    WHERE id = %(account_id)s OR sandbox_of = %(account_id)s
"""
LIST_REAL_ACCOUNTS = """
    SELECT id, coalesce(sandbox_of, id) FROM identity_accounts WHERE id = ANY(%(account_ids)s)
"""


async def insert_account(conn: Conn, *, account: Account) -> bool:
    """Insert the account and its sandbox account; return False when the address is taken."""
    return (await conn.execute(INSERT_ACCOUNT, asdict(account))).rowcount == 1


def _cursor(conn: Conn) -> AsyncCursor[Account]:
    return conn.cursor(row_factory=class_row(Account))


async def find_account(conn: Conn, *, account_id: UUID) -> Account | None:
    """Return a real account, or None."""
    return await (await _cursor(conn).execute(FIND_ACCOUNT, {"account_id": account_id})).fetchone()


async def find_account_by_email(conn: Conn, *, email: str) -> Account | None:
    """Return the real account with the email address, or None."""
    return await (await _cursor(conn).execute(FIND_ACCOUNT_BY_EMAIL, {"email": email})).fetchone()


async def list_accounts(conn: Conn, *, containing: str | None, limit: int) -> Sequence[Account]:
    """Return real accounts whose address contains the text, newest first."""
    row = {"containing": containing, "limit": limit}
    return await (await _cursor(conn).execute(LIST_ACCOUNTS, row, prepare=False)).fetchall()


async def list_accounts_by_id(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, Account]:
    """Return the real accounts with these ids; omit unknown ones."""
    cursor = await _cursor(conn).execute(LIST_ACCOUNTS_BY_ID, {"account_ids": list(account_ids)})
    return {each.id: each for each in await cursor.fetchall()}


async def verify_email(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> bool:
    """Mark the address as verified; return False if it is not the account's, or is already verified."""
    row = {"account_id": account_id, "email": email, "now": now}
    return (await conn.execute(VERIFY_EMAIL, row)).rowcount > 0


async def change_email(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> bool:
    """Change the address; return False if another account has it."""
    try:
        async with conn.transaction():  # a savepoint: an error would abort the caller's transaction
            await conn.execute(CHANGE_EMAIL, {"account_id": account_id, "email": email, "now": now})
    except UniqueViolation:
        return False
    return True


async def list_real_accounts(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, UUID]:
    """Return the real account of each sandbox or real account."""
    rows = await (await conn.execute(LIST_REAL_ACCOUNTS, {"account_ids": list(account_ids)})).fetchall()
    return dict(rows)


FIND_LINKED_ACCOUNT = f"""
    SELECT {COLUMNS}
    FROM identity_identities AS identity
    JOIN identity_accounts AS account ON account.id = identity.account_id
    JOIN identity_accounts AS sandbox ON sandbox.sandbox_of = account.id
    WHERE identity.issuer = %(issuer)s AND identity.subject = %(subject)s
"""
INSERT_IDENTITY = """
    INSERT INTO identity_identities (issuer, subject, account_id, created_at)
    VALUES (%(issuer)s, %(subject)s, %(account_id)s, %(now)s)
    ON CONFLICT (issuer, subject) DO NOTHING
"""
DELETE_IDENTITY = """
    DELETE FROM identity_identities
    WHERE issuer = %(issuer)s AND subject = %(subject)s AND account_id = %(account_id)s
"""
LIST_IDENTITIES = """
    SELECT issuer, subject, created_at FROM identity_identities
    WHERE account_id = %(account_id)s ORDER BY created_at DESC, issuer, subject LIMIT %(limit)s
"""


async def find_linked_account(conn: Conn, *, issuer: str, subject: str) -> Account | None:
    """Return the account that the subject is linked to, or None."""
    row = {"issuer": issuer, "subject": subject}
    return await (await _cursor(conn).execute(FIND_LINKED_ACCOUNT, row)).fetchone()


async def insert_identity(conn: Conn, *, issuer: str, subject: str, account_id: UUID, now: datetime) -> bool:
    """Link the subject; return False when it is already linked."""
    row = {"issuer": issuer, "subject": subject, "account_id": account_id, "now": now}
    return (await conn.execute(INSERT_IDENTITY, row)).rowcount == 1


async def delete_identity(conn: Conn, *, issuer: str, subject: str, account_id: UUID) -> bool:
    """Remove the link; return False when there is none."""
    row = {"issuer": issuer, "subject": subject, "account_id": account_id}
    return (await conn.execute(DELETE_IDENTITY, row)).rowcount == 1


async def list_identities(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[Identity]:
    """Return the subjects that are linked to the account, the newest links first."""
    row = {"account_id": account_id, "limit": limit}
    return await (await conn.cursor(row_factory=class_row(Identity)).execute(LIST_IDENTITIES, row)).fetchall()


INSERT_ENTRY = """
    INSERT INTO identity_audit
        (account_id, id, created_at, action, actor_type, actor_id, actor_label, request_id, about)
    VALUES (%(account_id)s, %(id)s, %(now)s, %(action)s, %(actor_type)s, %(actor_id)s, %(actor_label)s,
            %(request_id)s, %(about)s)
"""
ENTRIES_PAGE = """
    coalesce(json_agg(json_build_object(
               'id', id, 'at', kit_time(created_at), 'action', action,
               'actor', json_build_object('type', actor_type, 'id', actor_id, 'label', actor_label),
               'request_id', request_id, 'about', about
           ) ORDER BY id DESC) FILTER (WHERE nth <= %(limit)s), '[]')::text,
    (array_agg(id) FILTER (WHERE nth = %(limit)s))[1]::text, coalesce(max(nth) > %(limit)s, false)
"""
LIST_ENTRIES = f"""
    SELECT {ENTRIES_PAGE} FROM (
        SELECT *, row_number() OVER (ORDER BY id DESC) AS nth FROM (
            SELECT * FROM identity_audit
            WHERE account_id = %(account_id)s AND id < %(after)s
            ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS entries
    ) AS page
"""
# Two statements: PostgreSQL plans each for its own index.
LIST_ENTRIES_OF_ACTION = f"""
    SELECT {ENTRIES_PAGE} FROM (
        SELECT *, row_number() OVER (ORDER BY id DESC) AS nth FROM (
            SELECT * FROM identity_audit
            WHERE account_id = %(account_id)s AND action = %(action)s AND id < %(after)s
            ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS entries
    ) AS page
"""


async def insert_entry(
    conn: Conn,
    *,
    account_id: UUID,
    entry_id: UUID,
    action: AuditAction,
    actor: Actor,
    request_id: str | None,
    about: About,
    now: datetime,
) -> None:
    """Insert an entry of the audit list."""
    row = {"account_id": account_id, "id": entry_id, "action": action, "request_id": request_id, "now": now}
    row |= {"actor_type": actor.type, "actor_id": actor.id, "actor_label": actor.label}
    await conn.execute(INSERT_ENTRY, {**row, "about": Jsonb(dict(about))})


async def list_entries(
    conn: Conn, *, account_id: UUID, action: AuditAction | None, after: UUID, limit: int
) -> tuple[str, str, bool]:
    """Return the JSON of up to `limit` entries before the id `after`, the last id, and whether more follow."""
    row = {"account_id": account_id, "action": action, "after": after, "limit": limit}
    cursor = await conn.execute(LIST_ENTRIES if action is None else LIST_ENTRIES_OF_ACTION, row)
    [(items, last, more)] = await cursor.fetchall()
    return items, last, more
