"""Domains in sets, for manifests: a thousand cost as many statements as one."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from pydantic import TypeAdapter

from builders.domains.records import AccountDomain, DomainChange
from builders.domains.store.rows import COLUMNS, Row, record
from builders.kit.db.connections import Conn

_CHANGES = TypeAdapter(Sequence[DomainChange])

LIST_MANAGED = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND manifest = %(manifest)s ORDER BY domain
"""  # noqa: S608 - of a constant
LIST_BY_ID = f"""
    SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
"""  # noqa: S608 - of a constant
# What is locked here stays as it is until the commit, so that what follows changes all or nothing.
LOCK_UNCHANGED = """
    SELECT domain.id FROM unnest(%(ids)s::uuid[], %(versions)s::int[]) AS wanted (id, version)
    JOIN domains_domains AS domain ON domain.account_id = %(account_id)s AND domain.id = wanted.id
     AND domain.version = wanted.version AND domain.status <> 'released'
    ORDER BY domain.id FOR UPDATE OF domain
"""
# Orders those who want keys of the same manifests, so that none of them is surprised by the unique key.
LOCK_MANIFESTS = """
    SELECT pg_advisory_xact_lock(hashtextextended('domains ' || %(account_id)s::text || manifest, 0))
    FROM (SELECT DISTINCT unnest(%(manifests)s::text[]) AS manifest ORDER BY manifest) AS wanted
"""
LIST_TAKEN_KEYS = """
    SELECT manifest, key FROM unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, key)
    WHERE EXISTS (
        SELECT FROM domains_domains AS other
        WHERE other.account_id = %(account_id)s AND other.manifest = wanted.manifest
          AND other.manifest_key = wanted.key AND other.id <> ALL(%(ids)s::uuid[])
    )
"""
UPDATE_MANY = """
    UPDATE domains_domains AS domain
    SET catch_all = new.catch_all, default_destination = new.default_destination, manifest = new.manifest,
        manifest_key = new.manifest_key, updated_at = %(now)s, version = domain.version + 1
    FROM jsonb_to_recordset(%(changes)s::jsonb)
         AS new (id uuid, catch_all boolean, default_destination text, manifest text, manifest_key text)
    WHERE domain.account_id = %(account_id)s AND domain.id = new.id
"""


async def list_managed(conn: Conn, *, account_id: UUID, manifest: str) -> list[AccountDomain]:
    """Those that a manifest manages."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(LIST_MANAGED, {"account_id": account_id, "manifest": manifest})
        return [record(row) for row in await cursor.fetchall()]


async def list_by_id(conn: Conn, *, account_id: UUID, domain_ids: Collection[UUID]) -> list[AccountDomain]:
    """Those of the account that have one of the ids."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(LIST_BY_ID, {"account_id": account_id, "ids": list(domain_ids)})
        return [record(row) for row in await cursor.fetchall()]


async def lock_unchanged(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> set[UUID]:
    """Those of the domains that still have their version; they stay so until the commit."""
    row = {"account_id": account_id, "ids": list(versions), "versions": list(versions.values())}
    return {found[0] for found in await (await conn.execute(LOCK_UNCHANGED, row)).fetchall()}


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, changes: Sequence[DomainChange]
) -> frozenset[tuple[str, str]]:
    """Those of the wanted keys (manifest, key) that stand for other domains; no more come until the commit."""
    row = {
        "account_id": account_id,
        "manifests": [each.manifest for each in changes if each.manifest is not None],
        "keys": [each.manifest_key for each in changes if each.manifest is not None],
        "ids": [each.id for each in changes],
    }
    await conn.execute(LOCK_MANIFESTS, row)
    # A second statement, which sees what was committed while this one waited for the lock.
    cursor = await conn.execute(LIST_TAKEN_KEYS, row)
    return frozenset((found[0], found[1]) for found in await cursor.fetchall())


async def update(conn: Conn, *, account_id: UUID, changes: Sequence[DomainChange], now: datetime) -> None:
    """Changes domains that were locked."""
    rows = _CHANGES.dump_json(changes).decode()
    await conn.execute(UPDATE_MANY, {"account_id": account_id, "changes": rows, "now": now})
