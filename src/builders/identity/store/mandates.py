"""Uses of mandates, and the limit of all machines of an account."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.kit.db.queries import account_lock, query
from builders.kit.mandates import Amounts

_AMOUNTS = TypeAdapter[Amounts](Amounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What a client has used of a unit."""

    client: str
    unit: str
    amount: Decimal


# Without the lock, concurrent transactions would not count each other's uses.
lock_uses = account_lock("identity_mandate_uses")
# Without those of one subject, which is counted once.
list_uses = query("""
    SELECT client, unit, sum(amount) AS amount FROM identity_mandate_uses
    WHERE account_id = %(account_id)s AND used_at > %(since)s AND subject <> %(subject)s
    GROUP BY client, unit
""").all(Used)
# A use that was counted keeps its time.
insert_uses = query("""
    INSERT INTO identity_mandate_uses (account_id, client, subject, unit, amount, used_at)
    SELECT %(account_id)s, %(client)s, %(subject)s, unit, amount, %(now)s
    FROM unnest(%(units)s::text[], %(amounts)s::numeric[]) AS new (unit, amount)
    ON CONFLICT (account_id, client, subject, unit) DO NOTHING
""").run()
# More than the limit if several have the same time.
_find_limit = query("""
    SELECT max_total FROM identity_machines WHERE account_id = %(account_id)s
""").scalar(list)
_set_limit = query("""
    INSERT INTO identity_machines AS own (account_id, max_total) VALUES (%(account_id)s, %(max_total)s)
    ON CONFLICT (account_id) DO UPDATE SET max_total = EXCLUDED.max_total
""").run()


async def find_limit(conn: Conn, *, account_id: UUID) -> Amounts | None:
    """Return the limit of all machines, None without one."""
    found: list[Any] | None = await _find_limit(conn, account_id=account_id)
    return None if found is None else _AMOUNTS.validate_python(found)


async def set_limit(conn: Conn, *, account_id: UUID, limit: Amounts | None) -> None:
    """Set the limit of all machines."""
    stored = None if limit is None else Jsonb(_AMOUNTS.dump_python(limit, mode="json"))
    await _set_limit(conn, account_id=account_id, max_total=stored)
