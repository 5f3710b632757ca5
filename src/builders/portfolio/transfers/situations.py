"""Read and lock the state of a domain and its transfer, and request it from the registrar."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.domains import lookups
from builders.portfolio.domains.records import Domain, RegistryCheck
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.registrars import connections, inventory, listings, providers, requests
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    Connection,
    HeldStatus,
    HeldTransfer,
    Holding,
    RegistrarDomain,
    TransferDirection,
)
from builders.portfolio.runs.work import Tools
from builders.portfolio.transfers import rules, store
from builders.portfolio.transfers.records import Eligibility, Known, Move

FRESH = timedelta(minutes=10)  # an answer of a registrar is not requested again
MAX_GAINING = 5  # other registrars that are asked about a transfer to them
ASK_S, PACE_S = 15.0, 5.0  # longest request, and wait for the rate limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """State of a domain and its transfer."""

    account_id: UUID
    domain: Domain
    registry: RegistryCheck
    known: Known
    zone: ZoneInfo  # of the days of the portfolio
    connection: Connection | None  # None: no registrar with an API is connected for it
    holding: Holding | None = None  # the domain in the latest listing of the connection
    gaining: Sequence[Connection] = ()  # other connections that report transfers to them

    @property
    def listing(self) -> "Answer | None":
        """Return the latest listing as an answer, if it is newer than the last one."""
        held, said = self.holding, self.known.observation
        if held is None:
            return None
        at = held.missing_since or held.last_seen_at
        if said is not None and at <= said.checked_at:
            return None
        row = RegistrarDomain(
            domain=held.domain, status=held.status, locked=held.locked, created_at=held.registered_at
        )
        is_gone = held.missing_since is not None
        return Answer(
            provider=held.provider, at=at, held=None if is_gone else row, is_gone=is_gone, is_queried=False
        )

    def decide(self, *, now: datetime) -> Eligibility:
        """Return whether the domain may move."""
        today = Today(now, self.zone)
        return rules.decide(rules.collect_facts(self.domain, self.registry, self.known, today=today), now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """A look at the other registrars for a transfer to one of them."""

    at: datetime
    provider: str = ""  # that reports the transfer
    transfer: HeldTransfer | None = None  # None: no one reports one


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Response of a registrar about a domain."""

    provider: str
    at: datetime
    held: RegistrarDomain | None = None  # None: not offered, or it does not hold the domain
    is_gone: bool = False
    transfer: HeldTransfer | None = None
    is_queried: bool = True  # about transfers
    failure: RegistrarFailed | None = None

    @property
    def status(self) -> HeldStatus | None:
        """Return the status of the domain at the registrar."""
        if self.is_gone:
            return HeldStatus.GONE
        return None if self.held is None else self.held.status


async def read_situation(conn: Conn, *, account_id: UUID, key: str) -> Situation:
    """Return the state of a domain and its transfer. Raise DomainNotFound."""
    domain = await lookups.get_domain(conn, account_id=account_id, key=key)
    known = await store.find(conn, account_id=account_id, domain_id=domain.id)
    return await _situation(conn, account_id, domain, Known(domain_id=domain.id) if known is None else known)


async def lock_situation(conn: Conn, *, account_id: UUID, key: str) -> Situation:
    """Return the state, locked until the transaction ends. Raise DomainNotFound."""
    domain = await lookups.lock_domain(conn, account_id=account_id, key=key)
    await store.add(conn, account_id=account_id, domain_id=domain.id)
    known = await store.lock(conn, account_id=account_id, domain_id=domain.id)
    return await _situation(conn, account_id, domain, known)


