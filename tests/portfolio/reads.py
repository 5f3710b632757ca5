"""What a read of a large portfolio costs: the number of its statements and of the rows that they return."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from builders.kit.db.connections import Conn
from tests.wire import SENT, recorded

# Copies of a domain, which only their ids and names distinguish.
MULTIPLY = """
    INSERT INTO portfolio_domains
    SELECT (jsonb_populate_record(
        original, jsonb_build_object('id', gen_random_uuid(), 'domain', 'copy' || number || '.' || tld)
    )).*
    FROM portfolio_domains AS original, generate_series(1, %(count)s) AS number
    WHERE account_id = %(account_id)s AND domain = %(domain)s
"""
# Entries of a domain, which only their ids distinguish.
ADD_ENTRIES = """
    INSERT INTO portfolio_ledger_entries (
        account_id, id, domain_id, kind, amount, currency, occurred_on, source, created_at, base_currency, fx_rate,
        fx_date, base_amount, awaits_rates
    )
    SELECT account_id, gen_random_uuid(), id, 'tax', 1, 'USD', current_date - number, 'import', now(), 'USD', 1,
        current_date - number, 1, false
    FROM portfolio_domains AS original, generate_series(1, %(count)s) AS number
    WHERE account_id = %(account_id)s AND domain = %(domain)s
"""
PARAMETERS = re.compile(r"^F\t(\d+)\tBind\b", re.MULTILINE)
ROW = re.compile(r"^B\t\d+\tDataRow\b", re.MULTILINE)


@dataclass(slots=True)
class Traced:
    """How many statements a block sent, how many rows they returned, and the size of their parameters."""

    statements: int = 0
    rows: int = 0
    sent: int = 0  # bytes


@contextmanager
def traced(conn: Conn, folder: Path) -> Iterator[Traced]:
    """Count what the block sends and receives; the numbers are known at its end."""
    path, found = folder / "trace", Traced()
    prepared_from, conn.prepare_threshold = conn.prepare_threshold, None  # a statement's name would be counted
    try:
        with recorded(conn, path):
            yield found
    finally:
        conn.prepare_threshold = prepared_from  # the pool has one connection for many tests
    text = path.read_text(encoding="utf-8", errors="replace")
    found.statements, found.rows = len(SENT.findall(text)), len(ROW.findall(text))
    found.sent = sum(map(int, PARAMETERS.findall(text)))


async def multiply(conn: Conn, *, account_id: UUID, domain: str, count: int) -> None:
    """Add copies of a domain of a portfolio."""
    async with conn.transaction():
        await conn.execute(MULTIPLY, {"account_id": account_id, "domain": domain, "count": count})


async def add_entries(conn: Conn, *, account_id: UUID, domain: str, count: int) -> None:
    """Add equal entries to the ledger of a domain."""
    async with conn.transaction():
        await conn.execute(ADD_ENTRIES, {"account_id": account_id, "domain": domain, "count": count})
