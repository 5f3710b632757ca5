"""Compute the state and the steps of a transfer, and the time of the next check. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from builders.portfolio.registrars.records import TransferDirection, TransferState
from builders.portfolio.transfers import rules
from builders.portfolio.transfers.records import CodeRequest, Move, MoveState, Step, StepName
from builders.portfolio.transfers.rule_records import Eligibility, RuleName, RuleOutcome

OUTCOME_SHOWN = timedelta(days=60)  # after the end of a transfer; then its domain may move again
CODE_LIFETIME = timedelta(days=30)  # of an auth code whose end the registrar does not say
PENDING_CHECK, LATER_CHECK = timedelta(hours=1), timedelta(days=1)  # until the next check of a transfer
OLD = timedelta(days=14)  # a transfer that is pending for longer is checked each day
ABANDONED = timedelta(days=90)  # and then no more
_PREPARED = frozenset({MoveState.UNLOCKED, MoveState.AUTH_CODE_ISSUED})
_ENDED: Mapping[TransferState, MoveState] = {
    TransferState.COMPLETED: MoveState.COMPLETED,
    TransferState.FAILED: MoveState.FAILED,
    TransferState.CANCELLED: MoveState.CANCELLED,
}


def find_state(
    move: Move | None, code: CodeRequest | None, eligibility: Eligibility, *, now: datetime
) -> MoveState:
    """Return the state: of a transfer that is pending or has just ended, else of the preparations."""
    if move is not None and (state := _state_of_move(move, now)) is not None:
        return state
    if any(not rules.is_liftable(each) for each in eligibility.blocked_by):
        return MoveState.NOT_ELIGIBLE
    if eligibility.blocked_by:
        return MoveState.ELIGIBLE
    if eligibility.transferable is None:
        return MoveState.NONE
    if code is not None and is_valid(code, now):
        return MoveState.AUTH_CODE_ISSUED
    applied = eligibility.rules_applied
    is_unlocked = any(
        each.rule.rule is RuleName.REGISTRAR_LOCK and each.outcome is RuleOutcome.PASSES for each in applied
    )
    return MoveState.UNLOCKED if is_unlocked else MoveState.ELIGIBLE


def _state_of_move(move: Move, now: datetime) -> MoveState | None:
    if move.state is TransferState.ACTION_REQUIRED:
        return MoveState.ACTION_REQUIRED
    if move.state is TransferState.PENDING:
        return MoveState.PENDING_OUT if move.direction is TransferDirection.OUT else MoveState.PENDING_IN
    is_recent = move.ended_at is not None and now - move.ended_at < OUTCOME_SHOWN
    return _ENDED[move.state] if is_recent else None


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
) -> Sequence[Step]:
    """Return the steps of the transfer; `has_code`: the domain moves by auth code."""
    is_shown = move is not None and state.is_of_move
    is_completed = state is MoveState.COMPLETED
    request = Step(
        name=StepName.REQUEST, done=is_shown, at=move.started_at if move is not None and is_shown else None
    )
    complete = Step(
        name=StepName.COMPLETE, done=is_completed, at=move.ended_at if move is not None and is_completed else None
    )
    if move is not None and is_shown and move.direction is TransferDirection.IN:
        confirm = Step(name=StepName.CONFIRM, done=state is not MoveState.ACTION_REQUIRED, at=None)
        return [request, confirm, complete]
    is_past = is_completed or state.is_open
    is_free = state in _PREPARED or state is MoveState.ELIGIBLE
    before = [
        Step(name=StepName.WAIT, done=is_past or is_free, at=eligibility.eligible_at),
        Step(name=StepName.UNLOCK, done=is_past or state in _PREPARED, at=None),
    ]
    if has_code:
        is_delivered = code is not None and code.delivery.is_delivered
        at = code.requested_at if code is not None and is_delivered else None
        before.append(Step(name=StepName.AUTH_CODE, done=is_past or is_delivered, at=at))
    return [*before, request, complete]
