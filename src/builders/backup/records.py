"""Records of backups and restores."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


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
    made_at: datetime
    postgresql: int  # major version
    release: str
    parts: Mapping[str, Part]
