"""All SQL of the profile: profiles, completed steps of onboarding, verification messages, and tokens of links."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from uuid import UUID

from psycopg.rows import dict_row

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.profile.records import Proof, SentMessages, StoredProfile, Token

ENSURE = "INSERT INTO profile_profiles (account_id) VALUES (%(account_id)s) ON CONFLICT DO NOTHING"
LOCK = "SELECT FROM profile_profiles WHERE account_id = %(account_id)s FOR UPDATE"
FIND = """
    SELECT display_name, company, website, country, timezone, locale, marketing_opt_in, pending_email, roles,
           completed_at, version, updated_at,
           ARRAY(SELECT step FROM profile_steps WHERE account_id = %(account_id)s ORDER BY step) AS done,
           ARRAY(SELECT done_at FROM profile_steps WHERE account_id = %(account_id)s ORDER BY step) AS times
    FROM profile_profiles WHERE account_id = %(account_id)s
"""
SAVE = """
    UPDATE profile_profiles
    SET display_name = %(display_name)s, company = %(company)s, website = %(website)s, country = %(country)s,
        timezone = %(timezone)s, locale = %(locale)s, marketing_opt_in = %(marketing_opt_in)s,
        pending_email = %(pending_email)s, roles = %(roles)s::text[], completed_at = %(completed_at)s,
        version = %(version)s, updated_at = %(updated_at)s
    WHERE account_id = %(account_id)s
"""
PUT_LINK = """
    INSERT INTO profile_tokens (account_id, digest, purpose, email, expires_at)
    VALUES (%(account_id)s, %(digest)s, %(purpose)s, %(email)s, %(expires_at)s)
    ON CONFLICT (account_id) DO UPDATE
    SET digest = excluded.digest, purpose = excluded.purpose, email = excluded.email,
        expires_at = excluded.expires_at, used_at = NULL
"""


async def find(conn: Conn, *, account_id: UUID) -> StoredProfile:
    """Return the profile of the account, or an empty one if it was never changed."""
    cursor = await conn.cursor(row_factory=dict_row).execute(FIND, {"account_id": account_id})
    row = await cursor.fetchone()
    if row is None:
        return StoredProfile()
    steps = dict(zip(row.pop("done"), row.pop("times"), strict=True))
    return StoredProfile(**row | {"roles": tuple(row["roles"]), "steps": steps})


list_time_zones = query("""
    SELECT account_id, timezone FROM profile_profiles
    WHERE account_id = ANY(%(account_ids)s::uuid[]) AND timezone IS NOT NULL
""").pairs(UUID, str)


# The positions, from 1, of the steps that the profiles lack, or whose roles they lack.
_LIST_NEW = query("""
    SELECT wanted.position::int
    FROM unnest(%(account_ids)s::uuid[], %(steps)s::text[], %(roles)s::text[]) WITH ORDINALITY
      AS wanted (account_id, step, role, position)
    LEFT JOIN profile_profiles AS profile
      ON profile.account_id = wanted.account_id AND profile.account_id = ANY(%(account_ids)s::uuid[])
    LEFT JOIN profile_steps AS done
      ON done.account_id = wanted.account_id AND done.account_id = ANY(%(account_ids)s::uuid[])
     AND done.step = wanted.step
    WHERE done.step IS NULL OR wanted.role <> ALL(profile.roles)
""").scalars(int)


async def list_new(conn: Conn, *, proofs: Sequence[Proof]) -> Sequence[Proof]:
    """Return the proofs of steps that the profiles lack, or whose roles they lack."""
    members = zip(*((each.account_id, each.step, each.role) for each in proofs), strict=True)
    account_ids, steps, roles = map(list, members)
    return [proofs[at - 1] for at in await _LIST_NEW(conn, account_ids=account_ids, steps=steps, roles=roles)]


async def lock(conn: Conn, *, account_id: UUID) -> StoredProfile:
    """Return the profile of the account; no other transaction changes it until this one ends.

    A separate statement reads it: the statement that waited for the lock would not see steps that were committed
    while it waited.
    """
    await conn.execute(ENSURE, {"account_id": account_id})
    await conn.execute(LOCK, {"account_id": account_id})
    return await find(conn, account_id=account_id)


async def save(conn: Conn, *, account_id: UUID, stored: StoredProfile, now: datetime) -> StoredProfile:
    """Save a locked profile as its next version."""
    saved = replace(stored, version=stored.version + 1, updated_at=now)
    row = {name: value for name, value in asdict(saved).items() if name != "steps"}
    await conn.execute(SAVE, {**row, "roles": list(saved.roles), "account_id": account_id})
    return saved


# An existing one keeps its time.
insert_steps = query("""
    INSERT INTO profile_steps (account_id, step, done_at)
    SELECT %(account_id)s, step, done_at
    FROM unnest(%(steps)s::text[], %(times)s::timestamptz[]) AS done (step, done_at)
    ON CONFLICT DO NOTHING
""").run()
# False if the limits do not allow it.
# Add a send to those of the last day, unless one of them is too recent or there are too many. One statement, so
# that a concurrent one sees the send of the first.
reserve = query("""
    INSERT INTO profile_verifications AS known (account_id, email, sends)
    VALUES (%(account_id)s, %(email)s, ARRAY[%(now)s::timestamptz])
    ON CONFLICT (account_id, email) DO UPDATE SET sends = kit_after(known.sends, %(day_ago)s) || excluded.sends
    WHERE cardinality(kit_after(known.sends, %(gap_ago)s)) = 0
      AND cardinality(kit_after(known.sends, %(day_ago)s)) < %(quota)s
""").changes()
list_sends = query("""
    SELECT at FROM profile_verifications, unnest(sends) AS at
    WHERE account_id = %(account_id)s AND at > %(day_ago)s ORDER BY at
""").scalars(datetime)
set_message = query("""
    UPDATE profile_verifications SET message_id = %(message_id)s
    WHERE account_id = %(account_id)s AND email = %(email)s
""").run()
find_sent = query("""
    SELECT sends, message_id, expires_at
    FROM profile_verifications AS verification LEFT JOIN profile_tokens AS token
      ON token.account_id = verification.account_id AND token.email = verification.email AND used_at IS NULL
    WHERE verification.account_id = %(account_id)s AND verification.email = %(email)s
""").one(SentMessages)


async def put_token(conn: Conn, *, digest: bytes, token: Token) -> None:
    """Store a token, which replaces the previous one of the account."""
    await conn.execute(PUT_LINK, {**asdict(token), "digest": digest})


find_token = query("""
    SELECT account_id, purpose, email, expires_at, used_at FROM profile_tokens
    WHERE digest = ANY(%(digests)s::bytea[]) AND expires_at > %(now)s
""").one(Token)
use_token = query("""
    UPDATE profile_tokens SET used_at = %(now)s
    WHERE account_id = %(account_id)s AND digest = ANY(%(digests)s::bytea[]) AND used_at IS NULL
""").changes()
delete_token = query("DELETE FROM profile_tokens WHERE account_id = %(account_id)s").run()
