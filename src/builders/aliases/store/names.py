"""The registry of names: the account of each name and skeleton.

The names of a domain cost as many statements as one name. The domain is a parameter of each that writes or locks:
a sharded database has the names of a domain on one shard.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, TypeVar
from uuid import UUID

from psycopg import Rollback
from psycopg.rows import class_row

from builders.aliases.records import Alias, AliasName, Name, RequestedName
from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows, query

AnyName = TypeVar("AnyName", bound=RequestedName)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameConflict:
    """A wanted name that an account has, or that is confusable with its names."""

    domain: str
    key: str
    state: str | None  # claimed, quarantined or held; None if only the skeleton is in use
    until: datetime | None
    account_id: UUID  # that has the name, else the skeleton; of an erased account, that of nobody


# Three rules make a name unavailable:
# - An account has it. An expired reservation or quarantine does not count, though its row exists until it is
#   pruned.
# - An account has names with its skeleton, more than are expired.
# - It was a name of an erased account, or is confusable with one, and its quarantine has not ended.
# One name has a separate statement: each keeps its own generic plan, and planning costs more than execution.
FIND_CONFLICT = """
    SELECT domain, key, state, until, account_id FROM aliases_names
    WHERE realm = %(realm)s AND domain = %(domains)s AND key = %(keys)s AND (until IS NULL OR until > %(now)s)
    UNION ALL
    SELECT %(domains)s::text, %(keys)s::text, NULL, NULL, account_id FROM aliases_skeletons
    WHERE realm = %(realm)s AND domain = %(domains)s AND skeleton = %(skeletons)s AND names > (
        SELECT count(*) FROM aliases_names
        WHERE realm = %(realm)s AND domain = %(domains)s AND skeleton = %(skeletons)s AND until <= %(now)s
    )
    UNION ALL
    SELECT erased.domain, %(keys)s::text, 'quarantined', erased.until, 'ffffffff-ffff-ffff-ffff-ffffffffffff'
    FROM aliases_salts AS salts JOIN aliases_quarantines AS erased
      ON erased.hash = sha256(
             salts.salt || decode(md5(%(domains)s::text || ' ' || %(skeletons)s::text), 'hex')
         )
    WHERE erased.domain = %(domains)s AND erased.until > %(now)s
      AND %(realm)s::uuid = '00000000-0000-0000-0000-000000000000'
"""
# Names as lines of a text: for fifty names, psycopg takes ten times as long to write arrays.
_WANTED = """
    unnest(
        string_to_array(%(domains)s, E'\\n'), string_to_array(%(keys)s, E'\\n'),
        string_to_array(%(skeletons)s, E'\\n')
    ) AS wanted (domain, key, skeleton)
"""
LIST_CONFLICTS = f"""
    SELECT name.domain, name.key, name.state, name.until, name.account_id
    FROM {_WANTED} JOIN aliases_names AS name
      ON name.realm = %(realm)s AND name.domain = wanted.domain AND name.key = wanted.key
     AND (name.until IS NULL OR name.until > %(now)s)
    WHERE name.domain = ANY(%(shards)s::text[])
    UNION ALL
    SELECT skeleton.domain, wanted.key, NULL, NULL, skeleton.account_id
    FROM {_WANTED} JOIN aliases_skeletons AS skeleton
      ON skeleton.realm = %(realm)s AND skeleton.domain = wanted.domain AND skeleton.skeleton = wanted.skeleton
    LEFT JOIN aliases_names AS expired
      ON expired.realm = %(realm)s AND expired.domain = skeleton.domain AND expired.skeleton = skeleton.skeleton
     AND expired.until <= %(now)s AND expired.domain = ANY(%(shards)s::text[])
    WHERE skeleton.domain = ANY(%(shards)s::text[])
    GROUP BY skeleton.domain, wanted.key, skeleton.account_id, skeleton.names
    HAVING skeleton.names > count(expired.key)
    UNION ALL
    SELECT erased.domain, wanted.key, 'quarantined', erased.until, 'ffffffff-ffff-ffff-ffff-ffffffffffff'
    FROM {_WANTED} CROSS JOIN aliases_salts AS salts JOIN aliases_quarantines AS erased
      ON erased.domain = wanted.domain
     AND erased.hash = sha256(salts.salt || decode(md5(wanted.domain || ' ' || wanted.skeleton), 'hex'))
    WHERE erased.domain = ANY(%(shards)s::text[]) AND erased.until > %(now)s
      AND %(realm)s::uuid = '00000000-0000-0000-0000-000000000000'
