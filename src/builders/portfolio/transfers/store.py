"""SQL of transfers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row

from builders.kit.db.connections import Conn
from builders.portfolio.registrars.records import HeldStatus, TransferDirection, TransferState
from builders.portfolio.transfers.records import (
    CodeDelivery,
    CodeRequest,
    DueDomain,
    Known,
    Move,
    MoveState,
    Observation,
)

COLUMNS = """
    domain_id, state, direction, transfer_state, transfer_status, transfer_provider, transfer_message, started_at,
    ended_at, is_expected, checked_at, failure, held_status, locked, created_at, code_requests, code_delivery,
    code_expires_at, next_check_at
"""
FIND = f"""
    SELECT {COLUMNS} FROM portfolio_transfers
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
"""
ADD = """
    INSERT INTO portfolio_transfers (account_id, domain_id, state)
    VALUES (%(account_id)s, %(domain_id)s, 'none') ON CONFLICT (account_id, domain_id) DO NOTHING
"""
LOCK = f"{FIND} FOR UPDATE"
UPDATE = """
    UPDATE portfolio_transfers
    SET state = %(state)s, direction = %(direction)s, transfer_state = %(transfer_state)s,
        transfer_status = %(transfer_status)s, transfer_provider = %(transfer_provider)s,
        transfer_message = %(transfer_message)s, started_at = %(started_at)s, ended_at = %(ended_at)s,
        is_expected = %(is_expected)s, checked_at = %(checked_at)s, failure = %(failure)s,
        held_status = %(held_status)s, locked = %(locked)s, created_at = %(created_at)s,
        next_check_at = %(next_check_at)s
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
"""
# One statement decides, so that concurrent requests do not exceed the limit.
ADD_CODE_REQUEST = """
    INSERT INTO portfolio_transfers AS known (account_id, domain_id, state, code_requests, code_delivery)
    VALUES (%(account_id)s, %(domain_id)s, 'none', ARRAY[%(now)s::timestamptz], 'pending')
    ON CONFLICT (account_id, domain_id) DO UPDATE
    SET code_requests = (known.code_requests || %(now)s::timestamptz)[
            greatest(cardinality(known.code_requests) + 2 - %(limit)s::int, 1):
        ],
        code_delivery = 'pending', code_expires_at = NULL
    WHERE cardinality(known.code_requests) < %(limit)s::int
       OR known.code_requests[cardinality(known.code_requests) + 1 - %(limit)s::int] <= %(since)s
    RETURNING true
"""
FIND_OLDEST_CODE_REQUEST = """
    SELECT code_requests[greatest(cardinality(code_requests) + 1 - %(limit)s::int, 1)] FROM portfolio_transfers
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
"""
FINISH_CODE_REQUEST = """
    UPDATE portfolio_transfers SET code_delivery = %(delivery)s, code_expires_at = %(expires_at)s
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
"""
# Claimed rows are due again after a time.
CLAIM = """
    WITH due AS (
        SELECT account_id, domain_id FROM portfolio_transfers
        WHERE next_check_at <= %(now)s ORDER BY next_check_at LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE portfolio_transfers AS known SET next_check_at = %(due_at)s FROM due
    WHERE known.account_id = due.account_id AND known.domain_id = due.domain_id
    RETURNING known.account_id, known.domain_id
"""
# The domain of a reported transfer is due now.
ADD_DUE = """
    INSERT INTO portfolio_transfers AS known (account_id, domain_id, state, next_check_at)
    SELECT %(account_id)s, domain_id, 'none', %(now)s FROM unnest(%(domain_ids)s::uuid[]) AS new (domain_id)
    ON CONFLICT (account_id, domain_id) DO UPDATE SET next_check_at = excluded.next_check_at
"""
HASTEN_OPEN = """
    UPDATE portfolio_transfers SET next_check_at = %(now)s
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
      AND transfer_state IN ('pending', 'action_required')
"""


async def find(conn: Conn, *, account_id: UUID, domain_id: UUID) -> Known | None:
    """Return the stored state of a domain."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND, {"account_id": account_id, "domain_id": domain_id})
        row = await cursor.fetchone()
        return None if row is None else _known(row)


async def lock(conn: Conn, *, account_id: UUID, domain_id: UUID) -> Known:
    """Return the stored state of a domain, locked until the transaction ends; add a missing row."""
    await conn.execute(ADD, {"account_id": account_id, "domain_id": domain_id})
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LOCK, {"account_id": account_id, "domain_id": domain_id})
        [row] = await cursor.fetchall()
        return _known(row)


