"""All SQL of mail. The key of a message is its account, its id and the time in the id, which is its partition."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import class_row, kwargs_row

from builders.kit.db import partitions
from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.kit.values.ids import AccountSelection, selection_parameter
from builders.mail.records import RETENTION, Category, Message, Origin, Status, Topic

partitions.declare("mail_messages", retention=RETENTION)

INSERT = """
    INSERT INTO mail_messages (account_id, id, created_at, template, category, recipient, content, status,
                               expires_at, next_try_at)
    VALUES (%(account_id)s, %(id)s, %(created_at)s, %(template)s, %(category)s, %(recipient)s, %(content)s,
            %(status)s, %(expires_at)s, %(next_try_at)s)
"""
COLUMNS = """
    id, account_id, template, category, recipient, status, attempts, last_code, last_error, header_id,
    created_at, expires_at, next_try_at, sent_at
"""
FIND = f"""
    SELECT {COLUMNS} FROM mail_messages
    WHERE account_id = %(account_id)s AND id = %(id)s AND created_at = %(created_at)s
"""
# The index on the age avoids sorting the messages of a month. Not prepared: a generic plan would fit no filter.
LIST = f"""
    SELECT {COLUMNS} FROM mail_messages
    WHERE (%(account_id)s::uuid IS NULL OR account_id = %(account_id)s)
      AND (%(status)s::text IS NULL OR status = %(status)s)
    ORDER BY created_at DESC, id DESC LIMIT %(limit)s
"""
LIST_NOTICES = f"""
    SELECT {COLUMNS} FROM mail_messages
    WHERE account_id = %(account_id)s AND id < %(before)s AND category = 'notice'
    ORDER BY id DESC LIMIT %(limit)s
"""
FIND_ORIGINS = """
    SELECT message.id, message.account_id, message.sent_at
    FROM unnest(%(ids)s::uuid[], %(times)s::timestamptz[]) AS asked (id, created_at)
    JOIN mail_messages AS message ON message.id = asked.id AND message.created_at = asked.created_at
"""
# The attempt is counted before it is made, so that one which kills its worker counts.
CLAIM = """
    UPDATE mail_messages
    SET attempts = attempts + 1, claimed_until = %(until)s, next_try_at = %(until)s,
        header_id = coalesce(header_id, %(header_id)s)
    WHERE account_id = %(account_id)s AND id = %(id)s AND created_at = %(created_at)s
      AND status IN ('queued', 'deferred') AND (claimed_until IS NULL OR claimed_until <= %(now)s)
    RETURNING template, content, attempts, header_id, created_at, expires_at
"""
DEFER = """
    UPDATE mail_messages
    SET status = 'deferred', last_code = %(code)s, last_error = %(error)s, next_try_at = %(next_try_at)s,
        claimed_until = NULL
    WHERE account_id = %(account_id)s AND id = %(id)s AND created_at = %(created_at)s
      AND status IN ('queued', 'deferred') AND attempts = %(attempts)s
"""
FINISH = """
    UPDATE mail_messages
    SET status = %(status)s, last_code = %(code)s, last_error = %(error)s, sent_at = %(sent_at)s,
        content = NULL, next_try_at = NULL, claimed_until = NULL
    WHERE account_id = %(account_id)s AND id = %(id)s AND created_at = %(created_at)s
      AND status IN ('queued', 'deferred') AND (%(attempts)s::smallint IS NULL OR attempts = %(attempts)s)
"""
DELETE_MESSAGES = """
    DELETE FROM mail_messages
    WHERE account_id = %(account_id)s AND id = ANY(%(ids)s) AND created_at = ANY(%(times)s)
