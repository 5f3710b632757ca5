"""What crosses the door of identity."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

MAX_LABEL = 120  # characters


class KeyKind(StrEnum):
    """What an API key acts on."""

    LIVE = "live"
    TEST = "test"


class Preset(StrEnum):
    """A role: a fixed set of scopes."""

    DOMAINER_FULL = "domainer_full"
    DEVELOPER_FULL = "developer_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A customer, a person or a company."""

    id: UUID
    sandbox_id: UUID  # its twin, which test keys act on
    email: str
    name: str
    email_verified_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key without its secret."""

    id: UUID
    label: str
    key_kind: KeyKind
    preset: Preset
    prefix: str  # the part that may be shown
    last4: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    scopes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApiKey:
    """An API key just made, with the secret that is shown once and kept nowhere."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A right, and the presets that hold it."""

    scope: str
    description: str
    presets: Sequence[Preset]
