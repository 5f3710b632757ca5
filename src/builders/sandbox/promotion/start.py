"""Start a promotion, once for a plan: check the request and the live state, and reserve every new name."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import claims
from builders.aliases.errors import NamesRefused
from builders.identity import accounts
from builders.identity.errors import EmailUnverified
from builders.identity.records import About, AuditAction
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http.callers import Actor
from builders.kit.jobs import time_slices
from builders.kit.limits import maximums
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock, ids
from builders.projects.errors import ProjectArchived
from builders.sandbox.errors import (
    ConfirmDeletesMismatch,
    PlanBlocked,
    PlanDigestMismatch,
    PlanExpired,
    PlanNotFound,
    PlanStale,
    PromotionLimit,
    PromotionRunning,
    TotalExceeded,
)
from builders.sandbox.manifest import AliasView, WebhookView
from builders.sandbox.planning import digest_stored_plan, sum_due
from builders.sandbox.promotion import batches
from builders.sandbox.records import (
    Action,
    ActionKind,
    Finding,
    OnError,
    Plan,
    PlanStatus,
    Promotion,
    PromotionRequest,
    PromotionStatus,
    Step,
    StepStatus,
    TargetAccount,
)
from builders.sandbox.resources import live_state
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.resources.references import index_domains
from builders.sandbox.step_errors import StepError
from builders.sandbox.store import plans as plan_store, promotions as store, steps as journal
from builders.webhooks import destinations
from builders.webhooks.records import ValidatedUrls

FINISH = "sandbox.finish"  # name of the job
ABANDONED = timedelta(minutes=2)
ABANDONED_AT_ONCE = 1000
LARGE = 250  # actions; a promotion with more is a job
UNFINISHED = {PromotionStatus.PARTIAL, PromotionStatus.FAILED}  # it can be resumed
MAX_PER_DAY = maximums.declare(
    "promotions", 1_000, of="account", counts="New promotions in a day.", code=PromotionLimit.code
)
RETRY_S = 2
RESERVED = timedelta(minutes=15)  # an interrupted promotion keeps its names for this time


async def start(
    database: Database, *, outbound: Outbound, account_id: UUID, request: PromotionRequest, actor: Actor
) -> tuple[UUID, bool]:
    """Start or find the promotion of the plan; return its id, and whether a job runs it."""
    urls = await _validate_urls(database, outbound, account_id, request)
    async with database.transaction() as conn:
        plan = await _lock_plan(conn, account_id, request)
        existing = await store.find_promotion_of_plan(conn, account_id=account_id, plan_id=plan.id)
        if existing is not None and not (request.resume and existing.status in UNFINISHED):
            return existing.id, _is_large(plan)
        await _check_intact(conn, plan)
        if existing is None:
            _check_request(plan, request)
            promotion_id = await _insert(conn, plan, request, str(actor), urls)
        else:
            _check_total([plan.actions[step.position] for step in _undone(existing)], request)
            await _reopen(conn, plan, existing, request.on_error, urls)
            promotion_id = existing.id
        about: About = {
            "plan_id": str(plan.id),
            "promotion_id": str(promotion_id),
            "resumed": existing is not None,
        }
        await accounts.record_audit(
            conn, account_id=account_id, actor=actor, action=AuditAction.PLAN_PROMOTED, about=about
        )
        if _is_large(plan):
            await enqueue(conn, account_id=account_id, promotion_id=promotion_id)
        return promotion_id, _is_large(plan)


async def enqueue(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Enqueue a job that continues the promotion."""
    once = f"{FINISH} {promotion_id}"
    await time_slices.defer(conn, FINISH, once=once, account_id=str(account_id), promotion_id=str(promotion_id))


async def resume_abandoned(conn: Conn) -> int:
    """Enqueue a job for each promotion that has run for minutes: its process may have stopped. Return how many."""
    found = await store.list_abandoned(conn, before=clock.now() - ABANDONED, limit=ABANDONED_AT_ONCE)
    for account_id, promotion_id in found:
        await enqueue(conn, account_id=account_id, promotion_id=promotion_id)
    return len(found)