"""
# Messages whose job was lost or whose next attempt is due. next_try_at moves, so that the next sweep skips them.
SWEEP = """
    UPDATE mail_messages AS message SET next_try_at = %(again)s
    FROM (
        SELECT account_id, id, created_at FROM mail_messages
        WHERE next_try_at <= %(now)s ORDER BY next_try_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE message.account_id = due.account_id AND message.id = due.id AND message.created_at = due.created_at
    RETURNING message.account_id, message.id
"""
FIND_OPTOUT = "SELECT topic FROM mail_optouts WHERE hash = ANY(%(hashes)s) LIMIT 1"
ADD_OPTOUT = """
    INSERT INTO mail_optouts (hash, topic, address, created_at)
    VALUES (%(hash)s, %(topic)s, %(address)s, %(now)s) ON CONFLICT (hash) DO NOTHING
"""
DELETE_OPTOUT = "DELETE FROM mail_optouts WHERE hash = ANY(%(hashes)s)"
LIST_STALE_OPTOUTS = """
    SELECT hash, topic, address FROM mail_optouts
    WHERE hash > %(after)s AND substr(address, 1, octet_length(%(header)s::bytea)) <> %(header)s
    ORDER BY hash LIMIT %(limit)s
"""
# In place, so that a concurrent deletion by either hash finds the row.
REHASH_OPTOUT = """
    UPDATE mail_optouts SET hash = %(new_hash)s, address = %(new_address)s
    WHERE hash = %(hash)s AND NOT EXISTS (SELECT FROM mail_optouts WHERE hash = %(new_hash)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A message that a worker claimed for an attempt."""

    template: str
    content: bytes = field(repr=False)
    attempts: int  # this one included
    header_id: str
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a message."""

    account_id: UUID
    id: UUID

    @property
    def row(self) -> dict[str, object]:
        """Return the key as parameters."""
        return {"account_id": self.account_id, "id": self.id, "created_at": ids.time_of(self.id)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Optout:
    """An opt-out of an address from a topic."""

    hash: bytes  # of topic and address
    topic: str  # may be a removed topic
    address: bytes = field(repr=False)  # sealed


def _message(*, category: str, status: str, **columns: Any) -> Message:
    return Message(category=Category(category), status=Status(status), **columns)


async def insert(conn: Conn, *, key: Key, **columns: object) -> None:
    """Insert a message with these columns."""
    await conn.execute(INSERT, {**key.row, **columns})


def _messages(conn: Conn) -> AsyncCursor[Message]:
    return conn.cursor(row_factory=kwargs_row(_message))


async def find(conn: Conn, *, key: Key) -> Message | None:
    """Return the message of the account."""
    try:
        row = key.row
    except ValueError:  # the id of no message: it holds no time
        return None
    return await (await _messages(conn).execute(FIND, row)).fetchone()


async def list_newest(
    conn: Conn, *, account_id: AccountSelection, status: Status | None, limit: int
) -> Sequence[Message]:
    """Return the newest messages."""
    row = {"account_id": selection_parameter(account_id), "status": status, "limit": limit}
    return await (await _messages(conn).execute(LIST, row, prepare=False)).fetchall()


async def list_notices(conn: Conn, *, account_id: UUID, before: UUID, limit: int) -> Sequence[Message]:
    """Return the account's notices with smaller ids, newest first."""
    row = {"account_id": account_id, "before": before, "limit": limit}
    return await (await _messages(conn).execute(LIST_NOTICES, row)).fetchall()


async def find_origins(conn: Conn, *, message_ids: Collection[UUID]) -> dict[UUID, Origin]:
    """Return the origins of those messages that exist."""
    row = {"ids": list(message_ids), "times": [ids.time_of(each) for each in message_ids]}
    found = await conn.execute(FIND_ORIGINS, row)
    return {message_id: Origin(account_id=owner, sent_at=at) async for message_id, owner, at in found}


async def claim(conn: Conn, *, key: Key, header_id: str, now: datetime, until: datetime) -> Claimed | None:
    """Claim the message for one attempt; None when it is final or claimed by another worker."""
    row = {**key.row, "header_id": header_id, "now": now, "until": until}
    return await (await conn.cursor(row_factory=class_row(Claimed)).execute(CLAIM, row)).fetchone()


async def defer(
    conn: Conn, *, key: Key, attempts: int, code: int | None, error: str | None, next_try_at: datetime
) -> None:
    """Record a failed attempt, the server's reply or our own error, and when the next one is due."""
    row = {"attempts": attempts, "code": code, "error": error, "next_try_at": next_try_at}
    await conn.execute(DEFER, {**key.row, **row})


async def finish(
    conn: Conn,
    *,
    key: Key,
    status: Status,
    code: int | None = None,
    error: str | None = None,
    attempts: int | None = None,
    sent_at: datetime | None = None,
) -> bool:
    """Record the final state and delete the content.

    False when the message was final, or when `attempts` is given and a newer attempt is under way.
    """
    row = {"status": status, "code": code, "error": error, "attempts": attempts, "sent_at": sent_at}
    return (await conn.execute(FINISH, {**key.row, **row})).rowcount == 1


async def delete_messages(conn: Conn, *, account_id: UUID, message_ids: Collection[UUID]) -> None:
    """Delete the messages; a pending delivery job then finds nothing."""
    row = {"ids": list(message_ids), "times": [ids.time_of(each) for each in message_ids]}
    await conn.execute(DELETE_MESSAGES, {**row, "account_id": account_id})


async def sweep(conn: Conn, *, now: datetime, again: datetime, limit: int) -> Sequence[Key]:
    """Return due messages, which become due again at `again` unless an attempt changes that."""
    rows = await (await conn.execute(SWEEP, {"now": now, "again": again, "limit": limit})).fetchall()
    return [Key(*row) for row in rows]


async def has_optout(conn: Conn, *, hashes: Collection[bytes]) -> bool:
    """Return whether an opt-out has one of these hashes."""
    return await (await conn.execute(FIND_OPTOUT, {"hashes": list(hashes)})).fetchone() is not None


async def add_optout(conn: Conn, *, digest: bytes, topic: Topic, address: bytes, now: datetime) -> bool:
    """Insert an opt-out; False when it existed."""
    row = {"hash": digest, "topic": topic, "address": address, "now": now}
    return (await conn.execute(ADD_OPTOUT, row)).rowcount == 1


async def delete_optout(conn: Conn, *, hashes: Collection[bytes]) -> None:
    """Delete an opt-out."""
    await conn.execute(DELETE_OPTOUT, {"hashes": list(hashes)})


async def list_stale_optouts(conn: Conn, *, header: bytes, after: bytes, limit: int) -> Sequence[Optout]:
    """Return opt-outs that were not sealed under this header, with hashes beyond `after`, ordered by hash."""
    row = {"header": header, "after": after, "limit": limit}
    return await (await conn.cursor(row_factory=class_row(Optout)).execute(LIST_STALE_OPTOUTS, row)).fetchall()


async def rehash_optout(conn: Conn, *, digest: bytes, new_digest: bytes, new_address: bytes) -> bool:
    """Replace hash and sealed address; False when the opt-out was deleted or exists under both hashes."""
    row = {"hash": digest, "new_hash": new_digest, "new_address": new_address}
    return (await conn.execute(REHASH_OPTOUT, row)).rowcount == 1
