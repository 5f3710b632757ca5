"""/v1/invoices/billing-details: whom invoices are made out to."""

from typing import Annotated

from builders.invoices import schemas, service as invoices
from builders.invoices.records import BillingDetails
from builders.kit.db.connections import Reads, Tx
from builders.kit.http.callers import Caller, needs
from builders.kit.http.routes import Router

router = Router(prefix="/v1/invoices/billing-details", tags=["invoices"], beyond=True)
Reader = Annotated[Caller, needs("account:read")]
Writer = Annotated[Caller, needs("account:write")]


@router.get("", response_model=schemas.BillingDetailsReply)
async def get_billing_details(caller: Reader, conn: Reads) -> BillingDetails:
    """Read whom invoices are made out to."""
    return await invoices.get_billing_details(conn, account_id=caller.account_id)


@router.put("", response_model=schemas.BillingDetailsReply)
async def put_billing_details(body: schemas.BillingDetailsUpdate, caller: Writer, conn: Tx) -> BillingDetails:
    """Say whom invoices are made out to. Those that were issued keep what they say."""
    return await invoices.put_billing_details(conn, account_id=caller.account_id, details=body.details())
