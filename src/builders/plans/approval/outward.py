"""What of a plan is new outside the account: where mail or events would go that did not go there before."""

from builders.aliases import confirmations
from builders.domains import mail_settings
from builders.kit.db.connections import Conn
from builders.plans.records import ActionKind, AliasView, DomainView, Plan, WebhookView
from builders.webhooks import destinations


async def list_new(conn: Conn, *, plan: Plan) -> set[str]:
    """Return the new destinations, catch-alls and webhook hosts of a plan.

    Destinations that the account confirmed before and hosts of its enabled webhooks are not new.
    """
    own, emails, urls, found = {"account_id": plan.account_id}, set[str](), set[str](), set[str]()
    for action in plan.actions:
        before, after = action.before, action.after
        if action.action is ActionKind.NO_OP:
            continue
        if isinstance(after, AliasView):
            emails |= set(after.destinations) - set(before.destinations if isinstance(before, AliasView) else ())
        elif isinstance(after, DomainView):
            earlier = before if isinstance(before, DomainView) else None
            found |= await mail_settings.list_new(conn, **own, before=earlier, after=after)
        elif isinstance(after, WebhookView) and after.enabled:
            urls.add(after.url)
    return (
        found
        | await confirmations.list_new(conn, **own, emails=emails)
        | await destinations.list_new_hosts(conn, **own, urls=urls)
    )