"""

# A name changes only under the lock of its skeleton; skeletons are locked in one order, which excludes deadlocks.
# A skeleton without names has no owner: TAKE assigns it to the account that takes the first one.
LOCK_SKELETONS = """
    INSERT INTO aliases_skeletons AS skeleton (realm, domain, skeleton, account_id, names)
    SELECT DISTINCT %(realm)s::uuid, %(domain)s::text, wanted.skeleton, %(account_id)s::uuid, 0
    FROM unnest(%(skeletons)s::text[]) AS wanted (skeleton) ORDER BY skeleton
    ON CONFLICT (realm, domain, skeleton) DO UPDATE SET names = skeleton.names
"""
list_expired = due_rows("aliases_names", by="until", columns="realm, domain, skeleton").set_of(
    tuple[UUID, str, str]
)
LOCK_EXPIRED = """
    SELECT skeleton FROM aliases_skeletons
    WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton = ANY(%(skeletons)s::text[])
    ORDER BY skeleton FOR UPDATE SKIP LOCKED
"""
# A mail server is told of names in quarantine.
_FORGOTTEN = """
    forgotten AS (
        DELETE FROM aliases_lookups AS known USING gone
        WHERE %(realm)s::uuid = '00000000-0000-0000-0000-000000000000' AND known.domain = %(domain)s
          AND known.name = gone.key AND NOT known.is_claimed
    )
"""
DELETE_EXPIRED = f"""
    -- 1. Delete the expired names of the locked skeletons.
    WITH gone AS (
        DELETE FROM aliases_names
        WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton = ANY(%(skeletons)s::text[])
          AND until <= %(now)s RETURNING key, skeleton
    -- 2. Subtract them from the numbers of names.
    ), counted AS (
        UPDATE aliases_skeletons AS skeleton SET names = skeleton.names - expired.names
        FROM (SELECT skeleton, count(*) AS names FROM gone GROUP BY 1) AS expired
        WHERE skeleton.realm = %(realm)s AND skeleton.domain = %(domain)s
          AND skeleton.skeleton = expired.skeleton
    -- 3. Tell nothing of them.
    ), {_FORGOTTEN}
    SELECT count(*) FROM gone
"""
# Runs while the skeletons are locked: a transaction that waits for one inserts it again.
DELETE_UNUSED_SKELETONS = """
    DELETE FROM aliases_skeletons
    WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton = ANY(%(skeletons)s::text[]) AND names = 0
"""
# LATERAL with LIMIT, and ON CONFLICT, find each row by its key, even if PostgreSQL has no statistics of the
# tables.
TAKE = """
    -- Insert the names that no account has, and update those that the account has reserved or in quarantine.
    -- Names of other accounts are not tried: a conflict would wait for their transactions.
    INSERT INTO aliases_names AS name (realm, domain, key, skeleton, account_id, alias_id, state, until)
    SELECT %(realm)s::uuid, %(domain)s::text, wanted.key, wanted.skeleton, %(account_id)s::uuid,
           wanted.alias_id, CASE WHEN %(until)s::timestamptz IS NULL THEN 'claimed' ELSE 'held' END,
           %(until)s::timestamptz
    FROM unnest(%(keys)s::text[], %(skeletons)s::text[], %(alias_ids)s::uuid[])
         AS wanted (key, skeleton, alias_id)
    LEFT JOIN LATERAL (
        SELECT other.account_id <> %(account_id)s OR other.state = 'claimed' AS is_taken
        FROM aliases_names AS other
        WHERE other.realm = %(realm)s AND other.domain = %(domain)s AND other.key = wanted.key LIMIT 1
    ) AS found ON true
    WHERE found.is_taken IS NOT TRUE AND NOT EXISTS (
        SELECT FROM aliases_quarantines AS erased, aliases_salts AS salts
        WHERE %(realm)s::uuid = '00000000-0000-0000-0000-000000000000' AND erased.domain = %(domain)s::text
          AND erased.until > %(now)s AND erased.hash = sha256(
                  salts.salt || decode(md5(%(domain)s::text || ' ' || wanted.skeleton), 'hex')
              )
    )
    ON CONFLICT (realm, domain, key) DO UPDATE
    -- A reservation does not shorten a quarantine: if no claim follows, the quarantine continues.
    SET alias_id = CASE WHEN name.until > excluded.until THEN name.alias_id ELSE excluded.alias_id END,
        state = CASE WHEN name.until > excluded.until THEN name.state ELSE excluded.state END,
        until = CASE WHEN name.until > excluded.until THEN name.until ELSE excluded.until END
    WHERE name.account_id = excluded.account_id AND name.state <> 'claimed'
    RETURNING key, skeleton, xmax = 0 AS added
