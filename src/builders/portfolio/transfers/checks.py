"""Which transfers are looked at again, and by whom: pending ones, and domains that may move now."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.portfolio.domains import service as domains
from builders.portfolio.registrars import service as registrars
from builders.portfolio.transfers import situations, status, store
from builders.portfolio.transfers.facts import PENDING_TRANSFER, normalize
from builders.portfolio.transfers.records import DueDomain

RUN_SIZE = 50  # domains of one run, asked about one after another
MAX_LEAVING = 1_000  # domains of one sync
CLAIM_TIME = timedelta(hours=1)  # a worker that is killed leaves its domains for so long

_log = log.get_logger()


async def follow_transfers(database: Database, *, outbound: Outbound, keyring: Keyring) -> int:
    """Look at the transfers that are due, at most RUN_SIZE; return how many were.

    A registrar that does not answer is not asked again in this run: its other domains fall due later.
    """
    now = clock.now()
    async with database.transaction() as conn:
        due = await store.claim(conn, now=now, due_at=now + CLAIM_TIME, limit=RUN_SIZE)
    silent: set[UUID] = set()  # connections
    for each in due:
        await _follow(database, outbound, keyring, each, silent)
    return len(due)


async def _follow(
    database: Database, outbound: Outbound, keyring: Keyring, due: DueDomain, silent: set[UUID]
) -> None:
    try:
        async with database.connection() as conn:
            situation = await situations.read_situation(conn, account_id=due.account_id, key=str(due.domain_id))
        connection, answer = situation.connection, None
        if connection is not None and connection.id in silent:
            return
        if connection is not None:
            answer = await situations.ask(
                database, outbound=outbound, keyring=keyring, connection=connection, domain=situation.domain
            )
            if answer.failure is not None:
                silent.add(connection.id)
        async with database.transaction() as conn:
            await status.record(conn, account_id=due.account_id, domain_id=due.domain_id, answer=answer)
    except domains.DomainNotFound:
        _log.info("transfer_of_removed_domain", domain_id=str(due.domain_id))


async def follow_leaving(conn: Conn, *, account_id: UUID) -> None:
    """Have the domains looked at soon that registrars list as on their way to another registrar."""
    names = await registrars.list_leaving(conn, account_id=account_id, limit=MAX_LEAVING)
    found = await domains.find_domains(conn, account_id=account_id, names=names)
    held = sorted(each.id for each in found.values() if each.connection_id is not None)
    await store.add_due(conn, account_id=account_id, domain_ids=held, now=clock.now())


async def follow_domains(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> None:
    """Have those of the domains looked at soon of which the registry reports a transfer, or did so before."""
    found = await domains.find_domains_by_id(conn, account_id=account_id, ids=domain_ids)
    leaving = [
        each.id
        for each in found.values()
        if any(normalize(status_) == PENDING_TRANSFER for status_ in each.epp_statuses)
    ]
    now = clock.now()
    await store.add_due(conn, account_id=account_id, domain_ids=sorted(leaving), now=now)
    others = sorted(found.keys() - set(leaving))
    await store.hasten_open(conn, account_id=account_id, domain_ids=others, now=now)
