"""Decisions of people about plans, and the approval that a promotion requires.

A decision is bound to the digest of a plan. Decisions, changes of the policy and the starts of promotions of an
account hold one lock, so a promotion sees each of them as a whole or not at all.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import accounts
from builders.identity.records import AuditAction
from builders.kit.db.connections import Conn
from builders.kit.errors import Problem
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.http.callers import ApprovalRequired
from builders.kit.mandates import Mandate
from builders.kit.values import clock, ids
from builders.plans import planning, store as plans_store
from builders.plans.approval import notices, outward, policies, store
from builders.plans.approval.policy import (
    NEW_OUTSIDE,
    ApprovalPolicy,
    Approvers,
    Permit,
    Requirement,
    Rule,
    is_met,
    list_rules,
    read_change,
    sum_due,
)
from builders.plans.approval.records import Approval, Decision, NewDecision, SimulatedDecision, Verdict
from builders.plans.errors import (
    DecisionNotFound,
    OwnPlan,
    PlanBlocked,
    PlanDigestMismatch,
    PlanExpired,
    PlanPromoted,
)
from builders.plans.events import PLAN_APPROVAL_WITHDRAWN, PLAN_APPROVED, PLAN_REJECTED, ApprovalData
from builders.plans.records import PROMOTABLE, ApprovalState, Plan, PlanStatus
from builders.portfolio.team import deciders
from builders.portfolio.team.records import Access, Decider

LIFE = timedelta(hours=24)  # of a decision
WINDOW = timedelta(hours=24)  # in which the amounts without an approval are summed
READ = 300  # decisions about a digest; a team has at most 101 deciders
_STARTED = {PlanStatus.PROMOTING, PlanStatus.PROMOTED}


async def get_approval(
    conn: Conn, *, plan: Plan, starts: bool = False, mandate: Mandate | None = None
) -> Approval:
    """Return the approval of a plan, by the policy and the deciders of this moment.

    What is promoted needs none, unless its promotion `starts` or is resumed: the status that was read can be old.
    `mandate` is that of the machine that asks, which can need an approval that the policy does not require. Until
    a promotion starts, an open request by such a machine counts too, so that people see what they decide.
    """
    now, own = clock.now(), {"account_id": plan.account_id}
    policy, found, is_asked = await store.get_policy_and_decisions(
        conn, **own, digest=plan.digest, plan_id=plan.id, limit=READ
    )
    rules: dict[Rule, str] = {}
    if starts or plan.status not in _STARTED:
        is_bound = (is_asked and not starts) if mandate is None else not mandate.outward
        new = await outward.list_new(conn, plan=plan) if is_bound or policy.when.outward else ()
        if policy.require is not Requirement.NEVER:
            spent = await store.sum_unapproved(conn, **own, plan_id=plan.id, since=now - WINDOW)
            rules = list_rules(policy, read_change(plan, spent=spent, outward=bool(new)))
        if is_bound and new:
            rules[Rule.OUTWARD] = NEW_OUTSIDE
    people = {each.account_id: each for each in await deciders.list_deciders(conn, **own)} if found else {}
    known = (
        await accounts.list_accounts_by_id(conn, account_ids={each.decided_by for each in found}) if found else {}
    )
    standing = [each for each in found if each.ended_at is None and _counts(each, people.get(each.decided_by))]
    state = decide_state(policy, plan, rules, standing, now=now)
    if state is not ApprovalState.REJECTED and any(each.used_by == plan.id for each in found):
        state = ApprovalState.APPROVED  # the promotion continues under it
    newest_first = sorted(found, key=lambda each: each.id, reverse=True)
    return Approval(
        state=state,
        approvals=policy.approvals,
        rules=rules,
        decisions=newest_first,
        emails={account_id: each.email for account_id, each in known.items()},
    )


def _counts(decision: Decision, decider: Decider | None) -> bool:
    """Return whether the person may still decide, and has since the decision."""
    return decider is not None and decider.since <= decision.decided_at


def decide_state(
    policy: ApprovalPolicy, plan: Plan, rules: Collection[Rule], standing: Collection[Decision], *, now: datetime
) -> ApprovalState:
    """Return the state by the standing decisions of people who may still decide; one rejection blocks the plan."""
    valid = [each for each in standing if each.expires_at > now]
    if any(each.verdict is Verdict.REJECT for each in valid):
        return ApprovalState.REJECTED
    if not rules:
        return ApprovalState.NOT_REQUIRED
    if is_met(policy, _count(plan, valid)):
        return ApprovalState.APPROVED
    is_late = plan.status in PROMOTABLE and plan.expires_at <= now
    return ApprovalState.EXPIRED if is_late or len(valid) < len(standing) else ApprovalState.REQUIRED


def _count(plan: Plan, approving: Iterable[Decision]) -> Approvers:
    people = {each.decided_by for each in approving}
    return Approvers(own=plan.account_id in people, others=len(people - {plan.account_id}))


async def decide(conn: Conn, *, access: Access, plan_id: UUID, new: NewDecision) -> tuple[Plan, Approval]:
    """Record the decision of a person about a plan, in place of an earlier one; return the plan and its approval.

    Publish plan.approved when the approval is complete, or plan.rejected. A refusal is audited. Raise
    PersonRequired, PlanNotFound, PlanDigestMismatch, PlanBlocked, PlanExpired, PlanPromoted, OwnPlan.
    """
    own, is_approval = {"account_id": access.owner_id}, new.verdict is Verdict.APPROVE
    with notices.audited(access):
        plan = await _open(conn, access, plan_id, new.digest)
        policy = await store.get_policy(conn, **own)
        if is_approval and access.member_id == access.owner_id and policy.own_plans is Permit.REFUSE:
            raise OwnPlan("The policy requires that another person approves the plans of the account.")
    now, decided = clock.now(), {"digest": plan.digest, "decided_by": access.member_id}
    await store.end_decision(conn, **own, **decided, now=now)
    await store.insert_decision(
        conn,
        **own,
        **decided,
        id=ids.new(),
        plan_id=plan.id,
        verdict=new.verdict,
        comment=new.comment,
        decided_at=now,
        expires_at=now + LIFE,
    )
    approval = await get_approval(conn, plan=plan)
    await _audit(conn, access, plan, AuditAction.PLAN_APPROVED if is_approval else AuditAction.PLAN_REJECTED)
    if approval.state is ApprovalState.APPROVED:
        await publish(conn, event=PLAN_APPROVED, plan=plan, state=approval.state)
        await policies.start_waiting(conn, **own)
    elif not is_approval:
        await publish(conn, event=PLAN_REJECTED, plan=plan, state=approval.state)
    return plan, approval


async def withdraw(conn: Conn, *, access: Access, plan_id: UUID) -> tuple[Plan, Approval]:
    """Withdraw the decision of a person about a plan; return the plan and its approval.

    Publish plan.approval_withdrawn. Raise as `decide`, and DecisionNotFound.
    """
    with notices.audited(access):
        plan, own = await _open(conn, access, plan_id, None), {"account_id": access.owner_id}
        decided = {"digest": plan.digest, "decided_by": access.member_id}
        if not await store.end_decision(conn, **own, **decided, now=clock.now()):
            raise DecisionNotFound("You have no decision about this plan to withdraw.")
    approval = await get_approval(conn, plan=plan)
    await _audit(conn, access, plan, AuditAction.PLAN_APPROVAL_WITHDRAWN)
    await publish(conn, event=PLAN_APPROVAL_WITHDRAWN, plan=plan, state=approval.state)
    return plan, approval


async def _open(conn: Conn, access: Access, plan_id: UUID, digest: str | None) -> Plan:
    """Lock the approvals of the account, and return a plan that the person can decide on."""
    await plans_store.lock_approvals(conn, account_id=access.owner_id)
    await deciders.get_decider(conn, access=access)
    plan = await planning.get_plan(conn, account_id=access.owner_id, plan_id=plan_id)
    if digest is not None and digest != plan.digest:
        raise PlanDigestMismatch
    if (refusal := find_obstacle(plan)) is not None:
        raise refusal
    return plan


def find_obstacle(plan: Plan) -> Problem | None:
    """Return why no decision about a plan has an effect; None if the plan can be promoted or resumed."""
    if plan.status is PlanStatus.BLOCKED:
        return PlanBlocked()
    if plan.status in _STARTED:
        return PlanPromoted("The plan has been promoted.")
    is_late = plan.status in PROMOTABLE and plan.expires_at <= clock.now()
    return PlanExpired() if is_late else None


async def use_approval(conn: Conn, *, plan: Plan, mandate: Mandate | None = None) -> Approval:
    """Return the approval of a plan whose promotion starts, in the transaction that holds the account's lock.

    An approval is used up. An amount without one counts for the next plans.
    """
    approval = await get_approval(conn, plan=plan, starts=True, mandate=mandate)
    own = {"account_id": plan.account_id}
    now = clock.now()
    if any(each.used_by == plan.id for each in approval.decisions):
        return approval  # a resumed promotion
    if approval.state is ApprovalState.APPROVED:
        await store.use_decisions(conn, **own, digest=plan.digest, plan_id=plan.id, now=now)
        await store.end_request(conn, **own, digest=plan.digest)
    elif approval.state is ApprovalState.NOT_REQUIRED and (due := sum_due(plan.actions)):
        await store.insert_unapproved(conn, **own, plan_id=plan.id, due=due, now=now)
    return approval


def find_refusal(approval: Approval, *, review_url: str | None = None) -> ApprovalRequired | None:
    """Return the refusal of a promotion, None if the approval allows it."""
    reasons = {
        ApprovalState.REQUIRED: "A person must approve the plan before its promotion.",
        ApprovalState.REJECTED: "A person has rejected the plan.",
        ApprovalState.EXPIRED: "The approval of the plan has expired.",
    }
    if approval.state not in reasons:
        return None
    return ApprovalRequired(
        reasons[approval.state], approval=approval.state, rules=list(approval.rules), review_url=review_url
    )


def simulate_approval(plan: Plan, decision: SimulatedDecision | None) -> Approval:
    """Return the approval of a rehearsed plan by a simulated decision, under a policy that always requires one."""
    if decision is None:
        return Approval(state=ApprovalState.NOT_REQUIRED, approvals=0)
    policy, now = ApprovalPolicy(require=Requirement.ALWAYS), clock.now()
    simulated = Decision(
        id=plan.id,
        plan_id=plan.id,
        digest=plan.digest,
        verdict=Verdict.REJECT if decision is SimulatedDecision.REJECT else Verdict.APPROVE,
        comment=None,
        decided_by=plan.account_id,
        decided_at=now,
        expires_at=now if decision is SimulatedDecision.EXPIRE else now + LIFE,
    )
    rules = list_rules(policy, read_change(plan, spent={}))
    standing = [] if decision is SimulatedDecision.NONE else [simulated]
    state = decide_state(policy, plan, rules, standing, now=now)
    return Approval(state=state, approvals=policy.approvals, rules=rules)


async def publish(conn: Conn, *, event: Event, plan: Plan, state: ApprovalState) -> None:
    """Publish an event about the approval of a plan."""
    data = ApprovalData(id=plan.id, manifest=plan.manifest, digest=plan.digest, state=state)
    await outbox.publish(conn, event, account_id=plan.account_id, data=data)


async def _audit(conn: Conn, access: Access, plan: Plan, action: AuditAction) -> None:
    about = {"plan_id": str(plan.id), "digest": plan.digest, "person": str(access.member_id)}
    await accounts.record_audit(conn, account_id=access.owner_id, actor=access.actor, action=action, about=about)
