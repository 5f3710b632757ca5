"""Names that are suspended until an invoice is paid."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.aliases.rows import Released
from builders.kit.db.connections import Conn

LOCK_INVOICE = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(account_id)s::text || ' arrears ' || %(invoice_id)s::text, 0))
"""
LOCK_NAMES = """
    SELECT id, version FROM aliases
    WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[]) AND status <> 'deleted'
      AND (status <> 'suspended' OR resumes_as IS NOT NULL)
    ORDER BY id FOR UPDATE
"""
_TOLD = """
    alias.id, alias.domain, alias.local_part, alias.project_id, alias.manifest, alias.manifest_key,
    alias.status = 'active' AS enabled, coalesce((
        SELECT array_agg(forward.email ORDER BY forward.position) FROM aliases_forwards AS forward
        WHERE forward.account_id = alias.account_id AND forward.alias_id = alias.id
    ), '{}') AS destinations
"""
SUSPEND = f"""
    WITH noted AS (
        INSERT INTO aliases_arrears (account_id, alias_id, invoice_id, since)
        SELECT account_id, id, %(invoice_id)s, %(now)s FROM aliases
        WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[]) AND status <> 'deleted'
        ON CONFLICT DO NOTHING
    )
    UPDATE aliases AS alias
    SET status = 'suspended', resumes_as = alias.status, updated_at = %(now)s, version = alias.version + 1,
        serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
    WHERE alias.account_id = %(account_id)s AND alias.id = ANY(%(alias_ids)s::uuid[])
      AND alias.status IN ('active', 'disabled')
    RETURNING {_TOLD}
"""  # noqa: S608 - of constants
# Of two invoices that are paid at once, the second sees what the first has done: it waits for the names.
LOCK_STOPPED = """
    SELECT alias.id FROM aliases_arrears AS arrears
    JOIN aliases AS alias ON alias.account_id = arrears.account_id AND alias.id = arrears.alias_id
    WHERE arrears.account_id = %(account_id)s AND arrears.invoice_id = %(invoice_id)s
    ORDER BY alias.id FOR UPDATE OF alias
"""
RESTORE = f"""
    WITH settled AS (
        DELETE FROM aliases_arrears WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s
        RETURNING alias_id
    )
    UPDATE aliases AS alias
    SET status = alias.resumes_as, resumes_as = NULL, updated_at = %(now)s, version = alias.version + 1,
        serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
    FROM settled
    WHERE alias.account_id = %(account_id)s AND alias.id = settled.alias_id
      AND alias.status = 'suspended' AND alias.resumes_as IS NOT NULL AND NOT EXISTS (
          SELECT FROM aliases_arrears AS other
          WHERE other.account_id = alias.account_id AND other.alias_id = alias.id
            AND other.invoice_id <> %(invoice_id)s
      )
    RETURNING {_TOLD}
"""  # noqa: S608 - of constants


async def lock_invoice(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> None:
    """Until the transaction ends nobody else looks after the names of the invoice."""
    await conn.execute(LOCK_INVOICE, {"account_id": account_id, "invoice_id": invoice_id})


async def lock_names(conn: Conn, *, account_id: UUID, alias_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Lock those of the names that are neither released nor suspended by the operator; return their versions."""
    cursor = await conn.execute(LOCK_NAMES, {"account_id": account_id, "alias_ids": list(alias_ids)})
    return dict(await cursor.fetchall())


async def suspend(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, alias_ids: Sequence[UUID], now: datetime
) -> list[Released]:
    """Suspends names for the invoice; those that were not suspended before."""
    await lock_names(conn, account_id=account_id, alias_ids=alias_ids)
    row = {"account_id": account_id, "invoice_id": invoice_id, "alias_ids": list(alias_ids), "now": now}
    async with conn.cursor(row_factory=class_row(Released)) as cursor:
        await cursor.execute(SUSPEND, row)
        return await cursor.fetchall()


async def restore(conn: Conn, *, account_id: UUID, invoice_id: UUID, now: datetime) -> list[Released]:
    """Restores names that were suspended for the invoice, and are for no other."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "now": now}
    await conn.execute(LOCK_STOPPED, row)
    async with conn.cursor(row_factory=class_row(Released)) as cursor:
        await cursor.execute(RESTORE, row)
        return await cursor.fetchall()
