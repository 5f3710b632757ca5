"""The state of a transfer: computed, written, published when it changes, reported, and checked again when due."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.batches import by_account
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.process import log
from builders.kit.values import clock
from builders.portfolio.domains import lookups
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.records import Domain
from builders.portfolio.registrars import inventory, requests
from builders.portfolio.registrars.records import TransferDirection
from builders.portfolio.runs.work import Tools
from builders.portfolio.transfers import rules, states, store
from builders.portfolio.transfers.events import list_events, transfer_data
from builders.portfolio.transfers.records import (
    Known,
    Observation,
)
from builders.portfolio.transfers.rules import PENDING_TRANSFER, normalize
from builders.portfolio.transfers.situations import (
    Answer,
    Inbound,
    Situation,
    ask,
    find_inbound,
    lock_situation,
    query_unless_fresh,
    read_situation,
)

RUN_SIZE = 50  # domains of one run
MAX_LEAVING = 1_000  # domains of one sync
CLAIM_TIME = timedelta(hours=1)  # a worker that is killed leaves its domains for so long

_log = log.get_logger()


async def get_situation(tools: Tools, *, account_id: UUID, key: str, refresh: bool) -> Situation:
    """Return the state of a domain and its transfer. Raise DomainNotFound.

    The registrar gets a request when its last answer is old, or with `refresh`. If it does not respond, the
    sources name the failure, and its last answer remains.
    """
    async with tools.database.connection() as conn:
        situation = await read_situation(conn, account_id=account_id, key=key)
    answer, inbound = await asyncio.gather(
        query_unless_fresh(tools, situation=situation, refresh=refresh),
        find_inbound(tools, situation=situation, refresh=refresh),
    )
    is_heard = answer is not None or inbound is not None
    if is_heard or advance(situation, None, now=clock.now()) != situation.known:
        async with tools.database.transaction() as conn:
            situation = await record(
                conn, account_id=account_id, domain_id=situation.domain.id, answer=answer, inbound=inbound
            )
    return situation


async def record(
    conn: Conn, *, account_id: UUID, domain_id: UUID, answer: Answer | None, inbound: Inbound | None = None
) -> Situation:
    """Write the answers of registrars and the new state of the transfer; publish changes.

    Raise DomainNotFound when the domain was removed.
    """
    situation = await lock_situation(conn, account_id=account_id, key=str(domain_id))
    if answer is not None and situation.connection is not None:
        await requests.record_outcome(
            conn, account_id=account_id, connection_id=situation.connection.id, failure=answer.failure
        )
    return await write(conn, situation=situation, answer=answer, inbound=inbound)


async def write(
    conn: Conn, *, situation: Situation, answer: Answer | None, inbound: Inbound | None = None
) -> Situation:
    """Write and publish the new state of a locked situation."""
    account_id, before = situation.account_id, situation.known
    after = advance(situation, answer, inbound=inbound, now=clock.now())
    if after != before:
        await store.update(conn, account_id=account_id, known=after)
    for event in list_events(before, after):
        data = transfer_data(situation.domain, before, after)
        await outbox.publish(conn, event, account_id=account_id, data=data)
    return replace(situation, known=after)


def advance(
    situation: Situation, answer: Answer | None, *, inbound: Inbound | None = None, now: datetime
) -> Known:
    """Return the state after the answers, at this time. Pure."""
    known, domain = situation.known, situation.domain
    for said in (situation.listing, answer):
        if said is not None:
            known = _hear(known, said, domain=domain, now=now)
    known = _hear_inbound(known, inbound, situation=situation, now=now)
    registered = states.move_of_registry(
        domain,
        situation.registry,
        before=known.move,
        now=now,
        is_outdated=rules.is_outdated(situation.registry, known.observation),
    )
    known = replace(known, move=states.merge_move(known.move, registered, domain=domain, code=known.code, now=now))
    eligibility = replace(situation, known=known).decide(now=now)
    state = states.state_of(known.move, known.code, eligibility, now=now)
    due = states.next_check(state, known.move, eligibility, now=now)
    # A check that is due later than this one is kept, so that reading changes nothing.
    kept = known.next_check_at
    if answer is None and due is not None and kept is not None and state is known.state and now < kept <= due:
        due = kept
    return replace(known, state=state, next_check_at=due)


def _hear_inbound(known: Known, inbound: Inbound | None, *, situation: Situation, now: datetime) -> Known:
    """Return the state after a look at other registrars: a gaining one knows more than the losing one.

    Between two looks the transfer that it reported stays.
    """
    before = situation.known.move
    if inbound is None:
        others = {each.provider for each in situation.gaining}
        is_inbound = before is not None and before.state.is_open and before.direction is TransferDirection.IN
        stays = is_inbound and before is not None and before.provider in others
        return replace(known, move=before) if stays else known
    known = replace(known, inbound_checked_at=inbound.at)
    if inbound.transfer is None:
        return known
    reported = states.move_of_registrar(
        inbound.provider, transfer=inbound.transfer, status=None, before=before, now=now
    )
    move = states.merge_move(before, reported, domain=situation.domain, code=known.code, now=now)
    return replace(known, move=move)


def _hear(known: Known, answer: Answer, *, domain: Domain, now: datetime) -> Known:
    """Return the state after an answer of a registrar; values that it does not have are kept."""
    before = known.observation or Observation(checked_at=answer.at)
    if answer.failure is not None:
        failed = replace(before, checked_at=answer.at, failure=str(answer.failure.kind))
        return replace(known, observation=failed)
    seen = replace(before, checked_at=answer.at, failure=None, status=answer.status or before.status)
    if answer.held is not None:
        locked = before.locked if answer.held.locked is None else answer.held.locked
        seen = replace(seen, locked=locked, created_at=answer.held.created_at or before.created_at)
    move = states.move_of_registrar(
        answer.provider,
        transfer=answer.transfer,
        status=answer.status,
        before=known.move,
        now=now,
        is_queried=answer.is_queried,
    )
    merged = states.merge_move(known.move, move, domain=domain, code=known.code, now=now)
    return replace(known, observation=seen, move=merged)


async def follow_transfers(tools: Tools) -> int:
    """Check the due transfers, at most RUN_SIZE; return their number.

    Registrars are queried concurrently, each about one domain at a time. A registrar that does not respond is not
    queried again in this run: its other domains are due later.
    """
    now, due = clock.now(), list[tuple[UUID, UUID]]()
    async with tools.database.transaction() as conn:
        for account_id, found in by_account(await store.list_due(conn, now=now, limit=RUN_SIZE)):
            due += await store.claim(
                conn, account_id=account_id, domain_ids=found, now=now, due_at=now + CLAIM_TIME
            )
    groups: dict[UUID, list[Situation]] = {}  # by connection, or by account without one
    for account_id, domain_id in due:
        try:
            async with tools.database.connection() as conn:
                situation = await read_situation(conn, account_id=account_id, key=str(domain_id))
        except DomainNotFound:
            _log.info("transfer_of_removed_domain", domain_id=str(domain_id))
            continue
        connection = situation.connection
        groups.setdefault(account_id if connection is None else connection.id, []).append(situation)
    await asyncio.gather(*(_follow(tools, each) for each in groups.values()))
    return len(due)


async def _follow(tools: Tools, situations: Sequence[Situation]) -> None:
    """Check the transfers of the domains of one connection, until the registrar does not respond."""
    for situation in situations:
        answer, domain_id = None, situation.domain.id
        if situation.connection is not None:
            answer = await ask(tools, connection=situation.connection, domain=situation.domain)
        inbound = await find_inbound(tools, situation=situation)
        account_id = situation.account_id
        try:
            async with tools.database.transaction() as conn:
                await record(conn, account_id=account_id, domain_id=domain_id, answer=answer, inbound=inbound)
        except DomainNotFound:
            _log.info("transfer_of_removed_domain", domain_id=str(domain_id))
        if answer is not None and answer.failure is not None:
            return


async def follow_leaving(conn: Conn, *, account_id: UUID) -> None:
    """Schedule a check of the domains that registrars list as on their way to another registrar."""
    names = await inventory.list_leaving(conn, account_id=account_id, limit=MAX_LEAVING)
    found = await lookups.load_domains(conn, account_id=account_id, names=names)
    held = sorted(each.id for each in found.values() if each.connection_id is not None)
    await store.add_due(conn, account_id=account_id, domain_ids=held, now=clock.now())


async def follow_domains(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> None:
    """Schedule a check of the domains with a transfer that the registry reports, or reported before."""
    found = await lookups.load_domains_by_id(conn, account_id=account_id, ids=domain_ids)
    leaving = [each.id for each in found.values() if PENDING_TRANSFER in map(normalize, each.epp_statuses)]
    now = clock.now()
    await store.add_due(conn, account_id=account_id, domain_ids=sorted(leaving), now=now)
    others = sorted(found.keys() - set(leaving))
    await store.hasten_open(conn, account_id=account_id, domain_ids=others, now=now)
