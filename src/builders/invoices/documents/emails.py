"""Emails about invoices. Each is sent once, to the present address of the account; sandbox accounts get none."""

from collections.abc import Mapping
from enum import StrEnum
from uuid import UUID

from builders.invoices import invoices, issuance
from builders.invoices.errors import InvoiceNotFound
from builders.invoices.records import Invoice, InvoiceStatus, VoidReason
from builders.invoices.store import payments as store
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.templates import (
    EmailTemplate,
    InvoiceIssued,
    InvoicePaid,
    InvoiceReminder,
    InvoiceVoided,
    ReminderStage,
)


class Occasion(StrEnum):
    """The reason for an email; an invoice has at most one email of each."""

    ISSUED = "issued"
    VOIDED = "voided"
    PAID = "paid"
    OVERDUE = "overdue"
    REMINDED = "reminded"
    GRACE_ENDED = "grace_ended"
    UNCOLLECTIBLE = "uncollectible"


_STAGES: Mapping[Occasion, ReminderStage] = {
    Occasion.OVERDUE: ReminderStage.FIRST,
    Occasion.REMINDED: ReminderStage.SECOND,
    Occasion.GRACE_ENDED: ReminderStage.SUSPENDED,
    Occasion.UNCOLLECTIBLE: ReminderStage.RELEASED,
}


def _voided(invoice: Invoice, replacement: Invoice | None, url: str) -> EmailTemplate:
    returned = invoice.credit_applied + invoice.amount_paid
    due = replacement.amount_due if replacement else None
    return InvoiceVoided(
        number=invoice.number or "",
        total=str(invoice.total),
        released=invoice.void_reason is VoidReason.RELEASED,
        returned=str(returned) if returned.amount else None,
        replacement=replacement.number if replacement else None,
        replacement_total=str(replacement.total) if replacement else None,
        due=str(due) if due and due.amount else None,
        due_on=replacement.due_at.date() if replacement else None,
        link=f"{url}/{(replacement or invoice).id}",
    )


def _reminder(invoice: Invoice, link: str, stage: ReminderStage) -> EmailTemplate | None:
    wanted = InvoiceStatus.UNCOLLECTIBLE if stage is ReminderStage.RELEASED else InvoiceStatus.OPEN
    if invoice.status is not wanted:
        return None  # paid in the meantime
    if stage < int(invoice.stage):
        return None  # the worker was late: the email of the next step has the present dates
    return InvoiceReminder(
        stage=stage,
        number=invoice.number or "",
        due=str(invoice.amount_due),
        due_on=invoice.due_at.date(),
        suspends_on=invoice.suspends_at.date(),
        releases_on=invoice.releases_at.date(),
        names=bool(invoice.alias_ids),
        bank=invoice.seller.bank,
        link=link,
    )


def _fill(invoice: Invoice, occasion: Occasion, link: str) -> EmailTemplate | None:
    """Return the email, or None if the invoice does not need it."""
    if occasion is Occasion.ISSUED:
        if invoice.status is InvoiceStatus.VOID:
            return None  # not owed; the email about the void invoice names its replacement
        return InvoiceIssued(
            number=invoice.number or "",
            seller=invoice.seller.name,
            total=str(invoice.total),
            credit=str(invoice.credit_applied) if invoice.credit_applied.amount else None,
            due=str(invoice.amount_due) if invoice.amount_due.amount else None,
            due_on=invoice.due_at.date(),
            bank=invoice.seller.bank,
            link=link,
        )
    if occasion is not Occasion.PAID:
        return _reminder(invoice, link, _STAGES[occasion])
    if invoice.paid_at is None or invoice.paid_at == invoice.issued_at:
        return None  # it was paid at issue, and the email about the issue says so
    number, total, paid_on = invoice.number or "", str(invoice.total), invoice.paid_at.date()
    return InvoicePaid(number=number, total=total, paid_on=paid_on, link=link)


async def send(
    conn: Conn, *, keyring: Keyring, settings: Settings, account_id: UUID, invoice_id: UUID, occasion: Occasion
) -> bool:
    """Send the email unless it was sent before; return whether it was sent."""
    try:
        invoice = await invoices.lock_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    except InvoiceNotFound:
        return False  # its sandbox was reset in the meantime; other invoices are never deleted
    key = {"account_id": account_id, "invoice_id": invoice_id}
    if invoice.is_test or await store.was_emailed(conn, **key, occasion=occasion):
        return False
    url = f"{settings.url}/v1/invoices"
    if occasion is not Occasion.VOIDED:
        template = _fill(invoice, occasion, f"{url}/{invoice_id}")
    elif await store.was_emailed(conn, **key, occasion=Occasion.ISSUED):
        template = _voided(invoice, await invoices.find_replacement(conn, invoice=invoice), url)
    else:
        return False  # the account was not sent the invoice
    if template is None:
        return False
    holder = await issuance.get_holder(conn, account_id=account_id)
    message_id = await mail.send(conn, keyring=keyring, account_id=account_id, to=holder.email, template=template)
    await store.insert_email(conn, **key, occasion=occasion, message_id=message_id, now=clock.now())
    return True
