"""What the aliases answer."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.aliases.periods import ReleasedTerms
from builders.aliases.records import AliasStatus, Confirmation, Destination, Owned
from builders.invoices.records import Charge, InvoiceStatus
from builders.kit.http.bodies import Reply, WriteReply, by_example
from builders.kit.http.fields import AliasProjectId, Labels, Livemode, ManifestKey, ManifestName, UpdatedAt
from builders.kit.http.pagination import Page
from builders.kit.values.money import Money

_AT = "2026-01-05T09:30:00Z"
_ALIAS: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-000000000002",
    "address": "ada@harbour.example",
    "local_part": "ada",
    "domain": "harbour.example",
    "type": "alias",
    "project_id": None,
    "managed_by": {"manifest": "acme-mail", "key": "ada"},
    "destinations": [{"email": "ada@example.net", "verified": True}],
    "enabled": True,
    "status": "active",
    "note": None,
    "labels": {"team": "ops"},
    "price": {"amount": "12.00", "currency": "USD", "interval": "year"},
    "livemode": True,
    "claimed_at": _AT,
    "renews_at": "2027-01-05T09:30:00Z",
    "quarantined_until": None,
    "updated_at": _AT,
    "version": 1,
}
_RELEASE: JsonDict = {
    **_ALIAS,
    "status": "deleted",
    "managed_by": None,
    "enabled": False,
    "renews_at": None,
    "quarantined_until": "2026-05-05T09:30:00Z",
    "version": 2,
    "claim_undone": False,
    "charges": [
        {
            "invoice_id": "0193a1b2-0000-7000-8000-000000000009",
            "number": "INV-2026-000123",
            "amount": {"amount": "12.00", "currency": "USD"},
            "period_start": _AT,
            "period_end": "2027-01-05T09:30:00Z",
            "outcome": "paid",
        }
    ],
    "free_reclaim": {"until": "2027-01-05T09:30:00Z"},
}
_DESTINATION: JsonDict = {
    "email": "ops@example.net",
    "verified": False,
    "verified_at": None,
    "asked_at": _AT,
    "asking_at": None,
    "created_at": _AT,
}


_OUTCOMES = {
    InvoiceStatus.OPEN: "owed",
    InvoiceStatus.UNCOLLECTIBLE: "owed",
    InvoiceStatus.PAID: "paid",
    InvoiceStatus.VOID: "voided",
}


class AliasPrice(Reply):
    """What a name costs, and how often."""

    amount: Annotated[str, Field(description="An exact amount with all decimals of its currency.")]
    currency: Annotated[str, Field(description="ISO 4217 code.")]
    interval: Annotated[
        Literal["month", "year", "once"],
        Field(description="How often the amount is due: each `month`, each `year`, or `once`."),
    ]


class ManagedBy(Reply):
    """The manifest that manages a name, and its key there."""

    manifest: ManifestName
    key: ManifestKey


class AliasDestination(Reply):
    """Where a name forwards to."""

    email: Annotated[str, Field(description="Address of the recipient.")]
    verified: Annotated[bool, Field(description="Whether its reader agreed; until then nothing is forwarded.")]


class AliasReply(Reply):
    """A name and where it forwards to."""

    model_config = ConfigDict(json_schema_extra=by_example(_ALIAS))

    id: Annotated[UUID, Field(description="Identifier of the alias.")]
    address: Annotated[str, Field(description="The whole address, `local_part@domain`.")]
    local_part: Annotated[str, Field(description="What stands before the `@`, in lower case.")]
    domain: Annotated[str, Field(description="Domain of the address, as a lower-case A-label.")]
    type: Annotated[
        Literal["alias"], Field(description="Always `alias`: mail is forwarded. Other types can follow.")
    ]
    project_id: AliasProjectId
    managed_by: Annotated[
        ManagedBy | None,
        Field(description="The manifest that manages the alias; null for one that no manifest manages."),
    ]
    destinations: Annotated[
        list[AliasDestination],
        Field(description="Recipients that mail is forwarded to; one gets mail after confirming."),
    ]
    enabled: Annotated[bool, Field(description="Whether you want mail forwarded; a suspended name forwards none.")]
    status: Annotated[
        Literal["active", "disabled", "suspended", "deleted"],
        Field(description="`suspended`: until its invoice is paid, or by the operator. `deleted`: released."),
    ]
    note: Annotated[str | None, Field(description="Your own note; null without one.")]
    labels: Labels
    price: Annotated[AliasPrice, Field(description="As it was when the name was claimed.")]
    livemode: Livemode
    claimed_at: Annotated[datetime, Field(description="When the name was claimed.")]
    renews_at: Annotated[datetime | None, Field(description="When it is paid for anew; null for `once`.")]
    quarantined_until: Annotated[
        datetime | None, Field(description="Of a released name: until then only you can claim it again.")
    ]
    updated_at: UpdatedAt
    version: Annotated[int, Field(description="Grows with every change; the ETag is of it.")]


class ReleasedCharge(Reply):
    """A line that charges for a name, and what became of it."""

    invoice_id: Annotated[UUID, Field(description="Of the invoice that the line is on.")]
    number: Annotated[str, Field(description="Of the invoice.")]
    amount: Annotated[Money, Field(description="With tax.")]
    period_start: Annotated[datetime, Field(description="When the period begins that the line pays for.")]
    period_end: Annotated[datetime | None, Field(description="null for what is paid once and kept.")]
    outcome: Annotated[
        Literal["owed", "paid", "voided", "credited"],
        Field(description="`voided`: it is not owed. `credited`: what was paid for it is credit of the account."),
    ]


class FreeReclaim(Reply):
    """Until when claiming a released name again costs nothing."""

    until: Annotated[datetime | None, Field(description="null for good.")]


class AliasRelease(AliasReply):
    """A released name, and what became of what was charged for it."""

    model_config = ConfigDict(json_schema_extra=by_example(_RELEASE))

    claim_undone: Annotated[bool, Field(description="Whether the release undid the claim, which is not owed.")]
    charges: Annotated[
        list[ReleasedCharge], Field(description="For periods that have not ended, oldest first, as they are now.")
    ]
    free_reclaim: Annotated[
        FreeReclaim | None,
        Field(
            description="While claiming the name again costs nothing, as long as nobody else has it and its "
            "invoice is paid in time; null when it costs its price."
        ),
    ]


class AliasWritten(AliasReply, WriteReply):
    """A name after a change."""

    model_config = ConfigDict(json_schema_extra=by_example({**_ALIAS, "version": 2, "warnings": []}))


class DestinationReply(Reply):
    """An address that names forward to, or did."""

    model_config = ConfigDict(json_schema_extra=by_example(_DESTINATION))

    email: Annotated[str, Field(description="Address of the recipient.")]
    verified: Annotated[bool, Field(description="Whether the recipient agreed to receive forwarded mail.")]
    verified_at: Annotated[datetime | None, Field(description="When the recipient agreed; null before.")]
    asked_at: Annotated[datetime | None, Field(description="When its reader was last to be mailed.")]
    asking_at: Annotated[
        datetime | None,
        Field(
            description="When its turn to be asked comes, or earlier: the account has asked as many readers as it "
            "may in a day. Else null."
        ),
    ]
    created_at: Annotated[datetime, Field(description="When a name first forwarded to it.")]


class DestinationResent(DestinationReply, WriteReply):
    """Whether the reader of a destination is asked again; not when they have agreed."""

    model_config = ConfigDict(json_schema_extra=by_example({**_DESTINATION, "sent": True, "warnings": []}))

    sent: Annotated[
        bool, Field(description="Whether a message is sent; false when the recipient has agreed already.")
    ]


class DestinationConfirmed(Reply):
    """What following the link has done."""

    model_config = ConfigDict(json_schema_extra=by_example({"status": "confirmed", "email": "o***@example.net"}))

    status: Annotated[
        Literal["confirmed", "already_confirmed"],
        Field(description="`already_confirmed` when the link was followed before."),
    ]
    email: Annotated[str, Field(description="The address, masked: `a***@example.net`.")]


def shown(owned: Owned, *, livemode: bool) -> AliasReply:
    """The answer to a read."""
    return AliasReply.model_validate(_members(owned, livemode=livemode))


def written(owned: Owned, *, livemode: bool) -> AliasWritten:
    """The answer to a change."""
    return AliasWritten.model_validate(_members(owned, livemode=livemode))


def released(owned: Owned, terms: ReleasedTerms, *, livemode: bool) -> AliasRelease:
    """The answer to a release."""
    return AliasRelease.model_validate(
        {
            **_members(owned, livemode=livemode),
            "claim_undone": terms.is_undone,
            "charges": [_charge(each) for each in terms.charges],
            "free_reclaim": None if terms.period is None else {"until": terms.period.until},
        }
    )


def _charge(charge: Charge) -> ReleasedCharge:
    outcome = "credited" if charge.is_credited else _OUTCOMES[charge.status]
    return ReleasedCharge.from_record(charge, outcome=outcome)


def page(found: Page[Owned], *, livemode: bool) -> Page[AliasReply]:
    """The answer to a list."""
    return Page(items=[shown(each, livemode=livemode) for each in found.items], next_cursor=found.next_cursor)


def _members(owned: Owned, *, livemode: bool) -> dict[str, object]:
    alias = owned.alias
    managed = alias.manifest is not None
    return {
        "id": alias.id,
        "address": alias.address,
        "local_part": alias.local_part,
        "domain": alias.domain,
        "type": "alias",
        "project_id": alias.project_id,
        "managed_by": {"manifest": alias.manifest, "key": alias.manifest_key} if managed else None,
        "destinations": [{"email": email, "verified": email in owned.verified} for email in alias.destinations],
        "enabled": owned.enabled,
        "status": alias.status,
        "note": alias.note,
        "labels": alias.labels,
        "price": {**alias.price.to_wire(), "interval": alias.interval},
        "livemode": livemode,
        "claimed_at": alias.claimed_at,
        "renews_at": None if alias.status is AliasStatus.DELETED else alias.renews_at,
        "quarantined_until": owned.quarantined_until,
        "updated_at": alias.updated_at,
        "version": alias.version,
    }


def resent(destination: Destination, *, sent: bool) -> DestinationResent:
    """The answer to a resend."""
    reply = DestinationReply.model_validate(destination)
    return DestinationResent(sent=sent, **reply.model_dump())


def confirmed(confirmation: Confirmation) -> DestinationConfirmed:
    """The answer to a program that followed the link."""
    return DestinationConfirmed(
        status="already_confirmed" if confirmation.repeated else "confirmed", email=confirmation.email_masked
    )
