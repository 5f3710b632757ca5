"""Whom invoices are made out to, and which letters about them were sent."""

from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.invoices.records import BillingDetails
from builders.kit.db.connections import Conn

FIND = "SELECT name, address, country, tax_id, updated_at FROM invoices_buyers WHERE account_id = %(account_id)s"
PUT = """
    INSERT INTO invoices_buyers (account_id, name, address, country, tax_id, updated_at)
    VALUES (%(account_id)s, %(name)s, %(address)s, %(country)s, %(tax_id)s, %(now)s)
    ON CONFLICT (account_id) DO UPDATE
    SET name = excluded.name, address = excluded.address, country = excluded.country, tax_id = excluded.tax_id,
        updated_at = excluded.updated_at
"""
LETTER_SENT = """
    SELECT message_id FROM invoices_letters
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s AND letter = %(letter)s
"""
NOTE_LETTER = """
    INSERT INTO invoices_letters (account_id, invoice_id, letter, message_id, created_at)
    VALUES (%(account_id)s, %(invoice_id)s, %(letter)s, %(message_id)s, %(now)s)
"""


async def find(conn: Conn, *, account_id: UUID) -> BillingDetails | None:
    """What the account has said."""
    async with conn.cursor(row_factory=class_row(BillingDetails)) as cursor:
        await cursor.execute(FIND, {"account_id": account_id})
        return await cursor.fetchone()


async def put(conn: Conn, *, account_id: UUID, details: BillingDetails, now: datetime) -> None:
    """Takes the place of what the account had said."""
    row = {"account_id": account_id, "name": details.name, "address": list(details.address)}
    await conn.execute(PUT, {**row, "country": details.country, "tax_id": details.tax_id, "now": now})


async def was_sent(conn: Conn, *, account_id: UUID, invoice_id: UUID, letter: str) -> bool:
    """Whether this letter about the invoice was sent; call it with the invoice locked."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "letter": letter}
    return await (await conn.execute(LETTER_SENT, row)).fetchone() is not None


async def note_letter(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, letter: str, message_id: UUID, now: datetime
) -> None:
    """Notes that the letter is sent."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "letter": letter}
    await conn.execute(NOTE_LETTER, {**row, "message_id": message_id, "now": now})
