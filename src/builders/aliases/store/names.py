"""The registry of names: the account of each name and skeleton. A set costs as many statements as one name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.aliases.records import Alias, AliasName, Name, RequestedName
from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query


@dataclass(frozen=True, slots=True, kw_only=True)
class NameConflict:
    """A wanted name that an account has, or that is confusable with its names."""

    domain: str
    key: str
    state: str | None  # claimed, quarantined or held; None if only the skeleton is in use
    until: datetime | None
    account_id: UUID  # that has the name, else the skeleton


# Two rules make a name unavailable:
# - An account has it (`name`). An expired reservation or quarantine does not count, though its row exists until it
#   is pruned.
# - An account has names with its skeleton (`skeleton`), more than are expired.
_CONFLICTS = """
    LEFT JOIN aliases_names AS name
      ON name.realm = %(realm)s AND name.domain = wanted.domain AND name.key = wanted.key
     AND (name.until IS NULL OR name.until > %(now)s)
    LEFT JOIN aliases_skeletons AS skeleton
      ON skeleton.realm = %(realm)s AND skeleton.domain = wanted.domain AND skeleton.skeleton = wanted.skeleton
     AND skeleton.names > (
         SELECT count(*) FROM aliases_names AS expired
         WHERE expired.realm = skeleton.realm AND expired.domain = skeleton.domain
           AND expired.skeleton = skeleton.skeleton AND expired.until <= %(now)s
     )
    WHERE name.realm IS NOT NULL OR skeleton.realm IS NOT NULL
"""
_CONFLICT = """
    wanted.domain, wanted.key, name.state, name.until,
    coalesce(name.account_id, skeleton.account_id) AS account_id
"""
# One name has a separate statement: each keeps its own generic plan, and planning costs more than execution.
FIND_CONFLICT = f"""
    SELECT {_CONFLICT}
    FROM (VALUES (%(domains)s::text, %(keys)s::text, %(skeletons)s::text)) AS wanted (domain, key, skeleton)
    {_CONFLICTS}
"""
# Names as lines of a text: for fifty names, psycopg takes ten times as long to write arrays.
LIST_CONFLICTS = f"""
    SELECT {_CONFLICT}
    FROM unnest(
        string_to_array(%(domains)s, E'\\n'), string_to_array(%(keys)s, E'\\n'),
        string_to_array(%(skeletons)s, E'\\n')
    ) AS wanted (domain, key, skeleton)
    {_CONFLICTS}
"""

# A name changes only under the lock of its skeleton; skeletons are locked in one order, which excludes deadlocks.
# A skeleton without names has no owner: TAKE assigns it to the account that takes the first one.
LOCK_SKELETONS = """
    INSERT INTO aliases_skeletons AS skeleton (realm, domain, skeleton, account_id, names)
    SELECT DISTINCT %(realm)s::uuid, domain, skeleton, %(account_id)s::uuid, 0
    FROM unnest(%(domains)s::text[], %(skeletons)s::text[]) AS wanted (domain, skeleton) ORDER BY domain, skeleton
    ON CONFLICT (realm, domain, skeleton) DO UPDATE SET names = skeleton.names
"""
LOCK_EXPIRED = """
    SELECT realm, domain, skeleton FROM aliases_skeletons
    WHERE (realm, domain, skeleton) IN (
        SELECT realm, domain, skeleton FROM aliases_names WHERE until <= %(now)s ORDER BY until LIMIT %(limit)s
    ) ORDER BY realm, domain, skeleton FOR UPDATE SKIP LOCKED
"""
DELETE_EXPIRED = """
    -- 1. Delete the expired names of the locked skeletons.
    WITH gone AS (
        DELETE FROM aliases_names AS name
        USING unnest(%(realms)s::uuid[], %(domains)s::text[], %(skeletons)s::text[])
              AS locked (realm, domain, skeleton)
        WHERE name.realm = locked.realm AND name.domain = locked.domain AND name.skeleton = locked.skeleton
          AND name.until <= %(now)s RETURNING name.realm, name.domain, name.skeleton
    -- 2. Subtract them from the numbers of names.
    ), counted AS (
        UPDATE aliases_skeletons AS skeleton SET names = skeleton.names - expired.names
        FROM (SELECT realm, domain, skeleton, count(*) AS names FROM gone GROUP BY 1, 2, 3) AS expired
        WHERE skeleton.realm = expired.realm AND skeleton.domain = expired.domain
          AND skeleton.skeleton = expired.skeleton
    )
    SELECT count(*) FROM gone
"""
# Runs while the skeletons are locked: a transaction that waits for one inserts it again.
DELETE_UNUSED_SKELETONS = """
    DELETE FROM aliases_skeletons WHERE names = 0 AND (realm, domain, skeleton) IN (
        SELECT * FROM unnest(%(realms)s::uuid[], %(domains)s::text[], %(skeletons)s::text[])
    )
