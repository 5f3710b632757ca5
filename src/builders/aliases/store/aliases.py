"""Aliases: written and counted in sets; as their owners and the check for loops read them."""

from collections.abc import Collection, Sequence, Set as AbstractSet
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import kwargs_row
from pydantic import TypeAdapter

from builders.aliases.records import (
    Alias,
    AliasChange,
    AliasFields,
    AliasFilters,
    AliasSpec,
    AliasStatus,
    Name,
    PriceInterval,
)
from builders.kit.db.columns import typed_columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows, query
from builders.kit.values.conflicts import key_columns
from builders.kit.values.money import Money

_SPECS = TypeAdapter(Sequence[AliasSpec])
_CHANGES = TypeAdapter(Sequence[AliasChange])


# The columns that an account sets.
_OWN = "manifest, manifest_key, project_id, note, labels, block, pause_until, reply"
_TYPES = f"id uuid, {typed_columns_of(AliasFields)}"
_SET = f"""
    {", ".join(f"{name} = new.{name}" for name in _OWN.split(", "))},
    paused_at = CASE WHEN new.pause_until > %(now)s
                     THEN CASE WHEN alias.pause_until > %(now)s THEN alias.paused_at ELSE %(now)s END END
"""
# The wanted keys (manifest, key) that belong to other aliases.
_TAKEN_KEYS = """
    SELECT manifest, key FROM unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, key)
    WHERE EXISTS (
        SELECT FROM aliases AS alias WHERE alias.account_id = %(account_id)s AND alias.manifest = wanted.manifest
           AND alias.manifest_key = wanted.key AND alias.id <> ALL(%(ids)s::uuid[])
    )
"""
INSERT = f"""
    INSERT INTO aliases (account_id, id, domain, local_part, key, {_OWN}, status, paused_at, price_amount,
                         price_currency, price_interval, claimed_at, renews_at, updated_at)
    SELECT %(account_id)s, new.id, new.domain, new.local_part, new.key,
           {", ".join(f"new.{name}" for name in _OWN.split(", "))},
           CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END,
           CASE WHEN new.pause_until > %(now)s THEN %(now)s END,
           (new.price ->> 'amount')::numeric, new.price ->> 'currency', new.interval, %(now)s,
           CASE new.interval WHEN 'year' THEN %(now)s + interval '1 year'
                             WHEN 'month' THEN %(now)s + interval '1 month' END, %(now)s
    FROM jsonb_to_recordset(%(specs)s::jsonb)
         AS new ({_TYPES}, domain text, local_part text, key text, price jsonb, interval text)
"""
_COLUMNS = f"""
    alias.id, alias.domain, alias.local_part, alias.key,
    {", ".join(f"alias.{name}" for name in _OWN.split(", "))},
    alias.status, alias.resumes_as, alias.status = 'active' AS enabled, alias.version, alias.claimed_at,
    alias.renews_at, alias.updated_at, alias.price_amount, alias.price_currency,
    alias.price_interval AS interval
"""
# With the account as a parameter: a sharded database locks rows of one shard, and does not derive the account.
COLUMNS = f"""
    {_COLUMNS}, coalesce((
        SELECT array_agg(forward.email ORDER BY forward.position) FROM aliases_forwards AS forward
        WHERE forward.account_id = %(account_id)s AND forward.alias_id = alias.id
    ), '{{}}') AS destinations
"""
# Mail servers follow the changes of aliases by these two columns (`forwarding`). The serials come with a CTE
# `new`: a sharded database refuses a function in SET that counts.
SERIAL = "nextval('aliases_serial') AS serial"
CHANGED = "serial = new.serial, changed_in = pg_current_xact_id()"

