"""Accounts, their sandbox accounts, their linked subjects of other issuers, and their audit list."""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from psycopg.errors import UniqueViolation

from builders.identity.records import ERASED, Account, AuditEntry, Identity
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query, recent_entries

# The sandbox account is inserted from the account's new row: no row is inserted when the address is taken.
INSERT_ACCOUNT = """
    WITH account AS (
        INSERT INTO identity_accounts (id, sandbox_of, email, name, email_verified_at, created_at)
        VALUES (%(id)s, NULL, %(email)s, %(name)s, %(email_verified_at)s, %(created_at)s)
        ON CONFLICT (email) WHERE sandbox_of IS NULL AND erased_at IS NULL DO NOTHING
        RETURNING *
    )
    INSERT INTO identity_accounts (id, sandbox_of, email, name, email_verified_at, created_at)
    SELECT %(sandbox_id)s, id, email, name, email_verified_at, created_at FROM account
"""
INSERT_PEOPLE = "INSERT INTO identity_people (account_id) VALUES (%(account_id)s)"
COLUMNS = """
    account.id, sandbox.id AS sandbox_id, account.email, account.name, account.email_verified_at,
    account.created_at, account.email_changed_at
"""
_ANY = f"""
    SELECT {COLUMNS}
    FROM identity_accounts AS account JOIN identity_accounts AS sandbox ON sandbox.sandbox_of = account.id
    WHERE account.sandbox_of IS NULL
"""
SELECT = f"{_ANY} AND account.erased_at IS NULL"
CHANGE_EMAIL = """
    UPDATE identity_accounts SET email = %(email)s, email_verified_at = %(now)s, email_changed_at = %(now)s
    WHERE id = %(account_id)s OR sandbox_of = %(account_id)s
"""


async def insert_account(conn: Conn, *, account: Account) -> bool:
    """Insert the account and its sandbox account; return False when the address is taken."""
    is_inserted = (await conn.execute(INSERT_ACCOUNT, asdict(account))).rowcount == 1
    if is_inserted:
        await conn.execute(INSERT_PEOPLE, {"account_id": account.id})
    return is_inserted


find_account = query(f"{SELECT} AND account.id = %(account_id)s").one(Account)
find_account_by_email = query(f"{SELECT} AND account.email = %(email)s").one(Account)
list_accounts = query(f"""
    {SELECT}
      AND (%(containing)s::text IS NULL OR strpos(account.email, %(containing)s::text) > 0)
    ORDER BY account.id DESC LIMIT %(limit)s
""").unprepared.all(Account)
# Also erased ones, whose rows say so in the place of a name.
list_accounts_by_id = query(f"""
    {_ANY} AND account.id = ANY(%(account_ids)s::uuid[])
""").keyed(Account, by=lambda row: row.id)
# False if it is not the account's, or is already verified.
# The sandbox account has the same address.
verify_email = query("""
    UPDATE identity_accounts SET email_verified_at = %(now)s
    WHERE (id = %(account_id)s OR sandbox_of = %(account_id)s)
      AND email = %(email)s AND email_verified_at IS NULL
""").changes()


