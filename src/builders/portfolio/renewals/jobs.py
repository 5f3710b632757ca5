"""Jobs and subscribers of a portfolio's renewals."""

from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.portfolio.registrars import parts
from builders.portfolio.renewals import pushes, store
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import Work, declare

declare(
    WorkKind.PUSH,
    Work(
        do=pushes.push_part,
        abandon=pushes.abandon_part,
        list_places=parts.list_places,
        max_attempts=pushes.MAX_ATTEMPTS,
    ),
)


@dispatcher.subscribe("portfolio.team.member_removed", name="portfolio.delete_member_calendar")
async def delete_member_calendar(conn: Conn, event: PublishedEvent) -> None:
    """Delete the calendar link of a former member."""
    await store.delete_calendar(conn, account_id=event.account_id, member_id=UUID(event.read()["account_id"]))