_list_taken_keys = query(_TAKEN_KEYS).set_of(tuple[str, str])
_insert = query(INSERT).run()
# The price, the time of the claim and the renewals do not change.
REVIVE = f"""
    WITH new AS (
        SELECT *, {SERIAL}
        FROM jsonb_to_recordset(%(specs)s::jsonb) AS new ({_TYPES}, local_part text, paid_until timestamptz)
    )
    UPDATE aliases AS alias
    SET {_SET}, local_part = new.local_part, renews_at = new.paid_until,
        status = CASE WHEN new.enabled THEN 'active' ELSE 'disabled' END,
        deleted_at = NULL, updated_at = %(now)s, version = alias.version + 1, {CHANGED}
    FROM new
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id AND alias.status = 'deleted'
"""
# A suspended alias stays suspended; `enabled` decides its status after the suspension.
UPDATE = f"""
    WITH new AS (SELECT *, {SERIAL} FROM jsonb_to_recordset(%(changes)s::jsonb) AS new ({_TYPES}))
    UPDATE aliases AS alias
    SET {_SET},
        status = CASE WHEN alias.status = 'suspended' THEN alias.status
                      WHEN new.enabled THEN 'active' ELSE 'disabled' END,
        resumes_as = CASE WHEN alias.resumes_as IS NULL THEN NULL
                          WHEN new.enabled THEN 'active' ELSE 'disabled' END,
        updated_at = %(now)s, version = alias.version + 1, {CHANGED}
    FROM new
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id
"""
# The released aliases of names whose last period has not ended, and was not undone. `renews_at` is never earlier
# than the end of the billed period; without it the name is paid once.
RELEASED = """
    FROM unnest(%(released_domains)s::text[], %(released_keys)s::text[]) AS wanted (domain, key)
    JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.domain = wanted.domain
     AND alias.key = wanted.key AND alias.status = 'deleted' AND alias.price_amount > 0
     AND coalesce(alias.renews_at, 'infinity') > %(now)s AND NOT EXISTS (
         SELECT FROM aliases_undone AS undone
         WHERE undone.account_id = %(account_id)s AND undone.alias_id = alias.id
     )
"""
# A union of queries, each by its own index; one condition with OR would read all aliases of the account.
LIST = f"""
    WITH chosen AS (
        SELECT id, false AS is_released FROM aliases
        WHERE account_id = %(account_id)s AND manifest = %(manifest)s
        UNION
        SELECT alias.id, false FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
        JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.status <> 'deleted'
         AND alias.domain = wanted.domain AND alias.key = wanted.key
        UNION
        SELECT unnest(%(alias_ids)s::uuid[]), false
        UNION
        SELECT alias.id, true {RELEASED}
    )
    SELECT {COLUMNS}
    FROM chosen JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.id = chosen.id
     AND (alias.status = 'deleted') = chosen.is_released
    ORDER BY alias.id
"""
_CONFIRMED = """
    forward.email FROM aliases_forwards AS forward JOIN aliases_destinations AS destination
      ON destination.account_id = forward.account_id AND destination.email = forward.email
    WHERE forward.account_id = %(account_id)s AND forward.alias_id = alias.id
      AND destination.verified_at IS NOT NULL AND destination.paused_at IS NULL
"""
_VERIFIED = f"ARRAY(SELECT {_CONFIRMED}) AS verified"
# The planner removes the conditions of absent filters, which are NULL. So this is not prepared: a plan for any
# filters would read all aliases of the account.
LIST_OWNED = f"""
    SELECT {COLUMNS}, {_VERIFIED} FROM aliases AS alias
    WHERE alias.account_id = %(account_id)s AND alias.id < %(after)s
      AND (%(status)s::text IS NULL AND alias.status <> 'deleted' OR alias.status = %(status)s::text)
      AND (%(domain)s::text IS NULL OR alias.domain = %(domain)s::text)
      AND (%(project_id)s::uuid IS NULL OR alias.project_id = %(project_id)s::uuid)
      AND (%(manifest)s::text IS NULL OR alias.manifest = %(manifest)s::text)
      AND (%(spelled)s::text IS NULL OR alias.local_part LIKE %(spelled)s::text)
      AND (%(domain_begins)s::text IS NULL OR alias.domain LIKE %(domain_begins)s::text)
    ORDER BY alias.id DESC LIMIT %(limit)s
"""
FIND = f"""
    SELECT {COLUMNS}, {_VERIFIED} FROM aliases AS alias
    WHERE alias.account_id = %(account_id)s AND alias.id = %(id)s
"""
LOCK = "SELECT FROM aliases WHERE account_id = %(account_id)s AND id = %(id)s FOR UPDATE"


def alias_from_row(
    *,
    status: str,
    resumes_as: str | None,
    interval: str,
    price_amount: Decimal,
    price_currency: str,
    destinations: Sequence[str],
    **columns: Any,
) -> Alias:
    """Return the alias of a row of COLUMNS."""
    return Alias(
        status=AliasStatus(status),
        resumes_as=AliasStatus(resumes_as) if resumes_as else None,
        interval=PriceInterval(interval),
        price=Money(price_amount, price_currency).quantized(),
        destinations=tuple(destinations),
        **columns,
    )


