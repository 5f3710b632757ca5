"""Aliases in sets: written, listed and counted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row
from pydantic import TypeAdapter

from builders.aliases.records import Alias, AliasChange, AliasSpec, AliasStatus, Name, PriceInterval
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

_SPECS = TypeAdapter(Sequence[AliasSpec])
_CHANGES = TypeAdapter(Sequence[AliasChange])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedAlias:
    """An alias that was released, suspended or restored, as its event shows it."""

    id: UUID
    domain: str
    local_part: str
    destinations: Sequence[str]
    manifest: str | None
    manifest_key: str | None
    project_id: UUID | None
    enabled: bool = False


# The columns that an account sets: a new one is added to these four lists, and to no other statement.
_TYPES = """
    id uuid, manifest text, manifest_key text, enabled boolean, note text, labels jsonb, project_id uuid
"""
_SET = """
    manifest = new.manifest, manifest_key = new.manifest_key, note = new.note, labels = new.labels,
    project_id = new.project_id
"""
INSERT = f"""
    INSERT INTO aliases (account_id, id, domain, local_part, key, manifest, manifest_key, status, note, labels,
                         project_id, price_amount, price_currency, price_interval, claimed_at, renews_at,
                         updated_at)
    SELECT %(account_id)s, new.id, new.domain, new.local_part, new.key, new.manifest, new.manifest_key,
           CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END, new.note, new.labels,
           new.project_id, (new.price ->> 'amount')::numeric, new.price ->> 'currency', new.interval, %(now)s,
           CASE new.interval WHEN 'year' THEN %(now)s + interval '1 year'
                             WHEN 'month' THEN %(now)s + interval '1 month' END, %(now)s
    FROM jsonb_to_recordset(%(specs)s::jsonb)
         AS new ({_TYPES}, domain text, local_part text, key text, price jsonb, interval text)
"""
DESTINATIONS = """
    coalesce((
        SELECT array_agg(forward.email ORDER BY forward.position) FROM aliases_forwards AS forward
        WHERE forward.account_id = alias.account_id AND forward.alias_id = alias.id
    ), '{}') AS destinations
"""
COLUMNS = f"""
    alias.id, alias.domain, alias.local_part, alias.key, alias.manifest, alias.manifest_key, alias.project_id,
    alias.status, alias.status = 'active' AS enabled, alias.note, alias.labels, alias.version, alias.claimed_at,
    alias.renews_at, alias.updated_at, alias.price_amount, alias.price_currency, alias.price_interval AS interval,
    alias.status = 'suspended' AND alias.resumes_as IS NULL AS is_blocked, {DESTINATIONS}
"""
# Mail servers follow the changes of aliases by these two columns (`queries`).
CHANGED = "serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()"

LIST_TAKEN_KEYS = """
    SELECT manifest, key FROM unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, key)
    WHERE EXISTS (
        SELECT FROM aliases AS alias WHERE alias.account_id = %(account_id)s AND alias.manifest = wanted.manifest
           AND alias.manifest_key = wanted.key AND alias.id <> ALL(%(alias_ids)s::uuid[])
    )
"""
# The price, the time of the claim and the renewals do not change.
REVIVE = f"""
    UPDATE aliases AS alias
    SET {_SET}, local_part = new.local_part, renews_at = new.paid_until,
        status = CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END,
        deleted_at = NULL, updated_at = %(now)s, version = alias.version + 1, {CHANGED}
    FROM jsonb_to_recordset(%(specs)s::jsonb) AS new ({_TYPES}, local_part text, paid_until timestamptz)
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id AND alias.status = 'deleted'
"""
# The locked rows do not change until the commit, so that the statements after this one change all or nothing.
LOCK_UNCHANGED = """
    SELECT alias.id FROM unnest(%(alias_ids)s::uuid[], %(versions)s::int[]) AS wanted (id, version)
    JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.id = wanted.id
     AND alias.version = wanted.version AND alias.status <> 'deleted'
    ORDER BY alias.id FOR UPDATE OF alias
