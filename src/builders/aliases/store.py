"""All SQL of the aliases, in sets: a thousand names cost as many statements as one."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from builders.aliases.records import (
    Alias,
    AliasChange,
    AliasSpec,
    Found,
    Name,
    NameState,
    Released,
    Taken,
    Wanted,
)
from builders.kit.db import Conn

# Look-alikes count only where another account holds them; without an account, where anybody does.
LOOK_UP = """
    SELECT wanted.domain, wanted.key, name.state, name.until, name.account_id,
           look.account_id AS look_account_id
    FROM unnest(%(domains)s::text[], %(keys)s::text[], %(skeletons)s::text[]) AS wanted (domain, key, skeleton)
    LEFT JOIN aliases_names AS name
      ON name.realm = %(realm)s AND name.domain = wanted.domain AND name.key = wanted.key
     AND (name.until IS NULL OR name.until > %(now)s)
    LEFT JOIN aliases_skeletons AS look
      ON look.realm = %(realm)s AND look.domain = wanted.domain AND look.skeleton = wanted.skeleton
     AND look.names > 0
    WHERE name.realm IS NOT NULL OR look.realm IS NOT NULL
"""
# Holds and quarantines that are over, of the wanted looks. Skipped where somebody else clears them just now.
CLEAR_ENDED = """
    WITH ended AS (
        SELECT name.realm, name.domain, name.key FROM aliases_names AS name
        JOIN unnest(%(domains)s::text[], %(skeletons)s::text[]) AS wanted (domain, skeleton)
          ON name.domain = wanted.domain AND name.skeleton = wanted.skeleton
        WHERE name.realm = %(realm)s AND name.until <= %(now)s
        FOR UPDATE OF name SKIP LOCKED
    ), gone AS (
        DELETE FROM aliases_names AS name USING ended
        WHERE name.realm = ended.realm AND name.domain = ended.domain AND name.key = ended.key
        RETURNING name.domain, name.skeleton
    )
    UPDATE aliases_skeletons AS look SET names = look.names - counted.names
    FROM (SELECT domain, skeleton, count(*) AS names FROM gone GROUP BY domain, skeleton) AS counted
    WHERE look.realm = %(realm)s AND look.domain = counted.domain AND look.skeleton = counted.skeleton
"""
# In the order of the key, so that two who want the same names wait for each other and never crosswise.
TAKE_NAMES = """
    INSERT INTO aliases_names AS name (realm, domain, key, skeleton, account_id, alias_id, state, until)
    SELECT %(realm)s, domain, key, skeleton, %(account_id)s, alias_id, %(state)s, %(until)s
    FROM unnest(%(domains)s::text[], %(keys)s::text[], %(skeletons)s::text[], %(alias_ids)s::uuid[])
         AS wanted (domain, key, skeleton, alias_id)
    ORDER BY domain, key
    ON CONFLICT (realm, domain, key) DO UPDATE
    SET alias_id = excluded.alias_id, state = excluded.state, until = excluded.until
    WHERE name.account_id = excluded.account_id AND name.state <> 'claimed'
    RETURNING domain, key, skeleton, xmax = 0 AS added
"""
TAKE_SKELETONS = """
    INSERT INTO aliases_skeletons AS look (realm, domain, skeleton, account_id, names)
    SELECT %(realm)s, domain, skeleton, %(account_id)s, count(*)
    FROM unnest(%(domains)s::text[], %(skeletons)s::text[]) AS wanted (domain, skeleton)
    GROUP BY domain, skeleton ORDER BY domain, skeleton
    ON CONFLICT (realm, domain, skeleton) DO UPDATE
    SET account_id = excluded.account_id, names = look.names + excluded.names
    WHERE look.account_id = excluded.account_id OR look.names = 0
    RETURNING domain, skeleton
"""
INSERT_DESTINATIONS = """
    INSERT INTO aliases_destinations (account_id, email, created_at)
    SELECT DISTINCT %(account_id)s::uuid, email, %(now)s::timestamptz
    FROM unnest(%(emails)s::text[]) AS wanted (email) ORDER BY email
    ON CONFLICT DO NOTHING
"""
INSERT_FORWARDS = """
    INSERT INTO aliases_forwards (account_id, alias_id, position, email)
    SELECT %(account_id)s, alias_id, position, email
    FROM unnest(%(alias_ids)s::uuid[], %(positions)s::int[], %(emails)s::text[])
         AS new (alias_id, position, email)
"""
DELETE_FORWARDS = """
    DELETE FROM aliases_forwards WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])
