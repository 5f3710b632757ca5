"""What aliases tell."""

from datetime import UTC, datetime
from typing import Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.outbox import Event, declare


class AliasData(BaseModel):
    """An alias; destinations are masked, since news travels far."""

    id: UUID
    address: str
    local_part: str
    domain: str
    enabled: bool
    destinations: list[str]
    manifest: str | None
    manifest_key: str | None
    project_id: UUID | None = None


class AliasStopped(AliasData):
    """An alias and why it was suspended, or what for it is restored."""

    reason: Literal["unpaid"]
    invoice_id: UUID

    @classmethod
    def of(cls, alias: AliasData, *, invoice_id: UUID) -> Self:
        """For an invoice."""
        return cls(**alias.model_dump(), reason="unpaid", invoice_id=invoice_id)


class DestinationVerified(BaseModel):
    """A destination whose reader agreed; the address is masked."""

    email: str
    verified_at: datetime
    aliases: int = Field(description="How many names forward to it.")


_EXAMPLE = AliasData(
    id=UUID("0193a1b2-0000-7000-8000-000000000002"),
    address="ada@harbour.example",
    local_part="ada",
    domain="harbour.example",
    enabled=True,
    destinations=["a***@example.net"],
    manifest="acme-mail",
    manifest_key="ada",
    project_id=UUID("0193a1b2-0000-7000-8000-000000000021"),
)

ALIAS_CREATED = declare(
    Event(name="alias.created", version=1, description="A name was claimed.", example=_EXAMPLE)
)
ALIAS_UPDATED = declare(
    Event(
        name="alias.updated",
        version=1,
        description="A name forwards elsewhere, or on or off.",
        example=_EXAMPLE,
    )
)
ALIAS_DELETED = declare(
    Event(name="alias.deleted", version=1, description="A name was released into quarantine.", example=_EXAMPLE)
)
ALIAS_SUSPENDED = declare(
    Event(
        name="alias.suspended",
        version=1,
        description="A name forwards nothing until its invoice is paid; it is still held.",
        example=AliasStopped.of(
            _EXAMPLE.model_copy(update={"enabled": False}),
            invoice_id=UUID("0193a1b2-0000-7000-8000-000000000009"),
        ),
    )
)
ALIAS_RESTORED = declare(
    Event(
        name="alias.restored",
        version=1,
        description="A suspended name is as it was before.",
        example=AliasStopped.of(_EXAMPLE, invoice_id=UUID("0193a1b2-0000-7000-8000-000000000009")),
    )
)
DESTINATION_VERIFIED = declare(
    Event(
        name="alias.destination_verified",
        version=1,
        description="The reader of a destination agreed that names forward to it.",
        example=DestinationVerified(
            email="a***@example.net", verified_at=datetime(2026, 1, 5, 9, 30, tzinfo=UTC), aliases=2
        ),
    )
)
