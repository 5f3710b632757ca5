"""What identity tells."""

from uuid import UUID

from pydantic import BaseModel

from builders.identity.records import KeyKind, Preset
from builders.kit.outbox import Event, declare


class KeyChanged(BaseModel):
    """An API key, without anything secret."""

    id: UUID
    label: str
    key_kind: KeyKind
    preset: Preset
    prefix: str


_EXAMPLE = KeyChanged(
    id=UUID("0193a1b2-0000-7000-8000-000000000001"),
    label="ci",
    key_kind=KeyKind.TEST,
    preset=Preset.DEVELOPER_FULL,
    prefix="svc_test_4fGh7Kq2LmN8",
)

KEY_CREATED = declare(
    Event(name="api_key.created", version=1, description="An API key was minted.", example=_EXAMPLE)
)
KEY_REVOKED = declare(
    Event(name="api_key.revoked", version=1, description="An API key was revoked.", example=_EXAMPLE)
)
