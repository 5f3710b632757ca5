"""What has to be settled before an account is erased: open invoices, promotions, suspensions."""

from collections.abc import Sequence
from uuid import UUID

from builders.aliases import claims
from builders.erasure.errors import AccountUnsettled
from builders.identity.oauth import suspensions
from builders.invoices import invoices
from builders.invoices.records import InvoiceStatus
from builders.kit.db.connections import Conn
from builders.plans.promotion import start

MAX_SHOWN = 20  # of each


async def list_unsettled(conn: Conn, *, account_id: UUID) -> Sequence[str]:
    """Return what is open, in a sentence each."""
    own = {"account_id": account_id}
    unpaid = await invoices.list_all_invoices(conn, **own, status=InvoiceStatus.OPEN, limit=MAX_SHOWN)
    promotions = await start.list_unfinished(conn, **own, limit=MAX_SHOWN)
    blocked = await claims.list_blocked(conn, **own, limit=MAX_SHOWN)
    reason = await suspensions.find_reason(conn, **own)
    return [
        *(f"The invoice {each.number} is open." for each in unpaid),
        *(f"The promotion {each} has not ended." for each in promotions),
        *(f"The operator suspended the name {each}." for each in blocked),
        *([] if reason is None else [f"The account is suspended: {reason}"]),
    ]


async def require(conn: Conn, *, account_id: UUID) -> None:
    """Raise AccountUnsettled with what is open."""
    if found := await list_unsettled(conn, account_id=account_id):
        raise AccountUnsettled(" ".join(found))
