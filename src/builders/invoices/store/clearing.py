"""The end of all invoices of a sandbox."""

from uuid import UUID

from builders.kit.db.connections import Conn

# Lines, payments and what else is of an invoice go with it. A number is never given again: its series goes on.
CLEAR = """
    WITH credit AS (
        DELETE FROM invoices_credit WHERE account_id = %(account_id)s
    ), buyer AS (
        DELETE FROM invoices_buyers WHERE account_id = %(account_id)s
    ), gone AS (
        DELETE FROM invoices_invoices WHERE account_id = %(account_id)s AND is_test RETURNING id
    )
    SELECT count(*) FROM gone
"""


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Deletes the test invoices, credit and billing details of a sandbox account; how many invoices."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])