"""
# A suspended alias stays suspended; `enabled` decides its status after the suspension.
UPDATE = f"""
    UPDATE aliases AS alias
    SET {_SET},
        status = CASE WHEN alias.status = 'suspended' THEN alias.status
                      WHEN new.enabled THEN 'active' ELSE 'disabled' END,
        resumes_as = CASE WHEN alias.resumes_as IS NULL THEN NULL
                          WHEN new.enabled THEN 'active' ELSE 'disabled' END,
        updated_at = %(now)s, version = alias.version + 1, {CHANGED}
    FROM jsonb_to_recordset(%(changes)s::jsonb) AS new ({_TYPES})
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id
    RETURNING alias.id, alias.domain, alias.local_part
"""
RELEASE = f"""
    -- The event shows the manifest and the key that the release removes.
    WITH released AS (
        UPDATE aliases AS alias
        SET status = 'deleted', resumes_as = NULL, manifest = NULL, manifest_key = NULL,
            deleted_at = %(now)s, updated_at = %(now)s, version = alias.version + 1, {CHANGED}
        FROM aliases AS before
        WHERE alias.account_id = %(account_id)s AND alias.id = ANY(%(alias_ids)s::uuid[])
          AND before.account_id = alias.account_id AND before.id = alias.id
        RETURNING alias.account_id, alias.id, alias.domain, alias.local_part, alias.key, alias.project_id,
                  before.manifest, before.manifest_key
    -- Only the account can claim the names before `until`.
    ), quarantined AS (
        UPDATE aliases_names AS name SET state = 'quarantined', until = %(until)s FROM released
        WHERE name.realm = %(realm)s AND name.domain = released.domain AND name.key = released.key
          AND name.account_id = %(account_id)s AND name.alias_id = released.id
    )
    SELECT id, domain, local_part, project_id, manifest, manifest_key, {DESTINATIONS} FROM released AS alias
"""
# A union of three queries, each by its own index; one condition with OR would read all aliases of the account.
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
"""
COUNT = "SELECT count(*) FROM aliases WHERE account_id = %(account_id)s AND status <> 'deleted'"
COUNT_BY_DOMAIN = """
    SELECT domain, count(*) FROM aliases
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND status <> 'deleted'
    GROUP BY domain
"""
COUNT_BY_PROJECT = """
    SELECT project_id, count(*) FROM aliases
    WHERE account_id = %(account_id)s AND project_id = ANY(%(project_ids)s::uuid[]) AND status <> 'deleted'
    GROUP BY project_id
"""
# The realm of a sandbox is its account: rows of live names have another realm, and are not read.
CLEAR = """
    WITH forward AS (
        DELETE FROM aliases_forwards WHERE account_id = %(account_id)s
    ), link AS (
        DELETE FROM aliases_links WHERE account_id = %(account_id)s
    ), arrear AS (
        DELETE FROM aliases_arrears WHERE account_id = %(account_id)s
    ), undone AS (
        DELETE FROM aliases_undone WHERE account_id = %(account_id)s
    ), destination AS (
        DELETE FROM aliases_destinations WHERE account_id = %(account_id)s
    ), name AS (
        DELETE FROM aliases_names WHERE account_id = %(account_id)s AND realm = %(account_id)s
    ), skeleton AS (
        DELETE FROM aliases_skeletons WHERE account_id = %(account_id)s AND realm = %(account_id)s
    ), gone AS (
        DELETE FROM aliases WHERE account_id = %(account_id)s RETURNING status
    )
    SELECT count(*) FROM gone WHERE status <> 'deleted'
"""


def alias_from_row(
    *,
    status: str,
    interval: str,
    price_amount: Decimal,
    price_currency: str,
    destinations: Sequence[str],
    **columns: Any,
) -> Alias:
    """Return the alias of a row of COLUMNS."""
    return Alias(
        status=AliasStatus(status),
        interval=PriceInterval(interval),
        price=Money(price_amount, price_currency).quantized(),
        destinations=tuple(destinations),
        **columns,
    )


