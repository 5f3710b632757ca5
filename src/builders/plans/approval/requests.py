"""Requests to the deciders: an event, and an email for each digest up to a maximum, then a summary of the day."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.mandates import Mandate
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail.templates import ApprovalSummary, PlanApprovalRequested
from builders.plans import planning, store as plans_store
from builders.plans.approval import decisions, notices, store
from builders.plans.approval.policy import sum_due
from builders.plans.approval.records import Approval, ApprovalRequest
from builders.plans.events import PLAN_APPROVAL_REQUESTED
from builders.plans.records import ActionKind, ApprovalState, Plan

DAY = timedelta(days=1)
MAILED_A_DAY = 20  # requests of an account that are mailed alone
LISTED = 100  # manifests in the inbox
ASKING = {ApprovalState.REQUIRED, ApprovalState.EXPIRED}


def review_url(base_url: str, plan: Plan) -> str:
    """Return the address at which the account and its team review a plan; it holds no credential."""
    return f"{base_url}/console/of/{plan.account_id}/plans/{plan.id}"


async def request_approval(
    conn: Conn,
    *,
    keyring: Keyring,
    base_url: str,
    account_id: UUID,
    plan_id: UUID,
    mandate: Mandate | None = None,
) -> tuple[Plan, Approval]:
    """Ask the deciders for a decision about a plan, unless it needs none; return the plan and its approval.

    The first time for a digest in a day, publish plan.approval_requested and email them. Raise PlanNotFound.
    """
    await plans_store.lock_approvals(conn, account_id=account_id)
    plan = await planning.get_plan(conn, account_id=account_id, plan_id=plan_id)
    approval, now = await decisions.get_approval(conn, plan=plan, mandate=mandate), clock.now()
    if approval.state not in ASKING or decisions.find_obstacle(plan) is not None:
        return plan, approval
    own, since = {"account_id": account_id, "digest": plan.digest}, now - DAY
    is_new = await store.request_approval(
        conn,
        **own,
        plan_id=plan.id,
        manifest=plan.manifest,
        by_mandate=mandate is not None and not mandate.outward,
        now=now,
        since=since,
    )
    if is_new:
        await decisions.publish(conn, event=PLAN_APPROVAL_REQUESTED, plan=plan, state=approval.state)
        if await store.mark_mailed(conn, **own, since=since, limit=MAILED_A_DAY):
            message = PlanApprovalRequested(
                account=(await accounts.get_account(conn, account_id=account_id)).name,
                manifest=plan.manifest,
                changes=", ".join(_list_changes(plan)),
                total="; ".join(map(str, sum_due(plan.actions).values())),
                reasons=tuple(approval.rules.values()),
                link=review_url(base_url, plan),
            )
            await notices.send(conn, keyring=keyring, account_id=account_id, template=message)
    return plan, approval


def _list_changes(plan: Plan) -> Sequence[str]:
    counts = Counter(action.action for action in plan.actions)
    return [f"{counts[kind]} {kind}" for kind in ActionKind if counts[kind] and kind is not ActionKind.NO_OP]


async def list_unmailed(conn: Conn, *, limit: int) -> Sequence[UUID]:
    """Return accounts with requests of the last day about which nobody was mailed."""
    return await store.list_unmailed(conn, since=clock.now() - DAY, limit=limit)


async def send_summary(conn: Conn, *, keyring: Keyring, base_url: str, account_id: UUID) -> None:
    """Email the deciders of an account a summary of the requests that they were not mailed about."""
    count = await store.mark_summarized(conn, account_id=account_id, since=clock.now() - DAY)
    if count:
        account = await accounts.get_account(conn, account_id=account_id)
        link = f"{base_url}/console/of/{account_id}/plans"
        message = ApprovalSummary(account=account.name, count=count, link=link)
        await notices.send(conn, keyring=keyring, account_id=account_id, template=message)


async def list_requests(conn: Conn, *, account_id: UUID) -> Sequence[ApprovalRequest]:
    """Return the newest request of each manifest whose plan waits, for the inbox of a decider."""
    return await store.list_requests(conn, account_id=account_id, now=clock.now(), limit=LISTED)
