"""The audit list: what was done with an account, when, by whom, and in which request."""

from datetime import timedelta
from uuid import UUID

from structlog.contextvars import get_contextvars

from builders.identity.records import About, AuditAction
from builders.identity.store import audit as store
from builders.kit.db import partitions
from builders.kit.db.connections import Conn
from builders.kit.http.callers import Actor
from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.values import clock, ids

partitions.declare("identity_audit", kept=timedelta(days=400))


async def record_audit(conn: Conn, *, account_id: UUID, actor: Actor, action: AuditAction, about: About) -> None:
    """Writes down who did what to the real account, in the transaction of what is told.

    `about` is small and holds nothing secret: the account's holder reads it.
    """
    await store.insert_entry(
        conn,
        account_id=account_id,
        entry_id=ids.new(),
        action=action,
        actor=actor,
        request_id=get_contextvars().get("request_id"),
        about=about,
        now=clock.now(),
    )


async def list_audit(
    conn: Conn, *, account_id: UUID, page: PageRequest, action: AuditAction | None = None
) -> JsonPage:
    """What was done with the real account, newest first; of one kind when `action` is given."""
    items, last, more = await store.list_entries(
        conn, account_id=account_id, action=action, after=page.before_id, limit=page.limit
    )
    return page.json(items, [last] if more else None)
