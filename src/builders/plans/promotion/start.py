"""Start a promotion: check the request, its approval and the live state, and reserve every new name.

A start locks the account's slot first: its requests start one after the other, and see each other's promotions.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from builders.aliases import claims
from builders.aliases.errors import NamesRefused
from builders.aliases.records import Availability, Name
from builders.identity import accounts
from builders.identity.errors import EmailUnverified
from builders.identity.mandates import Spender
from builders.identity.records import About, AuditAction
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.jobs import time_slices
from builders.kit.limits import maximums
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock, ids
from builders.plans import store
from builders.plans.approval import decisions, requests
from builders.plans.approval.policy import sum_due
from builders.plans.errors import (
    ConfirmDeletesMismatch,
    PlanBlocked,
    PlanDigestMismatch,
    PlanExpired,
    PlanStale,
    PromotionLimit,
    PromotionRunning,
    TotalExceeded,
)
from builders.plans.planning import digest_plan
from builders.plans.promotion import batches, mandates
from builders.plans.records import (
    PROMOTABLE,
    Action,
    ActionKind,
    ApprovalState,
    Finding,
    OnError,
    Plan,
    PlanStatus,
    Promotion,
    PromotionRequest,
    PromotionStatus,
    Step,
    StepError,
    StepStatus,
    TargetAccount,
    WebhookView,
)
from builders.plans.resources import live_state
from builders.plans.resources.kinds import RunParameters
from builders.projects.errors import ProjectArchived
from builders.webhooks import destinations
from builders.webhooks.records import ValidatedUrls

FINISH = "plans.finish"  # the task
LARGE = 250  # actions; a promotion with more is a job
UNFINISHED = {PromotionStatus.PARTIAL, PromotionStatus.FAILED}  # it can be resumed
MAX_PER_DAY = maximums.declare(
    "promotions", 1_000, of="account", counts="New promotions in a day.", code=PromotionLimit.code
)
RETRY_S = 2
RESERVED = timedelta(minutes=15)  # an interrupted promotion keeps its names for this time


async def start(
    database: Database,
    *,
    outbound: Outbound,
    account_id: UUID,
    request: PromotionRequest,
    actor: Actor,
    parameters: RunParameters,
) -> tuple[UUID, Plan]:
    """Start or find the promotion of the plan; return its id and the plan. A job runs a large one.

    Of a plan only the status changes, so the rest is read once. Raise as `run.promote`.
    """
    async with database.connection() as conn:
        plan, stored = await store.get_plan(conn, account_id=account_id, plan_id=request.plan_id)
    if plan.digest != request.digest:
        raise PlanDigestMismatch
    is_intact = digest_plan(account_id, plan.manifest_digest, stored) == plan.digest
    urls = await destinations.validate_urls(outbound, _list_urls(plan))  # again: DNS can have changed
    async with database.transaction() as conn:
        new_id = ids.new()
        others = await store.lock_slot(conn, account_id=account_id, promotion_id=new_id, plan_id=plan.id)
        existing = next((each for each in others if each.plan_id == plan.id), None)
        if existing is not None and not _starts(existing, request):
            return existing.id, plan
        if not is_intact:
            raise PlanDigestMismatch("The stored plan differs from the shown plan.", next_action="Plan again.")
        if existing is None or plan.status in PROMOTABLE:
            _check_request(plan, request)
        await _check_account(conn, account_id, others)
        spender = await mandates.find_allowed(conn, plan=plan, actor=actor)
        if not await _is_approved(conn, plan, request, parameters, spender):
            return existing.id if existing else await _wait(conn, plan, request, new_id, str(actor)), plan
        if existing is None:
            started = await _start(conn, plan, request, new_id, str(actor), urls)
        else:
            started = await _reopen(conn, plan, request, existing, urls)
        if spender is not None:
            await mandates.use(conn, spender=spender, plan=plan, started=started, bound=parameters.bound)
        promotion_id = new_id if existing is None else existing.id
        await _audit(conn, plan, request, actor, promotion_id, existing)
        if is_large(plan):
            await enqueue(conn, account_id=account_id, promotion_id=promotion_id)
        return promotion_id, plan


def _list_urls(plan: Plan) -> set[str]:
    return {action.after.url for action in plan.actions if isinstance(action.after, WebhookView)}


async def _audit(
    conn: Conn, plan: Plan, request: PromotionRequest, actor: Actor, promotion_id: UUID, before: Promotion | None
) -> None:
    is_resumed = before is not None and before.status in UNFINISHED
    about: About = {"plan_id": str(plan.id), "promotion_id": str(promotion_id), "resumed": is_resumed}
    if request.person is not None:
        about = {**about, "person": str(request.person)}
    action = AuditAction.PLAN_PROMOTED
    await accounts.record_audit(conn, account_id=plan.account_id, actor=actor, action=action, about=about)


def _starts(promotion: Promotion, request: PromotionRequest) -> bool:
    """Return whether a request starts or resumes an existing promotion."""
    return promotion.status is PromotionStatus.WAITING or (request.resume and promotion.status in UNFINISHED)


async def _is_approved(
    conn: Conn, plan: Plan, request: PromotionRequest, parameters: RunParameters, spender: Spender | None
) -> bool:
    """Use the approval of the plan; return False if the promotion waits for it. Raise ApprovalRequired."""
    approval = await decisions.use_approval(conn, plan=plan, mandate=None if spender is None else spender.mandate)
    refusal = decisions.find_refusal(approval, review_url=requests.review_url(parameters.base_url, plan))
    if refusal is None:
        return True
    if request.when_approved and approval.state is not ApprovalState.REJECTED:
        return False
    refusal.audited_for = plan.account_id
    raise refusal


async def enqueue(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Enqueue a job that continues the promotion."""
    once = f"{FINISH} {promotion_id}"
    await time_slices.defer(conn, FINISH, once=once, account_id=str(account_id), promotion_id=str(promotion_id))


