"""Whom an invoice is for: what the account has said, else its name and address."""

from uuid import UUID

from builders.identity import service as identity
from builders.identity.records import Account
from builders.invoices.records import BillingDetails, Buyer
from builders.invoices.store import buyers as store
from builders.kit.db.connections import Conn
from builders.kit.values import clock

NOTHING_SAID = BillingDetails(name=None)


async def get_billing_details(conn: Conn, *, account_id: UUID) -> BillingDetails:
    """What the account has said; all empty when that is nothing."""
    return await store.find(conn, account_id=account_id) or NOTHING_SAID


async def put_billing_details(conn: Conn, *, account_id: UUID, details: BillingDetails) -> BillingDetails:
    """Takes the place of what the account had said; invoices that were issued keep what they say."""
    await store.put(conn, account_id=account_id, details=details, now=clock.now())
    return await get_billing_details(conn, account_id=account_id)


async def get_buyer(conn: Conn, *, account_id: UUID) -> Buyer:
    """Whom an invoice of the account is for, at this moment."""
    account = await get_holder(conn, account_id=account_id)
    details = await get_billing_details(conn, account_id=account_id)
    return Buyer(
        name=details.name or account.name,
        address=details.address,
        country=details.country,
        tax_id=details.tax_id,
        email=account.email,
    )


async def get_holder(conn: Conn, *, account_id: UUID) -> Account:
    """The real account, also of its sandbox twin."""
    owners = await identity.find_real_accounts(conn, account_ids=[account_id])
    return await identity.get_account(conn, account_id=owners.get(account_id, account_id))
