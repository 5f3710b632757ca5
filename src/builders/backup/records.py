"""Records of backups and restores."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """How much of what a restored database has goes on when it is accepted."""

    jobs: int
    events: int  # that are not dispatched
    deliveries: int  # of webhooks
    emails: int
    promotions: int
    renewals: int  # of names, that are due
    invoices: int
    erasures: int  # that wait for their day
    disabled_keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file of a backup."""

    size: int  # bytes
    sha256: str  # of the sealed file, in hex digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A complete backup, as `backup.json` beside its files says; nothing of it is secret."""

    id: str  # its time: 20261127T040000Z
    system_id: str  # of the database system (pg_control)
    timeline: int
    log_from: str  # the segment of the log in which it begins
    made_at: datetime
    postgresql: int  # major version
    release: str
    parts: Mapping[str, Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where the log is, and what of it waits to be archived."""

    system_id: str
    timeline: int
    written: int  # bytes of the log since the system began; all are on the disk
    archived: int | None  # bytes that need not be kept; None: nothing is kept for the archive
    is_given_up: bool  # the log waited for too long, and is deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """A name, an invoice or a payment after a moment to which a database was restored."""

    kind: str
    account_id: UUID
    what: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How much a restored database has."""

    accounts: int
    names: int
    invoices: int
    written_until: datetime | None  # when the newest event was recorded