"""
# LATERAL with LIMIT, and ON CONFLICT, find each row by its key, even if PostgreSQL has no statistics of the
# tables.
TAKE = """
    -- 1. Insert the names that no account has, and update those that the account has reserved or in quarantine.
    --    Names of other accounts are not tried: a conflict would wait for their transactions.
    WITH taken AS (
        INSERT INTO aliases_names AS name (realm, domain, key, skeleton, account_id, alias_id, state, until)
        SELECT %(realm)s, domain, key, skeleton, %(account_id)s, alias_id,
               CASE WHEN %(until)s::timestamptz IS NULL THEN 'claimed' ELSE 'held' END, %(until)s
        FROM unnest(%(domains)s::text[], %(keys)s::text[], %(skeletons)s::text[], %(alias_ids)s::uuid[])
             AS wanted (domain, key, skeleton, alias_id)
        LEFT JOIN LATERAL (
            SELECT other.account_id <> %(account_id)s OR other.state = 'claimed' AS is_taken
            FROM aliases_names AS other
            WHERE other.realm = %(realm)s AND other.domain = wanted.domain AND other.key = wanted.key LIMIT 1
        ) AS found ON true
        WHERE found.is_taken IS NOT TRUE
        ON CONFLICT (realm, domain, key) DO UPDATE
        -- A reservation does not shorten a quarantine: if no claim follows, the quarantine continues.
        SET alias_id = CASE WHEN name.until > excluded.until THEN name.alias_id ELSE excluded.alias_id END,
            state = CASE WHEN name.until > excluded.until THEN name.state ELSE excluded.state END,
            until = CASE WHEN name.until > excluded.until THEN name.until ELSE excluded.until END
        WHERE name.account_id = excluded.account_id AND name.state <> 'claimed'
        RETURNING domain, key, skeleton, xmax = 0 AS added
    -- 2. Count the added names with their skeletons, if these are the account's or have no owner.
    ), counted AS (
        INSERT INTO aliases_skeletons AS known (realm, domain, skeleton, account_id, names)
        SELECT %(realm)s, domain, skeleton, %(account_id)s, count(*) FILTER (WHERE added) FROM taken GROUP BY 2, 3
        ON CONFLICT (realm, domain, skeleton) DO UPDATE
        SET account_id = excluded.account_id, names = known.names + excluded.names
        WHERE known.account_id = excluded.account_id OR known.names = 0
        RETURNING domain, skeleton
    )
    -- 3. Only names that passed both are the account's; the caller rolls back if one is missing.
    SELECT domain, key FROM taken JOIN counted USING (domain, skeleton)
"""
# All or none. The skeletons of names that the account has reserved or in quarantine count them already, so neither
# their locks nor another look for confusable names is needed.
TAKE_RESERVED = """
    WITH reserved AS (
        SELECT name.domain, name.key, wanted.alias_id
        FROM unnest(%(domains)s::text[], %(keys)s::text[], %(alias_ids)s::uuid[]) AS wanted (domain, key, alias_id)
        JOIN aliases_names AS name
          ON name.realm = %(realm)s AND name.domain = wanted.domain AND name.key = wanted.key
         AND name.account_id = %(account_id)s AND name.state <> 'claimed' AND name.until > %(now)s
        ORDER BY name.domain, name.key FOR UPDATE OF name
    )
    UPDATE aliases_names AS name SET alias_id = reserved.alias_id, state = 'claimed', until = NULL
    FROM reserved
    WHERE name.realm = %(realm)s AND name.domain = reserved.domain AND name.key = reserved.key
      AND (SELECT count(*) FROM reserved) = cardinality(%(domains)s::text[])
"""
# The names of aliases. The condition on the domains alone lets a sharded database ask the shards of these.
_OF_ALIASES = """
    unnest(%(domain)s::text[], %(key)s::text[], %(id)s::uuid[]) AS alias (domain, key, id)
    WHERE name.realm = %(realm)s AND name.domain = ANY(%(domain)s::text[]) AND name.domain = alias.domain
      AND name.key = alias.key AND name.account_id = %(account_id)s AND name.alias_id = alias.id
"""
QUARANTINE = f"UPDATE aliases_names AS name SET state = 'quarantined', until = %(until)s FROM {_OF_ALIASES}"
LIST_QUARANTINES = f"""
    SELECT name.alias_id, name.until FROM aliases_names AS name, {_OF_ALIASES}
      AND name.state = 'quarantined' AND name.until > %(now)s
"""
# Quarantined names keep their state.
lock_reserved = query("""
    SELECT realm, domain, skeleton FROM aliases_skeletons
    WHERE (realm, domain, skeleton) IN (
        SELECT name.realm, name.domain, name.skeleton
        FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS reserved (domain, key)
        JOIN aliases_names AS name
          ON name.realm = %(realm)s AND name.domain = reserved.domain AND name.key = reserved.key
        WHERE name.account_id = %(account_id)s AND name.state = 'held'
    ) ORDER BY realm, domain, skeleton FOR UPDATE