def name_columns(names: Collection[Name]) -> dict[str, list[str]]:
    """Return the domains and the keys of names, for a statement with arrays of both."""
    return {"domains": [name.domain for name in names], "keys": [name.key for name in names]}


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, wanted: Sequence[AliasSpec | AliasChange]
) -> frozenset[tuple[str, str]]:
    """Return the wanted keys (manifest, key) that belong to other aliases.

    No other is taken until the commit, since the caller has locked the account's routes.
    """
    row = {
        "account_id": account_id,
        "manifests": [each.manifest for each in wanted if each.manifest is not None],
        "keys": [each.manifest_key for each in wanted if each.manifest is not None],
        "alias_ids": [each.id for each in wanted],
    }
    cursor = await conn.execute(LIST_TAKEN_KEYS, row)
    return frozenset((found[0], found[1]) for found in await cursor.fetchall())


async def insert(conn: Conn, *, account_id: UUID, specs: Sequence[AliasSpec], now: datetime) -> None:
    """Insert new aliases, without their destinations."""
    await conn.execute(INSERT, {"account_id": account_id, "specs": _SPECS.dump_json(specs).decode(), "now": now})


async def revive(conn: Conn, *, account_id: UUID, specs: Sequence[AliasSpec], now: datetime) -> None:
    """Claim locked, released aliases again, without their destinations."""
    await conn.execute(REVIVE, {"account_id": account_id, "specs": _SPECS.dump_json(specs).decode(), "now": now})


async def lock_unchanged(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> set[UUID]:
    """Lock the aliases that still have their version; return their ids."""
    row = {"account_id": account_id, "alias_ids": list(versions), "versions": list(versions.values())}
    return {found[0] for found in await (await conn.execute(LOCK_UNCHANGED, row)).fetchall()}


async def update(
    conn: Conn, *, account_id: UUID, changes: Sequence[AliasChange], now: datetime
) -> dict[UUID, tuple[str, str]]:
    """Change locked aliases; return the domain and local part of each."""
    rows = _CHANGES.dump_json(changes).decode()
    cursor = await conn.execute(UPDATE, {"account_id": account_id, "changes": rows, "now": now})
    return {row[0]: (row[1], row[2]) for row in await cursor.fetchall()}


async def release(
    conn: Conn, *, realm: UUID, account_id: UUID, alias_ids: Sequence[UUID], until: datetime, now: datetime
) -> list[ChangedAlias]:
    """Release locked aliases, and quarantine their names until a time."""
    row = {"realm": realm, "account_id": account_id, "alias_ids": list(alias_ids), "until": until, "now": now}
    async with conn.cursor(row_factory=class_row(ChangedAlias)) as cursor:
        await cursor.execute(RELEASE, row)
        return await cursor.fetchall()


async def list_aliases(
    conn: Conn,
    *,
    account_id: UUID,
    manifest: str | None = None,
    names: Sequence[Name] = (),
    alias_ids: Sequence[UUID] = (),
) -> list[Alias]:
    """Return the account's aliases that the manifest manages, and those with one of the names or ids."""
    row = {"account_id": account_id, "manifest": manifest, "alias_ids": list(alias_ids), **name_columns(names)}
    async with conn.cursor(row_factory=kwargs_row(alias_from_row)) as cursor:
        await cursor.execute(LIST, row)
        return await cursor.fetchall()


async def count_aliases(conn: Conn, *, account_id: UUID) -> int:
    """Return the number of the account's aliases, with suspended ones. One statement."""
    found = await (await conn.execute(COUNT, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])


async def count_by_domain(conn: Conn, *, account_id: UUID, domains: Collection[str]) -> Mapping[str, int]:
    """Return the number of the account's aliases on each domain, with suspended ones. One statement."""
    row = {"account_id": account_id, "domains": list(domains)}
    found = await (await conn.execute(COUNT_BY_DOMAIN, row)).fetchall()
    return dict.fromkeys(domains, 0) | {each[0]: each[1] for each in found}


async def count_by_project(conn: Conn, *, account_id: UUID, project_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Return the number of aliases of each project, with suspended ones. One statement."""
    row = {"account_id": account_id, "project_ids": list(project_ids)}
    found = await (await conn.execute(COUNT_BY_PROJECT, row)).fetchall()
    return dict.fromkeys(project_ids, 0) | {each[0]: each[1] for each in found}


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Delete every row of a sandbox account; return the number of its aliases."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])
