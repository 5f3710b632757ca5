"""Renewals, released and undone claims, and aliases that are suspended for unpaid invoices."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from builders.aliases.records import Alias, Claim, Name
from builders.aliases.store.aliases import (
    CHANGED,
    COLUMNS,
    RELEASED,
    SERIAL,
    alias_from_row,
    cursor_of,
    name_columns,
    released_columns,
)
from builders.kit.db.connections import Conn
from builders.kit.db.queries import accounts_with, query

LOCK_RELEASED = f"SELECT {COLUMNS} {RELEASED} ORDER BY alias.id FOR UPDATE OF alias"
LIST_USED = """
    SELECT undone.domain, undone.key FROM aliases_undone AS undone
    JOIN unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
      ON undone.domain = wanted.domain AND undone.key = wanted.key
    WHERE undone.account_id = %(account_id)s
"""
# Not `renews_at`: a later renewal has moved it. A locked row is read as the transaction left it that had the lock.
lock_claims = query("""
    SELECT id, claimed_at, status = 'deleted' AS is_released,
           CASE price_interval WHEN 'year' THEN claimed_at + interval '1 year'
                               WHEN 'month' THEN claimed_at + interval '1 month' END AS period_end
    FROM aliases WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[])
    ORDER BY id FOR UPDATE
""").keyed(Claim, by=lambda row: row.id)
# If two invoices of an alias are paid concurrently, the second transaction waits, and sees the deletion by the
# first.
lock_suspended = query("""
    SELECT alias.id FROM aliases_arrears AS arrears
    JOIN aliases AS alias ON alias.account_id = arrears.account_id AND alias.id = arrears.alias_id
    WHERE arrears.account_id = %(account_id)s AND arrears.invoice_id = %(invoice_id)s
    ORDER BY alias.id FOR UPDATE OF alias
""").run()
# Accounts after an id with a yearly, or monthly, name that renews by then.
list_due_accounts = accounts_with(
    "aliases",
    only="""renews_at IS NOT NULL AND status IN ('active', 'disabled')
      AND (price_interval = 'year' AND renews_at <= %(year)s
           OR price_interval = 'month' AND renews_at <= %(month)s)""",
).scalars(UUID)
# The first transaction to lock the names renews them; one that waited finds none due.
lock_due = query(f"""
    SELECT {COLUMNS} FROM aliases AS alias
    WHERE account_id = %(account_id)s AND renews_at IS NOT NULL AND status IN ('active', 'disabled')
      AND (price_interval = 'year' AND renews_at <= %(year)s
           OR price_interval = 'month' AND renews_at <= %(month)s)
    ORDER BY id LIMIT %(limit)s FOR UPDATE
""").all(alias_from_row)
# The version does not change: it counts the changes of the owner, and plans depend on it.
set_renewals = query("""
    UPDATE aliases AS alias SET renews_at = next.until
    FROM unnest(%(alias_ids)s::uuid[], %(untils)s::timestamptz[]) AS next (id, until)
    WHERE alias.account_id = %(account_id)s AND alias.id = next.id
""").run()


async def lock_released(conn: Conn, *, account_id: UUID, names: Collection[Name], now: datetime) -> list[Alias]:
    """Lock the account's released aliases of names whose last period has not ended, and was not undone."""
    row = {"account_id": account_id, "now": now, **released_columns(names)}
    return await (await cursor_of(conn).execute(LOCK_RELEASED, row)).fetchall()


async def list_used(conn: Conn, *, account_id: UUID, names: Collection[Name]) -> frozenset[Name]:
    """Return the names of which the account has undone a claim."""
    cursor = await conn.execute(LIST_USED, {"account_id": account_id, **name_columns(names)})
    return frozenset(Name(*found) for found in await cursor.fetchall())


# The aliases whose release undid their claim.
list_undone = query("""
    SELECT alias_id FROM aliases_undone WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])
""").set_of(UUID)
# Returns those whose name has no other undone claim.
mark_undone = query("""
    INSERT INTO aliases_undone (account_id, domain, key, alias_id)
    SELECT account_id, domain, key, id FROM aliases
    WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[]) ORDER BY id
    ON CONFLICT (account_id, domain, key) DO NOTHING
    RETURNING alias_id
""").set_of(UUID)
# Blocks other settlements of the invoice until the transaction ends.
lock_invoice = query("""
    SELECT pg_advisory_xact_lock(hashtextextended(%(account_id)s::text || ' arrears ' || %(invoice_id)s::text, 0))
""").run()
lock_aliases = query("""
    SELECT id, version FROM aliases
    WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[]) AND status <> 'deleted'
      AND (status <> 'suspended' OR resumes_as IS NOT NULL)
    ORDER BY id FOR UPDATE
""").pairs(UUID, int)
# Of those that were not suspended before; call `lock_aliases` first.
suspend = query(f"""
    -- The invoice is recorded for every alias, also for one that another invoice has suspended.
    WITH recorded AS (
        INSERT INTO aliases_arrears (account_id, alias_id, invoice_id)
        SELECT account_id, id, %(invoice_id)s FROM aliases
        WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[]) AND status <> 'deleted'
        ON CONFLICT DO NOTHING
    ), new AS (
        SELECT id, {SERIAL} FROM unnest(%(alias_ids)s::uuid[]) AS id
    )
    UPDATE aliases AS alias
    SET status = 'suspended', resumes_as = alias.status, updated_at = %(now)s, version = alias.version + 1,
        {CHANGED}
    FROM new
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id
      AND alias.status IN ('active', 'disabled')
    RETURNING {COLUMNS}
""").all(alias_from_row)
# Of the aliases that only this invoice has suspended; call `lock_suspended` first.
restore = query(f"""
    WITH settled AS (
        DELETE FROM aliases_arrears WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s
        RETURNING alias_id
    ), new AS (
        SELECT alias_id AS id, {SERIAL} FROM settled
    )
    UPDATE aliases AS alias
    SET status = alias.resumes_as, resumes_as = NULL, updated_at = %(now)s, version = alias.version + 1,
        {CHANGED}
    FROM new
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id
      AND alias.status = 'suspended' AND alias.resumes_as IS NOT NULL
      -- No other unpaid invoice suspends it.
      AND NOT EXISTS (
          SELECT FROM aliases_arrears AS other
          WHERE other.account_id = %(account_id)s AND other.alias_id = alias.id
            AND other.invoice_id <> %(invoice_id)s
      )
    RETURNING {COLUMNS}
""").all(alias_from_row)
note_buyer = query("""
    INSERT INTO aliases_buyers (account_id, alias_id, client)
    SELECT %(account_id)s, bought, %(client)s FROM unnest(%(alias_ids)s::uuid[]) AS bought
    ON CONFLICT (account_id, alias_id) DO UPDATE SET client = EXCLUDED.client
""").run()
list_buyers = query("""
    SELECT alias_id, client FROM aliases_buyers
    WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])
""").pairs(UUID, str)
# Suspended by the operator.
list_blocked = query("""
    SELECT local_part || '@' || domain FROM aliases
    WHERE account_id = %(account_id)s AND status = 'suspended' AND resumes_as IS NULL ORDER BY id LIMIT %(limit)s
""").scalars(str)
