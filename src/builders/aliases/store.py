"""All SQL of the aliases, in sets: a thousand names cost as many statements as one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import TupleRow, class_row
from pydantic import TypeAdapter

from builders.aliases.records import Alias, AliasChange, AliasSpec, Found, Name, Released, Wanted
from builders.kit.db import Conn

_SPECS = TypeAdapter(Sequence[AliasSpec])
_CHANGES = TypeAdapter(Sequence[AliasChange])

# Holds and quarantines that are over hinder nobody, though their rows are there until they are pruned.
LOOK_UP = """
    SELECT wanted.domain, wanted.key, name.state, name.until, name.account_id, look.account_id AS look_account_id
    FROM unnest(%(domains)s::text[], %(keys)s::text[], %(skeletons)s::text[]) AS wanted (domain, key, skeleton)
    LEFT JOIN aliases_names AS name
      ON name.realm = %(realm)s AND name.domain = wanted.domain AND name.key = wanted.key
     AND (name.until IS NULL OR name.until > %(now)s)
    LEFT JOIN aliases_skeletons AS look
      ON look.realm = %(realm)s AND look.domain = wanted.domain AND look.skeleton = wanted.skeleton
     AND look.names > (
         SELECT count(*) FROM aliases_names AS over
         WHERE over.realm = look.realm AND over.domain = look.domain AND over.skeleton = look.skeleton
           AND over.until <= %(now)s
     )
    WHERE name.realm IS NOT NULL OR look.realm IS NOT NULL
"""
# Names change under the lock of their look; looks are locked in one order, and those without names are nobody's.
LOCK_LOOKS = """
    INSERT INTO aliases_skeletons AS look (realm, domain, skeleton, account_id, names)
    SELECT DISTINCT %(realm)s::uuid, domain, skeleton, %(account_id)s::uuid, 0
    FROM unnest(%(domains)s::text[], %(skeletons)s::text[]) AS wanted (domain, skeleton) ORDER BY domain, skeleton
    ON CONFLICT (realm, domain, skeleton) DO UPDATE SET names = look.names
    RETURNING realm, domain, skeleton
"""
LOCK_ENDED = """
    SELECT realm, domain, skeleton FROM aliases_skeletons
    WHERE (realm, domain, skeleton) IN (
        SELECT realm, domain, skeleton FROM aliases_names WHERE until <= %(now)s ORDER BY until LIMIT %(limit)s
    ) ORDER BY realm, domain, skeleton FOR UPDATE SKIP LOCKED
"""
CLEAR_ENDED = """
    WITH gone AS (
        DELETE FROM aliases_names AS name
        USING unnest(%(realms)s::uuid[], %(domains)s::text[], %(skeletons)s::text[])
              AS look (realm, domain, skeleton)
        WHERE name.realm = look.realm AND name.domain = look.domain AND name.skeleton = look.skeleton
          AND name.until <= %(now)s RETURNING name.realm, name.domain, name.skeleton
    ), counted AS (
        UPDATE aliases_skeletons AS look SET names = look.names - over.names
        FROM (SELECT realm, domain, skeleton, count(*) AS names FROM gone GROUP BY 1, 2, 3) AS over
        WHERE look.realm = over.realm AND look.domain = over.domain AND look.skeleton = over.skeleton
    )
    SELECT count(*) FROM gone
"""
# Run while they are locked: who waits for the lock makes the look anew.
DROP_LOOKS = """
    DELETE FROM aliases_skeletons WHERE names = 0 AND (realm, domain, skeleton) IN (
        SELECT * FROM unnest(%(realms)s::uuid[], %(domains)s::text[], %(skeletons)s::text[])
    )
