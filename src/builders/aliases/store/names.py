"""The registry of names, in sets: a thousand of them cost as many statements as one."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import TupleRow, class_row

from builders.aliases.records import Name, Wanted
from builders.aliases.rows import Found
from builders.kit.db.connections import Conn

# Holds and quarantines that are over hinder nobody, though their rows are there until they are pruned.
_HINDRANCES = """
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
# One and many apart: each keeps a plan of its own for any values, and to plan takes longer than to look.
LOOK_ONE_UP = f"""
    SELECT wanted.domain, wanted.key, name.state, name.until, name.account_id, look.account_id AS look_account_id
    FROM (VALUES (%(domains)s::text, %(keys)s::text, %(skeletons)s::text)) AS wanted (domain, key, skeleton)
    {_HINDRANCES}
"""  # noqa: S608 - of constants
# As lines: for the fifty alternatives of a question that takes a tenth of what psycopg needs to write arrays.
LOOK_UP = f"""
    SELECT wanted.domain, wanted.key, name.state, name.until, name.account_id, look.account_id AS look_account_id
    FROM unnest(
        string_to_array(%(domains)s, E'\\n'), string_to_array(%(keys)s, E'\\n'),
        string_to_array(%(skeletons)s, E'\\n')
    ) AS wanted (domain, key, skeleton)
    {_HINDRANCES}
"""  # noqa: S608 - of constants
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
# names are not even tried, since a conflict would wait for them. LATERAL and the conflict have each row looked up
# by its key, whatever PostgreSQL believes of the size of tables that it never analysed.
TAKE = """
    WITH taken AS (
        INSERT INTO aliases_names AS name (realm, domain, key, skeleton, account_id, alias_id, state, until)
        SELECT %(realm)s, domain, key, skeleton, %(account_id)s, alias_id,
               CASE WHEN %(until)s::timestamptz IS NULL THEN 'claimed' ELSE 'held' END, %(until)s
        FROM unnest(%(domains)s::text[], %(keys)s::text[], %(skeletons)s::text[], %(alias_ids)s::uuid[])
             AS wanted (domain, key, skeleton, alias_id)
        LEFT JOIN LATERAL (
            SELECT other.account_id <> %(account_id)s OR other.state = 'claimed' AS is_gone
            FROM aliases_names AS other
            WHERE other.realm = %(realm)s AND other.domain = wanted.domain AND other.key = wanted.key LIMIT 1
        ) AS found ON true
        WHERE found.is_gone IS NOT TRUE
        ON CONFLICT (realm, domain, key) DO UPDATE
        SET alias_id = CASE WHEN name.until > excluded.until THEN name.alias_id ELSE excluded.alias_id END,
            state = CASE WHEN name.until > excluded.until THEN name.state ELSE excluded.state END,
            until = CASE WHEN name.until > excluded.until THEN name.until ELSE excluded.until END
        WHERE name.account_id = excluded.account_id AND name.state <> 'claimed'
        RETURNING domain, key, skeleton, xmax = 0 AS added
    ), ours AS (
        INSERT INTO aliases_skeletons AS look (realm, domain, skeleton, account_id, names)
        SELECT %(realm)s, domain, skeleton, %(account_id)s, count(*) FILTER (WHERE added) FROM taken GROUP BY 2, 3
        ON CONFLICT (realm, domain, skeleton) DO UPDATE
        SET account_id = excluded.account_id, names = look.names + excluded.names
        WHERE look.account_id = excluded.account_id OR look.names = 0
        RETURNING domain, skeleton
    )
    SELECT domain, key FROM taken JOIN ours USING (domain, skeleton)
"""
# Under the locks of their looks, like all that changes names. What is quarantined stays so.
LOCK_HELD = """
    SELECT realm, domain, skeleton FROM aliases_skeletons
    WHERE (realm, domain, skeleton) IN (
        SELECT name.realm, name.domain, name.skeleton
        FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS held (domain, key)
        JOIN aliases_names AS name
          ON name.realm = %(realm)s AND name.domain = held.domain AND name.key = held.key
        WHERE name.account_id = %(account_id)s AND name.state = 'held'
    ) ORDER BY realm, domain, skeleton FOR UPDATE
"""
LET_GO = """
    WITH gone AS (
        DELETE FROM aliases_names AS name
        USING unnest(%(domains)s::text[], %(keys)s::text[]) AS held (domain, key)
        WHERE name.realm = %(realm)s AND name.domain = held.domain AND name.key = held.key
          AND name.account_id = %(account_id)s AND name.state = 'held' RETURNING name.domain, name.skeleton
    )
    UPDATE aliases_skeletons AS look SET names = look.names - over.names
    FROM (SELECT domain, skeleton, count(*) AS names FROM gone GROUP BY 1, 2) AS over
    WHERE look.realm = %(realm)s AND look.domain = over.domain AND look.skeleton = over.skeleton
"""

LOCK_KEPT = """
    SELECT realm, domain, skeleton FROM aliases_skeletons
    WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton IN (
        SELECT skeleton FROM aliases_names
        WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s AND state <> 'claimed'
    ) ORDER BY skeleton FOR UPDATE
"""
# What is over hinders nobody, and is pruned like all that is.
END_KEPT = """
    UPDATE aliases_names SET until = %(now)s
    WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s
      AND state <> 'claimed' AND until > %(now)s
"""


async def look_up(conn: Conn, *, realm: UUID, wanted: Sequence[Wanted], now: datetime) -> list[Found]:
    """A row for each of the names that is not simply free."""
    # Of what is asked for only the domain may be any text; on one of two lines nobody has a name.
    sound = [each for each in wanted if "\n" not in each.domain]
    lines = {name: "\n".join(column) for name, column in _columns(sound).items()}
    async with conn.cursor(row_factory=class_row(Found)) as cursor:
        await cursor.execute(LOOK_ONE_UP if len(sound) == 1 else LOOK_UP, {"realm": realm, "now": now, **lines})
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


async def let_go(conn: Conn, *, realm: UUID, account_id: UUID, names: Sequence[Name]) -> None:
    """Frees those of the names that the account holds."""
    row = {"realm": realm, "account_id": account_id}
    columns = {"domains": [name.domain for name in names], "keys": [name.key for name in names]}
    await conn.execute(LOCK_HELD, row | columns)
    await conn.execute(LET_GO, row | columns)


async def end_kept(conn: Conn, *, realm: UUID, account_id: UUID, domain: str, now: datetime) -> None:
    """Ends the account's holds and quarantines on the domain."""
    row = {"realm": realm, "account_id": account_id, "domain": domain, "now": now}
    await conn.execute(LOCK_KEPT, row)
    await conn.execute(END_KEPT, row)


def _columns(wanted: Sequence[Wanted]) -> dict[str, list[str]]:
    return {
        "domains": [each.domain for each in wanted],
        "keys": [each.key for each in wanted],
        "skeletons": [each.skeleton for each in wanted],
    }
