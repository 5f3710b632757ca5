"""Destinations as a manifest has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed:
    """A destination as a manifest sees it."""

    id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    manifest: str | None
    manifest_key: str | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSpec:
    """A destination to make, its URL judged."""

    id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    secret_from: UUID | None  # the destination whose secret it gets; None: one is made
    manifest: str | None
    manifest_key: str | None

    @property
    def is_generated(self) -> bool:
        """Whether its secret is made."""
        return self.secret_from is None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookChange:
    """What a destination is to be, if it still has the version; its secret stays."""

    id: UUID
    version: int
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    manifest: str | None
    manifest_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedUrls:
    """What became of URLs that were judged."""

    kept: Mapping[str, str] = field(default_factory=dict)  # as they are to be kept, by how they were written
    refused: Mapping[str, str] = field(default_factory=dict)  # what is wrong with them
