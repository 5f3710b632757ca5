"""API keys."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import args_row
from psycopg.types.json import Jsonb

from builders.identity import scopes
from builders.identity.records import (
    MAX_ACTIVE_KEYS,
    ApiKey,
    ConnectionSpec,
    KeyKind,
    KeySecret,
    KeySpec,
    Network,
    Preset,
)
from builders.kit.db.connections import Conn
from builders.kit.db.queries import account_lock, query
from builders.kit.mandates import MANDATE
from builders.kit.values import ids

COLUMNS = """
    id, label, kind, preset, prefix, last4, created_at, expires_at, revoked_at, last_used_at, asked_expires_at,
    allowed_ips, reads_mail, mandate, client, client_name, scope_uses, removed_scopes,
    disabled_at
"""
# Those that the key has held, and not used, since a time; `held` is HELD.
UNUSED_SCOPES = """
    CASE WHEN revoked_at IS NOT NULL OR created_at > %(unused_since)s THEN '[]'::json ELSE (
        SELECT coalesce(json_agg(scope ORDER BY scope), '[]'::json)
        FROM jsonb_array_elements_text(
            CASE WHEN preset IS NULL THEN mandate -> 'toolsets' ELSE jsonb_build_array(preset) END
        ) AS area, jsonb_array_elements_text(%(held)s::jsonb -> area) AS scope
        WHERE scope <> ALL (removed_scopes)
          AND coalesce((scope_uses ->> scope)::date < %(unused_since)s::date, true)
    ) END
"""
HELD = Jsonb(scopes.BY_AREA)
# Without the lock, concurrent transactions would not count each other's keys.
_lock_keys = account_lock("identity_keys")
INSERT_KEY = f"""
    INSERT INTO identity_keys
        (account_id, id, digest, label, kind, preset, prefix, last4, created_at, created_by, expires_at,
         asked_expires_at, allowed_ips, mandate, client, removed_scopes)
    SELECT %(account_id)s, %(id)s, %(digest)s, %(label)s, %(kind)s, %(preset)s, %(prefix)s, %(last4)s, %(now)s,
           %(created_by)s, %(expires_at)s, %(expires_at)s, %(allowed_ips)s::cidr[], %(mandate)s, %(client)s,
           %(removed_scopes)s::text[]
    WHERE %(max_active)s > (
        SELECT count(*) FROM identity_keys
        WHERE account_id = %(account_id)s AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > %(now)s)
    )
    RETURNING {COLUMNS}
"""
FIND_KEY = f"""
    SELECT {COLUMNS}
    FROM identity_keys WHERE account_id = %(account_id)s AND id = %(key_id)s
"""
REVOKE_KEY = f"""
    UPDATE identity_keys SET revoked_at = coalesce(revoked_at, %(now)s)
    WHERE account_id = %(account_id)s AND id = %(key_id)s AND (kind = 'test' OR %(any_kind)s)
    RETURNING {COLUMNS}
"""
# Every key that works: one that has expired is refused anyway, and keeps the time of its end.
REVOKE_ALL = f"""
    UPDATE identity_keys SET revoked_at = %(now)s
    WHERE account_id = %(account_id)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(now)s)
    RETURNING {COLUMNS}
"""
EXPIRE_KEY = f"""
    UPDATE identity_keys SET expires_at = least(expires_at, %(expires_at)s), rotated_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(key_id)s
      AND digest IS NOT NULL AND rotated_at IS NULL AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > %(now)s)
    RETURNING {COLUMNS}