"""
# Count the added names with their skeletons, if these are the account's or have no owner. A statement of its own:
# Citus sends the rows of a CTE that another table gets to all nodes.
COUNT = """
    INSERT INTO aliases_skeletons AS known (realm, domain, skeleton, account_id, names)
    SELECT %(realm)s::uuid, %(domain)s::text, skeleton, %(account_id)s::uuid, count(*) FILTER (WHERE added)
    FROM unnest(%(skeletons)s::text[], %(added)s::boolean[]) AS taken (skeleton, added) GROUP BY skeleton
    ON CONFLICT (realm, domain, skeleton) DO UPDATE
    SET account_id = excluded.account_id, names = known.names + excluded.names
    WHERE known.account_id = excluded.account_id OR known.names = 0
    RETURNING skeleton
"""
# All or none. The skeletons of names that the account has reserved or in quarantine count them already, so neither
# their locks nor another look for confusable names is needed.
TAKE_RESERVED = """
    WITH reserved AS (
        SELECT name.key, wanted.alias_id
        FROM unnest(%(keys)s::text[], %(alias_ids)s::uuid[]) AS wanted (key, alias_id)
        JOIN aliases_names AS name ON name.key = wanted.key
        WHERE name.realm = %(realm)s AND name.domain = %(domain)s
          AND name.account_id = %(account_id)s AND name.state <> 'claimed' AND name.until > %(now)s
        ORDER BY name.key FOR UPDATE OF name
    )
    UPDATE aliases_names AS name SET alias_id = reserved.alias_id, state = 'claimed', until = NULL
    FROM reserved
    WHERE name.realm = %(realm)s AND name.domain = %(domain)s AND name.key = reserved.key
      AND (SELECT count(*) FROM reserved) = cardinality(%(keys)s::text[])
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
# Planned in each call: a plan for any domains could read all names of a large one.
list_claimed = query("""
    SELECT name.account_id, name.alias_id
    FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
    JOIN aliases_names AS name ON name.domain = wanted.domain AND name.key = wanted.key
    WHERE name.realm = %(realm)s AND name.domain = ANY(%(domains)s::text[]) AND name.state = 'claimed'
""").unprepared.set_of(tuple[UUID, UUID])
# Quarantined names keep their state.
lock_reserved = query("""
    SELECT skeleton FROM aliases_skeletons
    WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton IN (
        SELECT skeleton FROM aliases_names
        WHERE realm = %(realm)s AND domain = %(domain)s AND key = ANY(%(keys)s::text[])
          AND account_id = %(account_id)s AND state = 'held'
    ) ORDER BY skeleton FOR UPDATE
""").run()
release_reserved = query(f"""
    -- 1. Delete the account's reservations.
    WITH gone AS (
        DELETE FROM aliases_names
        WHERE realm = %(realm)s AND domain = %(domain)s AND key = ANY(%(keys)s::text[])
          AND account_id = %(account_id)s AND state = 'held' RETURNING key, skeleton
    ), {_FORGOTTEN}
    -- 2. Subtract them from the numbers of names.
    UPDATE aliases_skeletons AS skeleton SET names = skeleton.names - released.names
    FROM (SELECT skeleton, count(*) AS names FROM gone GROUP BY 1) AS released
    WHERE skeleton.realm = %(realm)s AND skeleton.domain = %(domain)s AND skeleton.skeleton = released.skeleton
""").run()
lock_unclaimed = query("""
    SELECT realm, domain, skeleton FROM aliases_skeletons
    WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton IN (
        SELECT skeleton FROM aliases_names
        WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s AND state <> 'claimed'
    ) ORDER BY skeleton FOR UPDATE
""").run()
# The names of an account that is erased: their skeletons are locked, then they expire, and leave a hash.
list_of_account = query("""
    SELECT DISTINCT realm, domain, skeleton FROM aliases_names WHERE account_id = %(account_id)s LIMIT %(limit)s
""").all(tuple[UUID, str, str])
lock_of_account = query("""
    SELECT skeleton FROM aliases_skeletons
    WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton = ANY(%(skeletons)s::text[])
    ORDER BY skeleton FOR UPDATE
""").scalars(str)
quarantine_erased = query("""
    INSERT INTO aliases_quarantines AS erased (domain, hash, until)
    SELECT %(domain)s::text, sha256(salts.salt || decode(md5(%(domain)s::text || ' ' || gone.skeleton), 'hex')),
           %(until)s::timestamptz
    FROM unnest(%(skeletons)s::text[]) AS gone (skeleton), aliases_salts AS salts
    ON CONFLICT (domain, hash) DO UPDATE SET until = greatest(erased.until, excluded.until)
""").run()
expire_of_account = query("""
    UPDATE aliases_names SET state = 'quarantined', until = %(now)s
    WHERE realm = %(realm)s AND domain = %(domain)s AND skeleton = ANY(%(skeletons)s::text[])
      AND account_id = %(account_id)s
""").run()
# An expired name is available, and pruned later.
expire_unclaimed = query("""
    UPDATE aliases_names SET until = %(now)s
    WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s
      AND state <> 'claimed' AND until > %(now)s
""").run()


