"""Authorization requests, codes and tokens; a request arrives without an account."""

from typing import Any
from uuid import UUID

from builders.identity.oauth.records import (
    MAX_OPEN,
    Access,
    Code,
    Connection,
    Generation,
    StoredRequest,
    WaitingRequest,
)
from builders.identity.records import KeyKind
from builders.identity.store.keys import UNUSED_SCOPES
from builders.kit.db.queries import query
from builders.kit.mandates import MANDATE

# Without the lock, concurrent transactions would not count each other's requests.
lock_requests = query("SELECT pg_advisory_xact_lock(hashtextextended('identity_oauth_requests', 0))").run()
# False when MAX_OPEN requests are open.
insert_request = query("""
    INSERT INTO identity_oauth_requests (id, browser_hash, parameters, expires_at)
    SELECT %(request_id)s, %(browser_hash)s, %(parameters)s, %(expires_at)s
    WHERE %(max_open)s > (
        SELECT count(*) FROM identity_oauth_requests WHERE expires_at > %(now)s AND decided_at IS NULL
    )
""").changes(max_open=MAX_OPEN)
# Only of the browser that began it, and until it was decided.
find_request = query("""
    SELECT id, parameters, expires_at FROM identity_oauth_requests
    WHERE id = %(request_id)s AND browser_hash = ANY(%(hashes)s) AND decided_at IS NULL AND expires_at > %(now)s
""").one(StoredRequest)
list_requests = query("""
    SELECT id, expires_at FROM identity_oauth_requests
    WHERE browser_hash = ANY(%(hashes)s) AND decided_at IS NULL AND expires_at > %(now)s
    ORDER BY id DESC LIMIT 5
""").all(WaitingRequest)
# Of two decisions, one succeeds.
use_request = query("""
    UPDATE identity_oauth_requests SET decided_at = %(now)s
    WHERE id = %(request_id)s AND browser_hash = ANY(%(hashes)s) AND decided_at IS NULL AND expires_at > %(now)s
""").changes()
insert_code = query("""
    INSERT INTO identity_oauth_codes
        (account_id, digest, key_id, session_id, client_id, redirect_uri, challenge, expires_at)
    VALUES (%(account_id)s, %(digest)s, %(key_id)s, %(session_id)s, %(client_id)s, %(redirect_uri)s,
            %(challenge)s, %(expires_at)s)
""").run()
# Each presentation counts, also of a code that has expired.
use_code = query("""
    UPDATE identity_oauth_codes SET uses = uses + 1
    WHERE account_id = %(account_id)s AND digest = %(digest)s
    RETURNING key_id, session_id, client_id, redirect_uri, challenge, expires_at, uses
""").one(Code)
insert_tokens = query("""
    INSERT INTO identity_oauth_tokens
        (account_id, key_id, generation, refresh_digest, access_digest, access_expires_at, refresh_expires_at)
    VALUES (%(account_id)s, %(key_id)s, %(generation)s, %(refresh_digest)s, %(access_digest)s,
            %(access_expires_at)s, %(refresh_expires_at)s)
""").run()
_GENERATIONS = """
    SELECT token.key_id, token.generation, key.client AS client_id, key.client_name AS label,
           key.mandate -> 'toolsets' AS toolsets, key.expires_at AS ends_at,
           key.revoked_at IS NOT NULL OR coalesce(key.expires_at <= %(now)s, false) AS is_ended,
           token.refresh_expires_at, token.access_expires_at, token.refresh_digest, token.used_at,
           next.used_at AS next_used_at, next.refresh_digest AS next_digest
    FROM identity_oauth_tokens AS token
    JOIN identity_keys AS key ON key.account_id = token.account_id AND key.id = token.key_id
    LEFT JOIN identity_oauth_tokens AS next
      ON next.account_id = token.account_id AND next.key_id = token.key_id
     AND next.generation = token.generation + 1
    WHERE token.account_id = %(account_id)s
"""
# Refreshes of one connection wait for each other; a second one sees the successor that the first has made.
lock_connection = query("""
    SELECT key.id FROM identity_oauth_tokens AS token
    JOIN identity_keys AS key ON key.account_id = token.account_id AND key.id = token.key_id
    WHERE token.account_id = %(account_id)s AND token.refresh_digest = %(digest)s
    FOR NO KEY UPDATE OF key
""").exists()
find_refresh = query(f"{_GENERATIONS} AND token.refresh_digest = %(digest)s").one(Generation)
find_either = query(f"""
    {_GENERATIONS} AND (token.refresh_digest = %(digest)s OR token.access_digest = %(digest)s)
""").one(Generation)
use_refresh = query("""
    UPDATE identity_oauth_tokens SET used_at = %(now)s
    WHERE account_id = %(account_id)s AND key_id = %(key_id)s AND generation = %(generation)s
""").run()
end_access = query("""
    UPDATE identity_oauth_tokens SET access_expires_at = least(access_expires_at, %(now)s)
    WHERE account_id = %(account_id)s AND key_id = %(key_id)s AND generation = %(generation)s
""").run()
# Also when it has ended: then it was no guess.
find_access = query("""
    SELECT key.account_id, sandbox.id AS sandbox_id, key.id AS key_id, key.kind, key.client_name AS label,
           key.mandate, key.reads_mail, key.removed_scopes, token.access_expires_at AS expires_at,
           token.access_expires_at <= %(now)s OR key.revoked_at IS NOT NULL
               OR coalesce(key.expires_at <= %(now)s, false) AS is_ended
    FROM identity_oauth_tokens AS token
    JOIN identity_keys AS key ON key.account_id = token.account_id AND key.id = token.key_id
    JOIN identity_accounts AS sandbox ON sandbox.sandbox_of = key.account_id
    WHERE token.account_id = %(account_id)s AND token.access_digest = %(digest)s
""").one(Access)
_CONNECTIONS = f"""
    SELECT id, label, kind AS key_kind, preset, prefix, last4, created_at, expires_at, revoked_at, last_used_at,
           mandate, client_name, client AS client_id, {UNUSED_SCOPES} AS unused_scopes
    FROM identity_keys WHERE account_id = %(account_id)s AND digest IS NULL
"""


def _connection(mandate: Any, **columns: Any) -> Connection:
    columns["key_kind"] = KeyKind(columns["key_kind"])
    return Connection(mandate=MANDATE.validate_python(mandate), **columns)


list_connections = query(f"{_CONNECTIONS} AND id < %(before)s ORDER BY id DESC LIMIT %(limit)s").all(_connection)
find_connection = query(f"{_CONNECTIONS} AND id = %(key_id)s").one(_connection)
list_active = query("""
    SELECT id FROM identity_keys
    WHERE account_id = %(account_id)s AND digest IS NULL AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > %(now)s)
""").scalars(UUID)
