"""The list of notices that a member reads in an application."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock
from builders.portfolio.notifications.records import Mark, Notice
from builders.portfolio.notifications.store import notices as store
from builders.portfolio.team.records import Access

RETENTION = timedelta(days=180)
KEY_RETENTION = timedelta(days=90)  # after the expiry; longer than MIN_DAYS and the retention of events
PRUNE_BATCH = 5000


async def list_notices(conn: Conn, *, access: Access, is_unread: bool, page: PageRequest) -> Page[Notice]:
    """Return a page of the caller's notices in the portfolio, newest first."""
    rows: Sequence[Notice] = await store.list_notices(
        conn,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        is_unread=is_unread,
        before=page.before_id,
        limit=page.limit + 1,
    )
    return page.cut(rows, lambda each: [str(each.id)])


async def mark(conn: Conn, *, access: Access, mark: Mark, notice_ids: Collection[UUID], until: UUID | None) -> int:
    """Mark notices of the caller: those with the ids, and all up to `until`; return how many were not marked.

    Acknowledged notices are marked as read too, and not repeated.
    """
    return await store.mark(
        conn,
        mark=mark,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        notice_ids=notice_ids,
        until=until,
        now=clock.now(),
    )


async def delete_member(conn: Conn, *, account_id: UUID, member_id: UUID) -> None:
    """Delete the preferences and notices of a member of a portfolio."""
    await store.delete_member(conn, account_id=account_id, member_id=member_id)


async def prune_notices(database: Database) -> None:
    """Delete notices past their retention, and keys of expiries past which no notice is made."""
    now = clock.now()
    deleted = PRUNE_BATCH
    while deleted >= PRUNE_BATCH:
        async with database.transaction() as conn:
            deleted = await store.prune(
                conn,
                created_before=now - RETENTION,
                due_before=(now - KEY_RETENTION).date(),
                batch=PRUNE_BATCH,
            )