"""
# SKIP LOCKED: another process that holds the row updates the same column; concurrent flushes do not wait.
TOUCH_KEY = """
    WITH due AS (
        SELECT id FROM identity_keys
        WHERE account_id = %(account_id)s AND id = %(key_id)s
          AND (last_used_at IS NULL OR last_used_at < %(before)s)
        FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE identity_keys AS key SET last_used_at = %(now)s FROM due
    WHERE key.account_id = %(account_id)s AND key.id = due.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A key as authentication needs it."""

    digest: bytes
    account_id: UUID
    sandbox_id: UUID
    key_id: UUID
    kind: str
    preset: str
    expires_at: datetime | None
    is_revoked: bool
    is_disabled: bool
    is_expired: bool
    allowed_ips: Sequence[Network] | None  # None: any
    reads_mail: bool
    mandate: Mapping[str, Any] | None  # as JSON
    removed_scopes: Collection[str]
    suspended_for: str | None  # the reason if its account is suspended


def _api_key(*row: Any) -> ApiKey:
    """Return a key from its columns. By position, because column names cost 5 % of a read (script/bench read)."""
    key_id, label, kind, preset, prefix, last4, created_at, expires_at, revoked_at, used_at, *others = row
    asked, networks, mail, mandate, client, client_name, scope_uses, removed, disabled_at = others
    may = None if mandate is None else MANDATE.validate_python(mandate)
    held = scopes.of_mandate(may) if preset is None and may else scopes.PRESET_SCOPES[str(preset)]
    held = [each for each in held if each not in removed]
    return ApiKey(
        id=key_id,
        label=label,
        key_kind=KeyKind(kind),
        preset=None if preset is None else Preset(preset),
        prefix=prefix,
        last4=last4,
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
        last_used_at=used_at,
        asked_expires_at=asked,
        allowed_ips=None if networks is None else [str(each) for each in networks],
        mandate=may,
        client=client,
        client_name=client_name,
        scopes=[*held, scopes.MAIL] if mail else held,
        scope_uses=scope_uses,
        removed_scopes=removed,
        disabled_at=disabled_at,
    )


def _cursor(conn: Conn) -> AsyncCursor[ApiKey]:
    return conn.cursor(row_factory=args_row(_api_key))


async def insert_key(
    conn: Conn, *, account_id: UUID, spec: KeySpec, secret: KeySecret, created_by: str, now: datetime
) -> ApiKey | None:
    """Insert the key; None when the account has MAX_ACTIVE_KEYS active keys."""
    row = asdict(secret) | asdict(spec) | asdict(spec.limits) | {"max_active": MAX_ACTIVE_KEYS}
    row |= {"account_id": account_id, "id": ids.new(), "created_by": created_by, "now": now, "mandate": None}
    row |= {"removed_scopes": list(spec.removed_scopes)}
    if spec.mandate is not None:
        row |= {"mandate": Jsonb(MANDATE.dump_python(spec.mandate, mode="json"))}
        row |= {"client": spec.client or str(row["id"])}
    await _lock_keys(conn, account_id=account_id)
    return await (await _cursor(conn).execute(INSERT_KEY, row)).fetchone()


# False when the account has MAX_ACTIVE_KEYS active keys; `lock_keys` comes before.
_insert_connection = query("""
    INSERT INTO identity_keys
        (account_id, id, label, kind, prefix, last4, created_at, created_by, expires_at, asked_expires_at, mandate,
         client, client_name)
    SELECT %(account_id)s, %(id)s, %(label)s, %(kind)s, '', '', %(now)s, %(created_by)s, %(expires_at)s,
           %(expires_at)s, %(mandate)s, %(client)s, %(client_name)s
    WHERE %(max_active)s > (
        SELECT count(*) FROM identity_keys
        WHERE account_id = %(account_id)s AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > %(now)s)
    )
""").changes(max_active=MAX_ACTIVE_KEYS)


async def insert_connection(
    conn: Conn,
    *,
    account_id: UUID,
    connection_id: UUID,
    spec: ConnectionSpec,
    created_by: str,
    now: datetime,
) -> bool:
    """Insert a connection; return False when the account has MAX_ACTIVE_KEYS active keys."""
    await _lock_keys(conn, account_id=account_id)
    return await _insert_connection(
        conn,
        account_id=account_id,
        id=connection_id,
        label=spec.label,
        kind=spec.kind,
        client=spec.client,
        client_name=spec.client_name,
        mandate=Jsonb(MANDATE.dump_python(spec.mandate, mode="json")),
        expires_at=spec.expires_at,
        created_by=created_by,
        now=now,
    )


async def find_key(conn: Conn, *, account_id: UUID, key_id: UUID) -> ApiKey | None:
    """Return a key of the account, or None."""
    return await (await _cursor(conn).execute(FIND_KEY, {"account_id": account_id, "key_id": key_id})).fetchone()


# The JSON of the items, the id of the last one, and whether more follow.
# PostgreSQL renders the JSON: half the cost of reading fifty records.
list_keys = query(f"""
    SELECT coalesce(json_agg(json_build_object(
               'id', id, 'label', label, 'key_kind', kind, 'preset', preset, 'prefix', prefix, 'last4', last4,
               'created_at', kit_time(created_at), 'expires_at', kit_time(expires_at),
               'revoked_at', kit_time(revoked_at), 'last_used_at', kit_time(last_used_at),
               'disabled_at', kit_time(disabled_at),
               'allowed_ips', allowed_ips, 'mandate', mandate,
               'client_name', client_name, 'unused_scopes', {UNUSED_SCOPES}
           ) ORDER BY id DESC) FILTER (WHERE nth <= %(limit)s), '[]')::text,
           (array_agg(id) FILTER (WHERE nth = %(limit)s))[1]::text, coalesce(max(nth) > %(limit)s, false)
    FROM (
        SELECT *, row_number() OVER (ORDER BY id DESC) AS nth FROM (
            SELECT * FROM identity_keys
            WHERE account_id = %(account_id)s AND id < %(after)s ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS keys
    ) AS page
""").only(tuple[str, str, bool])


async def revoke_key(
    conn: Conn, *, account_id: UUID, key_id: UUID, any_kind: bool, now: datetime
) -> ApiKey | None:
    """Revoke a key and return it; None when it does not exist, or is live and `any_kind` is false."""
    row = {"account_id": account_id, "key_id": key_id, "any_kind": any_kind, "now": now}
    return await (await _cursor(conn).execute(REVOKE_KEY, row)).fetchone()


async def revoke_all(conn: Conn, *, account_id: UUID, now: datetime) -> Sequence[ApiKey]:
    """Revoke the active keys of the account and return them."""
    return await (await _cursor(conn).execute(REVOKE_ALL, {"account_id": account_id, "now": now})).fetchall()


async def expire_key(
    conn: Conn, *, account_id: UUID, key_id: UUID, expires_at: datetime, now: datetime
) -> ApiKey | None:
    """Make the key expire by then and return it; None when it is unknown, rotated, revoked or expired."""
    row = {"account_id": account_id, "key_id": key_id, "expires_at": expires_at, "now": now}
    return await (await _cursor(conn).execute(EXPIRE_KEY, row)).fetchone()


# Whether it is not revoked; a concurrent revocation waits for the end of the transaction.
lock_key = query("""
    SELECT revoked_at IS NULL FROM identity_keys
    WHERE account_id = %(account_id)s AND id = %(key_id)s FOR NO KEY UPDATE
""").scalar(bool)
grant_mail = query("""
    UPDATE identity_keys SET reads_mail = NOT reads_mail
    WHERE account_id = %(account_id)s AND reads_mail <> (id = ANY(%(key_ids)s::uuid[]))
""").run()
has_live_mandate = query("""
    SELECT FROM identity_keys
    WHERE account_id = %(account_id)s AND mandate IS NOT NULL AND kind = 'live'
      AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(now)s)
    LIMIT 1
