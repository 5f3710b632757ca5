"""Derive a transfer from the reports of registrar and registry, with its state and its steps. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from builders.portfolio.domains.records import Domain, PortfolioDomainStatus, RegistryCheck
from builders.portfolio.registrars.records import HeldStatus, HeldTransfer, TransferDirection, TransferState
from builders.portfolio.transfers import rules
from builders.portfolio.transfers.records import (
    CodeRequest,
    Eligibility,
    Move,
    MoveState,
    RuleName,
    RuleOutcome,
    StepName,
    TransferStep,
)
from builders.portfolio.transfers.rules import PENDING_TRANSFER, normalize

CODE_COUNTS = timedelta(days=60)  # a transfer out is expected so long after a request for the auth code
EARLIER = timedelta(days=14)  # maximum age of a transfer when a registry first reports it
_DECISIVE = frozenset({HeldStatus.ACTIVE, HeldStatus.GONE})  # no transfer is pending then
_GONE = frozenset({PortfolioDomainStatus.SOLD, PortfolioDomainStatus.TRANSFERRED_OUT})
OUTCOME_SHOWN = timedelta(days=60)  # after the end of a transfer; then its domain may move again
CODE_LIFETIME = timedelta(days=30)  # of an auth code whose end the registrar does not say
PENDING_CHECK, LATER_CHECK = timedelta(hours=1), timedelta(days=1)  # until the next check of a transfer
OLD = timedelta(days=14)  # a transfer that is pending for longer is checked each day
ABANDONED = timedelta(days=90)  # and then no more
_PREPARED = frozenset({MoveState.UNLOCKED, MoveState.AUTH_CODE_ISSUED})
_PENDING = {TransferDirection.OUT: MoveState.PENDING_OUT, TransferDirection.IN: MoveState.PENDING_IN}


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
    # A transfer that ended before another one began is history.
    is_other = transfer is not None and before is not None and before.direction is not transfer.direction
    is_past = (is_other and before is not None and before.state.is_open) or status is HeldStatus.TRANSFERRING_OUT
    if transfer is not None and (transfer.state.is_open or not is_past):
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
    before: Move | None, reported: Move | None, *, domain: Domain, code: CodeRequest | None, now: datetime
) -> Move | None:
    """Return the latest transfer after a report of one; values that the report does not have are kept.

    A transfer that ended at an unknown time ended now if it was pending before.
    """
    if reported is None:
        return before
    same = before if before is not None and before.direction is reported.direction else None
    was_open = same is not None and same.state.is_open
    is_same = same is not None and (was_open or same.state is reported.state)
    started_at = reported.started_at or (same.started_at if same is not None and is_same else None)
    ended_at = None
    if not reported.state.is_open:
        kept = same.ended_at if same is not None and is_same else None
        ended_at = reported.ended_at or kept or (now if was_open else None)
    elif started_at is None:
        started_at = now
    is_expected = same.is_expected if same is not None and is_same else _is_expected(reported, domain, code, now)
    return replace(reported, started_at=started_at, ended_at=ended_at, is_expected=is_expected)


def _is_expected(reported: Move, domain: Domain, code: CodeRequest | None, now: datetime) -> bool | None:
    """Return whether the holder prepared a transfer; None when that is unknown."""
    if reported.direction is TransferDirection.IN or domain.status in _GONE:
        return True
    if code is not None and now - code.requested_at < CODE_COUNTS:
        return True
    return None if reported.provider is None else False


def state_of(move: Move | None, code: CodeRequest | None, eligibility: Eligibility, *, now: datetime) -> MoveState:
    """Return the state: of a transfer that is pending or has just ended, else of the preparations."""
    if move is not None:
        is_recent = move.ended_at is not None and now - move.ended_at < OUTCOME_SHOWN
        if move.state.is_open or is_recent:
            is_pending = move.state is TransferState.PENDING
            return _PENDING[move.direction] if is_pending else MoveState(move.state.value)
    if any(not rules.is_liftable(each) for each in eligibility.blocked_by):
        return MoveState.NOT_ELIGIBLE
    if eligibility.blocked_by:
        return MoveState.LOCKED
    if eligibility.transferable is None:
        return MoveState.NONE
    if code is not None and is_valid(code, now):
        return MoveState.AUTH_CODE_ISSUED
    applied = eligibility.rules_applied
    is_unlocked = any(
        each.rule is RuleName.REGISTRAR_LOCK and each.outcome is RuleOutcome.PASSES for each in applied
    )
    return MoveState.UNLOCKED if is_unlocked else MoveState.ELIGIBLE


def is_valid(code: CodeRequest, now: datetime) -> bool:
    """Return whether an auth code was delivered and can still be used."""
    return code.delivery.is_delivered and now < (code.expires_at or code.requested_at + CODE_LIFETIME)


def next_check(state: MoveState, move: Move | None, eligibility: Eligibility, *, now: datetime) -> datetime | None:
    """Return the time of the next check: soon while a transfer is pending, and when the domain may move."""
    if state.is_open and move is not None and move.started_at is not None:
        age = now - move.started_at
        return now + (PENDING_CHECK if age < OLD else LATER_CHECK) if age < ABANDONED else None
    if state is MoveState.AUTH_CODE_ISSUED:
        return now + LATER_CHECK
    return eligibility.eligible_at if state is MoveState.NOT_ELIGIBLE else None


def expected_by(move: Move | None, tld: str, *, now: datetime) -> datetime | None:
    """Return when a pending transfer is completed at the latest; None without a rule."""
    if move is None or not move.state.is_open or move.started_at is None:
        return None
    length = rules.length_of(tld, RuleName.LOSING_REGISTRAR_RESPONSE, now=now)
    return None if length is None else move.started_at + length


def list_steps(
    state: MoveState, move: Move | None, code: CodeRequest | None, eligibility: Eligibility, *, has_code: bool
) -> Sequence[TransferStep]:
    """Return the steps of the transfer; `has_code`: the domain moves by auth code."""
    is_shown = move is not None and state.is_of_move
    is_completed = state is MoveState.COMPLETED
    started_at = move.started_at if move is not None and is_shown else None
    ended_at = move.ended_at if move is not None and is_completed else None
    request = TransferStep(name=StepName.REQUEST, done=is_shown, at=started_at)
    complete = TransferStep(name=StepName.COMPLETE, done=is_completed, at=ended_at)
    if move is not None and is_shown and move.direction is TransferDirection.IN:
        confirm = TransferStep(name=StepName.CONFIRM, done=state is not MoveState.ACTION_REQUIRED, at=None)
        return [request, confirm, complete]
    is_past = is_completed or state.is_open
    is_free = state in {*_PREPARED, MoveState.LOCKED, MoveState.ELIGIBLE}
    before = [
        TransferStep(name=StepName.WAIT, done=is_past or is_free, at=eligibility.eligible_at),
        TransferStep(name=StepName.UNLOCK, done=is_past or state in _PREPARED, at=None),
    ]
    if has_code:
        is_delivered = code is not None and code.delivery.is_delivered
        at = code.requested_at if code is not None and is_delivered else None
        before.append(TransferStep(name=StepName.AUTH_CODE, done=is_past or is_delivered, at=at))
    return [*before, request, complete]
