"""What aliases tell."""

from uuid import UUID

from pydantic import BaseModel

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


_EXAMPLE = AliasData(
    id=UUID("0193a1b2-0000-7000-8000-000000000002"),
    address="ada@harbour.example",
    local_part="ada",
    domain="harbour.example",
    enabled=True,
    destinations=["a***@example.net"],
    manifest="acme-mail",
    manifest_key="ada",
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