""").exists()
count_active = query("""
    SELECT count(*) FROM identity_keys
    WHERE account_id = %(account_id)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(now)s)
""").value(int)
_HOLDER = """
    key.digest, key.account_id, sandbox.id AS sandbox_id, key.id AS key_id, key.kind,
           key.preset, key.expires_at, key.revoked_at IS NOT NULL AS is_revoked,
           key.disabled_at IS NOT NULL AS is_disabled,
           coalesce(key.expires_at <= %(now)s, false) AS is_expired, key.allowed_ips, key.reads_mail,
           key.mandate, key.removed_scopes, suspension.reason AS suspended_for
    FROM identity_keys AS key JOIN identity_accounts AS sandbox ON sandbox.sandbox_of = key.account_id
    LEFT JOIN kit_suspensions AS suspension ON suspension.account_id = key.account_id
"""
# Active or not, by the account that its secret names.
find_holder = query(f"""
    SELECT {_HOLDER} WHERE key.account_id = %(account_id)s AND key.digest = %(digest)s
""").one(Holder)
list_holders = query(f"""
    SELECT {_HOLDER} JOIN unnest(%(account_ids)s::uuid[], %(digests)s::bytea[]) AS asked (account_id, digest)
      ON key.account_id = asked.account_id AND key.digest = asked.digest
    WHERE key.account_id = ANY(%(account_ids)s::uuid[])
""").all(Holder)


async def touch_keys(conn: Conn, *, used: Collection[tuple[UUID, UUID]], now: datetime, before: datetime) -> None:
    """Set `last_used_at` of the keys (account, key) where it is older than `before`."""
    rows = [{"account_id": account, "key_id": key, "now": now, "before": before} for account, key in used]
    await conn.cursor().executemany(TOUCH_KEY, rows)  # sent at once


# One statement each: no transaction waits for several keys. It changes nothing for scopes of the same day.
note_scopes = query("""
    UPDATE identity_keys SET scope_uses = scope_uses || %(uses)s
    WHERE account_id = %(account_id)s AND id = %(key_id)s AND NOT scope_uses @> %(uses)s
""").run()
REMOVE_SCOPES = f"""
    UPDATE identity_keys SET removed_scopes = ARRAY(
        SELECT DISTINCT unnest(removed_scopes || %(scopes)s::text[]) AS scope ORDER BY scope
    )
    WHERE account_id = %(account_id)s AND id = %(key_id)s
    RETURNING {COLUMNS}
"""


async def remove_scopes(conn: Conn, *, account_id: UUID, key_id: UUID, removed: Collection[str]) -> ApiKey | None:
    """Take scopes away from a key and return it; None when it does not exist."""
    row = {"account_id": account_id, "key_id": key_id, "scopes": list(removed)}
    return await (await _cursor(conn).execute(REMOVE_SCOPES, row)).fetchone()


# The keys that a restore had disabled, and that still work else; of a null, all.
enable_keys = query("""
    UPDATE identity_keys SET disabled_at = NULL
    WHERE account_id = %(account_id)s AND disabled_at IS NOT NULL AND revoked_at IS NULL
      AND id = coalesce(%(key_id)s::uuid, id)
    RETURNING id, label
""").all(tuple[UUID, str])
# False if one was recorded since `before`.
# One of many concurrent statements updates the row.
note_refusal = query("""
    UPDATE identity_keys SET refusal_noted_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(key_id)s
      AND (refusal_noted_at IS NULL OR refusal_noted_at <= %(before)s)
""").changes()
