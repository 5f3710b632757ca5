"""SQL of transfers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows, query
from builders.portfolio.transfers.records import CodeDelivery, CodeRequest, Known, Move, MoveState, Observation

COLUMNS = """
    domain_id, state, direction, transfer_state, transfer_status, transfer_provider, transfer_message, started_at,
    ended_at, is_expected, checked_at, failure, held_status, locked, created_at, code_requests, code_delivery,
    code_expires_at, inbound_checked_at, next_check_at
"""
FIND = f"""
    SELECT {COLUMNS} FROM portfolio_transfers
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
"""


UPDATE = """
    UPDATE portfolio_transfers
    SET state = %(state)s, direction = %(direction)s, transfer_state = %(transfer_state)s,
        transfer_status = %(transfer_status)s, transfer_provider = %(transfer_provider)s,
        transfer_message = %(transfer_message)s, started_at = %(started_at)s, ended_at = %(ended_at)s,
        is_expected = %(is_expected)s, checked_at = %(checked_at)s, failure = %(failure)s,
        held_status = %(held_status)s, locked = %(locked)s, created_at = %(created_at)s,
        inbound_checked_at = %(inbound_checked_at)s, next_check_at = %(next_check_at)s
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
"""


get_oldest_code_request = query("""
    SELECT code_requests[greatest(cardinality(code_requests) + 1 - %(limit)s::int, 1)] FROM portfolio_transfers
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
""").value(datetime)
# The columns of the fields of a Move and of an Observation.
_MOVE_COLUMNS = {
    "direction": "direction",
    "state": "transfer_state",
    "status_raw": "transfer_status",
    "provider": "transfer_provider",
    "message": "transfer_message",
    "started_at": "started_at",
    "ended_at": "ended_at",
    "is_expected": "is_expected",
}
_SAID_COLUMNS = {
    "checked_at": "checked_at",
    "failure": "failure",
    "status": "held_status",
    "locked": "locked",
    "created_at": "created_at",
}
_MOVE, _SAID = TypeAdapter(Move), TypeAdapter(Observation)


def _known(**row: Any) -> Known:
    move = None if row["direction"] is None else _MOVE.validate_python(_fields(_MOVE_COLUMNS, row))
    said = None if row["checked_at"] is None else _SAID.validate_python(_fields(_SAID_COLUMNS, row))
    code = None
    if row["code_delivery"] is not None:
        requested_at, delivery = row["code_requests"][-1], CodeDelivery(row["code_delivery"])
        code = CodeRequest(requested_at=requested_at, delivery=delivery, expires_at=row["code_expires_at"])
    return Known(
        domain_id=row["domain_id"],
        state=MoveState(row["state"]),
        observation=said,
        move=move,
        code=code,
        inbound_checked_at=row["inbound_checked_at"],
        next_check_at=row["next_check_at"],
    )


def _fields(columns: Mapping[str, str], row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: row[column] for name, column in columns.items()}


find = query(FIND).one(_known)


add = query("""
    INSERT INTO portfolio_transfers (account_id, domain_id, state)
    VALUES (%(account_id)s, %(domain_id)s, 'none') ON CONFLICT (account_id, domain_id) DO NOTHING
""").run()
lock = query(f"{FIND} FOR UPDATE").only(_known)


async def update(conn: Conn, *, account_id: UUID, known: Known) -> None:
    """Write everything but the request for an auth code."""
    move, said = known.move, known.observation
    row = {
        "account_id": account_id,
        "domain_id": known.domain_id,
        "state": known.state,
        "inbound_checked_at": known.inbound_checked_at,
        "next_check_at": known.next_check_at,
        **{column: move and getattr(move, name) for name, column in _MOVE_COLUMNS.items()},
        **{column: said and getattr(said, name) for name, column in _SAID_COLUMNS.items()},
    }
    await conn.execute(UPDATE, row)


# Whether it is counted. One statement decides, so that concurrent requests do not exceed the limit.
add_code_request = query("""
    INSERT INTO portfolio_transfers AS known (account_id, domain_id, state, code_requests, code_delivery)
    VALUES (%(account_id)s, %(domain_id)s, 'none', ARRAY[%(now)s::timestamptz], 'pending')
    ON CONFLICT (account_id, domain_id) DO UPDATE
    SET code_requests = kit_after(known.code_requests, %(since)s) || excluded.code_requests,
        code_delivery = 'pending', code_expires_at = NULL
    WHERE cardinality(kit_after(known.code_requests, %(since)s)) < %(limit)s
""").changes()


finish_code_request = query("""
    UPDATE portfolio_transfers SET code_delivery = %(delivery)s, code_expires_at = %(expires_at)s
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
""").run()
# Claimed rows are due again after a time.
list_due = due_rows("portfolio_transfers", by="next_check_at", columns="account_id, domain_id").all(
    tuple[UUID, UUID]
)
claim = query("""
    WITH due AS (
        SELECT domain_id FROM portfolio_transfers
        WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND next_check_at <= %(now)s
        FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE portfolio_transfers AS known SET next_check_at = %(due_at)s FROM due
    WHERE known.account_id = %(account_id)s AND known.domain_id = due.domain_id
    RETURNING known.account_id, known.domain_id
""").all(tuple[UUID, UUID])
# The domain of a reported transfer is due now.
add_due = query("""
    INSERT INTO portfolio_transfers AS known (account_id, domain_id, state, next_check_at)
    SELECT %(account_id)s, domain_id, 'none', %(now)s FROM unnest(%(domain_ids)s::uuid[]) AS new (domain_id)
    ON CONFLICT (account_id, domain_id) DO UPDATE SET next_check_at = excluded.next_check_at
""").run()
hasten_open = query("""
    UPDATE portfolio_transfers SET next_check_at = %(now)s
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
      AND transfer_state IN ('pending', 'action_required')
""").run()