def _owned(account_id: UUID, **columns: Any) -> tuple[UUID, Alias]:
    return account_id, alias_from_row(**columns)


def cursor_of(conn: Conn) -> AsyncCursor[Alias]:
    """Return a cursor whose rows are records of COLUMNS."""
    return conn.cursor(row_factory=kwargs_row(alias_from_row))


def name_columns(names: Collection[Name]) -> dict[str, list[str]]:
    """Return the domains and the keys of names, for a statement with arrays of both."""
    return {"domains": [name.domain for name in names], "keys": [name.key for name in names]}


def released_columns(names: Collection[Name]) -> dict[str, list[str]]:
    """Return the domains and the keys of names for RELEASED."""
    return {f"released_{name}": column for name, column in name_columns(names).items()}


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, wanted: Sequence[AliasChange | AliasSpec]
) -> AbstractSet[tuple[str, str]]:
    """Return the wanted keys (manifest, key) that belong to other aliases.

    No other is taken until the commit, since the caller has locked the account's routes.
    """
    manifests, keys, ids = key_columns(wanted)
    return await _list_taken_keys(conn, account_id=account_id, manifests=manifests, keys=keys, ids=ids)


async def create(
    conn: Conn, *, account_id: UUID, specs: Sequence[AliasSpec], now: datetime
) -> AbstractSet[tuple[str, str]]:
    """Insert new aliases, and claim locked, released ones again; without their destinations.

    Return the keys (manifest, key) that belong to other aliases; with any, nothing was written.
    """
    if taken := await list_taken_keys(conn, account_id=account_id, wanted=specs):
        return taken
    if fresh := [each for each in specs if not each.continues]:
        await _insert(conn, account_id=account_id, specs=_SPECS.dump_json(fresh).decode(), now=now)
    if continued := [each for each in specs if each.continues]:
        row = {"account_id": account_id, "specs": _SPECS.dump_json(continued).decode(), "now": now}
        await conn.execute(REVIVE, row)
    return set()


# The locked rows do not change until the commit, so that the statements after this one change all or nothing.
lock_unchanged = query(f"""
    SELECT {COLUMNS} FROM unnest(%(alias_ids)s::uuid[], %(versions)s::int[]) AS wanted (id, version)
    JOIN aliases AS alias ON alias.id = wanted.id AND alias.version = wanted.version
    WHERE alias.account_id = %(account_id)s AND alias.status <> 'deleted'
    ORDER BY alias.id FOR UPDATE OF alias
""").all(alias_from_row)

set_receiving = query("""
    UPDATE aliases SET receives = %(receives)s WHERE account_id = %(account_id)s AND id = %(alias_id)s
""").run()


async def update(conn: Conn, *, account_id: UUID, changes: Sequence[AliasChange], now: datetime) -> None:
    """Change locked aliases."""
    row = {"account_id": account_id, "changes": _CHANGES.dump_json(changes).decode(), "now": now}
    await conn.execute(UPDATE, row)


# Locked aliases, whose names are then in quarantine (`names.quarantine`).
release = query(f"""
    WITH new AS (SELECT id, {SERIAL} FROM unnest(%(alias_ids)s::uuid[]) AS id)
    UPDATE aliases AS alias
    SET status = 'deleted', resumes_as = NULL, manifest = NULL, manifest_key = NULL,
        deleted_at = %(now)s, updated_at = %(now)s, version = alias.version + 1, {CHANGED}
    FROM new WHERE alias.account_id = %(account_id)s AND alias.id = new.id
""").run()


# Released names whose paid period has ended, too: until then a new claim continues it.
_PRUNED = """
    status = 'deleted' AND (price_amount = 0 OR renews_at IS NOT NULL)
    AND deleted_at < %(before)s AND (renews_at IS NULL OR renews_at < %(now)s)
"""
list_pruned = due_rows("aliases", by="deleted_at", at="before", only=_PRUNED).all(tuple[UUID, UUID])
prune_released = query(f"""
    WITH old AS (
        SELECT id FROM aliases WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[]) AND {_PRUNED}
        FOR UPDATE SKIP LOCKED
    ), forward AS (
        DELETE FROM aliases_forwards AS forward USING old
        WHERE forward.account_id = %(account_id)s AND forward.alias_id = old.id
    ), arrear AS (
        DELETE FROM aliases_arrears AS arrear USING old
        WHERE arrear.account_id = %(account_id)s AND arrear.alias_id = old.id
    ), undone AS (
        DELETE FROM aliases_undone AS undone USING old
        WHERE undone.account_id = %(account_id)s AND undone.alias_id = old.id
    )
    DELETE FROM aliases AS alias USING old WHERE alias.account_id = %(account_id)s AND alias.id = old.id
""").count()
list_ended_pauses = due_rows("aliases", by="pause_until", only="paused_at IS NOT NULL").all(tuple[UUID, UUID])
# The mail servers that read lists of changes learn the end of a pause; those that ask know it without this.
end_pauses = query(f"""
    WITH ended AS (
        SELECT id FROM aliases
        WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[])
          AND paused_at IS NOT NULL AND pause_until <= %(now)s
        FOR UPDATE SKIP LOCKED
    ), new AS (
        SELECT id, {SERIAL} FROM ended
    )
    UPDATE aliases AS alias SET paused_at = NULL, {CHANGED} FROM new
    WHERE alias.account_id = %(account_id)s AND alias.id = new.id
""").count()