"""
INSERT = """
    INSERT INTO aliases (account_id, id, domain, local_part, key, manifest, manifest_key, status, note, labels,
                         price_amount, price_currency, price_interval, claimed_at, renews_at, updated_at)
    SELECT %(account_id)s, new.id, new.domain, new.local_part, new.key, new.manifest, new.manifest_key,
           CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END, new.note, new.labels,
           new.price_amount, new.price_currency, new.price_interval, %(now)s,
           CASE new.price_interval WHEN 'year' THEN %(now)s + interval '1 year'
                                   WHEN 'month' THEN %(now)s + interval '1 month' END, %(now)s
    FROM jsonb_to_recordset(%(aliases)s) AS new (
        id uuid, domain text, local_part text, key text, manifest text, manifest_key text, enabled boolean,
        note text, labels jsonb, price_amount numeric, price_currency text, price_interval text
    )
"""
UPDATE = """
    UPDATE aliases AS alias
    SET manifest = new.manifest, manifest_key = new.manifest_key, note = new.note, labels = new.labels,
        status = CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END, updated_at = %(now)s,
        version = alias.version + 1, serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
    FROM jsonb_to_recordset(%(changes)s) AS new (
        id uuid, version int, manifest text, manifest_key text, enabled boolean, note text, labels jsonb
    )
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id AND alias.version = new.version
      AND alias.status IN ('active', 'disabled')
    RETURNING alias.id, alias.domain, alias.local_part
