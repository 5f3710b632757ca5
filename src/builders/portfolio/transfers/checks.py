"""Check transfers again: those that are pending, and domains that may move now."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.portfolio.domains import lookups
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.registrars import inventory
from builders.portfolio.transfers import situations, status, store
from builders.portfolio.transfers.facts import PENDING_TRANSFER, normalize
from builders.portfolio.transfers.records import DueDomain
from builders.portfolio.transfers.situations import Situation

RUN_SIZE = 50  # domains of one run
MAX_LEAVING = 1_000  # domains of one sync
CLAIM_TIME = timedelta(hours=1)  # a worker that is killed leaves its domains for so long

_log = log.get_logger()


async def follow_transfers(database: Database, *, outbound: Outbound, keyring: Keyring) -> int:
    """Check the due transfers, at most RUN_SIZE; return their number.

    Registrars are queried concurrently, each about one domain at a time. A registrar that does not respond is not
    queried again in this run: its other domains are due later.
    """
    now = clock.now()
    async with database.transaction() as conn:
        due = await store.claim(conn, now=now, due_at=now + CLAIM_TIME, limit=RUN_SIZE)
    groups: dict[UUID, list[tuple[DueDomain, Situation]]] = {}  # by connection, or by account without one
    for each in due:
        situation = await _read(database, each)
        if situation is not None:
            connection = situation.connection
            group = each.account_id if connection is None else connection.id
            groups.setdefault(group, []).append((each, situation))
    await asyncio.gather(*(_follow(database, outbound, keyring, each) for each in groups.values()))
    return len(due)


async def _read(database: Database, due: DueDomain) -> Situation | None:
    try:
        async with database.connection() as conn:
            return await situations.read_situation(conn, account_id=due.account_id, key=str(due.domain_id))
    except DomainNotFound:
        _log.info("transfer_of_removed_domain", domain_id=str(due.domain_id))
        return None


async def _follow(
    database: Database, outbound: Outbound, keyring: Keyring, found: Sequence[tuple[DueDomain, Situation]]
) -> None:
    """Check the transfers of the domains of one connection, until the registrar does not respond."""
    for due, situation in found:
        connection, answer = situation.connection, None
        if connection is not None:
            answer = await situations.ask(
                database, outbound=outbound, keyring=keyring, connection=connection, domain=situation.domain
            )
        try:
            async with database.transaction() as conn:
                await status.record(conn, account_id=due.account_id, domain_id=due.domain_id, answer=answer)
        except DomainNotFound:
            _log.info("transfer_of_removed_domain", domain_id=str(due.domain_id))
        if answer is not None and answer.failure is not None:
            return


async def follow_leaving(conn: Conn, *, account_id: UUID) -> None:
    """Schedule a check of the domains that registrars list as on their way to another registrar."""
    names = await inventory.list_leaving(conn, account_id=account_id, limit=MAX_LEAVING)
    found = await lookups.find_domains(conn, account_id=account_id, names=names)
    held = sorted(each.id for each in found.values() if each.connection_id is not None)
    await store.add_due(conn, account_id=account_id, domain_ids=held, now=clock.now())


async def follow_domains(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> None:
    """Schedule a check of the domains with a transfer that the registry reports, or reported before."""
    found = await lookups.find_domains_by_id(conn, account_id=account_id, ids=domain_ids)
    leaving = [
        each.id
        for each in found.values()
        if any(normalize(status_) == PENDING_TRANSFER for status_ in each.epp_statuses)
    ]
    now = clock.now()
    await store.add_due(conn, account_id=account_id, domain_ids=sorted(leaving), now=now)
    others = sorted(found.keys() - set(leaving))
    await store.hasten_open(conn, account_id=account_id, domain_ids=others, now=now)