async def change_email(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> bool:
    """Change the address; return False if another account has it."""
    try:
        async with conn.transaction():  # a savepoint: an error would abort the caller's transaction
            await conn.execute(CHANGE_EMAIL, {"account_id": account_id, "email": email, "now": now})
    except UniqueViolation:
        return False
    return True


begin_erasure = query("""
    UPDATE identity_accounts SET erased_at = coalesce(erased_at, %(now)s)
    WHERE id = %(account_id)s OR sandbox_of = %(account_id)s
""").run()
_ERASING = f"{_ANY} AND account.erased_at IS NOT NULL AND account.email <> 'erased person'"
find_erasing = query(f"{_ERASING} AND account.id = %(account_id)s").one(Account)
find_erased_at = query("SELECT erased_at FROM identity_accounts WHERE id = %(account_id)s").scalar(datetime)
list_erasing = query(f"{_ERASING} ORDER BY account.id LIMIT %(limit)s").all(Account)
end_erasure = query("""
    UPDATE identity_accounts
    SET email = %(erased)s, name = %(erased)s, email_verified_at = NULL, email_changed_at = NULL
    WHERE (id = %(account_id)s OR sandbox_of = %(account_id)s) AND erased_at IS NOT NULL
""").run(erased=ERASED)
lock_needs_person = query("""
    SELECT needs_person FROM identity_people WHERE account_id = %(account_id)s FOR NO KEY UPDATE
""").scalar(bool)
set_needs_person = query("""
    UPDATE identity_people SET needs_person = %(needed)s WHERE account_id = %(account_id)s
""").run()
# The real account of each sandbox or real account.
list_real_accounts = query("""
    SELECT id, coalesce(sandbox_of, id) FROM identity_accounts WHERE id = ANY(%(account_ids)s)
""").pairs(UUID, UUID)
find_linked_account = query(f"""
    SELECT {COLUMNS}
    FROM identity_identities AS identity
    JOIN identity_accounts AS account ON account.id = identity.account_id
    JOIN identity_accounts AS sandbox ON sandbox.sandbox_of = account.id
    WHERE identity.issuer = %(issuer)s AND identity.subject = %(subject)s AND account.erased_at IS NULL
""").one(Account)
insert_identity = query("""
    INSERT INTO identity_identities (issuer, subject, account_id, by_email, created_at)
    VALUES (%(issuer)s, %(subject)s, %(account_id)s, %(by_email)s, %(now)s)
    ON CONFLICT (issuer, subject) DO NOTHING
""").changes()
delete_identity = query("""
    DELETE FROM identity_identities
    WHERE issuer = %(issuer)s AND subject = %(subject)s AND account_id = %(account_id)s
""").changes()
delete_identities_by_email = query("""
    DELETE FROM identity_identities WHERE account_id = %(account_id)s AND by_email
""").changes()
list_identities = query("""
    SELECT issuer, subject, created_at FROM identity_identities
    WHERE account_id = %(account_id)s ORDER BY created_at DESC, issuer, subject LIMIT %(limit)s
""").all(Identity)


ENTRIES_PAGE = """
    coalesce(json_agg(json_build_object(
               'id', id, 'at', kit_time(created_at), 'action', action,
               'actor', json_build_object('type', actor_type, 'id', actor_id, 'label', actor_label),
               'request_id', request_id, 'about', about
           ) ORDER BY id DESC) FILTER (WHERE nth <= %(limit)s), '[]')::text,
    (array_agg(id) FILTER (WHERE nth = %(limit)s))[1]::text, coalesce(max(nth) > %(limit)s, false)
"""
insert_entries = query("""
    INSERT INTO identity_audit
        (account_id, id, created_at, action, actor_type, actor_id, actor_label, request_id, about)
    SELECT %(account_id)s, entry.id, %(now)s, %(action)s, %(actor_type)s, %(actor_id)s, %(actor_label)s,
           %(request_id)s, entry.about
    FROM unnest(%(entry_ids)s::uuid[], %(abouts)s::jsonb[]) AS entry (id, about)
""").run()
list_recent_entries = recent_entries(
    "identity_audit", columns="created_at, account_id, action, actor_type, actor_label, request_id, about"
).all(AuditEntry)
# The JSON of the items, the id of the last one, and whether more follow.
list_entries = query(f"""
    SELECT {ENTRIES_PAGE} FROM (
        SELECT *, row_number() OVER (ORDER BY id DESC) AS nth FROM (
            SELECT * FROM identity_audit
            WHERE account_id = %(account_id)s AND id < %(after)s
            ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS entries
    ) AS page
""").only(tuple[str, str, bool])
# Two statements: PostgreSQL plans each for its own index.
list_entries_of_action = query(f"""
    SELECT {ENTRIES_PAGE} FROM (
        SELECT *, row_number() OVER (ORDER BY id DESC) AS nth FROM (
            SELECT * FROM identity_audit
            WHERE account_id = %(account_id)s AND action = %(action)s AND id < %(after)s
            ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS entries
    ) AS page
""").only(tuple[str, str, bool])
