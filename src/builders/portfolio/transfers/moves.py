"""Derive the transfer of a domain from its registrar, the registry, and the stored state. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from builders.portfolio.domains.records import Domain, PortfolioDomainStatus, RegistryCheck
from builders.portfolio.registrars.records import HeldStatus, HeldTransfer, TransferDirection, TransferState
from builders.portfolio.transfers.facts import PENDING_TRANSFER, normalize
from builders.portfolio.transfers.records import CodeRequest, Move

CODE_COUNTS = timedelta(days=60)  # a transfer out is expected so long after a request for the auth code
EARLIER = timedelta(days=14)  # maximum age of a transfer when a registry first reports it
_DECISIVE = frozenset({HeldStatus.ACTIVE, HeldStatus.GONE})  # no transfer is pending then
_GONE = frozenset({PortfolioDomainStatus.SOLD, PortfolioDomainStatus.TRANSFERRED_OUT})


def move_of_registrar(
    provider: str,
    *,
    transfer: HeldTransfer | None,
    status: HeldStatus | None,
    before: Move | None,
    now: datetime,
    is_queried: bool = True,
) -> Move | None:
    """Return the transfer that a registrar reports; None when it reports none.

    Most registrars report incoming transfers only. An outgoing one is then a status of the domain, and it is
    completed when the registrar no longer holds the domain. `is_queried`: the request was about transfers, so that
    None means that there is none.
    """
    if transfer is not None and not _is_history(transfer, status, before):
        return Move(
            direction=transfer.direction,
            state=transfer.state,
            status_raw=transfer.status_raw,
            provider=provider,
            message=transfer.message,
            started_at=transfer.started_at,
            ended_at=transfer.completed_at,
        )
    if status is HeldStatus.TRANSFERRING_OUT:
        return Move(
            direction=TransferDirection.OUT, state=TransferState.PENDING, status_raw=status, provider=provider
        )
    if status is None or before is None or not before.state.is_open or before.provider != provider:
        return None
    is_of_status = before.status_raw == HeldStatus.TRANSFERRING_OUT
    if status not in _DECISIVE and not (is_of_status and status is HeldStatus.UNKNOWN):
        return None
    is_out, is_gone = before.direction is TransferDirection.OUT, status is HeldStatus.GONE
    if not (is_queried or is_of_status or (is_out and is_gone)):
        return None
    is_completed = is_gone == is_out
    return end_move(before, TransferState.COMPLETED if is_completed else TransferState.CANCELLED, now=now)


def _is_history(transfer: HeldTransfer, status: HeldStatus | None, before: Move | None) -> bool:
    """Return whether a transfer has ended before another one began."""
    is_other_open = before is not None and before.state.is_open and before.direction is not transfer.direction
    return not transfer.state.is_open and (is_other_open or status is HeldStatus.TRANSFERRING_OUT)


def move_of_registry(
    domain: Domain, registry: RegistryCheck, *, before: Move | None, now: datetime, is_outdated: bool = False
) -> Move | None:
    """Return the transfer that the registry reports, without its direction and the other registrar.

    A registrar's report takes precedence. When the status has ended, the transfer is completed
    if the registry has a new time of the last one, else cancelled.
    """
    if is_outdated:  # the registrar responded later
        return None
    is_open = before is not None and before.state.is_open
    if before is not None and is_open and before.provider is not None:
        return None
    if any(normalize(each) == PENDING_TRANSFER for each in domain.epp_statuses):
        return Move(
            direction=TransferDirection.OUT,
            state=TransferState.PENDING,
            status_raw="pendingTransfer",
            provider=None,
        )
    if before is None or not is_open:
        return None
    is_completed = registry.transferred_at is not None and (
        before.started_at is None or registry.transferred_at > before.started_at - EARLIER
    )
    return end_move(before, TransferState.COMPLETED if is_completed else TransferState.CANCELLED, now=now)


def end_move(before: Move, state: TransferState, *, now: datetime) -> Move:
    """Return a pending transfer as one that has ended now."""
    return replace(before, state=state, status_raw=None, message=None, ended_at=now)


def merge_move(
    before: Move | None, said: Move | None, *, domain: Domain, code: CodeRequest | None, now: datetime
) -> Move | None:
    """Return the latest transfer after a report of one; values that the report does not have are kept.

    A transfer that ended at an unknown time ended now if it was pending before.
    """
    if said is None:
        return before
    same = before if before is not None and before.direction is said.direction else None
    was_open = same is not None and same.state.is_open
    is_same = same is not None and (was_open or same.state is said.state)
    started_at = said.started_at or (same.started_at if same is not None and is_same else None)
    ended_at = None
    if not said.state.is_open:
        kept = same.ended_at if same is not None and is_same else None
        ended_at = said.ended_at or kept or (now if was_open else None)
    elif started_at is None:
        started_at = now
    is_expected = same.is_expected if same is not None and is_same else _is_expected(said, domain, code, now)
    return replace(said, started_at=started_at, ended_at=ended_at, is_expected=is_expected)


def _is_expected(said: Move, domain: Domain, code: CodeRequest | None, now: datetime) -> bool | None:
    """Return whether the holder prepared a transfer; None when that is unknown."""
    if said.direction is TransferDirection.IN or domain.status in _GONE:
        return True
    if code is not None and now - code.requested_at < CODE_COUNTS:
        return True
    return None if said.provider is None else False
