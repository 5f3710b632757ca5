"""Letters about invoices: each once, to the account's address at that time, and none about a sandbox's."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from uuid import UUID

from builders.invoices import buyers, issuing, paying
from builders.invoices.errors import InvoiceNotFound
from builders.invoices.records import Invoice, InvoiceStatus, VoidReason
from builders.invoices.store import buyers as store
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.records import (
    InvoiceIssued,
    InvoicePaid,
    InvoiceReminder,
    InvoiceVoided,
    Letter,
    ReminderStage,
)


class Occasion(StrEnum):
    """Why a letter is sent; one of each for an invoice."""

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


def _issued(invoice: Invoice, link: str) -> Letter | None:
    if invoice.status is InvoiceStatus.VOID:
        return None  # nobody owes it any more; what is left of it is on another
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


def _paid(invoice: Invoice, link: str) -> Letter | None:
    if invoice.paid_at is None or invoice.paid_at == invoice.issued_at:
        return None  # the letter that came with it says so
    return InvoicePaid(
        number=invoice.number or "", total=str(invoice.total), paid_on=invoice.paid_at.date(), link=link
    )


def _voided(invoice: Invoice, replacement: Invoice | None, url: str) -> Letter:
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


def _reminder(invoice: Invoice, link: str, stage: ReminderStage) -> Letter | None:
    wanted = InvoiceStatus.UNCOLLECTIBLE if stage is ReminderStage.RELEASED else InvoiceStatus.OPEN
    if invoice.status is not wanted:
        return None  # paid meanwhile
    if stage < int(invoice.stage):
        return None  # no worker ran for long: the letter of the step after it says what holds
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


_WRITERS: Mapping[Occasion, Callable[[Invoice, str], Letter | None]] = {
    Occasion.ISSUED: _issued,
    Occasion.PAID: _paid,
}


def write(invoice: Invoice, occasion: Occasion, *, link: str) -> Letter | None:
    """The letter; None when there is nothing to be said any more."""
    if occasion in _STAGES:
        return _reminder(invoice, link, _STAGES[occasion])
    return _WRITERS[occasion](invoice, link)


async def send(
    conn: Conn, *, keyring: Keyring, settings: Settings, account_id: UUID, invoice_id: UUID, occasion: Occasion
) -> bool:
    """Mails the letter unless it was mailed before; whether it was now."""
    try:
        invoice = await issuing.locked(conn, account_id=account_id, invoice_id=invoice_id)
    except InvoiceNotFound:
        return False  # of a sandbox that was reset meanwhile; no other is ever deleted
    whose = {"account_id": account_id, "invoice_id": invoice_id}
    if invoice.is_test or await store.was_sent(conn, **whose, letter=occasion):
        return False
    url = f"{settings.url}/v1/invoices"
    if occasion is not Occasion.VOIDED:
        letter = write(invoice, occasion, link=f"{url}/{invoice_id}")
    elif await store.was_sent(conn, **whose, letter=Occasion.ISSUED):
        letter = _voided(invoice, await paying.find_replacement(conn, invoice), url)
    else:
        return False  # nobody was mailed the invoice
    if letter is None:
        return False
    holder = await buyers.get_holder(conn, account_id=account_id)
    message_id = await mail.send(conn, keyring=keyring, account_id=account_id, to=holder.email, letter=letter)
    await store.note_letter(conn, **whose, letter=occasion, message_id=message_id, now=clock.now())
    return True