"""
# A hold does not shorten a quarantine: should what it is for never happen, the name is as safe as before. Others'
# names are not even tried, since a conflict would wait for them.
TAKE = """
    WITH taken AS (
        INSERT INTO aliases_names AS name (realm, domain, key, skeleton, account_id, alias_id, state, until)
        SELECT %(realm)s, domain, key, skeleton, %(account_id)s, alias_id,
               CASE WHEN %(until)s::timestamptz IS NULL THEN 'claimed' ELSE 'held' END, %(until)s
        FROM unnest(%(domains)s::text[], %(keys)s::text[], %(skeletons)s::text[], %(alias_ids)s::uuid[])
             AS wanted (domain, key, skeleton, alias_id)
        WHERE NOT EXISTS (
            SELECT FROM aliases_names AS other WHERE other.realm = %(realm)s AND other.domain = wanted.domain
               AND other.key = wanted.key AND (other.account_id <> %(account_id)s OR other.state = 'claimed')
        )
        ON CONFLICT (realm, domain, key) DO UPDATE
        SET alias_id = excluded.alias_id,
            state = CASE WHEN name.until > excluded.until THEN name.state ELSE excluded.state END,
            until = CASE WHEN name.until > excluded.until THEN name.until ELSE excluded.until END
        WHERE name.account_id = excluded.account_id AND name.state <> 'claimed'
        RETURNING domain, key, skeleton, xmax = 0 AS added
    ), ours AS (
        UPDATE aliases_skeletons AS look SET account_id = %(account_id)s, names = look.names + new.names
        FROM (SELECT domain, skeleton, count(*) FILTER (WHERE added) AS names FROM taken GROUP BY 1, 2) AS new
        WHERE look.realm = %(realm)s AND look.domain = new.domain AND look.skeleton = new.skeleton
          AND (look.account_id = %(account_id)s OR look.names = 0)
        RETURNING look.domain, look.skeleton
    )
    SELECT domain, key FROM taken JOIN ours USING (domain, skeleton)
"""
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
INSERT_FORWARDS = """
    WITH known AS (
        INSERT INTO aliases_destinations (account_id, email, created_at)
        SELECT DISTINCT %(account_id)s::uuid, email, %(now)s::timestamptz
        FROM unnest(%(emails)s::text[]) AS wanted (email) ORDER BY email
        ON CONFLICT DO NOTHING
    )
    INSERT INTO aliases_forwards (account_id, alias_id, position, email)
    SELECT %(account_id)s, alias_id, position, email
    FROM unnest(%(alias_ids)s::uuid[], %(positions)s::int[], %(emails)s::text[]) AS new (alias_id, position, email)
"""
DELETE_FORWARDS = """
    DELETE FROM aliases_forwards WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])"""
INSERT = """
    INSERT INTO aliases (account_id, id, domain, local_part, key, manifest, manifest_key, status, note, labels,
                         price_amount, price_currency, price_interval, claimed_at, renews_at, updated_at)
    SELECT %(account_id)s, new.id, new.domain, new.local_part, new.key, new.manifest, new.manifest_key,
           CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END, new.note, new.labels,
           (new.price ->> 'amount')::numeric, new.price ->> 'currency', new.interval, %(now)s,
           CASE new.interval WHEN 'year' THEN %(now)s + interval '1 year'
                             WHEN 'month' THEN %(now)s + interval '1 month' END, %(now)s
    FROM jsonb_to_recordset(%(specs)s::jsonb)
         AS new (id uuid, domain text, local_part text, key text, manifest text, manifest_key text,
                 enabled boolean, note text, labels jsonb, price jsonb, interval text)
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
        status = CASE WHEN alias.status = 'suspended' THEN alias.status
                      WHEN new.enabled THEN 'active' ELSE 'disabled' END, updated_at = %(now)s,
        version = alias.version + 1, serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
    FROM jsonb_to_recordset(%(changes)s::jsonb)
         AS new (id uuid, manifest text, manifest_key text, enabled boolean, note text, labels jsonb)
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id
    RETURNING alias.id, alias.domain, alias.local_part
"""
RELEASE = """
    WITH released AS (
        UPDATE aliases AS alias
        SET status = 'deleted', manifest = NULL, manifest_key = NULL, deleted_at = %(now)s, updated_at = %(now)s,
            version = alias.version + 1, serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
        FROM aliases AS before
        WHERE alias.account_id = %(account_id)s AND alias.id = ANY(%(alias_ids)s::uuid[])
          AND before.account_id = alias.account_id AND before.id = alias.id
        RETURNING alias.id, alias.domain, alias.local_part, alias.key, before.manifest, before.manifest_key
    ), quarantined AS (
        UPDATE aliases_names AS name SET state = 'quarantined', until = %(until)s FROM released
        WHERE name.realm = %(realm)s AND name.domain = released.domain AND name.key = released.key
          AND name.account_id = %(account_id)s AND name.alias_id = released.id
    )
    SELECT id, domain, local_part, manifest, manifest_key, coalesce((
               SELECT array_agg(forward.email ORDER BY forward.position) FROM aliases_forwards AS forward
               WHERE forward.account_id = %(account_id)s AND forward.alias_id = released.id
           ), '{}') AS destinations
    FROM released
