"""Schemas of aliases, of destinations and of their confirmation."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field, StrictBool

from builders.aliases.billing import ReleasedTerms
from builders.aliases.fields import Block
from builders.aliases.records import MAX_LABELS, Alias, AliasSettings, AliasStatus, Destination
from builders.invoices.records import InvoiceStatus
from builders.kit.http.bodies import (
    ABSENT,
    NOT_NULL,
    AliasProjectId,
    Blocked,
    Body,
    Labels,
    PatchBody,
    PausedUntil,
    Replies,
    Reply,
    WriteReply,
)
from builders.kit.http.members import reply_members, with_members
from builders.kit.values import texts
from builders.kit.values.docs import Livemode, ManifestKey, ManifestName, UpdatedAt, doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.instants import Instant
from builders.kit.values.money import CurrencyCode, ExactAmount, Money
from builders.kit.values.patches import Changes
from builders.mail.addresses import Mailbox
from builders.mail.link_pages import ConfirmedReply

MAX_DESTINATIONS = 10
# That a support session can change. `reply` is not one: it lets mailboxes send as the name.
SUPPORT_MEMBERS = ("enabled", "note", "labels", "block", "pause_until")
_OUTCOMES = {
    InvoiceStatus.OPEN: "owed",
    InvoiceStatus.UNCOLLECTIBLE: "owed",
    InvoiceStatus.PAID: "paid",
    InvoiceStatus.VOID: "voided",
}


Label = Annotated[str, Field(max_length=40), texts.OneLine]


class AliasUpdate(PatchBody):
    """A merge patch of an alias (RFC 7396): an absent member does not change, null clears. At least one member."""

    refuses_similar = True

    destinations: Annotated[
        list[Mailbox],
        Field(
            min_length=1,
            max_length=MAX_DESTINATIONS,
            description=(
                "All destinations. The recipient of a destination that is new to the account must confirm first."
            ),
        ),
        NOT_NULL,
    ] = ABSENT
    enabled: Annotated[StrictBool, NOT_NULL, doc("Whether mail is forwarded; null enables.")] = ABSENT
    note: Annotated[
        Annotated[str, Field(max_length=200), texts.OneLine] | None, doc("Your own note; null removes it.")
    ] = None
    labels: Annotated[
        dict[Label, Annotated[str, Field(max_length=500), texts.OneLine] | None] | None,
        Field(
            max_length=MAX_LABELS,
            description="Merged with the present labels. Null removes a label, or all labels.",
        ),
    ] = None
    block: Annotated[
        Block | None, doc("All senders whose mail is refused: addresses, or domains with their subdomains.")
    ] = None
    pause_until: Annotated[
        Instant | None, doc("Mail is not accepted before this time; null or a past time: it is.")
    ] = None
    reply: Annotated[
        StrictBool, NOT_NULL, doc("Whether destinations may answer mail with the name as the sender.")
    ] = ABSENT

    def patch(self) -> Changes[AliasSettings]:
        """Return the record."""
        members = self.sent_members()
        if "destinations" in members:
            members["destinations"] = tuple({email.lower(): email for email in self.destinations}.values())
        if "block" in members:
            members["block"] = tuple(self.block or ())
        return Changes(members)


class AliasPrice(Reply):
    """The price of a name, and its interval."""

    amount: ExactAmount
    currency: Annotated[CurrencyCode, doc("ISO 4217 code.")]
    interval: Annotated[
        Literal["month", "year", "once"], doc("How often the amount is due: each `month`, each `year`, or `once`.")
    ]


class ManagedBy(Reply):
    """The manifest that manages a name, and its key there."""

    manifest: ManifestName
    key: ManifestKey


class AliasDestination(Reply):
    """A destination of a name."""

    email: Annotated[str, doc("Address of the recipient.")]
    verified: Annotated[
        bool, doc("Whether mail is forwarded to the recipient, who has confirmed and is not paused.")
    ]


class AliasReply(Reply):
    """A name and its destinations."""

    id: Annotated[UUID, doc("Identifier of the alias.")]
    address: Annotated[str, doc("The whole address, `local_part@domain`.")]
    local_part: Annotated[str, doc("The part before the `@`, in lower case.")]
    domain: DomainName
    type: Annotated[Literal["alias"], doc("Always `alias`: mail is forwarded. More types can be added.")]
    project_id: AliasProjectId
    managed_by: Annotated[ManagedBy | None, doc("The manifest that manages the alias; null without one.")]
    destinations: Annotated[
        list[AliasDestination], doc("Recipients of forwarded mail; each gets mail after confirming.")
    ]
    enabled: Annotated[bool, doc("Whether you want mail forwarded; a suspended name forwards none.")]
    status: Annotated[
        Literal["active", "disabled", "suspended", "deleted"],
        doc("`suspended`: until its invoice is paid, or by the operator. `deleted`: released."),
    ]
    note: Annotated[str | None, doc("Your own note; null without one.")]
    labels: Labels
    block: Blocked
    pause_until: PausedUntil
    reply: Replies
    price: Annotated[AliasPrice, doc("The price at the time of the claim.")]
    livemode: Livemode
    claimed_at: Annotated[datetime, doc("When the name was claimed.")]
    renews_at: Annotated[datetime | None, doc("When the next period starts; null for `once`.")]
    quarantined_until: Annotated[
        datetime | None, doc("End of the quarantine of a released name, during which only you can claim it again.")
    ]
    updated_at: UpdatedAt
    version: Annotated[int, doc("Increases with every change; part of the ETag.")]

    @classmethod
    def of(cls, alias: Alias, *, livemode: bool, **members: Any) -> Self:  # values of any member
        """Return the reply for an alias; `members` are those that AliasReply does not have."""
        managed = alias.manifest is not None
        return cls.from_record(
            alias,
            type="alias",
            managed_by={"manifest": alias.manifest, "key": alias.manifest_key} if managed else None,
            destinations=[{"email": email, "verified": email in alias.verified} for email in alias.destinations],
            enabled=alias.is_wanted,
            price={**alias.price.to_wire(), "interval": alias.interval},
            livemode=livemode,
            renews_at=None if alias.status is AliasStatus.DELETED else alias.renews_at,
            **members,
        )


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


class AliasRelease(AliasReply):
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

    @classmethod
    def released(cls, alias: Alias, terms: ReleasedTerms, *, livemode: bool) -> Self:
        """Return the reply to a release."""
        charges = [
            ReleasedCharge.from_record(each, outcome="credited" if each.is_credited else _OUTCOMES[each.status])
            for each in terms.charges
        ]
        free = None if terms.period is None else {"until": terms.period.until}
        return cls.of(alias, livemode=livemode, claim_undone=terms.is_undone, charges=charges, free_reclaim=free)


class AliasWritten(AliasReply, WriteReply):
    """A name after a change."""


class DestinationResend(Body):
    """The destination that gets another confirmation."""

    email: Annotated[Mailbox, doc("A destination of one of your names.")]


@with_members(reply_members(Destination))
class DestinationReply(Reply):
    """A present or former destination of names."""


class DestinationResent(DestinationReply, WriteReply):
    """A destination, and whether another confirmation is sent to it."""

    sent: Annotated[bool, doc("Whether a message is sent; false when the recipient has agreed already.")]


class DestinationConfirmed(ConfirmedReply):
    """The result of following a confirmation link."""
