"""Sessions, login-as grants, and one-time login codes.

A statement names the account, unless it finds a grant by its id, or a code by its address, which may have none.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.identity.records import Grant, Session, SessionKind
from builders.kit.callers import Impersonation
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query

INSERT_SESSION = """
    INSERT INTO identity_sessions
        (account_id, id, kind, created_at, expires_at, address, user_agent, signed_in_by, authenticated_at,
         grant_id, operator, reason, may_write)
    VALUES (%(account_id)s, %(id)s, %(kind)s, %(created_at)s, %(expires_at)s, %(address)s, %(user_agent)s,
            %(signed_in_by)s, %(authenticated_at)s, %(grant_id)s, %(operator)s, %(reason)s, %(may_write)s)
"""
SESSION_COLUMNS = """
    account_id, id, kind, created_at, expires_at, ended_at, address, user_agent, signed_in_by, authenticated_at,
    grant_id, operator, reason, may_write
"""


_SUPPORT = ("grant_id", "operator", "reason", "may_write")  # the columns of an impersonation


def _session(**columns: Any) -> Session:
    support = {name: columns.pop(name) for name in _SUPPORT}
    impersonation = None if support["grant_id"] is None else Impersonation(**support)
    return Session(kind=SessionKind(columns.pop("kind")), impersonation=impersonation, **columns)


async def insert_session(conn: Conn, *, session: Session) -> None:
    """Insert an active session."""
    grant = session.impersonation
    support = dict.fromkeys(_SUPPORT) if grant is None else asdict(grant)
    await conn.execute(INSERT_SESSION, asdict(session) | support)


find_session = query(f"""
    SELECT {SESSION_COLUMNS}
    FROM identity_sessions
    WHERE account_id = %(account_id)s AND id = %(session_id)s AND ended_at IS NULL AND expires_at > %(now)s
""").one(_session)
list_sessions = query(f"""
    SELECT {SESSION_COLUMNS}
    FROM identity_sessions
    WHERE account_id = %(account_id)s AND id < %(before)s AND ended_at IS NULL AND expires_at > %(now)s
    ORDER BY id DESC LIMIT %(limit)s
""").all(_session)
# By its id or its grant; None when it does not exist or has ended.
# Only an active session is ended: if two statements are concurrent, one returns it.
end_session = query(f"""
    UPDATE identity_sessions SET ended_at = %(now)s
    WHERE account_id = %(account_id)s AND (id = %(session_id)s OR grant_id = %(grant_id)s)
      AND ended_at IS NULL AND expires_at > %(now)s
    RETURNING {SESSION_COLUMNS}
""").one(_session)
end_other_sessions = query(f"""
    UPDATE identity_sessions SET ended_at = %(now)s
    WHERE account_id = %(account_id)s AND id IS DISTINCT FROM %(kept)s
      AND ended_at IS NULL AND expires_at > %(now)s
    RETURNING {SESSION_COLUMNS}
""").all(_session)
insert_draft = query("""
    WITH old AS (
        DELETE FROM identity_drafts WHERE account_id = %(account_id)s AND id IN (
            SELECT id FROM identity_drafts WHERE account_id = %(account_id)s ORDER BY id DESC OFFSET %(others)s
        )
    )
    INSERT INTO identity_drafts (account_id, id, created_at, content)
    VALUES (%(account_id)s, %(id)s, %(now)s, %(content)s)
""").run()
find_draft = query("""
    SELECT content FROM identity_drafts
    WHERE account_id = %(account_id)s AND id = %(draft_id)s AND created_at > %(since)s
""").scalar(bytes)
# Only logins of a person: the operator's tokens and support sessions are not the owner's.
list_addresses = query("""
    SELECT address FROM identity_sessions
    WHERE account_id = %(account_id)s AND kind = 'login' AND address IS NOT NULL AND created_at > %(since)s
    GROUP BY address ORDER BY max(created_at) DESC LIMIT %(limit)s