"""
# A union of three look-ups, each by its index; one condition with OR would read all of the account's aliases.
LIST = """
    WITH chosen AS (
        SELECT id FROM aliases WHERE account_id = %(account_id)s AND manifest = %(manifest)s
        UNION
        SELECT alias.id FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
        JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.status <> 'deleted'
         AND alias.domain = wanted.domain AND alias.key = wanted.key
        UNION
        SELECT unnest(%(alias_ids)s::uuid[])
    )
    SELECT alias.id, alias.domain, alias.local_part, alias.key, alias.manifest, alias.manifest_key,
           alias.status, alias.note, alias.labels, alias.version, alias.claimed_at, coalesce((
               SELECT array_agg(forward.email ORDER BY forward.position) FROM aliases_forwards AS forward
               WHERE forward.account_id = alias.account_id AND forward.alias_id = alias.id
           ), '{}') AS destinations
    FROM chosen JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.id = chosen.id
    WHERE alias.status <> 'deleted' ORDER BY alias.id
"""


async def look_up(conn: Conn, *, realm: UUID, wanted: Sequence[Wanted], now: datetime) -> list[Found]:
    """A row for each of the names that is not simply free."""
    async with conn.cursor(row_factory=class_row(Found)) as cursor:
        await cursor.execute(LOOK_UP, {"realm": realm, "now": now, **_columns(wanted)})
        return await cursor.fetchall()


async def lock_looks(
    conn: Conn, *, realm: UUID, account_id: UUID, wanted: Sequence[Wanted], now: datetime
) -> None:
    """Locks the looks of names for the transaction, and frees names of them whose hold or quarantine is over."""
    cursor = await conn.execute(LOCK_LOOKS, {"realm": realm, "account_id": account_id, **_columns(wanted)})
    await conn.execute(CLEAR_ENDED, {**_looks(await cursor.fetchall()), "now": now})


async def prune_ended(conn: Conn, *, now: datetime, limit: int) -> int:
    """Frees `limit` names whose hold or quarantine is over, and what ended of their looks; their number."""
    looks = _looks(await (await conn.execute(LOCK_ENDED, {"now": now, "limit": limit})).fetchall())
    freed = await (await conn.execute(CLEAR_ENDED, {**looks, "now": now})).fetchone()
    await conn.execute(DROP_LOOKS, looks)
    return int(freed[0]) if freed else 0


def _looks(rows: Sequence[TupleRow]) -> dict[str, list[object]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(("realms", "domains", "skeletons"))}


async def take(
    conn: Conn, *, realm: UUID, account_id: UUID, wanted: Sequence[Wanted], until: datetime | None
) -> set[Name]:
    """Those of the names that are the account's now with their look: claimed, or held until a time."""
    row = {"realm": realm, "account_id": account_id, "until": until, **_columns(wanted)}
    cursor = await conn.execute(TAKE, {**row, "alias_ids": [each.alias_id for each in wanted]})
    return {Name(*found) for found in await cursor.fetchall()}


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


async def replace_forwards(
    conn: Conn, *, account_id: UUID, forwards: Sequence[AliasSpec | AliasChange], now: datetime
) -> None:
    """Where the aliases forward to from now on."""
    rows = [(each.id, at, email) for each in forwards for at, email in enumerate(each.destinations)]
    ids, positions, emails = zip(*rows, strict=True) if rows else ((), (), ())
    row = {"account_id": account_id, "now": now, "positions": list(positions), "emails": list(emails)}
    await conn.execute(DELETE_FORWARDS, {"account_id": account_id, "alias_ids": [each.id for each in forwards]})
    await conn.execute(INSERT_FORWARDS, {**row, "alias_ids": list(ids)})


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
    async with conn.cursor(row_factory=class_row(Alias)) as cursor:
        await cursor.execute(LIST, {**row, **columns})
        return await cursor.fetchall()


def _columns(wanted: Sequence[Wanted]) -> dict[str, list[str]]:
    return {
        "domains": [each.domain for each in wanted],
        "keys": [each.key for each in wanted],
        "skeletons": [each.skeleton for each in wanted],
    }