""").run()
release_reserved = query("""
    -- 1. Delete the account's reservations.
    WITH gone AS (
        DELETE FROM aliases_names AS name
        USING unnest(%(domains)s::text[], %(keys)s::text[]) AS reserved (domain, key)
        WHERE name.realm = %(realm)s AND name.domain = reserved.domain AND name.key = reserved.key
          AND name.account_id = %(account_id)s AND name.state = 'held' RETURNING name.domain, name.skeleton
    )
    -- 2. Subtract them from the numbers of names.
    UPDATE aliases_skeletons AS skeleton SET names = skeleton.names - released.names
    FROM (SELECT domain, skeleton, count(*) AS names FROM gone GROUP BY 1, 2) AS released
    WHERE skeleton.realm = %(realm)s AND skeleton.domain = released.domain
      AND skeleton.skeleton = released.skeleton
""").run()
lock_unclaimed = query("""
    SELECT realm, domain, skeleton FROM aliases_skeletons
    WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton IN (
        SELECT skeleton FROM aliases_names
        WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s AND state <> 'claimed'
    ) ORDER BY skeleton FOR UPDATE
""").run()
# An expired name is available, and pruned later.
expire_unclaimed = query("""
    UPDATE aliases_names SET until = %(now)s
    WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s
      AND state <> 'claimed' AND until > %(now)s
""").run()


async def list_conflicts(
    conn: Conn, *, realm: UUID, wanted: Sequence[RequestedName], now: datetime
) -> list[NameConflict]:
    """Return the names that are not available to every account."""
    # Only the domain can be any text; one with a line break has no names.
    valid = [each for each in wanted if "\n" not in each.domain]
    lines = {name: "\n".join(column) for name, column in _columns(valid).items()}
    row = {"realm": realm, "now": now, **lines}
    cursor = conn.cursor(row_factory=class_row(NameConflict))
    await cursor.execute(FIND_CONFLICT if len(valid) == 1 else LIST_CONFLICTS, row)
    return await cursor.fetchall()


async def lock_skeletons(conn: Conn, *, realm: UUID, account_id: UUID, wanted: Sequence[RequestedName]) -> None:
    """Lock the skeletons of names until the transaction ends."""
    await conn.execute(LOCK_SKELETONS, {"realm": realm, "account_id": account_id, **_columns(wanted)})


async def delete_expired(conn: Conn, *, realm: UUID, wanted: Sequence[RequestedName], now: datetime) -> int:
    """Delete expired names with the locked skeletons of names; return their number."""
    skeletons = _skeletons([(realm, each.domain, each.skeleton) for each in wanted])
    [(deleted,)] = await (await conn.execute(DELETE_EXPIRED, {**skeletons, "now": now})).fetchall()
    return int(deleted)


async def prune_expired(conn: Conn, *, now: datetime, limit: int) -> int:
    """Delete up to `limit` expired names, and their skeletons without names; return the number of names."""
    locked = _skeletons(await (await conn.execute(LOCK_EXPIRED, {"now": now, "limit": limit})).fetchall())
    deleted = await (await conn.execute(DELETE_EXPIRED, {**locked, "now": now})).fetchone()
    await conn.execute(DELETE_UNUSED_SKELETONS, locked)
    return int(deleted[0]) if deleted else 0


async def take(
    conn: Conn, *, realm: UUID, account_id: UUID, wanted: Sequence[AliasName], until: datetime | None
) -> set[Name]:
    """Claim names, or reserve them until a time; return those that are the account's with their skeleton."""
    row = {"realm": realm, "account_id": account_id, "until": until, **_columns(wanted)}
    cursor = await conn.execute(TAKE, {**row, "alias_ids": [each.alias_id for each in wanted]})
    return {Name(*found) for found in await cursor.fetchall()}


async def take_reserved(
    conn: Conn, *, realm: UUID, account_id: UUID, wanted: Sequence[AliasName], now: datetime
) -> bool:
    """Claim names if the account has reserved all of them, or has them in quarantine; return whether it has."""
    row = {"realm": realm, "account_id": account_id, "now": now, **_columns(wanted)}
    cursor = await conn.execute(TAKE_RESERVED, {**row, "alias_ids": [each.alias_id for each in wanted]})
    return cursor.rowcount == len(wanted)


async def quarantine(
    conn: Conn, *, realm: UUID, account_id: UUID, aliases: Iterable[Alias], until: datetime
) -> None:
    """Put the names of released aliases in quarantine: only the account can claim them before its end."""
    row = {"realm": realm, "account_id": account_id, "until": until, **columns(aliases, "domain", "key", "id")}
    await conn.execute(QUARANTINE, row)


async def list_quarantines(
    conn: Conn, *, realm: UUID, account_id: UUID, aliases: Sequence[Alias], now: datetime
) -> dict[UUID, datetime]:
    """Return the end of the quarantine of released aliases, by id; without those that have none."""
    if not aliases:
        return {}
    row = {"realm": realm, "account_id": account_id, "now": now, **columns(aliases, "domain", "key", "id")}
    return dict(await (await conn.execute(LIST_QUARANTINES, row)).fetchall())


def _columns(wanted: Sequence[RequestedName]) -> dict[str, list[str]]:
    return {
        "domains": [each.domain for each in wanted],
        "keys": [each.key for each in wanted],
        "skeletons": [each.skeleton for each in wanted],
    }


def _skeletons(rows: Sequence[tuple[Any, ...]]) -> dict[str, list[object]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(("realms", "domains", "skeletons"))}
