"""The state of a transfer: computed, written, published when it changes, and reported."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.portfolio.domains.records import Domain
from builders.portfolio.registrars import connections, providers
from builders.portfolio.registrars.failures import RegistrarFailure
from builders.portfolio.registrars.records import (
    HeldStatus,
    TransferDirection,
)
from builders.portfolio.transfers import rules, states, store
from builders.portfolio.transfers.events import list_events, transfer_data
from builders.portfolio.transfers.facts import is_outdated
from builders.portfolio.transfers.moves import merge_move, move_of_registrar, move_of_registry
from builders.portfolio.transfers.records import (
    Known,
    Observation,
    Source,
    SourceName,
    TransferReport,
)
from builders.portfolio.transfers.situations import (
    Answer,
    Situation,
    lock_situation,
    query_unless_fresh,
    read_situation,
)


async def get_report(
    database: Database, *, outbound: Outbound, keyring: Keyring, account_id: UUID, key: str, refresh: bool
) -> TransferReport:
    """Return the state of a domain's transfer. Raise DomainNotFound.

    The registrar gets a request when its last answer is old, or with `refresh`. If it does not respond, the
    sources name the failure, and its last answer remains.
    """
    async with database.connection() as conn:
        situation = await read_situation(conn, account_id=account_id, key=key)
    answer = await query_unless_fresh(
        database, outbound=outbound, keyring=keyring, situation=situation, refresh=refresh
    )
    if answer is not None or advance(situation, None, now=clock.now()) != situation.known:
        async with database.transaction() as conn:
            situation = await record(conn, account_id=account_id, domain_id=situation.domain.id, answer=answer)
    return _report(situation, now=clock.now())


async def record(conn: Conn, *, account_id: UUID, domain_id: UUID, answer: Answer | None) -> Situation:
    """Write the answer of a registrar and the new state of the transfer; publish changes.

    Raise DomainNotFound when the domain was removed.
    """
    situation = await lock_situation(conn, account_id=account_id, key=str(domain_id))
    if answer is not None and situation.connection is not None:
        await connections.record_outcome(
            conn, account_id=account_id, connection_id=situation.connection.id, failure=answer.failure
        )
    return await write(conn, account_id=account_id, situation=situation, answer=answer)


async def write(conn: Conn, *, account_id: UUID, situation: Situation, answer: Answer | None = None) -> Situation:
    """Write and publish the new state of a locked situation."""
    before, after = situation.known, advance(situation, answer, now=clock.now())
    if after != before:
        await store.update(conn, account_id=account_id, known=after)
    for event in list_events(before, after):
        data = transfer_data(situation.domain, before, after)
        await outbox.publish(conn, event, account_id=account_id, data=data)
    return replace(situation, known=after)


def advance(situation: Situation, answer: Answer | None, *, now: datetime) -> Known:
    """Return the state after an answer, at this time. Pure."""
    known, domain = situation.known, situation.domain
    for said in (situation.listing, answer):
        if said is not None:
            known = _hear(known, said, domain=domain, now=now)
    registered = move_of_registry(
        domain,
        situation.registry,
        before=known.move,
        now=now,
        is_outdated=is_outdated(situation.registry, known.observation),
    )
    known = replace(known, move=merge_move(known.move, registered, domain=domain, code=known.code, now=now))
    eligibility = replace(situation, known=known).decide(now=now)
    state = states.find_state(known.move, known.code, eligibility, now=now)
    due = states.next_check(state, known.move, eligibility, now=now)
    # A check that is due later than this one is kept, so that reading changes nothing.
    kept = known.next_check_at
    if answer is None and due is not None and kept is not None and state is known.state and now < kept <= due:
        due = kept
    return replace(known, state=state, next_check_at=due)


def _hear(known: Known, said: Answer, *, domain: Domain, now: datetime) -> Known:
    """Return the state after an answer of a registrar."""
    known = replace(known, observation=_observe(known.observation, said))
    if said.failure is not None:
        return known
    move = move_of_registrar(
        said.provider,
        transfer=said.transfer,
        status=said.status,
        before=known.move,
        now=now,
        is_queried=said.is_queried,
    )
    return replace(known, move=merge_move(known.move, move, domain=domain, code=known.code, now=now))


def _observe(before: Observation | None, answer: Answer) -> Observation:
    """Return an answer as an observation; values that it does not have are kept."""
    before = before or Observation(checked_at=answer.at)
    if answer.failure is not None:
        return replace(before, checked_at=answer.at, failure=str(answer.failure.kind))
    held = answer.held
    if held is None:
        return replace(before, checked_at=answer.at, failure=None, status=answer.status or before.status)
    return Observation(
        checked_at=answer.at,
        status=held.status,
        locked=before.locked if held.locked is None else held.locked,
        created_at=held.created_at or before.created_at,
    )


def _report(situation: Situation, *, now: datetime) -> TransferReport:
    domain, known = situation.domain, situation.known
    eligibility = situation.decide(now=now)
    state = states.find_state(known.move, known.code, eligibility, now=now)
    move = known.move if state.is_of_move else None
    said = known.observation
    has_code = not rules.moves_by_tag(domain.tld, now=now)
    provider = None if situation.connection is None else situation.connection.provider
    provider = provider or (None if move is None else move.provider)
    holder = domain.registrar if provider is None else providers.get_profile(provider).label
    is_incoming = move is not None and move.direction is TransferDirection.IN
    return TransferReport(
        domain=domain,
        state=state,
        provider=provider,
        move=move,
        eligibility=eligibility,
        locked=domain.locked if said is None or said.locked is None else said.locked,
        code=known.code,
        losing_registrar=None if is_incoming else holder,
        gaining_registrar=holder if is_incoming else None,
        expected_by=states.expected_by(move, domain.tld, now=now),
        steps=states.list_steps(state, move, known.code, eligibility, has_code=has_code),
        sources=_sources(situation, now=now),
    )


def _sources(situation: Situation, *, now: datetime) -> Sequence[Source]:
    said, registry, domain = situation.known.observation, situation.registry, situation.domain
    found = []
    if said is not None or situation.connection is not None:
        checked_at, error = (None, None) if said is None else (said.checked_at, said.failure)
        is_ok = said is not None and said.failure is None
        if said is not None and is_ok and said.status is HeldStatus.GONE:
            error = str(RegistrarFailure.NOT_FOUND)
        found.append(Source(name=SourceName.REGISTRAR, checked_at=checked_at, ok=is_ok, error=error))
    found.append(Source(name=SourceName.RDAP, checked_at=registry.checked_at, ok=registry.checked_at is not None))
    found.append(Source(name=SourceName.PORTFOLIO, checked_at=domain.updated_at, ok=True))
    is_known = rules.find_scope(domain.tld) is not None
    return [*found, Source(name=SourceName.RULES, checked_at=now, ok=is_known)]
