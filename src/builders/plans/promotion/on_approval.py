"""Promotions that wait for an approval: their start by it, and their end without it; promotion by a person."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from uuid import UUID

from builders.identity import keys
from builders.identity.errors import KeyNotFound
from builders.identity.records import KeyKind, NewApiKey, Preset
from builders.kit.callers import Actor, require_fresh_person
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Problem
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock, ids
from builders.plans import planning, store
from builders.plans.approval import decisions
from builders.plans.errors import PromotionRunning
from builders.plans.promotion import completion, run
from builders.plans.records import (
    Plan,
    Promotion,
    PromotionRequest,
    PromotionStatus,
    StepError,
    StepStatus,
)
from builders.plans.resources.kinds import RunParameters
from builders.portfolio.team import deciders
from builders.portfolio.team.records import Access

STARTED_AT_ONCE = 100  # promotions of an account by one job
KEY_LIFE = timedelta(minutes=15)
EXPIRED = StepError(code="approval_missing", message="Nobody approved the plan before it expired. Plan again.")
KEY_REFUSED = StepError(code="key_refused", message="The key of the request cannot promote any more. Plan again.")
STOPPED = StepError(code="machines_stopped", message="A person stopped all machines. Plan again.")
PROMOTE = "sandbox:promote"


async def start_approved(
    database: Database,
    *,
    outbound: Outbound,
    account_id: UUID,
    after: UUID,
    parameters: RunParameters,
    limit: int = STARTED_AT_ONCE,
) -> UUID | None:
    """Start the promotions of an account that wait for an approval and now have it: those after `after`.

    Return the last one that was looked at, None if there are no more. A promotion whose key is no longer valid, or
    whose plan is stale, ends. Raise PromotionRunning if another one runs, and as the database does: the job is
    repeated.
    """
    async with database.connection() as conn:
        waiting = await store.list_waiting(conn, account_id=account_id, after=after, limit=limit)
    for promotion_id in waiting:
        refusal = await _start(database, outbound, account_id, promotion_id, parameters)
        if refusal is not None:
            await end(database, account_id=account_id, promotion_id=promotion_id, error=refusal)
    return waiting[-1] if len(waiting) == limit else None


async def _start(
    database: Database, outbound: Outbound, account_id: UUID, promotion_id: UUID, parameters: RunParameters
) -> StepError | None:
    """Start a promotion if its plan is approved; return why it can never start. Raise as `start_approved`."""
    async with database.connection() as conn:
        promotion = await store.get_promotion(conn, account_id=account_id, promotion_id=promotion_id)
        plan = await planning.get_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
        if decisions.find_refusal(await decisions.get_approval(conn, plan=plan)) is not None:
            return None
        actor = await _find_promoter(conn, account_id, ids.parse(promotion.created_by))
        if actor is None:
            return KEY_REFUSED
    try:
        await run.promote(
            database,
            outbound=outbound,
            account_id=account_id,
            request=_consent(plan, promotion),
            actor=actor,
            parameters=parameters,
        )
    except PromotionRunning:
        raise
    except Problem as error:
        if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return StepError(code=error.code, message=error.detail)
    return None


async def _find_promoter(conn: Conn, account_id: UUID, key_id: UUID) -> Actor | None:
    """Return the key or connection as it acts; None if it cannot promote any more."""
    try:
        key = await keys.get_key(conn, account_id=account_id, key_id=key_id)
    except KeyNotFound:
        return None
    may_promote = key.is_active(clock.now()) and key.key_kind is KeyKind.LIVE and PROMOTE in key.scopes
    return keys.actor_of(key) if may_promote else None


def _consent(plan: Plan, promotion: Promotion) -> PromotionRequest:
    """Return the request again that was accepted as waiting: it consented to the deletions and the price."""
    return PromotionRequest(
        plan_id=plan.id,
        digest=plan.digest,
        confirm_deletes=plan.removals,
        max_total=None,
        on_error=promotion.on_error,
        resume=False,
        when_approved=True,
    )


async def end(database: Database, *, account_id: UUID, promotion_id: UUID, error: StepError) -> None:
    """End a promotion that waits for an approval, if it still waits; publish promotion.failed."""
    async with database.transaction() as conn:
        await store.lock_approvals(conn, account_id=account_id)  # no request starts it now
        await _end(conn, account_id=account_id, promotion_id=promotion_id, error=error)


async def _end(conn: Conn, *, account_id: UUID, promotion_id: UUID, error: StepError) -> None:
    owner, now = {"account_id": account_id, "promotion_id": promotion_id}, clock.now()
    promotion = await store.get_promotion(conn, **owner, lock=True)
    if promotion.status is not PromotionStatus.WAITING:
        return
    await store.skip_steps(conn, **owner, now=now)
    steps = [replace(step, status=StepStatus.SKIPPED, finished_at=now) for step in promotion.steps]
    plan = await planning.get_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
    status = PromotionStatus.FAILED
    await completion.publish(conn, plan=plan, promotion_id=promotion_id, steps=steps, status=status)
    await store.end_waiting(conn, **owner, error=error, now=now)


async def end_all(conn: Conn, *, account_id: UUID) -> None:
    """End all promotions of an account that wait for an approval; none starts until the transaction ends."""
    await store.lock_approvals(conn, account_id=account_id)
    while waiting := await store.list_waiting(conn, account_id=account_id, after=ids.NIL, limit=STARTED_AT_ONCE):
        for promotion_id in waiting:
            await _end(conn, account_id=account_id, promotion_id=promotion_id, error=STOPPED)


keys.stop_hooks.append(end_all)


async def promote_as_person(
    database: Database,
    *,
    outbound: Outbound,
    access: Access,
    request: PromotionRequest,
    parameters: RunParameters,
) -> Promotion:
    """Promote a plan for the person who holds the account, with a fresh session.

    A promotion takes a live key: mint one for this plan, show it to nobody, and revoke it afterwards. The audit
    log names the person and the key. A plan that is promoted already takes no key. Raise PersonRequired,
    FreshSignInRequired, RoleForbidden, KeyLimit, and as `run.promote`.
    """
    require_fresh_person(access.actor, account_id=access.owner_id)
    deciders.require_account(access, "Only the account itself promotes its plans.")
    own = access.owner_id
    promote = partial(
        run.promote,
        database,
        account_id=own,
        outbound=outbound,
        request=replace(request, person=access.member_id),
        parameters=parameters,
    )
    async with database.connection() as conn:
        status = await store.find_status(conn, account_id=own, plan_id=request.plan_id)
    if status is PromotionStatus.SUCCEEDED:  # for ever: no request starts it again
        return await promote(actor=access.actor)
    async with database.transaction() as conn:
        new = await _mint(conn, access, request.plan_id)
    try:
        return await promote(actor=Actor(type="key", id=new.id))
    finally:
        async with database.transaction() as conn:
            await keys.revoke_key(conn, account_id=own, key_id=new.id, revoked_by=KeyKind.LIVE, actor=access.actor)


async def _mint(conn: Conn, access: Access, plan_id: UUID) -> NewApiKey:
    """Create the key with which a person promotes a plan. Raise KeyLimit."""
    return await keys.create_key(
        conn,
        account_id=access.owner_id,
        label=f"Promotion of the plan {plan_id}",
        key_kind=KeyKind.LIVE,
        preset=Preset.DEVELOPER_FULL,
        minted_by=KeyKind.LIVE,
        actor=access.actor,
        expires_at=clock.now() + KEY_LIFE,
        is_mailed=False,
    )