async def list_conflicts(
    conn: Conn, *, realm: UUID, wanted: Sequence[RequestedName], now: datetime
) -> Collection[NameConflict]:
    """Return the names that are not available to every account."""
    # Only the domain can be any text; one with a line break has no names.
    valid = [each for each in wanted if "\n" not in each.domain]
    lines = {name: "\n".join(column) for name, column in _columns(valid, "domain", "key", "skeleton").items()}
    # The domains again, so that a sharded database asks their shards alone.
    row = {"realm": realm, "now": now, "shards": sorted({each.domain for each in valid}), **lines}
    cursor = conn.cursor(row_factory=class_row(NameConflict))
    await cursor.execute(FIND_CONFLICT if len(valid) == 1 else LIST_CONFLICTS, row)
    found = sorted(await cursor.fetchall(), key=lambda each: each.state is not None)
    return {(each.domain, each.key): each for each in found}.values()  # the name precedes its skeleton


async def lock_skeletons(conn: Conn, *, realm: UUID, account_id: UUID, wanted: Sequence[RequestedName]) -> None:
    """Lock the skeletons of names until the transaction ends."""
    for domain, names in _by_domain(wanted):
        row = {"realm": realm, "account_id": account_id, "domain": domain, **_columns(names, "skeleton")}
        await conn.execute(LOCK_SKELETONS, row)


async def delete_expired(conn: Conn, *, realm: UUID, wanted: Sequence[RequestedName], now: datetime) -> int:
    """Delete expired names with the locked skeletons of names; return their number."""
    deleted = 0
    for domain, names in _by_domain(wanted):
        row = {"realm": realm, "domain": domain, "now": now, **_columns(names, "skeleton")}
        [(count,)] = await (await conn.execute(DELETE_EXPIRED, row)).fetchall()
        deleted += count
    return deleted


