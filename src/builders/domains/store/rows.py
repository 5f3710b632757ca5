"""The columns of an account domain, and the record of a row."""

from collections.abc import Mapping
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import kwargs_row
from pydantic import TypeAdapter

from builders.domains.records import (
    AccountDomain,
    AccountDomainStatus,
    DnsHealth,
    DomainProof,
    DomainSettings,
    DomainSource,
)
from builders.kit.db.connections import Conn

_HEALTH = TypeAdapter(DnsHealth)
_SETTINGS = TypeAdapter(DomainSettings)

# The columns of DomainSettings: an INSERT and an UPDATE read them from JSON, with the types of the table.
SETTINGS = "catch_all, default_destination"
COLUMNS = f"""
    account_id, id, realm, domain, source, status, proof, token, {SETTINGS}, manifest, manifest_key, health,
    asked_at, lost_at, checks, next_check_at, added_at, verified_at, suspended_at, released_at, updated_at, version
"""


def cursor_of(conn: Conn) -> AsyncCursor[AccountDomain]:
    """Return a cursor whose rows are records of the columns."""
    return conn.cursor(row_factory=kwargs_row(_record))


def _record(
    *, source: str, status: str, proof: str, health: Mapping[str, object], **columns: Any
) -> AccountDomain:
    return AccountDomain(
        source=DomainSource(source),
        status=AccountDomainStatus(status),
        proof=DomainProof(proof),
        health=_HEALTH.validate_python(health) if health else DnsHealth(),
        **columns,
    )


def settings_json(settings: DomainSettings) -> str:
    """Return the settings as JSON, by column."""
    return _SETTINGS.dump_json(settings).decode()


def health_json(health: DnsHealth) -> str:
    """Return the health as JSON."""
    return _HEALTH.dump_json(health).decode()
