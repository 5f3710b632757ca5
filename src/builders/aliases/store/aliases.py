"""Aliases, in sets: a thousand of them cost as many statements as one."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row
from pydantic import TypeAdapter

from builders.aliases.records import Alias, AliasChange, AliasSpec, AliasStatus, Name, PriceInterval
from builders.aliases.rows import Released
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

_SPECS = TypeAdapter(Sequence[AliasSpec])
_CHANGES = TypeAdapter(Sequence[AliasChange])

# Orders those who want keys of the same manifests, so that none of them is surprised by the unique key.
LOCK_MANIFESTS = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(account_id)s::text || manifest, 0))
    FROM (SELECT DISTINCT unnest(%(manifests)s::text[]) AS manifest ORDER BY manifest) AS wanted
"""
LIST_TAKEN_KEYS = """
    SELECT manifest, key FROM unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, key)
    WHERE EXISTS (
        SELECT FROM aliases AS alias WHERE alias.account_id = %(account_id)s AND alias.manifest = wanted.manifest
           AND alias.manifest_key = wanted.key AND alias.id <> ALL(%(alias_ids)s::uuid[])
    )
"""
INSERT = """
    INSERT INTO aliases (account_id, id, domain, local_part, key, manifest, manifest_key, status, note, labels,
                         project_id, price_amount, price_currency, price_interval, claimed_at, renews_at,
                         updated_at)
    SELECT %(account_id)s, new.id, new.domain, new.local_part, new.key, new.manifest, new.manifest_key,
           CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END, new.note, new.labels,
           new.project_id, (new.price ->> 'amount')::numeric, new.price ->> 'currency', new.interval, %(now)s,
           CASE new.interval WHEN 'year' THEN %(now)s + interval '1 year'
                             WHEN 'month' THEN %(now)s + interval '1 month' END, %(now)s
    FROM jsonb_to_recordset(%(specs)s::jsonb)
         AS new (id uuid, domain text, local_part text, key text, manifest text, manifest_key text,
                 enabled boolean, note text, labels jsonb, project_id uuid, price jsonb, interval text)
"""
# The price and the day of the claim stay, and so do the days of the renewals.
REVIVE = """
    UPDATE aliases AS alias
    SET local_part = new.local_part, manifest = new.manifest, manifest_key = new.manifest_key,
        status = CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END, note = new.note, labels = new.labels,
        project_id = new.project_id, renews_at = new.paid_until, deleted_at = NULL, updated_at = %(now)s,
        version = alias.version + 1, serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
    FROM jsonb_to_recordset(%(specs)s::jsonb)
         AS new (id uuid, local_part text, manifest text, manifest_key text, enabled boolean, note text,
                 labels jsonb, project_id uuid, paid_until timestamptz)
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id AND alias.status = 'deleted'
"""
# What is locked here stays as it is until the commit, so that what follows changes all or nothing.
LOCK_UNCHANGED = """
    SELECT alias.id FROM unnest(%(alias_ids)s::uuid[], %(versions)s::int[]) AS wanted (id, version)
    JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.id = wanted.id
     AND alias.version = wanted.version AND alias.status <> 'deleted'
    ORDER BY alias.id FOR UPDATE OF alias
"""
UPDATE = """
    UPDATE aliases AS alias
    SET manifest = new.manifest, manifest_key = new.manifest_key, note = new.note, labels = new.labels,
        project_id = new.project_id,
        status = CASE WHEN alias.status = 'suspended' THEN alias.status
                      WHEN new.enabled THEN 'active' ELSE 'disabled' END,
        resumes_as = CASE WHEN alias.resumes_as IS NULL THEN NULL
                          WHEN new.enabled THEN 'active' ELSE 'disabled' END, updated_at = %(now)s,
        version = alias.version + 1, serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
    FROM jsonb_to_recordset(%(changes)s::jsonb)
         AS new (id uuid, manifest text, manifest_key text, enabled boolean, note text, labels jsonb,
                 project_id uuid)
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id
    RETURNING alias.id, alias.domain, alias.local_part
"""
RELEASE = """
    WITH released AS (
        UPDATE aliases AS alias
        SET status = 'deleted', resumes_as = NULL, manifest = NULL, manifest_key = NULL,
            deleted_at = %(now)s, updated_at = %(now)s,
            version = alias.version + 1, serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
        FROM aliases AS before
        WHERE alias.account_id = %(account_id)s AND alias.id = ANY(%(alias_ids)s::uuid[])
          AND before.account_id = alias.account_id AND before.id = alias.id
        RETURNING alias.id, alias.domain, alias.local_part, alias.key, alias.project_id, before.manifest,
                  before.manifest_key
    ), quarantined AS (
        UPDATE aliases_names AS name SET state = 'quarantined', until = %(until)s FROM released
        WHERE name.realm = %(realm)s AND name.domain = released.domain AND name.key = released.key
          AND name.account_id = %(account_id)s AND name.alias_id = released.id
    )
    SELECT id, domain, local_part, project_id, manifest, manifest_key, coalesce((
               SELECT array_agg(forward.email ORDER BY forward.position) FROM aliases_forwards AS forward
               WHERE forward.account_id = %(account_id)s AND forward.alias_id = released.id
           ), '{}') AS destinations
    FROM released
"""
COLUMNS = """
    alias.id, alias.domain, alias.local_part, alias.key, alias.manifest, alias.manifest_key, alias.project_id,
    alias.status, alias.note, alias.labels, alias.version, alias.claimed_at, alias.renews_at, alias.updated_at,
    alias.price_amount, alias.price_currency, alias.price_interval AS interval,
    alias.status = 'suspended' AND alias.resumes_as IS NULL AS is_blocked, coalesce((
        SELECT array_agg(forward.email ORDER BY forward.position) FROM aliases_forwards AS forward
        WHERE forward.account_id = alias.account_id AND forward.alias_id = alias.id
    ), '{}') AS destinations
"""
# A union of three look-ups, each by its index; one condition with OR would read all of the account's aliases.
LIST = f"""
    WITH chosen AS (
        SELECT id FROM aliases WHERE account_id = %(account_id)s AND manifest = %(manifest)s
        UNION
        SELECT alias.id FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
        JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.status <> 'deleted'
         AND alias.domain = wanted.domain AND alias.key = wanted.key
        UNION
        SELECT unnest(%(alias_ids)s::uuid[])
    )
    SELECT {COLUMNS}
    FROM chosen JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.id = chosen.id
    WHERE alias.status <> 'deleted' ORDER BY alias.id
"""  # noqa: S608 - of constants
COUNT_BY_PROJECT = """
    SELECT project_id, count(*) FROM aliases
    WHERE account_id = %(account_id)s AND project_id = ANY(%(project_ids)s::uuid[]) AND status <> 'deleted'
    GROUP BY project_id
"""


