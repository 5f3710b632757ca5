"""Requests and answers of aliases, of destinations and of their confirmation."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from builders.aliases.billing import ReleasedTerms
from builders.aliases.fields import MAX_LABELS, Destinations, LabelName, LabelValue
from builders.aliases.records import Alias, ResentDestination
from builders.invoices.records import InvoiceStatus
from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody, Reply
from builders.kit.http.members import patch_of, written_of
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.resources import extended, resource
from builders.mail.addresses import Mailbox
from builders.mail.link_pages import ConfirmedReply

AliasWritten = written_of(Alias)
DestinationResent = written_of(ResentDestination, "DestinationResent")
# That a support session can change. `reply` is not one: it lets mailboxes send as the name.
SUPPORT_MEMBERS = ("enabled", "note", "labels", "block", "pause_until")
_OUTCOMES = {
    InvoiceStatus.OPEN: "owed",
    InvoiceStatus.UNCOLLECTIBLE: "owed",
    InvoiceStatus.PAID: "paid",
    InvoiceStatus.VOID: "voided",
}


@patch_of(Alias, "enabled", "note", "block", "pause_until", "reply")
class AliasUpdate(PatchBody):
    """A merge patch of an alias (RFC 7396): an absent member does not change, null clears. At least one member."""

    refuses_similar = True

    destinations: Annotated[
        Destinations,
        NOT_NULL,
        doc("All destinations. The recipient of a destination that is new to the account must confirm first."),
    ] = ABSENT
    labels: Annotated[
        dict[LabelName, LabelValue | None] | None,
        Field(
            max_length=MAX_LABELS,
            description="Merged with the present labels. Null removes a label, or all labels.",
        ),
    ] = None


class ReleasedCharge(Reply):
    """A charge for a name, and its outcome."""

    invoice_id: Annotated[UUID, doc("Identifier of the invoice.")]
    number: Annotated[str, doc("Number of the invoice.")]
    amount: Annotated[Money, doc("With tax.")]
    period_start: Annotated[datetime, doc("Start of the period that is charged.")]
    period_end: Annotated[datetime | None, doc("End of the period; null for `once`.")]
    outcome: Annotated[
        Literal["owed", "paid", "voided", "credited"],
        doc("`voided`: it is not due. `credited`: its payment became credit of the account."),
    ]


class FreeReclaim(Reply):
    """The period in which a released name can be claimed again without charge."""

    until: Annotated[datetime | None, doc("End of the period; null without one.")]


@resource("AliasRelease")
@dataclass(frozen=True, slots=True, kw_only=True)
class AliasRelease(Alias):
    """A released name, and the outcome of its charges."""

    claim_undone: Annotated[bool, doc("Whether the release cancelled the claim and its charge.")]
    charges: Annotated[list[ReleasedCharge], doc("Charges for periods that have not ended, oldest first.")]
    free_reclaim: Annotated[
        FreeReclaim | None,
        doc(
            "End of the period in which you can claim the name again without charge, if its invoice is paid "
            "in time and no other account claims it; null without such a period."
        ),
    ]


def release_of(alias: Alias, terms: ReleasedTerms) -> AliasRelease:
    """Return the answer to a release."""
    return extended(
        AliasRelease,
        alias,
        claim_undone=terms.is_undone,
        charges=[
            ReleasedCharge.from_record(each, outcome="credited" if each.is_credited else _OUTCOMES[each.status])
            for each in terms.charges
        ],
        free_reclaim=None if terms.period is None else FreeReclaim(until=terms.period.until),
    )


class DestinationResend(Body):
    """The destination that gets another confirmation."""

    email: Annotated[Mailbox, doc("A destination of one of your names.")]


class DestinationConfirmed(ConfirmedReply):
    """The result of following a confirmation link."""