""").scalars(str)


GRANT_COLUMNS = "account_id, id, operator, reason, may_write, created_at, expires_at, redeemed_at, revoked_at"
INSERT_GRANT = """
    INSERT INTO identity_grants
        (account_id, id, digest, operator, reason, may_write, created_at, expires_at)
    VALUES (%(account_id)s, %(id)s, %(digest)s, %(operator)s, %(reason)s, %(may_write)s, %(created_at)s,
            %(expires_at)s)
"""


async def insert_grant(conn: Conn, *, grant: Grant, digest: bytes) -> None:
    """Insert a grant."""
    await conn.execute(INSERT_GRANT, asdict(grant) | {"digest": digest})


# None when it is unknown, used, revoked or expired.
# If two statements are concurrent, one succeeds.
redeem_grant = query(f"""
    UPDATE identity_grants SET redeemed_at = %(now)s
    WHERE account_id = %(account_id)s AND digest = %(digest)s
      AND redeemed_at IS NULL AND revoked_at IS NULL AND expires_at > %(now)s
    RETURNING {GRANT_COLUMNS}
""").one(Grant)
find_grant = query(f"SELECT {GRANT_COLUMNS} FROM identity_grants WHERE id = %(grant_id)s").one(Grant)
list_grants = query(f"""
    SELECT {GRANT_COLUMNS} FROM identity_grants
    WHERE account_id = %(account_id)s ORDER BY id DESC LIMIT %(limit)s
""").all(Grant)
revoke_grant = query("""
    UPDATE identity_grants SET revoked_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(grant_id)s AND revoked_at IS NULL
""").changes()


# Without the lock, concurrent transactions would not count each other's codes.
LOCK_ADDRESS = "SELECT pg_advisory_xact_lock(hashtextextended('identity_sign_ins ' || %(address)s, 0))"
FIND_REQUEST = """
    SELECT address, return_to, requested_from, is_proved FROM identity_sign_ins
    WHERE id = %(id)s AND made_at IS NULL AND requested_at > %(since)s
"""
# No code for a request when a newer one has its code: only the newest code is valid.
SET_CODE = """
    UPDATE identity_sign_ins AS mine
    SET made_at = %(now)s, expires_at = %(expires_at)s, account_id = %(account_id)s, code_hash = %(code_hash)s,
        token_hash = %(token_hash)s, opens_account = %(opens_account)s
    WHERE id = %(id)s AND made_at IS NULL
      AND NOT EXISTS (
          SELECT FROM identity_sign_ins AS newer
          WHERE newer.address = mine.address AND newer.id > mine.id AND newer.made_at IS NOT NULL
      )
"""
END_OLDER_CODES = """
    UPDATE identity_sign_ins SET ended_at = %(now)s
    WHERE address = %(address)s AND id < %(id)s AND ended_at IS NULL AND made_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCode:
    """A code that was not used and has not expired."""

    id: UUID
    address: str
    code_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """A request for a code."""

    address: str
    return_to: str | None  # a path of this service
    requested_from: str  # the network of the client
    is_proved: bool  # the browser has proved work


insert_request = query("""
    INSERT INTO identity_sign_ins (id, address, return_to, requested_at, requested_from, is_proved)
    VALUES (%(sign_in_id)s, %(address)s, %(return_to)s, %(now)s, %(network)s, %(is_proved)s)
""").run()


async def lock_request(conn: Conn, *, sign_in_id: UUID, since: datetime) -> CodeRequest | None:
    """Lock the address of a request and return it; None when it is too old, deleted or has a code."""
    row = {"id": sign_in_id, "since": since}
    found = await (await conn.cursor(row_factory=class_row(CodeRequest)).execute(FIND_REQUEST, row)).fetchone()
    if found is not None:
        await conn.execute(LOCK_ADDRESS, {"address": found.address})
    return found