"""
RELEASE = """
    WITH released AS (
        UPDATE aliases AS alias
        SET status = 'deleted', deleted_at = %(now)s, manifest = NULL, manifest_key = NULL,
            updated_at = %(now)s, version = alias.version + 1,
            serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
        FROM unnest(%(alias_ids)s::uuid[], %(versions)s::int[]) AS gone (id, version)
        JOIN aliases AS before ON before.account_id = %(account_id)s AND before.id = gone.id
        WHERE alias.account_id = %(account_id)s AND alias.id = gone.id AND alias.version = gone.version
          AND alias.status <> 'deleted'
        RETURNING alias.id, alias.domain, alias.local_part, alias.key, before.manifest, before.manifest_key
    ), quarantined AS (
        UPDATE aliases_names AS name SET state = 'quarantined', until = %(until)s
        FROM released
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
    WHERE alias.status <> 'deleted'
    ORDER BY alias.id
"""
PRUNE_ENDED = """
    WITH ended AS (
        SELECT realm, domain, key FROM aliases_names WHERE until <= %(now)s
        ORDER BY until LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM aliases_names AS name USING ended
        WHERE name.realm = ended.realm AND name.domain = ended.domain AND name.key = ended.key
        RETURNING name.realm, name.domain, name.skeleton
    ), counted AS (
        UPDATE aliases_skeletons AS look SET names = look.names - over.names
        FROM (
            SELECT realm, domain, skeleton, count(*) AS names FROM gone GROUP BY realm, domain, skeleton
        ) AS over
        WHERE look.realm = over.realm AND look.domain = over.domain AND look.skeleton = over.skeleton
    )
    SELECT count(*) FROM gone
"""
PRUNE_SKELETONS = "DELETE FROM aliases_skeletons WHERE names = 0"


async def look_up(conn: Conn, *, realm: UUID, wanted: Sequence[Wanted], now: datetime) -> list[Found]:
    """A row for each of the names that is not simply free."""
    async with conn.cursor(row_factory=class_row(Found)) as cursor:
        await cursor.execute(LOOK_UP, {"realm": realm, "now": now, **_columns(wanted)})
        return await cursor.fetchall()


async def clear_ended(conn: Conn, *, realm: UUID, wanted: Sequence[Wanted], now: datetime) -> None:
    """Frees names of the wanted looks whose hold or quarantine is over."""
    await conn.execute(CLEAR_ENDED, {"realm": realm, "now": now, **_columns(wanted)})


async def take_names(
    conn: Conn,
    *,
    realm: UUID,
    account_id: UUID,
    wanted: Sequence[Wanted],
    state: NameState,
    until: datetime | None,
) -> list[Taken]:
    """Those of the names that are the account's now; the others are somebody's."""
    row = {"realm": realm, "account_id": account_id, "state": state, "until": until, **_columns(wanted)}
    async with conn.cursor(row_factory=class_row(Taken)) as cursor:
        await cursor.execute(TAKE_NAMES, {**row, "alias_ids": [each.alias_id for each in wanted]})
        return await cursor.fetchall()


async def take_skeletons(
    conn: Conn, *, realm: UUID, account_id: UUID, taken: Sequence[Taken]
) -> set[tuple[str, str]]:
    """Those of the looks (domain, skeleton) that are the account's now."""
    row = {
        "realm": realm,
        "account_id": account_id,
        "domains": [each.domain for each in taken],
        "skeletons": [each.skeleton for each in taken],
    }
    return {(found[0], found[1]) for found in await (await conn.execute(TAKE_SKELETONS, row)).fetchall()}


async def insert(conn: Conn, *, account_id: UUID, specs: Sequence[AliasSpec], now: datetime) -> None:
    """New aliases, without where they forward to."""
    rows = [
        {
            "id": str(spec.id),
            "domain": spec.domain,
            "local_part": spec.local_part,
            "key": spec.key,
            "price_amount": str(spec.price.amount),
            "price_currency": spec.price.currency,
            "price_interval": spec.interval,
            **_wishes(spec),
        }
        for spec in specs
    ]
    await conn.execute(INSERT, {"account_id": account_id, "aliases": Jsonb(rows), "now": now})


async def update(
    conn: Conn, *, account_id: UUID, changes: Sequence[AliasChange], now: datetime
) -> dict[UUID, tuple[str, str]]:
    """Domain and local part of those that still had their version, and now have the next."""
    rows = [{"id": str(change.id), "version": change.version, **_wishes(change)} for change in changes]
    cursor = await conn.execute(UPDATE, {"account_id": account_id, "changes": Jsonb(rows), "now": now})
    return {row[0]: (row[1], row[2]) for row in await cursor.fetchall()}


async def replace_forwards(
    conn: Conn, *, account_id: UUID, forwards: Sequence[AliasSpec | AliasChange], now: datetime
) -> None:
    """Where the aliases forward to from now on."""
    rows = [(each.id, at, email) for each in forwards for at, email in enumerate(each.destinations)]
    ids, positions, emails = zip(*rows, strict=True) if rows else ((), (), ())
    row = {"account_id": account_id, "now": now, "positions": list(positions), "emails": list(emails)}
    await conn.execute(INSERT_DESTINATIONS, row)
    await conn.execute(DELETE_FORWARDS, {"account_id": account_id, "alias_ids": [each.id for each in forwards]})
    await conn.execute(INSERT_FORWARDS, {**row, "alias_ids": list(ids)})


async def release(
    conn: Conn,
    *,
    realm: UUID,
    account_id: UUID,
    released: Sequence[tuple[UUID, int]],
    until: datetime,
    now: datetime,
) -> list[Released]:
    """Those of the aliases (id, version) that are gone now; their names wait until the given time."""
    row = {"realm": realm, "account_id": account_id, "until": until, "now": now}
    columns = {"alias_ids": [each[0] for each in released], "versions": [each[1] for each in released]}
    async with conn.cursor(row_factory=class_row(Released)) as cursor:
        await cursor.execute(RELEASE, {**row, **columns})
        return await cursor.fetchall()


async def list_aliases(
    conn: Conn, *, account_id: UUID, manifest: str | None, names: Sequence[Name], alias_ids: Sequence[UUID]
) -> list[Alias]:
    """The account's aliases that the manifest manages, or that have one of the names or ids."""
    row = {
        "account_id": account_id,
        "manifest": manifest,
        "domains": [name.domain for name in names],
        "keys": [name.key for name in names],
        "alias_ids": list(alias_ids),
    }
    async with conn.cursor(row_factory=class_row(Alias)) as cursor:
        await cursor.execute(LIST, row)
        return await cursor.fetchall()


async def prune_ended(conn: Conn, *, now: datetime, limit: int) -> int:
    """Frees up to `limit` names whose hold or quarantine is over; their number."""
    row = await (await conn.execute(PRUNE_ENDED, {"now": now, "limit": limit})).fetchone()
    await conn.execute(PRUNE_SKELETONS)
    return int(row[0]) if row else 0


def _columns(wanted: Sequence[Wanted]) -> dict[str, list[str]]:
    return {
        "domains": [each.domain for each in wanted],
        "keys": [each.key for each in wanted],
        "skeletons": [each.skeleton for each in wanted],
    }


def _wishes(each: AliasSpec | AliasChange) -> dict[str, object]:
    return {
        "manifest": each.manifest,
        "manifest_key": each.manifest_key,
        "enabled": each.enabled,
        "note": each.note,
        "labels": dict(each.labels),
    }
