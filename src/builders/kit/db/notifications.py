"""Notifications of PostgreSQL (LISTEN), on a connection with a session of its own."""

from collections.abc import AsyncGenerator, Iterable

from psycopg import Notify, sql
from psycopg.conninfo import make_conninfo

from builders.kit.db import sessions
from builders.kit.db.connections import KEEPALIVE, PING, DeadlineConnection


async def listen(
    conninfo: str, channels: Iterable[str], *, pause_s: float, answer_s: float
) -> AsyncGenerator[Notify | None]:
    """Yield the notifications of the channels; None at the start, and after each pause if the server answers.

    Raise psycopg.OperationalError when the connection is lost, or the server does not answer in time.
    """
    async with await DeadlineConnection.connect(make_conninfo(conninfo, **KEEPALIVE), autocommit=True) as conn:
        conn.deadline_s = answer_s
        await sessions.require_own(conn)
        for channel in channels:
            await conn.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        yield None
        while True:
            async for notification in conn.notifies(timeout=pause_s):
                yield notification
            await conn.execute(PING)
            yield None
