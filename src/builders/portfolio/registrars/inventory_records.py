"""Records of the inventory: the domains at registrars, by their latest listings."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from fastapi import Query

from builders.kit.http.bulk import RowResult
from builders.kit.sheets.reading import DetectedTable, SentTable, TableOptions
from builders.kit.values.money import Money
from builders.kit.values.texts import Lowered
from builders.portfolio.registrars.records import HeldStatus

MAX_IMPORT_ROWS = 10_000
FRESH_FOR = timedelta(hours=48)  # a domain that no listing had for longer is stale


class InventorySource(StrEnum):
    """Source of a holding."""

    API = "api"  # of the registrar
    IMPORT = "import"  # a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A domain at a connection. None: the registrar does not say."""

    connection_id: UUID
    provider: str
    domain: str  # A-label
    expires_at: datetime | None
    registered_at: datetime | None
    auto_renew: bool | None
    locked: bool | None
    privacy: bool | None
    status: HeldStatus
    status_raw: str | None
    nameservers: Sequence[str] | None
    renewal_price: Money | None
    source: InventorySource
    listing_id: UUID  # the last listing that had it
    first_seen_at: datetime
    last_seen_at: datetime
    missing_since: datetime | None  # the first complete listing without it
    suspected_since: datetime | None  # the first one whose drop is held back

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", HeldStatus(self.status))
        object.__setattr__(self, "source", InventorySource(self.source))


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryItem(Holding):
    """A holding, and the domain of the portfolio with its name."""

    domain_id: UUID | None  # None: the portfolio does not have it


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The latest listing of a connection."""

    connection_id: UUID
    provider: str
    source: InventorySource
    taken_at: datetime
    is_complete: bool
    domains: int  # that it had
    last_complete_at: datetime | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", InventorySource(self.source))


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryFilters:
    """Which holdings are listed, as the query has it. None: any."""

    provider: Annotated[
        str | None, Query(max_length=80, description="Only domains at this registrar."), Lowered
    ] = None
    matched: Annotated[
        bool | None,
        Query(
            description="Only domains that the portfolio has; with `false`, only domains that it does not have."
        ),
    ] = None
    stale: Annotated[
        bool | None,
        Query(
            description=(
                "Only domains that are missing or were not listed for 48 hours; with `false`, only the others."
            )
        ),
    ] = None


class ImportMode(StrEnum):
    """Effect on domains that the file does not contain."""

    MERGE = "merge"  # nothing
    REPLACE_SNAPSHOT = "replace_snapshot"  # the registrar no longer holds them


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInventoryImport:
    """A list of domains to import."""

    provider: str
    connection: str | None  # its name, among several to one registrar
    table: SentTable[TableOptions]
    mode: ImportMode
    adds_to_portfolio: bool
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryImport:
    """Result of an import, or of its dry run."""

    id: UUID
    provider: str
    connection_id: UUID
    mode: ImportMode
    dry_run: bool
    detected: DetectedTable
    results: Sequence[RowResult]
    updated_domains: int  # of the portfolio
    added_domains: int  # to the portfolio
    missing: int  # that the registrar no longer holds
    is_complete: bool