def _is_large(plan: Plan) -> bool:
    """Return whether the plan's promotion is a job."""
    return sum(action.action is not ActionKind.NO_OP for action in plan.actions) > LARGE


async def _validate_urls(
    database: Database, outbound: Outbound, account_id: UUID, request: PromotionRequest
) -> ValidatedUrls:
    """Validate the URLs of the plan's destinations again: DNS can have changed. No transaction is open."""
    async with database.connection() as conn:
        plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=request.plan_id)
    views = [] if plan is None or plan.digest != request.digest else [each.after for each in plan.actions]
    urls = {view.url for view in views if isinstance(view, WebhookView)}
    return await destinations.validate_urls(outbound, urls)


async def _lock_plan(conn: Conn, account_id: UUID, request: PromotionRequest) -> Plan:
    plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=request.plan_id, lock=True)
    if plan is None:
        raise PlanNotFound
    if plan.digest != request.digest:
        raise PlanDigestMismatch
    return plan


async def _check_intact(conn: Conn, plan: Plan) -> None:
    """Raise PlanDigestMismatch unless the digest binds the stored actions, which are executed."""
    actions = await plan_store.list_actions(conn, account_id=plan.account_id, plan_id=plan.id)
    if digest_stored_plan(plan.account_id, plan.manifest_digest, actions) != plan.digest:
        raise PlanDigestMismatch("The stored plan differs from the shown plan.", next_action="Plan again.")


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


def _check_total(actions: Sequence[Action], request: PromotionRequest) -> None:
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


async def _insert(conn: Conn, plan: Plan, request: PromotionRequest, created_by: str, urls: ValidatedUrls) -> UUID:
    """Insert the promotion with its steps and reserve the new names.

    Raise PlanStale if the live state changed, PromotionLimit.
    """
    await _check_email(conn, plan.account_id)
    now, promotion_id = clock.now(), ids.new()
    await _reserve_slot(conn, account_id=plan.account_id, promotion_id=promotion_id)
    await _check_number(conn, account_id=plan.account_id)
    if drifted := await _find_drift(conn, plan, plan.actions, urls):
        raise _stale([(each.address, each.code, each.message) for each in drifted])
    steps = batches.new_steps(plan.actions)
    await _reserve_names(conn, plan, steps)
    await store.insert_promotion(
        conn,
        account_id=plan.account_id,
        promotion_id=promotion_id,
        plan_id=plan.id,
        on_error=request.on_error,
        created_by=created_by,
        steps=steps,
        now=now,
    )
    await plan_store.mark_plan(conn, account_id=plan.account_id, plan_id=plan.id, status=PlanStatus.PROMOTING)
    return promotion_id


async def _reopen(conn: Conn, plan: Plan, promotion: Promotion, on_error: OnError, urls: ValidatedUrls) -> None:
    """Make failed and skipped steps pending again, unless their preconditions have changed.

    An old promotion must not claim at outdated prices and terms. Raise PlanStale if a step depends on a change and
    the caller wants to stop at errors.
    """
    await _check_email(conn, plan.account_id)
    await _reserve_slot(conn, account_id=plan.account_id, promotion_id=promotion.id)
    undone = _undone(promotion)
    drifted = await _find_drift(conn, plan, [plan.actions[step.position] for step in undone], urls)
    if drifted and on_error is OnError.STOP:
        raise _stale([(each.address, each.code, each.message) for each in drifted])
    why = {each.address: StepError(code=each.code, message=each.message) for each in drifted}
    failed = {step.position: why[step.address] for step in undone if step.address in why}
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    await store.reopen(conn, **owner, on_error=on_error)
    await journal.finish_steps(conn, **owner, outcomes=journal.failures(failed), now=clock.now())
    await plan_store.mark_plan(conn, account_id=plan.account_id, plan_id=plan.id, status=PlanStatus.PROMOTING)
    await _reserve_names(conn, plan, [step for step in undone if step.position not in failed])


