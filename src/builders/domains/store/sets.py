"""SQL of many domains: a thousand need as many statements as one."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from pydantic import TypeAdapter

from builders.domains.records import AccountDomain, DomainChange
from builders.domains.store.rows import COLUMNS, SETTINGS, cursor_of
from builders.kit.db.connections import Conn

_CHANGES = TypeAdapter(Sequence[DomainChange])

LIST_MANAGED = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND manifest = %(manifest)s ORDER BY domain
"""
LIST_BY_ID = f"""
    SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
"""
# Locked rows stay unchanged until the commit, so that the update applies to all domains or none.
LOCK_UNCHANGED = """
    SELECT domain.id FROM unnest(%(ids)s::uuid[], %(versions)s::int[]) AS wanted (id, version)
    JOIN domains_domains AS domain ON domain.account_id = %(account_id)s AND domain.id = wanted.id
     AND domain.version = wanted.version AND domain.status <> 'released'
    ORDER BY domain.id FOR UPDATE OF domain
"""
# Serializes transactions that take keys of the same manifests: the unique key refuses none of them.
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
UPDATE_MANY = f"""
    UPDATE domains_domains AS domain
    SET ({SETTINGS}, manifest, manifest_key, updated_at, version) = (
        SELECT {SETTINGS}, manifest, manifest_key, %(now)s::timestamptz, domain.version + 1
        FROM (SELECT changed.*) AS new
    )
    FROM jsonb_populate_recordset(NULL::domains_domains, %(changes)s::jsonb) AS changed
    WHERE domain.account_id = %(account_id)s AND domain.id = changed.id
"""
CLEAR = """
    WITH holder AS (
        DELETE FROM domains_holders WHERE account_id = %(account_id)s AND realm = %(account_id)s
    ), deleted AS (
        DELETE FROM domains_domains WHERE account_id = %(account_id)s RETURNING status
    )
    SELECT count(*) FROM deleted WHERE status <> 'released'
"""


async def list_managed(conn: Conn, *, account_id: UUID, manifest: str) -> list[AccountDomain]:
    """Return the domains that a manifest manages."""
    row = {"account_id": account_id, "manifest": manifest}
    return await (await cursor_of(conn).execute(LIST_MANAGED, row)).fetchall()


async def list_by_id(conn: Conn, *, account_id: UUID, domain_ids: Collection[UUID]) -> list[AccountDomain]:
    """Return the account's domains that have one of the ids."""
    row = {"account_id": account_id, "ids": list(domain_ids)}
    return await (await cursor_of(conn).execute(LIST_BY_ID, row)).fetchall()


async def lock_unchanged(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> set[UUID]:
    """Lock the domains that still have their version until the commit; return their ids."""
    row = {"account_id": account_id, "ids": list(versions), "versions": list(versions.values())}
    return {found[0] for found in await (await conn.execute(LOCK_UNCHANGED, row)).fetchall()}


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, changes: Sequence[DomainChange]
) -> frozenset[tuple[str, str]]:
    """Return the wanted keys (manifest, key) that belong to other domains; no other takes one until the commit."""
    row = {
        "account_id": account_id,
        "manifests": [each.manifest for each in changes if each.manifest is not None],
        "keys": [each.manifest_key for each in changes if each.manifest is not None],
        "ids": [each.id for each in changes],
    }
    await conn.execute(LOCK_MANIFESTS, row)
    # A second statement sees rows that were committed while the first one waited for the lock.
    cursor = await conn.execute(LIST_TAKEN_KEYS, row)
    return frozenset((found[0], found[1]) for found in await cursor.fetchall())


async def update(conn: Conn, *, account_id: UUID, changes: Sequence[DomainChange], now: datetime) -> None:
    """Change locked domains."""
    rows = _CHANGES.dump_json(changes).decode()
    await conn.execute(UPDATE_MANY, {"account_id": account_id, "changes": rows, "now": now})


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Delete every row of a sandbox account; return its number of domains."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])
