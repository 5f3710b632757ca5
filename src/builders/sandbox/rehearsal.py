"""Rehearsals: a plan and its promotion in the sandbox account, in one transaction.

Planning and batches are those of a promotion, without its journal: the response has the result of each step.
Failures can be injected. The transaction is rolled back unless `persist` is set.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from psycopg import Rollback

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http.callers import Actor
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock, ids
from builders.sandbox import planning
from builders.sandbox.manifest import Manifest
from builders.sandbox.promotion import batches, complete, run
from builders.sandbox.promotion.batches import REFUSALS
from builders.sandbox.promotion.complete import Bill
from builders.sandbox.records import (
    ActionKind,
    OnError,
    Plan,
    PlanStatus,
    PromotionStatus,
    Step,
    StepStatus,
    TargetAccount,
)
from builders.sandbox.resources.kinds import Batch, RunParameters, Task
from builders.sandbox.simulation import account_lock, find_sandbox_id
from builders.sandbox.step_errors import StepError
from builders.sandbox.store import promotions as store
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The result of a rehearsal."""

    plan: Plan
    persisted: bool
    on_error: OnError
    status: PromotionStatus | None  # None for a plan with errors, which is not executed
    steps: Sequence[Step]
    bills: Sequence[Bill]  # rolled back unless the rehearsal persists


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
    sandbox_id = await find_sandbox_id(conn, account_id=account_id)
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
    rehearsal = Rehearsal(plan=plan, persisted=False, on_error=request.on_error, status=None, steps=(), bills=())
    if plan.status is PlanStatus.BLOCKED:
        return rehearsal
    async with conn.transaction():
        steps = await _perform(conn, target, plan, request, parameters)
        status = complete.decide_status(Counter(step.status for step in steps))
        if request.persist:
            await complete.publish(conn, plan=plan, promotion_id=ids.new(), steps=steps, status=status)
        # Last, since it blocks other invoices until the commit.
        bills = await complete.issue_invoices(
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
        loc = ("body", "fail_at", address)
        if known.get(address) is ActionKind.NO_OP:
            message = "This resource does not change, so its action cannot fail."
            wrong.append({"loc": loc, "msg": message, "type": "fail_at_unknown"})
        elif address not in known and address not in refused:
            wrong.append(_unknown(address, sorted(known) if len(wrong) < HINTED else (), loc))
    if wrong:
        raise Invalid.many(wrong)


def _unknown(address: str, known: Sequence[str], loc: Sequence[str]) -> dict[str, Any]:
    close = get_close_matches(address, known, n=1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    error = {"loc": loc, "msg": f"The plan has no such action.{meant}", "type": "fail_at_unknown"}
    return error | ({"did_you_mean": close[0]} if close else {})


async def _perform(
    conn: Conn, target: TargetAccount, plan: Plan, request: RehearsalRequest, parameters: RunParameters
) -> Sequence[Step]:
    """Execute the steps in sequence. After a failed step, repeat its batch without it, or stop."""
    progress = _Progress(plan, request)
    for group in batches.group_stages(plan.actions):
        tasks = [each for each in progress.tasks if (each.action.kind, each.action.action) in group]
        while tasks and not progress.stopped:
            batch = Batch(
                target=target, manifest=plan.manifest, tasks=tasks, parameters=parameters, made=progress.made
            )
            faults = progress.injected(tasks) or await _execute(conn, plan, batch, progress.undone)
            progress.record(tasks, faults)
            tasks = [each for each in tasks if faults and each.step.position not in faults]
    return progress.finish()


async def _execute(conn: Conn, plan: Plan, batch: Batch, undone: frozenset[str]) -> Mapping[int, StepError]:
    """Execute a batch; return its faults by position. With a fault, nothing of the batch was done."""
    try:
        async with conn.transaction():
            await batches.execute(conn, batch=batch, undone=undone)
    except REFUSALS as refusal:
        return run.explain(plan, batch.tasks, refusal)
    return {}


class _Progress:
    """The steps of a rehearsal and their results."""

    def __init__(self, plan: Plan, request: RehearsalRequest) -> None:
        self._request = request
        self._steps = {step.position: step for step in batches.new_steps(plan.actions)}
        self.tasks = batches.list_tasks(plan, list(self._steps.values()))
        self.made = run.list_created(list(self._steps.values()))
        self.undone: frozenset[str] = frozenset()
        self.stopped = False

    def injected(self, batch: Sequence[Task]) -> dict[int, StepError]:
        """Return the injected faults of a batch, by position."""
        codes = {task.step.position: self._request.fail_at.get(task.action.address) for task in batch}
        return {at: StepError(code=code, message=INJECTED) for at, code in codes.items() if code}

    def record(self, batch: Sequence[Task], faults: Mapping[int, StepError]) -> None:
        """Record the result of a batch: all succeeded, or some failed and the batch had no effect."""
        ended = [task for task in batch if task.step.position in faults] if faults else batch
        for task in ended:
            fault = faults.get(task.step.position)
            self._steps[task.step.position] = replace(
                self._steps[task.step.position],
                status=StepStatus.FAILED if fault else StepStatus.SUCCEEDED,
                error=fault,
                attempts=1,
                finished_at=clock.now(),
            )
        if faults:
            self.undone |= {task.action.address for task in ended}
            self.stopped = self._request.on_error is OnError.STOP

    def finish(self) -> list[Step]:
        """Return all steps; those that were not reached are skipped."""
        now = clock.now()
        return [
            replace(step, status=StepStatus.SKIPPED, finished_at=now)
            if step.status is StepStatus.PENDING
            else step
            for step in self._steps.values()
        ]
