"""The mandate of a machine that promotes a plan, whoever made it: checked against the actions of the plan."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from builders.aliases import billing
from builders.identity import keys, mandates
from builders.identity.mandates import Spender
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn
from builders.kit.effects import Effect
from builders.kit.mandates import Amounts, Mandate, Toolset
from builders.plans.approval.policy import sum_due
from builders.plans.records import Action, ActionKind, AliasView, Kind, Plan, Step

_TOOLSETS: Mapping[Kind, Toolset] = {
    Kind.PROJECT: Toolset.PLANS,
    Kind.DOMAIN: Toolset.NAMES,
    Kind.WEBHOOK: Toolset.API,
    Kind.ALIAS: Toolset.NAMES,
}


async def find_allowed(conn: Conn, *, plan: Plan, actor: Actor) -> Spender | None:
    """Return the mandate of the key of this moment, if it has one and that allows the plan.

    The lock of approvals is held, so a revoked key starts nothing. Raise CredentialsInvalid for such a key,
    MandateExceeded.
    """
    spender = await keys.find_spender(conn, account_id=plan.account_id, actor=actor)
    if spender is not None:
        require(spender.mandate, plan)
    return spender


def require(mandate: Mandate, plan: Plan) -> None:
    """Raise MandateExceeded for a plan that the mandate does not allow, without what other plans used of it."""
    mandate.require(Effect.WRITE, toolset=Toolset.PLANS, checks_target=True)
    for action in plan.actions:
        if action.action is not ActionKind.NO_OP:
            mandate.require_toolset(_TOOLSETS[action.kind])
            mandate.require_project(*_list_projects(action))
    mandates.require_single(mandate, due=sum_due(plan.actions), deletes=plan.removals)


def _list_projects(action: Action) -> Iterator[UUID | None]:
    """Yield the projects of an action, before and after it; None for a resource of no project, or of a new one."""
    views = [each for each in (action.before, action.after) if isinstance(each, AliasView)]
    if not views:
        yield action.resource_id if action.kind is Kind.PROJECT else None
    for view in views:
        yield view.project_id


async def use(conn: Conn, *, spender: Spender, plan: Plan, started: Sequence[Step], bound: Amounts | None) -> None:
    """Count a plan that starts, once also if it is resumed; its names are counted when they are renewed.

    `bound` is that of the operator. The caller holds the lock of approvals. Raise MandateExceeded.
    """
    due = sum_due(plan.actions)
    await mandates.use(conn, spender=spender, subject=plan.id, due=due, deletes=plan.removals, bound=bound)
    bought = [
        step.resource_id
        for step in started
        if step.resource_id is not None and (price := plan.actions[step.position].price) and price.money.amount
    ]
    if bought:
        await billing.note_buyer(conn, account_id=plan.account_id, alias_ids=bought, client=spender.client)