async def prune_expired(conn: Conn, *, now: datetime, limit: int) -> int:
    """Delete up to `limit` expired names, and their skeletons without names; return the number of names."""
    expired = sorted(await list_expired(conn, now=now, limit=limit))
    deleted = 0
    for (realm, domain), found in groupby(expired, itemgetter(0, 1)):
        row = {"realm": realm, "domain": domain, "now": now, "skeletons": [skeleton for *_, skeleton in found]}
        locked = await (await conn.execute(LOCK_EXPIRED, row)).fetchall()
        row["skeletons"] = [skeleton for (skeleton,) in locked]
        [(count,)] = await (await conn.execute(DELETE_EXPIRED, row)).fetchall()
        await conn.execute(DELETE_UNUSED_SKELETONS, row)
        deleted += count
    return deleted


async def take(
    conn: Conn,
    *,
    realm: UUID,
    account_id: UUID,
    wanted: Sequence[AliasName],
    until: datetime | None,
    now: datetime,
) -> set[Name]:
    """Claim names, or reserve them until a time; return those that are the account's with their skeleton."""
    taken: set[Name] = set()
    for domain, names in _by_domain(wanted):
        row = {"realm": realm, "account_id": account_id, "domain": domain, "until": until, "now": now}
        cursor = await conn.execute(TAKE, {**row, **_columns(names, "key", "skeleton", "alias_id")})
        found = await cursor.fetchall()
        given = {"skeletons": [each for _, each, _ in found], "added": [each for *_, each in found]}
        counted = {each for (each,) in await (await conn.execute(COUNT, {**row, **given})).fetchall()}
        # Only names that passed both are the account's; the caller rolls back if one is missing.
        taken |= {Name(domain, key) for key, skeleton, _ in found if skeleton in counted}
    return taken


async def take_reserved(
    conn: Conn, *, realm: UUID, account_id: UUID, wanted: Sequence[AliasName], now: datetime
) -> bool:
    """Claim names if the account has reserved all of them, or has them in quarantine; return whether it has."""
    row = {"realm": realm, "account_id": account_id, "now": now}

    async def take_group(domain: str, names: Sequence[AliasName]) -> bool:
        own = {**row, "domain": domain, **_columns(names, "key", "alias_id")}
        return (await conn.execute(TAKE_RESERVED, own)).rowcount == len(names)

    groups = _by_domain(wanted)
    if len(groups) == 1:
        return await take_group(*groups[0])
    taken: list[bool] = []
    async with conn.transaction():  # a savepoint: a name that is not reserved gives the others back
        taken = [await take_group(*each) for each in groups]
        if not all(taken):
            raise Rollback
    return all(taken)


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


def _by_domain(wanted: Iterable[AnyName]) -> list[tuple[str, list[AnyName]]]:
    """Return names by their domains, in one order: it excludes deadlocks."""
    ordered = sorted(wanted, key=attrgetter("domain"))
    return [(domain, list(names)) for domain, names in groupby(ordered, attrgetter("domain"))]


def _columns(wanted: Iterable[object], *names: str) -> dict[str, list[Any]]:
    """Return the parameters that are lists, such as `keys`."""
    return {f"{name}s": column for name, column in columns(wanted, *names).items()}


async def erase(
    conn: Conn, *, account_id: UUID, live_realm: UUID, until: datetime, now: datetime, limit: int
) -> int:
    """Delete up to `limit` skeletons of an account with their names; their hashes stay until then."""
    found = sorted(await list_of_account(conn, account_id=account_id, limit=limit))
    for (realm, domain), names in groupby(found, itemgetter(0, 1)):
        row = {"realm": realm, "domain": domain, "skeletons": [skeleton for *_, skeleton in names]}
        await lock_of_account(conn, **row)
        if realm == live_realm:
            await quarantine_erased(conn, domain=domain, skeletons=row["skeletons"], until=until)
        await expire_of_account(conn, **row, account_id=account_id, now=now)
        await conn.execute(DELETE_EXPIRED, {**row, "now": now})
        await conn.execute(DELETE_UNUSED_SKELETONS, row)
    return len(found)