def is_large(plan: Plan) -> bool:
    """Return whether the plan's promotion is a job."""
    return sum(action.action is not ActionKind.NO_OP for action in plan.actions) > LARGE


def _check_request(plan: Plan, request: PromotionRequest) -> None:
    """Raise a refusal unless the plan can be promoted and the caller agreed to its removals and its price."""
    if plan.status is PlanStatus.BLOCKED:
        raise PlanBlocked
    if plan.expires_at <= clock.now():
        raise PlanExpired
    if (request.confirm_deletes or 0) != plan.removals:
        raise ConfirmDeletesMismatch(
            f"The plan removes {plan.removals} resource{'' if plan.removals == 1 else 's'}.",
            next_action=f"Send confirm_deletes: {plan.removals} to confirm the deletions.",
            removals=plan.removals,
        )
    _check_total(plan.actions, request)


def _check_total(actions: Iterable[Action], request: PromotionRequest) -> None:
    """Raise TotalExceeded if the actions cost more now than the caller allows, Invalid for another currency."""
    most = request.max_total
    if most is None:
        return
    for currency, due in sum_due(actions).items():
        if currency != most.currency:
            message = f"The plan costs {due} now, and max_total is in {most.currency}. Send it in {currency}."
            raise Invalid(("body", "max_total", "currency"), message, "currency_mismatch")
        if due > most:
            raise TotalExceeded(f"The plan costs {due} now, which exceeds max_total.", due=due.to_wire())


async def _check_account(conn: Conn, account_id: UUID, promotions: Sequence[Promotion]) -> None:
    """Raise EmailUnverified, and PromotionRunning if another promotion of the account is running."""
    if (await accounts.get_account(conn, account_id=account_id)).email_verified_at is None:
        raise EmailUnverified("Verify the account's email address before promoting.")
    if running := [each.id for each in promotions if each.status is PromotionStatus.RUNNING]:
        raise PromotionRunning(
            "Another promotion of the account is running.", retry_after=RETRY_S, promotion_id=str(running[0])
        )


async def _start(
    conn: Conn, plan: Plan, request: PromotionRequest, promotion_id: UUID, created_by: str, urls: ValidatedUrls
) -> Sequence[Step]:
    """Insert the promotion with its steps and reserve the new names; return the steps.

    Raise PlanStale if the live state changed, PromotionLimit.
    """
    steps = batches.new_steps(plan.actions)
    if drifted := await _reserve_and_compare(conn, plan, steps, urls):
        raise _stale(drifted)
    await _insert(conn, plan, request, promotion_id, created_by, steps)
    return steps


async def _wait(conn: Conn, plan: Plan, request: PromotionRequest, promotion_id: UUID, created_by: str) -> UUID:
    """Insert the promotion, which waits for the approval of the plan; return its id. Raise PromotionLimit."""
    steps = batches.new_steps(plan.actions)
    await _insert(conn, plan, request, promotion_id, created_by, steps, status=PromotionStatus.WAITING)
    return promotion_id