def alias(*, status: str, interval: str, price_amount: Decimal, price_currency: str, **columns: Any) -> Alias:
    """An alias from the columns of its row."""
    return Alias(
        status=AliasStatus(status),
        interval=PriceInterval(interval),
        price=Money(price_amount, price_currency).quantized(),
        **columns,
    )


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, wanted: Sequence[AliasSpec | AliasChange]
) -> frozenset[tuple[str, str]]:
    """Those of the wanted keys (manifest, key) that stand for other aliases; no more come until the commit."""
    row = {
        "account_id": account_id,
        "manifests": [each.manifest for each in wanted if each.manifest is not None],
        "keys": [each.manifest_key for each in wanted if each.manifest is not None],
        "alias_ids": [each.id for each in wanted],
    }
    await conn.execute(LOCK_MANIFESTS, row)
    # A second statement, which sees what was committed while this one waited for the lock.
    cursor = await conn.execute(LIST_TAKEN_KEYS, row)
    return frozenset((found[0], found[1]) for found in await cursor.fetchall())


async def insert(conn: Conn, *, account_id: UUID, specs: Sequence[AliasSpec], now: datetime) -> None:
    """New aliases, without where they forward to."""
    await conn.execute(INSERT, {"account_id": account_id, "specs": _SPECS.dump_json(specs).decode(), "now": now})


async def revive(conn: Conn, *, account_id: UUID, specs: Sequence[AliasSpec], now: datetime) -> None:
    """Claim released aliases again, which are locked, without where they forward to."""
    await conn.execute(REVIVE, {"account_id": account_id, "specs": _SPECS.dump_json(specs).decode(), "now": now})


async def lock_unchanged(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> set[UUID]:
    """Those of the aliases that still have their version."""
    row = {"account_id": account_id, "alias_ids": list(versions), "versions": list(versions.values())}
    return {found[0] for found in await (await conn.execute(LOCK_UNCHANGED, row)).fetchall()}


async def update(
    conn: Conn, *, account_id: UUID, changes: Sequence[AliasChange], now: datetime
) -> dict[UUID, tuple[str, str]]:
    """Changes aliases that were locked; gives the domain and local part of each."""
    rows = _CHANGES.dump_json(changes).decode()
    cursor = await conn.execute(UPDATE, {"account_id": account_id, "changes": rows, "now": now})
    return {row[0]: (row[1], row[2]) for row in await cursor.fetchall()}


async def release(
    conn: Conn, *, realm: UUID, account_id: UUID, alias_ids: Sequence[UUID], until: datetime, now: datetime
) -> list[Released]:
    """Gives up aliases that were locked; their names wait until the given time."""
    row = {"realm": realm, "account_id": account_id, "alias_ids": list(alias_ids), "until": until, "now": now}
    async with conn.cursor(row_factory=class_row(Released)) as cursor:
        await cursor.execute(RELEASE, row)
        return await cursor.fetchall()


async def list_aliases(
    conn: Conn, *, account_id: UUID, manifest: str | None, names: Sequence[Name], alias_ids: Sequence[UUID]
) -> list[Alias]:
    """The account's aliases that the manifest manages, or that have one of the names or ids."""
    row = {"account_id": account_id, "manifest": manifest, "alias_ids": list(alias_ids)}
    columns = {"domains": [name.domain for name in names], "keys": [name.key for name in names]}
    async with conn.cursor(row_factory=kwargs_row(alias)) as cursor:
        await cursor.execute(LIST, {**row, **columns})
        return await cursor.fetchall()


async def count_by_project(conn: Conn, *, account_id: UUID, project_ids: Collection[UUID]) -> dict[UUID, int]:
    """How many aliases each of the projects has."""
    row = {"account_id": account_id, "project_ids": list(project_ids)}
    found = await (await conn.execute(COUNT_BY_PROJECT, row)).fetchall()
    return dict.fromkeys(project_ids, 0) | {each[0]: each[1] for each in found}
