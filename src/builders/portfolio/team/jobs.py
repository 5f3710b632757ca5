"""Jobs of a portfolio's team."""

from procrastinate import JobContext

from builders.kit.jobs import queue
from builders.portfolio.team import members


@queue.app.periodic(cron="41 4 * * *")
@queue.app.task(
    name="portfolio.prune_team_invites", queueing_lock="portfolio.prune_team_invites", pass_context=True
)
async def prune_invites(context: JobContext, timestamp: int) -> None:
    """Delete old invitations."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        await members.prune_invites(conn)
