"""What identity does by itself: codes to sign in with are mailed, and what is over is forgotten."""

from procrastinate import JobContext

from builders.identity import key_notices, service as identity, signing_in
from builders.kit.jobs import queue

mail_new_key = key_notices.mail_new_key
mail_code = signing_in.mail_code  # declared beside what it does, since the door defers it


@queue.app.periodic(cron="43 * * * *")
@queue.app.task(name="identity.prune_sign_ins", queueing_lock="identity.prune_sign_ins", pass_context=True)
async def prune_sign_ins(context: JobContext, timestamp: int) -> None:
    """Forgets who asked to sign in a day ago."""
    del timestamp
    await identity.prune_requests(queue.database(context))


@queue.app.periodic(cron="51 3 * * *")
@queue.app.task(name="identity.prune_sessions", queueing_lock="identity.prune_sessions", pass_context=True)
async def prune_sessions(context: JobContext, timestamp: int) -> None:
    """Forgets sessions that have been over for three months."""
    del timestamp
    await identity.prune_sessions(queue.database(context))
