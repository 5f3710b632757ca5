"""Jobs of erasures."""

from contextlib import aclosing
from uuid import UUID

from procrastinate import JobContext

from builders.erasure import execution, requests, store
from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.values import clock

AT_ONCE = 1_000  # accounts


@queue.unheld
@queue.app.task(name=execution.JOB, queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def erase(context: JobContext, account_id: str) -> None:
    """Erase an account for a time slice, and enqueue the rest."""
    settings = queue.settings(context)
    time_slice = TimeSlice.of(settings)
    running = execution.run(queue.database(context), settings=settings, account_id=UUID(account_id))
    async with aclosing(running) as batches:
        async for _ in batches:
            if time_slice.is_over:
                await time_slices.go_on(context)
                return


@queue.periodic("29 * * * *", name="erasure.resume")
async def resume(context: JobContext) -> None:
    """Enqueue the erasures whose jobs are lost."""
    async with queue.database(context).transaction() as conn:
        for account_id in await accounts.list_erasing(conn, limit=AT_ONCE):
            await execution.enqueue(conn, account_id=account_id)


@queue.periodic("*/10 * * * *", name="erasure.find_due")
async def find_due(context: JobContext) -> None:
    """Enqueue what the erasures that wait need now: an email, or the end."""
    async with queue.database(context).transaction() as conn:
        for account_id in await store.list_due(conn, now=clock.now(), limit=AT_ONCE):
            await _enqueue(conn, account_id)


@queue.app.task(name="erasure.advance", retry=queue.RETRY, pass_context=True)
async def advance(context: JobContext, account_id: str) -> None:
    """Send the next email about an erasure that waits, or begin it."""
    keyring, settings = queue.keyring(context), queue.settings(context)
    async with queue.database(context).transaction() as conn:
        await requests.advance(conn, keyring=keyring, settings=settings, account_id=UUID(account_id))


@dispatcher.subscribe("email.changed", name="erasure.note_address")
async def note_address(conn: Conn, event: PublishedEvent) -> None:
    """Note the former address, whose emails cancel an erasure too; one that waits starts again."""
    own, former = event.account_id, str(event.read()["previous_email"])
    if await requests.note_address(conn, account_id=own, former=former, at=event.created_at):
        await _enqueue(conn, own)


async def _enqueue(conn: Conn, account_id: UUID) -> None:
    await queue.defer(conn, advance, once=f"erasure.advance {account_id}", account_id=str(account_id))
