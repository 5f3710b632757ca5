"""Rehearsals: a plan and its promotion in the sandbox account, in one transaction.

Planning and batches are those of a promotion, without its journal: the response has the result of each step.
Failures can be injected. The transaction is rolled back unless `persist` is set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from psycopg import Rollback

from builders.identity import accounts
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http.callers import ApprovalRequired
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock, ids
from builders.kit.values.suggestions import find_similar
from builders.plans import planning, store
from builders.plans.approval import decisions
from builders.plans.approval.records import Approval, SimulatedDecision
from builders.plans.promotion import batches, completion, invoices
from builders.plans.promotion.batches import REFUSALS
from builders.plans.promotion.invoices import Bill
from builders.plans.records import (
    ActionKind,
    Manifest,
    OnError,
    Plan,
    PlanStatus,
    PromotionStatus,
    Step,
    StepError,
    StepStatus,
    TargetAccount,
)
from builders.plans.resources.kinds import RunParameters
from builders.plans.simulation import account_lock
from builders.webhooks import destinations
from builders.webhooks.records import ValidatedUrls

INJECTED = "The request injects this failure."
HINTED = 5  # unknown addresses with a suggestion; a suggestion is slow to compute


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalRequest:
    """A request to rehearse a manifest."""

    manifest: Manifest
    fail_at: Mapping[str, str]  # error codes, by the address of an action
    on_error: OnError
    persist: bool
    actor: Actor
    decision: SimulatedDecision | None = None  # None: no approval is required


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The result of a rehearsal."""

    plan: Plan
    persisted: bool
    on_error: OnError
    status: PromotionStatus | None  # None for a plan with errors or without approval, which is not executed
    steps: Sequence[Step]
    bills: Sequence[Bill]  # rolled back unless the rehearsal persists
    approval: Approval
    refusal: ApprovalRequired | None = None  # of the promotion


async def rehearse(
    database: Database,
    *,
    outbound: Outbound,
    account_id: UUID,
    request: RehearsalRequest,
    parameters: RunParameters,
) -> Rehearsal:
    """Plan and promote in the sandbox account of a real one; one rehearsal of an account at a time.

    Take the database, since the URLs of webhooks are resolved outside a transaction. Raise Invalid at `fail_at`
    for an action that the plan does not have, and ProjectArchived.
    """
    urls = await destinations.validate_urls(outbound, {desired.url for desired in request.manifest.webhooks})
    async with account_lock(account_id), database.transaction() as conn:
        return await _rehearse(conn, account_id=account_id, request=request, parameters=parameters, urls=urls)


async def _rehearse(
    conn: Conn, *, account_id: UUID, request: RehearsalRequest, parameters: RunParameters, urls: ValidatedUrls
) -> Rehearsal:
    sandbox_id = (await accounts.get_account(conn, account_id=account_id)).sandbox_id
    await store.lock_account(conn, account_id=sandbox_id)
    target = TargetAccount(account_id=sandbox_id, realm=sandbox_id)
    plan = await planning.build_plan(
        conn,
        target=target,
        manifest=request.manifest,
        actor=request.actor,
        urls=urls,
        cooling_off=parameters.cooling_off,
    )
    _check_addresses(plan, request.fail_at)
    approval = decisions.simulate_approval(plan, request.decision)
    rehearsal = Rehearsal(
        plan=plan, persisted=False, on_error=request.on_error, status=None, steps=(), bills=(), approval=approval
    )
    if plan.status is PlanStatus.BLOCKED:
        return rehearsal
    if (refusal := decisions.find_refusal(approval)) is not None:
        return replace(rehearsal, refusal=refusal)
    async with conn.transaction():
        steps = await _perform(conn, target, plan, request, parameters)
        status = completion.decide_status(steps)
        if request.persist:
            await completion.publish(conn, plan=plan, promotion_id=ids.new(), steps=steps, status=status)
        # Last, since it blocks other invoices until the commit.
        bills = await invoices.issue_invoices(
            conn, plan=plan, steps=steps, parameters=parameters, promotion_id=None
        )
        if not request.persist:
            raise Rollback
    return replace(rehearsal, persisted=request.persist, status=status, steps=steps, bills=bills)


def _check_addresses(plan: Plan, fail_at: Mapping[str, str]) -> None:
    """Raise Invalid for an address without an action or with a `no_op`."""
    known = {action.address: action.action for action in plan.actions}
    refused = {each.address for each in plan.errors}
    wrong: list[dict[str, Any]] = []
    for address in fail_at:
        error: dict[str, Any] = {"loc": ("body", "fail_at", address), "type": "fail_at_unknown"}
        if known.get(address) is ActionKind.NO_OP:
            wrong.append(error | {"msg": "This resource does not change, so its action cannot fail."})
        elif address not in known and address not in refused:
            meant = find_similar(address, known) if len(wrong) < HINTED else None
            error["msg"] = "The plan has no such action." + (f" Did you mean {meant!r}?" if meant else "")
            wrong.append(error | ({"did_you_mean": meant} if meant else {}))
    if wrong:
        raise Invalid.many(wrong)


async def _perform(
    conn: Conn, target: TargetAccount, plan: Plan, request: RehearsalRequest, parameters: RunParameters
) -> Sequence[Step]:
    """Execute the steps in sequence. After a failed step, repeat its batch without it, or stop."""
    steps = batches.new_steps(plan.actions)
    while tasks := batches.list_next(plan, steps):
        codes = {task.step.position: request.fail_at.get(task.action.address) for task in tasks}
        faults: Mapping[int, StepError] = {
            at: StepError(code=code, message=INJECTED) for at, code in codes.items() if code
        }
        if not faults:
            try:
                async with conn.transaction():
                    await batches.execute(
                        conn, target=target, plan=plan, steps=steps, tasks=tasks, parameters=parameters
                    )
            except REFUSALS as refusal:
                faults = batches.explain_refusal(plan, tasks, refusal)
        now, status = clock.now(), StepStatus.FAILED if faults else StepStatus.SUCCEEDED
        for at in faults or codes:  # with a fault, nothing of the batch was done
            steps[at] = replace(steps[at], status=status, error=faults.get(at), attempts=1, finished_at=now)
        if faults and request.on_error is OnError.STOP:
            return [
                replace(step, status=StepStatus.SKIPPED, finished_at=now)
                if step.status is StepStatus.PENDING
                else step
                for step in steps
            ]
    return steps