async def update(conn: Conn, *, account_id: UUID, known: Known) -> None:
    """Write everything but the request for an auth code."""
    move, said = known.move, known.observation
    row = {
        "account_id": account_id,
        "domain_id": known.domain_id,
        "state": known.state,
        "direction": move and move.direction,
        "transfer_state": move and move.state,
        "transfer_status": move and move.status_raw,
        "transfer_provider": move and move.provider,
        "transfer_message": move and move.message,
        "started_at": move and move.started_at,
        "ended_at": move and move.ended_at,
        "is_expected": move and move.is_expected,
        "checked_at": said and said.checked_at,
        "failure": said and said.failure,
        "held_status": said and said.status,
        "locked": said and said.locked,
        "created_at": said and said.created_at,
        "next_check_at": known.next_check_at,
    }
    await conn.execute(UPDATE, row)


async def add_code_request(
    conn: Conn, *, account_id: UUID, domain_id: UUID, now: datetime, since: datetime, limit: int
) -> datetime | None:
    """Count a request for an auth code. If there were `limit` since a time, return the oldest of them instead."""
    row = {"account_id": account_id, "domain_id": domain_id, "now": now, "since": since, "limit": limit}
    if await (await conn.execute(ADD_CODE_REQUEST, row)).fetchone():
        return None
    [(oldest,)] = await (await conn.execute(FIND_OLDEST_CODE_REQUEST, row)).fetchall()
    found: datetime = oldest
    return found


async def finish_code_request(
    conn: Conn, *, account_id: UUID, domain_id: UUID, delivery: CodeDelivery, expires_at: datetime | None
) -> None:
    """Write how an auth code was delivered."""
    row = {"account_id": account_id, "domain_id": domain_id, "delivery": delivery, "expires_at": expires_at}
    await conn.execute(FINISH_CODE_REQUEST, row)


async def claim(conn: Conn, *, now: datetime, due_at: datetime, limit: int) -> Sequence[DueDomain]:
    """Claim up to `limit` due domains; they are due again at `due_at` unless their result is written."""
    async with conn.cursor(row_factory=class_row(DueDomain)) as cursor:
        await cursor.execute(CLAIM, {"now": now, "due_at": due_at, "limit": limit})
        return await cursor.fetchall()


async def add_due(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID], now: datetime) -> None:
    """Make domains due now, also those without a row."""
    await conn.execute(ADD_DUE, {"account_id": account_id, "domain_ids": list(domain_ids), "now": now})


async def hasten_open(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID], now: datetime) -> None:
    """Make those of the domains due now whose transfer is pending."""
    await conn.execute(HASTEN_OPEN, {"account_id": account_id, "domain_ids": list(domain_ids), "now": now})


def _known(row: Mapping[str, Any]) -> Known:
    return Known(
        domain_id=row["domain_id"],
        state=MoveState(row["state"]),
        observation=_observation(row),
        move=_move(row),
        code=_code(row),
        next_check_at=row["next_check_at"],
    )


def _observation(row: Mapping[str, Any]) -> Observation | None:
    if row["checked_at"] is None:
        return None
    return Observation(
        checked_at=row["checked_at"],
        failure=row["failure"],
        status=row["held_status"] and HeldStatus(row["held_status"]),
        locked=row["locked"],
        created_at=row["created_at"],
    )


def _move(row: Mapping[str, Any]) -> Move | None:
    if row["direction"] is None:
        return None
    return Move(
        direction=TransferDirection(row["direction"]),
        state=TransferState(row["transfer_state"]),
        status_raw=row["transfer_status"],
        provider=row["transfer_provider"],
        message=row["transfer_message"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        is_expected=row["is_expected"],
    )


def _code(row: Mapping[str, Any]) -> CodeRequest | None:
    if row["code_delivery"] is None:
        return None
    return CodeRequest(
        requested_at=row["code_requests"][-1],
        delivery=CodeDelivery(row["code_delivery"]),
        expires_at=row["code_expires_at"],
    )
