"""Jobs of identity: emails of codes and of new keys, and deletion of old rows."""

from procrastinate import JobContext

from builders.identity import keys, login, service as identity
from builders.kit.jobs import queue

# Defined beside the functions that enqueue them.
mail_new_key = keys.mail_new_key
mail_code = login.mail_code


@queue.app.periodic(cron="43 * * * *")
@queue.app.task(name="identity.prune_sign_ins", queueing_lock="identity.prune_sign_ins", pass_context=True)
async def prune_sign_ins(context: JobContext, timestamp: int) -> None:
    """Delete requests to sign in that are older than a day."""
    del timestamp
    await identity.prune_requests(queue.database(context))


@queue.app.periodic(cron="51 3 * * *")
@queue.app.task(name="identity.prune_sessions", queueing_lock="identity.prune_sessions", pass_context=True)
async def prune_sessions(context: JobContext, timestamp: int) -> None:
    """Delete sessions that ended three months ago."""
    del timestamp
    await identity.prune_sessions(queue.database(context))
