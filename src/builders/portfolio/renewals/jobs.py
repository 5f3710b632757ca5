"""Subscribers of a portfolio's renewals."""

from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.portfolio.renewals import service as renewals


@dispatcher.subscribe("portfolio.team.member_removed", name="portfolio.delete_member_calendar")
async def delete_member_calendar(conn: Conn, event: PublishedEvent) -> None:
    """Delete the calendar link of a member who has left the team."""
    await renewals.delete_member(conn, account_id=event.account_id, member_id=UUID(event.read()["account_id"]))
