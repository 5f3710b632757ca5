"""What others have to do before a promotion has its effect: recipients confirm, and the account pays."""

from dataclasses import replace
from uuid import UUID

from builders.aliases import service as aliases
from builders.invoices import service as invoices
from builders.kit.db.connections import Conn
from builders.sandbox.records import MOST_SHOWN, ActionKind, Promotion, StepStatus


async def find_outstanding(conn: Conn, *, account_id: UUID, promotion: Promotion) -> Promotion:
    """Return the promotion with the destinations that are not confirmed and its open invoices; two statements."""
    done = {
        step.resource_id
        for step in promotion.steps
        if step.status is StepStatus.SUCCEEDED and step.action is not ActionKind.DELETE
    }
    unconfirmed = await aliases.list_unconfirmed(
        conn, account_id=account_id, alias_ids=[each for each in done if each], limit=MOST_SHOWN
    )
    billed = {each.id for each in promotion.invoices}
    unpaid = await invoices.list_open(conn, account_id=account_id, invoice_ids=billed) if billed else frozenset()
    return replace(
        promotion, unconfirmed=unconfirmed, unpaid=[each for each in promotion.invoices if each.id in unpaid]
    )
