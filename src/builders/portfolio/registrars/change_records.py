"""Records of changes of connections."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from builders.kit.values.patches import Patch
from builders.portfolio.registrars.records import Environment, RegistrarItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPatch:
    """Changes of a connection by a request; other values stay."""

    credentials: Mapping[str, str | None] = field(repr=False)  # None: cleared
    label: Patch[str | None]
    environment: Patch[Environment]
    base_url: Patch[str | None]
    is_enabled: Patch[bool]
    sync_interval_hours: Patch[int]
    verify: bool  # send a request to the registrar first
    require_valid: bool  # save nothing when that fails


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The registrar's result for the credentials."""

    ok: bool
    code: str | None  # the kind of failure; None without one
    message: str
    hint: str | None  # the remedy
    checked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedConnection:
    """A connection as saved."""

    item: RegistrarItem
    verification: Verification | None  # None: not requested
    unknown: Mapping[str, str | None]  # credentials that the registrar does not have; for each a similar name


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnection:
    """Result of a disconnection."""

    provider: str
    connection: str | None
    is_disconnected: bool  # False: there was no such connection
    is_inventory_kept: bool
    domains_affected: int
