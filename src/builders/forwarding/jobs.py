"""Jobs of forwarding."""

from datetime import timedelta

from procrastinate import JobContext

from builders.domains import dkim_keys
from builders.forwarding import correspondents, lookup_checks, store
from builders.forwarding.accounting import DAYS_KEPT
from builders.forwarding.records import LookupKey
from builders.kit.db import old_rows
from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.process import log
from builders.kit.values import clock

RESULTS_KEPT = timedelta(days=7)  # after the last result
BOUNCES_KEPT = 30  # days
ANSWERS_KEPT = 4
old_rows.declare("forwarding_results", key="account_id, alias_id, id", age="at", after=RESULTS_KEPT)
old_rows.declare("forwarding_returns", key="host, queue_id", age="at", after=RESULTS_KEPT)
old_rows.declare("forwarding_days", key="account_id, alias_id, day", age="day", after=DAYS_KEPT)
old_rows.declare("forwarding_bounces", key="account_id, email", age="last_on", after=BOUNCES_KEPT)
old_rows.declare("forwarding_answers", key="account_id, id", age="day", after=ANSWERS_KEPT)
# Each has many parts.
old_rows.declare("forwarding_messages", key="account_id, id", age="expires_at", after=timedelta(), batch=100)

MAX_KEYS = 5  # of one run: each takes up to 0.2 s
ROTATED_AFTER = timedelta(days=365)

_log = log.get_logger()


@queue.periodic("*/5 * * * *", name="forwarding.prune")
async def prune(context: JobContext) -> None:
    """Delete correspondents that nobody used for 90 days."""
    await correspondents.prune(queue.database(context))


@queue.periodic("11 3 * * *", name="forwarding.check_lookups")
async def check_lookups(context: JobContext) -> None:
    """Compare what mail servers are told with the truth, a page of keys after the other."""
    async with queue.database(context).transaction() as conn:
        await queue.defer(conn, check_pages, once=check_pages.name, lane=queue.LONG)


@queue.app.task(name="forwarding.check_lookup_pages", retry=queue.RETRY, pass_context=True)
async def check_pages(context: JobContext, domain: str = "", name: str = "") -> None:
    """Log of how many addresses mail servers are told something wrong; repair what is wrong later, too."""
    database, time_slice = queue.database(context), TimeSlice.of(queue.settings(context))
    last: LookupKey | None = LookupKey(domain, name)
    while last is not None:
        async with database.transaction() as conn:
            wrong, last = await lookup_checks.check(conn, after=last)
            if wrong:
                _log.error("lookups_wrong", count=len(wrong))
                addresses = " ".join(wrong)
                await queue.defer(conn, repair_lookups, delay=lookup_checks.RECHECK_AFTER, addresses=addresses)
        if last is not None and time_slice.is_over:
            await time_slices.go_on(context, domain=last.domain, name=last.name)
            return


@queue.app.task(name="forwarding.repair_lookups", retry=queue.RETRY, pass_context=True)
async def repair_lookups(context: JobContext, addresses: str) -> None:
    """Write again what mail servers are told of addresses, with spaces between, if it is still wrong."""
    await lookup_checks.repair(queue.database(context), addresses=addresses.split())


@queue.periodic("* * * * *", name="forwarding.make_keys")
async def make_keys(context: JobContext) -> None:
    """Make missing signing keys of domains, and the next ones after a year; look for the records of those due."""
    if queue.settings(context).filter_listen is None:
        return  # no mail server of this installation signs
    database, keyring = queue.database(context), queue.keyring(context)
    async with database.transaction() as conn:
        due = await store.list_keyless_domains(conn, limit=MAX_KEYS)
        if not due:
            due = await store.list_rotated_domains(conn, before=clock.now() - ROTATED_AFTER, limit=MAX_KEYS)
        if due:
            await dkim_keys.make(conn, keyring=keyring, domains=due)
    await dkim_keys.check_due(database, settings=queue.settings(context))
