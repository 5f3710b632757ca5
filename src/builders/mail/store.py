"""All SQL of mail. The key of a message is its account, its id and the time in the id, which is its partition."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.kit.db import partitions
from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows, newest_rows, query, stale_rows
from builders.kit.values import ids
from builders.mail.records import RETENTION, Category, Message, Origin, Status

partitions.declare("mail_messages", retention=RETENTION, setting="mail_days")

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


async def find(conn: Conn, *, key: Key) -> Message | None:
    """Return the message of the account."""
    try:
        row = key.row
    except ValueError:  # the id of no message: it holds no time
        return None
    return await (await conn.cursor(row_factory=kwargs_row(_message)).execute(FIND, row)).fetchone()


# The index on the age avoids sorting the messages of a month.
list_newest = newest_rows("mail_messages", columns=COLUMNS, by="created_at DESC, id").all(_message)
list_notices = query(f"""
    SELECT {COLUMNS} FROM mail_messages
    WHERE account_id = %(account_id)s AND id < %(before)s AND category = 'notice'
    ORDER BY id DESC LIMIT %(limit)s
""").all(_message)


async def load_origins(conn: Conn, *, message_ids: Collection[UUID]) -> dict[UUID, Origin]:
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


list_own = query("""
    SELECT id FROM mail_messages WHERE account_id = ANY(%(account_ids)s::uuid[]) AND id = ANY(%(ids)s::uuid[])
""").scalars(UUID)
# When messages that are not sent yet were created.
list_waiting = due_rows("mail_messages", by="next_try_at", at="until", columns="created_at").scalars(datetime)
# Messages whose job was lost or whose next attempt is due. next_try_at moves, so that the next sweep skips them.
list_due = due_rows("mail_messages", by="next_try_at").all(tuple[UUID, UUID])
sweep = query("""
    WITH due AS (
        SELECT id, created_at FROM mail_messages
        WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[]) AND next_try_at <= %(now)s
        FOR UPDATE SKIP LOCKED
    )
    UPDATE mail_messages AS message SET next_try_at = %(again)s FROM due
    WHERE message.account_id = %(account_id)s AND message.id = due.id AND message.created_at = due.created_at
    RETURNING message.account_id, message.id
""").all(Key)
has_optout = query("SELECT topic FROM mail_optouts WHERE hash = ANY(%(hashes)s) LIMIT 1").exists()
add_optout = query("""
    INSERT INTO mail_optouts (hash, topic, address, created_at)
    VALUES (%(digest)s, %(topic)s, %(address)s, %(now)s) ON CONFLICT (hash) DO NOTHING
""").changes()
delete_optout = query("DELETE FROM mail_optouts WHERE hash = ANY(%(hashes)s)").run()
# Opt-outs that were not sealed under this header, with hashes beyond `after`.
list_stale_optouts = stale_rows(
    "mail_optouts", sealed="address", key="hash", after="%(after)s", columns="hash, topic, address"
).all(Optout)
# False when the opt-out was deleted or exists under both hashes.
# In place, so that a concurrent deletion by either hash finds the row.
rehash_optout = query("""
    UPDATE mail_optouts SET hash = %(new_digest)s, address = %(new_address)s
    WHERE hash = %(digest)s AND NOT EXISTS (SELECT FROM mail_optouts WHERE hash = %(new_digest)s)
""").changes()
