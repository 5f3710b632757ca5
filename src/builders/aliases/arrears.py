"""Names whose invoice is not paid: suspended, restored when it is, and released when it is given up.

What is done follows the invoice as it is, not the news of it: news may come twice, late, or after other news. A
lock for the invoice puts those who look at it in order.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.aliases import claiming, periods
from builders.aliases.events import ALIAS_RESTORED, ALIAS_SUSPENDED, AliasStopped
from builders.aliases.records import LIVE
from builders.aliases.rows import Released
from builders.aliases.store import arrears as store
from builders.identity import service as identity
from builders.invoices import service as invoices
from builders.invoices.records import InvoiceStatus, Stage
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.values import clock


async def settle(conn: Conn, *, account_id: UUID, invoice_id: UUID, quarantine: timedelta) -> None:
    """Does with an invoice's names what the invoice asks for; can be repeated.

    Publishes alias.suspended, alias.restored or alias.deleted for each. Raises InvoiceNotFound.
    """
    await store.lock_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    invoice = await invoices.get_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    if invoice.status in {InvoiceStatus.PAID, InvoiceStatus.VOID}:
        await _restore(conn, account_id, invoice_id)
    elif invoice.status is InvoiceStatus.UNCOLLECTIBLE:
        versions = await store.lock_names(conn, account_id=account_id, alias_ids=invoice.alias_ids)
        real = await identity.find_real_accounts(conn, account_ids=[account_id])
        realm = LIVE if real.get(account_id, account_id) == account_id else account_id
        await claiming.release(conn, realm=realm, account_id=account_id, versions=versions, quarantine=quarantine)
        await periods.withdraw_charges(conn, account_id=account_id, alias_ids=versions)
    elif invoice.status is InvoiceStatus.OPEN and invoice.stage >= Stage.GRACE_ENDED:
        stopped = await store.suspend(
            conn, account_id=account_id, invoice_id=invoice_id, alias_ids=invoice.alias_ids, now=clock.now()
        )
        await _tell(conn, ALIAS_SUSPENDED, account_id, invoice_id, stopped)


async def _restore(conn: Conn, account_id: UUID, invoice_id: UUID) -> None:
    restored = await store.restore(conn, account_id=account_id, invoice_id=invoice_id, now=clock.now())
    await _tell(conn, ALIAS_RESTORED, account_id, invoice_id, restored)


async def _tell(conn: Conn, event: Event, account_id: UUID, invoice_id: UUID, aliases: Sequence[Released]) -> None:
    told = [claiming.news_of(each, each.domain, each.local_part) for each in aliases]
    news = [(account_id, AliasStopped.of(each, invoice_id=invoice_id)) for each in told]
    await outbox.publish_many(conn, event, news)