# All codes for the address since then, those for the network, and those for unknown networks.
count_codes = query("""
    SELECT count(*), count(*) FILTER (WHERE requested_from = %(network)s),
           count(*) FILTER (WHERE requested_from <> ALL(%(known)s::text[]))
    FROM identity_sign_ins WHERE address = %(address)s AND made_at > %(since)s
""").only(tuple[int, int, int])


async def set_code(
    conn: Conn,
    *,
    sign_in_id: UUID,
    address: str,
    account_id: UUID | None,
    opens_account: bool,
    code_hash: bytes,
    token_hash: bytes,
    expires_at: datetime,
    now: datetime,
) -> bool:
    """Set the code of the request and end the address' earlier codes; False when it or a newer request has one."""
    row = {"id": sign_in_id, "address": address, "account_id": account_id, "expires_at": expires_at, "now": now}
    more = {"code_hash": code_hash, "token_hash": token_hash, "opens_account": opens_account}
    if (await conn.execute(SET_CODE, row | more)).rowcount != 1:
        return False
    await conn.execute(END_OLDER_CODES, row)
    return True


# None when there is no open code, or when the tries of the network or of all networks are used up.
# The try is counted and committed before the code is compared: concurrent requests get no additional tries.
try_code = query("""
    UPDATE identity_sign_ins
    SET tries = tries + 1,
        tries_from = tries_from || jsonb_build_object(
            %(network)s::text, coalesce((tries_from ->> %(network)s::text)::int, 0) + 1
        )
    WHERE id = (
        SELECT id FROM identity_sign_ins
        WHERE address = %(address)s AND made_at IS NOT NULL AND ended_at IS NULL AND expires_at > %(now)s
        ORDER BY id DESC LIMIT 1
    ) AND tries < %(max_tries)s AND coalesce((tries_from ->> %(network)s::text)::int, 0) < %(max_network_tries)s
    RETURNING id, address, code_hash
""").one(OpenCode)
find_link = query("""
    SELECT id, address, code_hash FROM identity_sign_ins
    WHERE token_hash = ANY(%(hashes)s) AND (account_id IS NOT NULL OR opens_account) AND ended_at IS NULL
      AND expires_at > %(now)s
""").one(OpenCode)
# None when the code is no longer open.
# If two claims are concurrent, one succeeds. The address must still be the account's.
claim_code = query("""
    UPDATE identity_sign_ins AS mine SET ended_at = %(now)s
    FROM identity_accounts AS account
    WHERE mine.id = %(sign_in_id)s AND mine.ended_at IS NULL AND mine.expires_at > %(now)s
      AND account.id = mine.account_id AND account.sandbox_of IS NULL AND account.email = mine.address
    RETURNING account.id, account.email
""").one(tuple[UUID, str])
# None when it is no longer open, or of an address that had an account.
claim_new_address = query("""
    UPDATE identity_sign_ins SET ended_at = %(now)s
    WHERE id = %(sign_in_id)s AND opens_account AND ended_at IS NULL AND expires_at > %(now)s
    RETURNING address
""").scalar(str)
# As LOCK_ADDRESS, of the requests of a network.
lock_network = query("""
    SELECT pg_advisory_xact_lock(hashtextextended('identity_sign_ins of ' || %(network)s, 0))
""").run()
# Of a network, and all, without this one.
count_new_addresses = query("""
    SELECT count(DISTINCT address) FILTER (WHERE requested_from = %(network)s), count(DISTINCT address)
    FROM identity_sign_ins WHERE opens_account AND requested_at > %(since)s AND address <> %(address)s
""").only(tuple[int, int])
# No row when the sign-in was used: of two concurrent uses, one succeeds.
use_issuer_sign_in = query("""
    INSERT INTO identity_issuer_sign_ins (id, used_at) VALUES (%(sign_in_id)s, %(now)s)
    ON CONFLICT (id) DO NOTHING
""").changes()