async def _insert(
    conn: Conn,
    plan: Plan,
    request: PromotionRequest,
    promotion_id: UUID,
    created_by: str,
    steps: Sequence[Step],
    *,
    status: PromotionStatus = PromotionStatus.RUNNING,
) -> None:
    now = clock.now()
    is_inserted = await store.insert_promotion(
        conn,
        account_id=plan.account_id,
        promotion_id=promotion_id,
        plan_id=plan.id,
        status=status,
        on_error=request.on_error,
        created_by=created_by,
        steps=steps,
        now=now,
        since=ids.lowest(now - timedelta(days=1)),
        limit=MAX_PER_DAY,
    )
    if not is_inserted:
        message = f"An account makes at most {MAX_PER_DAY:,} promotions in 24 hours."
        raise PromotionLimit(message, retry_after=3600)


async def _reopen(
    conn: Conn, plan: Plan, request: PromotionRequest, promotion: Promotion, urls: ValidatedUrls
) -> Sequence[Step]:
    """Make failed, skipped and waiting steps pending again, unless their preconditions have changed; return them.

    An old promotion must not claim at outdated prices and terms. Raise TotalExceeded, and PlanStale if a step
    depends on a change and the caller wants to stop at errors, or no step was tried yet.
    """
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    again = {StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.PENDING}
    before = await store.get_promotion(conn, account_id=plan.account_id, promotion_id=promotion.id)
    undone = [step for step in before.steps if step.status in again]
    _check_total((plan.actions[step.position] for step in undone), request)
    drifted = await _reserve_and_compare(conn, plan, undone, urls)
    if drifted and (request.on_error is OnError.STOP or promotion.status is PromotionStatus.WAITING):
        raise _stale(drifted)
    why = {each.address: StepError(code=each.code, message=each.message) for each in drifted}
    failed = {step.position: why[step.address] for step in undone if step.address in why}
    await store.reopen(conn, **owner, plan_id=plan.id, on_error=request.on_error, now=clock.now())
    await store.finish_steps(conn, **owner, outcomes=failed, now=clock.now())
    if failed:  # a name that is unavailable prevents the reservation of all
        await _reserve_names(conn, plan, [step for step in undone if step.position not in failed])
    return undone


async def _reserve_names(conn: Conn, plan: Plan, steps: Sequence[Step]) -> Mapping[Name, Availability]:
    """Reserve the names that the steps claim, all or none; return why some are unavailable."""
    wanted = batches.list_wanted(plan, steps)
    if not wanted:
        return {}
    realm, until = TargetAccount(account_id=plan.account_id).realm, clock.now() + RESERVED
    try:
        await claims.reserve_names(conn, realm=realm, account_id=plan.account_id, wanted=wanted, until=until)
    except NamesRefused as refusal:
        return refusal.refused
    return {}


async def _reserve_and_compare(
    conn: Conn, plan: Plan, steps: Sequence[Step], urls: ValidatedUrls
) -> list[Finding]:
    """Reserve the names that the steps claim, and return the changes since the plan was made.

    Raise ProjectArchived: a new plan would not help.
    """
    unavailable = await _reserve_names(conn, plan, steps)
    actions = [plan.actions[step.position] for step in steps]
    live = await live_state.read_for_actions(
        conn,
        target=TargetAccount(account_id=plan.account_id),
        manifest=plan.manifest,
        actions=actions,
        urls=urls,
        unavailable=unavailable,
    )
    archived = {project.id for project in live.projects if project.is_archived}
    if archived & live_state.list_project_ids([each for each in actions if each.action is not ActionKind.NO_OP]):
        raise ProjectArchived("A project of the plan is archived.")
    drifted: list[Finding] = []
    for kind, executor in batches.EXECUTORS.items():
        if planned := [action for action in actions if action.kind is kind]:
            drifted += executor.drift(plan.manifest, planned, live)
    return drifted


def _stale(drifted: Sequence[Finding]) -> PlanStale:
    return PlanStale(
        "The live state has changed since the plan was made.",
        changed=[{"address": each.address, "code": each.code, "message": each.message} for each in drifted],
    )


async def list_unfinished(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[UUID]:
    """Return promotions of the account that run, or wait for an approval."""
    return await store.list_unfinished(conn, account_id=account_id, limit=limit)