async def _situation(conn: Conn, account_id: UUID, domain: Domain, known: Known) -> Situation:
    connected = await connections.list_connections(conn, account_id=account_id)
    connection = next((each for each in connected if each.id == domain.connection_id and _is_open(each)), None)
    holding = None
    if connection is not None:
        holdings = await inventory.load_holdings(conn, account_id=account_id, domains=[domain.domain])
        of_domain = holdings.get(domain.domain, ())
        holding = next((each for each in of_domain if each.connection_id == connection.id), None)
    return Situation(
        account_id=account_id,
        domain=domain,
        registry=await lookups.get_registry_check(conn, account_id=account_id, domain_id=domain.id),
        known=known,
        zone=(await get_today(conn, account_id=account_id)).zone,
        connection=connection,
        holding=holding,
        gaining=[
            each
            for each in connected
            if _is_open(each)
            and each.id != domain.connection_id
            and providers.get_profile(each.provider).capabilities.transfer_status
        ][:MAX_GAINING],
    )


def _is_open(connection: Connection) -> bool:
    return connection.is_enabled and not connection.is_manual and connection.disconnected_at is None


async def query_unless_fresh(tools: Tools, *, situation: Situation, refresh: bool = False) -> Answer | None:
    """Request the state from the connected registrar if its last answer is old, or with `refresh`."""
    connection, said = situation.connection, situation.known.observation
    is_fresh = said is not None and clock.now() - said.checked_at < FRESH
    if connection is None or (is_fresh and not refresh):
        return None
    return await ask(tools, connection=connection, domain=situation.domain)


async def find_inbound(tools: Tools, *, situation: Situation, refresh: bool = False) -> Inbound | None:
    """Look for a transfer to another connected registrar: the losing one does not report where the domain goes.

    None if there is no other registrar, or it was looked for a short time ago, without `refresh`. A registrar that
    does not respond reports none.
    """
    checked_at, at = situation.known.inbound_checked_at, clock.now()
    if not situation.gaining or (checked_at is not None and at - checked_at < FRESH and not refresh):
        return None
    name = situation.domain.domain
    found = await asyncio.gather(*(_find_transfer(tools, each, name) for each in situation.gaining))
    for connection, transfer in zip(situation.gaining, found, strict=True):
        if transfer is not None and _is_relevant(transfer, connection, situation.known.move):
            return Inbound(at=at, provider=connection.provider, transfer=transfer)
    return Inbound(at=at)


async def _find_transfer(tools: Tools, connection: Connection, name: str) -> HeldTransfer | None:
    try:
        async with asyncio.timeout(ASK_S):
            adapter = await requests.open_adapter(tools, connection, max_wait_s=PACE_S)
            found = await adapter.find_transfer(name)
    except (RegistrarFailed, TimeoutError):
        return None
    return None if found is None else listings.cleaned_transfer(found)


def _is_relevant(transfer: HeldTransfer, connection: Connection, move: Move | None) -> bool:
    """Return whether a transfer to a registrar is under way, or was when it was reported last."""
    is_known = move is not None and move.state.is_open and move.provider == connection.provider
    return transfer.direction is TransferDirection.IN and (transfer.state.is_open or is_known)


async def ask(tools: Tools, *, connection: Connection, domain: Domain) -> Answer:
    """Request the state of a domain from a registrar; a failure is part of the answer."""
    failure, at = None, clock.now()
    try:
        async with asyncio.timeout(ASK_S):
            adapter = await requests.open_adapter(tools, connection, max_wait_s=PACE_S)
            held, is_gone = None, False
            if adapter.reads_one_domain():
                try:
                    held = await adapter.get_domain(domain.domain)
                except RegistrarFailed as failed:
                    if failed.kind is not RegistrarFailure.NOT_FOUND:
                        raise
                    is_gone = True
            transfer, is_queried = None, adapter.profile.capabilities.transfer_status
            if is_queried:
                try:
                    transfer = await adapter.find_transfer(domain.domain)
                except RegistrarFailed as failed:
                    if failed.kind is not RegistrarFailure.UNSUPPORTED:
                        raise
                    is_queried = False
            return Answer(
                provider=connection.provider,
                at=at,
                held=None if held is None else listings.cleaned(held),
                is_gone=is_gone,
                transfer=None if transfer is None else listings.cleaned_transfer(transfer),
                is_queried=is_queried,
            )
    except RegistrarFailed as failed:
        failure = failed
    except TimeoutError:
        failure = RegistrarFailed(RegistrarFailure.UNAVAILABLE)
    return Answer(provider=connection.provider, at=at, failure=failure)
