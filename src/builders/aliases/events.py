"""Events of aliases."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import BaseModel

from builders.aliases.records import Alias, NamedAlias
from builders.kit.events.outbox import declare
from builders.kit.events.payloads import event_of, values_of
from builders.kit.values.docs import doc


@event_of(
    Alias,
    *("id", "address", "local_part", "domain", "enabled", "destinations", "manifest", "manifest_key"),
    "project_id",
)
class AliasData(BaseModel):
    """An alias. Destinations are masked: an event is sent to other systems."""

    address: Annotated[str, doc("The whole address, `local_part@domain`.")]
    enabled: Annotated[bool, doc("Whether mail is forwarded.")]
    project_id: Annotated[UUID | None, doc("Project that the alias belongs to; null without one.")] = None


class AliasStopped(AliasData):
    """An alias that was suspended or restored, and why."""

    reason: Annotated[
        Literal["unpaid"], doc("Always `unpaid`: the grace period of the invoice ended, or it was paid since.")
    ]
    invoice_id: Annotated[UUID, doc("The unpaid invoice, or the one that was paid since.")]

    @classmethod
    def of(cls, alias: AliasData, *, invoice_id: UUID) -> Self:
        """Return the data of an alias that was suspended or restored for an invoice."""
        return cls(**alias.model_dump(), reason="unpaid", invoice_id=invoice_id)


class DestinationPaused(BaseModel):
    """A destination that is paused; the address is masked."""

    email: Annotated[str, doc("The recipient's address, masked.")]
    paused_at: Annotated[datetime, doc("Since when no mail is forwarded to it.")]
    aliases: int = doc("Number of names that forward to it.")


class DestinationVerified(BaseModel):
    """A destination with a confirmed recipient; the address is masked."""

    email: Annotated[str, doc("The recipient's address, masked.")]
    verified_at: Annotated[datetime, doc("When the recipient confirmed.")]
    aliases: int = doc("Number of names that forward to it.")


ALIAS_CREATED = declare(name="alias.created", description="A name was claimed.", data=AliasData)
ALIAS_UPDATED = declare(
    name="alias.updated", description="The settings of a name changed, such as its destinations.", data=AliasData
)
ALIAS_DELETED = declare(name="alias.deleted", description="A name was released into quarantine.", data=AliasData)
ALIAS_SUSPENDED = declare(
    name="alias.suspended",
    description="A name forwards no mail until its invoice is paid; no other account can claim it.",
    data=AliasStopped,
)
ALIAS_RESTORED = declare(name="alias.restored", description="The suspension of a name ended.", data=AliasStopped)
ALIAS_BOUNCED = declare(
    name="alias.bounced",
    description="A destination refused mail and is paused until its recipient confirms again.",
    data=DestinationPaused,
)
DESTINATION_VERIFIED = declare(
    name="alias.destination_verified",
    description="The recipient of a destination confirmed that names may forward to it.",
    data=DestinationVerified,
)


def event_data(alias: NamedAlias) -> AliasData:
    """Return the data of an event about an alias."""
    return AliasData(**values_of(alias, AliasData))