async def _reserve_slot(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Make this promotion the account's running one. Raise PromotionRunning if another runs."""
    holder = await store.reserve(conn, account_id=account_id, promotion_id=promotion_id)
    if holder == promotion_id:
        return
    if await store.is_running(conn, account_id=account_id, promotion_id=holder):
        raise PromotionRunning(
            "Another promotion of the account is running.",
            retry_after=RETRY_S,
            promotion_id=str(holder),
        )
    await store.hand_over(conn, account_id=account_id, promotion_id=promotion_id)


async def _check_number(conn: Conn, *, account_id: UUID) -> None:
    """Raise PromotionLimit when no promotion can be added today. The slot of the account is reserved."""
    since = ids.lowest(clock.now() - timedelta(days=1))
    if await store.count_since(conn, account_id=account_id, since=since, limit=MAX_PER_DAY) >= MAX_PER_DAY:
        message = f"An account makes at most {MAX_PER_DAY:,} promotions in 24 hours."
        raise PromotionLimit(message, retry_after=3600)


def _undone(promotion: Promotion) -> list[Step]:
    """Return the steps that a resumed promotion tries again."""
    return [step for step in promotion.steps if step.status in {StepStatus.FAILED, StepStatus.SKIPPED}]


async def _check_email(conn: Conn, account_id: UUID) -> None:
    account = await accounts.get_account(conn, account_id=account_id)
    if account.email_verified_at is None:
        raise EmailUnverified(
            "Verify the account's email address before promoting.",
        )


async def _find_drift(conn: Conn, plan: Plan, actions: Sequence[Action], urls: ValidatedUrls) -> list[Finding]:
    """Return the changes since the plan was made. Raise ProjectArchived: a new plan would not help."""
    live = await _read_live_state(conn, plan, actions, urls)
    drifted = list(batches.find_drift(plan.manifest, actions, live))
    archived = {project.id for project in live.projects if project.is_archived}
    if archived & live_state.list_project_ids([each for each in actions if each.action is not ActionKind.NO_OP]):
        raise ProjectArchived("A project of the plan is archived.")
    return drifted


async def _read_live_state(conn: Conn, plan: Plan, actions: Sequence[Action], urls: ValidatedUrls) -> LiveState:
    target = TargetAccount(account_id=plan.account_id)
    live = await live_state.read_for_actions(
        conn, target=target, manifest=plan.manifest, actions=actions, urls=urls
    )
    index = index_domains(live.domains, live.own, actions)
    views = [each.after for each in actions if isinstance(each.after, AliasView)]
    names = frozenset(name for view in views for name in index.names(view.destinations))
    forwarded = await live_state.list_forwarded(conn, target=target, names=names)
    return replace(live, domains=index.domains, forwarded=forwarded)


async def _reserve_names(conn: Conn, plan: Plan, steps: Sequence[Step]) -> None:
    tasks = batches.list_tasks(plan, steps)
    wanted = batches.list_wanted(tasks)
    if not wanted:
        return
    realm, until = TargetAccount(account_id=plan.account_id).realm, clock.now() + RESERVED
    try:
        await claims.reserve_names(conn, realm=realm, account_id=plan.account_id, wanted=wanted, until=until)
    except NamesRefused as refused:
        blamed = batches.explain_refusal(plan.manifest, tasks, refused)
        raise _stale([(plan.actions[at].address, why.code, why.message) for at, why in blamed.items()]) from None


def _stale(changed: Sequence[tuple[str, str, str]]) -> PlanStale:
    return PlanStale(
        "The live state has changed since the plan was made.",
        changed=[{"address": address, "code": code, "message": message} for address, code, message in changed],
    )
