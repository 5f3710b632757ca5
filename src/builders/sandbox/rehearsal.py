"""A promotion rehearsed: planned on the sandbox account's own state and carried out there, all in one transaction.

The same planning and the same batches as a promotion's, without its journal: who watches sees how each step ended.
Failures can be injected. Unless it is to stay, all of it is taken back at the end.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from psycopg import Rollback

from builders.identity import service as identity
from builders.invoices import service as invoices
from builders.invoices.records import Invoice, NewLine
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.http.callers import Actor
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock, ids
from builders.sandbox import finishing, planner, promotion as promotions, runner
from builders.sandbox.error_codes import StepError
from builders.sandbox.events import PROMOTION_COMPLETED, PROMOTION_FAILED, PromotionData
from builders.sandbox.gates import gate
from builders.sandbox.kinds.doers import REFUSALS
from builders.sandbox.kinds.work import Task, Work
from builders.sandbox.means import Means
from builders.sandbox.records import (
    ActionKind,
    Ground,
    OnError,
    Plan,
    PlanStatus,
    PromotionStatus,
    Step,
    StepStatus,
)
from builders.sandbox.store import rehearsals as store
from builders.sandbox.wishes import Manifest
from builders.webhooks import service as webhooks
from builders.webhooks.service import ValidatedUrls

INJECTED = "It was asked to fail here."
HINTED = 5  # unknown addresses that are told what was meant; to look for it costs more than all the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What is rehearsed."""

    manifest: Manifest
    fail_at: Mapping[str, str]  # error codes, by the address of an action
    on_error: OnError
    persist: bool
    actor: Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """An invoice that was made, or would be."""

    invoice: Invoice
    lines: Sequence[NewLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """How it went."""

    plan: Plan
    persisted: bool
    on_error: OnError
    status: PromotionStatus | None  # None for a plan with errors, which is not carried out
    steps: Sequence[Step]
    bills: Sequence[Bill]


async def rehearse(
    database: Database, *, outbound: Outbound, account_id: UUID, script: Script, means: Means
) -> Rehearsal:
    """Plans and promotes in the sandbox account of a real one; one rehearsal of an account at a time.

    Takes the database, since name servers are asked about the URLs of webhooks. Raises Invalid at `fail_at`, for
    what the plan does not do, and ProjectArchived.
    """
    urls = await webhooks.validate_urls(outbound, {wish.url for wish in script.manifest.webhooks})
    async with gate(account_id), database.transaction() as conn:
        return await _rehearse(conn, account_id=account_id, script=script, means=means, urls=urls)


async def _rehearse(
    conn: Conn, *, account_id: UUID, script: Script, means: Means, urls: ValidatedUrls
) -> Rehearsal:
    twin_id = (await identity.get_account(conn, account_id=account_id)).sandbox_id
    await store.take_turn(conn, account_id=twin_id)
    ground = Ground(account_id=twin_id, realm=twin_id)
    plan = await planner.draft(
        conn,
        ground=ground,
        manifest=script.manifest,
        actor=script.actor,
        urls=urls,
        cooling_off=means.cooling_off,
    )
    _check_addresses(plan, script.fail_at)
    rehearsal = Rehearsal(plan=plan, persisted=False, on_error=script.on_error, status=None, steps=(), bills=())
    if plan.status is PlanStatus.BLOCKED:
        return rehearsal
    async with conn.transaction():
        steps = await _perform(conn, ground, plan, script, means)
        counts = Counter(step.status for step in steps)
        status = finishing.outcome(counts)
        if script.persist:
            await _tell(conn, plan, counts)
        bills = await _bill(conn, plan, steps, means)
        if not script.persist:
            raise Rollback
    return replace(rehearsal, persisted=script.persist, status=status, steps=steps, bills=bills)


def _check_addresses(plan: Plan, fail_at: Mapping[str, str]) -> None:
    """Raises Invalid for an address of nothing, or of what is not done."""
    known = {action.address: action.action for action in plan.actions}
    refused = {each.address for each in plan.errors}
    wrong: list[dict[str, Any]] = []
    for address in fail_at:
        loc = ("body", "fail_at", address)
        if known.get(address) is ActionKind.NO_OP:
            message = "Nothing is to be done there, so nothing can fail."
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


async def _perform(conn: Conn, ground: Ground, plan: Plan, script: Script, means: Means) -> Sequence[Step]:
    """Does the steps in their order; what fails, or is asked to, is taken out of its batch or ends it all."""
    stage = _Stage(plan, script)
    for group in promotions.groups(plan.actions):
        batch = [each for each in stage.tasks if (each.action.kind, each.action.action) in group]
        while batch and not stage.stopped:
            work = Work(ground=ground, manifest=plan.manifest, tasks=batch, means=means, made=stage.made)
            faults = stage.injected(batch) or await _execute(conn, plan, work, stage.undone)
            stage.note(batch, faults)
            batch = [each for each in batch if faults and each.position not in faults]
    return stage.ended()


async def _execute(conn: Conn, plan: Plan, work: Work, undone: frozenset[str]) -> Mapping[int, StepError]:
    """The faults of a batch, by position; none when all of it is done, else nothing of it was."""
    try:
        async with conn.transaction():
            await promotions.execute(conn, work, undone=undone)
    except REFUSALS as refusal:
        return runner.explain(plan, work.tasks, refusal)
    return {}


class _Stage:
    """The steps, as they end one after the other."""

    def __init__(self, plan: Plan, script: Script) -> None:
        self._script = script
        self._steps = {step.position: step for step in promotions.steps(plan.actions)}
        self.tasks = promotions.tasks(plan, list(self._steps.values()))
        self.made = runner.made(list(self._steps.values()))
        self.undone: frozenset[str] = frozenset()
        self.stopped = False

    def injected(self, batch: Sequence[Task]) -> dict[int, StepError]:
        """The faults that were asked for."""
        codes = {task.position: self._script.fail_at.get(task.action.address) for task in batch}
        return {at: StepError(code=code, message=INJECTED) for at, code in codes.items() if code}

    def note(self, batch: Sequence[Task], faults: Mapping[int, StepError]) -> None:
        """Writes down how a batch ended: done, or some of it failed and nothing was done."""
        ended = [task for task in batch if task.position in faults] if faults else batch
        for task in ended:
            fault = faults.get(task.position)
            self._steps[task.position] = replace(
                self._steps[task.position],
                status=StepStatus.FAILED if fault else StepStatus.SUCCEEDED,
                error=fault,
                attempts=1,
                finished_at=clock.now(),
            )
        if faults:
            self.undone |= {task.action.address for task in ended}
            self.stopped = self._script.on_error is OnError.STOP

    def ended(self) -> list[Step]:
        """All steps: what had nothing to do is done, and what nobody came to is skipped."""
        now = clock.now()
        left = {StepStatus.PENDING}
        return [
            replace(step, status=_left(step), finished_at=now) if step.status in left else step
            for step in self._steps.values()
        ]


def _left(step: Step) -> StepStatus:
    return StepStatus.SUCCEEDED if step.action is ActionKind.NO_OP else StepStatus.SKIPPED


async def _tell(conn: Conn, plan: Plan, counts: Mapping[StepStatus, int]) -> None:
    """What a promotion tells when it ends, to the sandbox's webhooks."""
    data = PromotionData(
        id=ids.new(),
        plan_id=plan.id,
        manifest=plan.manifest,
        succeeded=counts.get(StepStatus.SUCCEEDED, 0),
        failed=counts.get(StepStatus.FAILED, 0),
        skipped=counts.get(StepStatus.SKIPPED, 0),
        kinds=dict(Counter(action.kind for action in plan.actions)),
    )
    whole = finishing.outcome(counts) is PromotionStatus.SUCCEEDED
    event = PROMOTION_COMPLETED if whole else PROMOTION_FAILED
    await outbox.publish(conn, event, account_id=plan.account_id, data=data)


async def _bill(conn: Conn, plan: Plan, steps: Sequence[Step], means: Means) -> Sequence[Bill]:
    """An invoice in each currency for what was claimed; last, since who issues one next waits for our end."""
    return [
        Bill(
            invoice=await invoices.issue(
                conn,
                account_id=plan.account_id,
                is_test=True,
                seller=means.seller,
                lines=list(priced.values()),
                currency=currency,
                due_at=clock.now() + means.payable_within,
            ),
            lines=list(priced.values()),
        )
        for currency, priced in (await finishing.lines(conn, plan, steps)).items()
    ]
