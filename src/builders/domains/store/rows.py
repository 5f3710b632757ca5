"""How a domain is kept, and the record that is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from pydantic import TypeAdapter

from builders.domains.records import AccountDomain, AccountDomainStatus, DnsHealth, DomainProof, DomainSource

_HEALTH = TypeAdapter(DnsHealth)

COLUMNS = """
    account_id, id, realm, domain, source, status, proof, token, catch_all, default_destination, manifest,
    manifest_key, health, asked_at, lost_at, checks, next_check_at, added_at, verified_at, suspended_at,
    released_at, updated_at, version
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A domain as it is kept."""

    account_id: UUID
    id: UUID
    realm: UUID
    domain: str
    source: str
    status: str
    proof: str
    token: str
    catch_all: bool
    default_destination: str | None
    manifest: str | None
    manifest_key: str | None
    health: Mapping[str, object]
    asked_at: datetime | None
    lost_at: datetime | None
    checks: int
    next_check_at: datetime | None
    added_at: datetime
    verified_at: datetime | None
    suspended_at: datetime | None
    released_at: datetime | None
    updated_at: datetime
    version: int


_PLAIN = [each.name for each in fields(Row) if each.name not in {"source", "status", "proof", "health"}]


def record(row: Row) -> AccountDomain:
    """The domain."""
    return AccountDomain(
        source=DomainSource(row.source),
        status=AccountDomainStatus(row.status),
        proof=DomainProof(row.proof),
        health=_HEALTH.validate_python(row.health) if row.health else DnsHealth(),
        **{name: getattr(row, name) for name in _PLAIN},
    )


def health_json(health: DnsHealth) -> str:
    """The health as JSON."""
    return _HEALTH.dump_json(health).decode()