async def list_aliases(
    conn: Conn,
    *,
    account_id: UUID,
    manifest: str | None,
    names: Collection[Name],
    alias_ids: Sequence[UUID],
    claimed: Collection[Name],
    now: datetime,
) -> list[Alias]:
    """Return the account's aliases that the manifest manages, those with one of the names or ids, and RELEASED."""
    own = {"account_id": account_id, "manifest": manifest, "alias_ids": list(alias_ids), "now": now}
    row = {**own, **name_columns(names), **released_columns(claimed)}
    return await (await cursor_of(conn).execute(LIST, row)).fetchall()


count_aliases = query("""
    SELECT count(*) FROM aliases WHERE account_id = %(account_id)s AND status <> 'deleted'
""").value(int)
# With suspended ones, as the next one.
count_by_domain = query("""
    SELECT domain, count(*) FROM aliases
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND status <> 'deleted'
    GROUP BY domain
""").pairs(str, int)
count_by_project = query("""
    SELECT project_id, count(*) FROM aliases
    WHERE account_id = %(account_id)s AND project_id = ANY(%(project_ids)s::uuid[]) AND status <> 'deleted'
    GROUP BY project_id
""").pairs(UUID, int)
# The realm of a sandbox is its account: rows of live names have another realm, and are not read.
clear = query("""
    WITH forward AS (
        DELETE FROM aliases_forwards WHERE account_id = %(account_id)s
    ), catch_all AS (
        DELETE FROM aliases_catch_alls WHERE account_id = %(account_id)s
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
""").value(int)


async def list_owned(
    conn: Conn, *, account_id: UUID, filters: AliasFilters, after: UUID, limit: int
) -> list[Alias]:
    """Return the account's aliases with ids below `after` that fit the filters, newest first."""
    spelled, at, domain = (filters.q or "").partition("@")
    row = {
        "account_id": account_id,
        "after": after,
        "limit": limit,
        **asdict(filters),
        "spelled": f"{_escape_like(spelled)}{'' if at else '%'}" if filters.q else None,
        "domain_begins": f"{_escape_like(domain)}%" if at else None,
    }
    return await (await cursor_of(conn).execute(LIST_OWNED, row, prepare=False)).fetchall()


def _escape_like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


async def find(conn: Conn, *, account_id: UUID, alias_id: UUID, lock: bool = False) -> Alias | None:
    """Return an alias of the account, active or released."""
    row = {"account_id": account_id, "id": alias_id}
    if lock:  # a separate statement: the next one sees rows that were committed while this one waited
        await conn.execute(LOCK, row)
    return await (await cursor_of(conn).execute(FIND, row)).fetchone()


# An advisory lock for the routes of an account, and one for the routes between accounts.
lock_routes = query("SELECT pg_advisory_xact_lock(hashtextextended(%(account_id)s::text || ' routes', 0))").run()
lock_routes_between = query("SELECT pg_advisory_xact_lock(hashtextextended('routes between accounts', 0))").run()
list_by_ids = query(f"""
    SELECT alias.account_id, {_COLUMNS}, ARRAY(
        SELECT email FROM aliases_forwards
        WHERE account_id = alias.account_id AND account_id = ANY(%(account_ids)s::uuid[]) AND alias_id = alias.id
        ORDER BY position
    ) AS destinations
    FROM aliases AS alias
    WHERE alias.account_id = ANY(%(account_ids)s::uuid[]) AND alias.id = ANY(%(alias_ids)s::uuid[])
      AND alias.status <> 'deleted'
""").all(_owned)
