"""Profiles and the completed steps of onboarding."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from uuid import UUID

from psycopg.rows import dict_row

from builders.kit.db.connections import Conn
from builders.profile.records import StepKey, StoredProfile

ENSURE = "INSERT INTO profile_profiles (account_id) VALUES (%(account_id)s) ON CONFLICT DO NOTHING"
LOCK = "SELECT FROM profile_profiles WHERE account_id = %(account_id)s FOR UPDATE"
FIND = """
    SELECT display_name, company, website, country, timezone, locale, marketing_opt_in, pending_email, roles,
           completed_at, version, updated_at,
           ARRAY(SELECT step FROM profile_steps WHERE account_id = %(account_id)s ORDER BY step) AS done,
           ARRAY(SELECT done_at FROM profile_steps WHERE account_id = %(account_id)s ORDER BY step) AS times
    FROM profile_profiles WHERE account_id = %(account_id)s
"""
FIND_DONE = """
    SELECT account_id, roles, ARRAY(
        SELECT step FROM profile_steps AS completed WHERE completed.account_id = profile.account_id
    ) AS done
    FROM profile_profiles AS profile WHERE account_id = ANY(%(account_ids)s)
"""
LIST_TIME_ZONES = """
    SELECT account_id, timezone FROM profile_profiles
    WHERE account_id = ANY(%(account_ids)s::uuid[]) AND timezone IS NOT NULL
"""
SAVE = """
    UPDATE profile_profiles
    SET display_name = %(display_name)s, company = %(company)s, website = %(website)s, country = %(country)s,
        timezone = %(timezone)s, locale = %(locale)s, marketing_opt_in = %(marketing_opt_in)s,
        pending_email = %(pending_email)s, roles = %(roles)s::text[], completed_at = %(completed_at)s,
        version = %(version)s, updated_at = %(updated_at)s
    WHERE account_id = %(account_id)s
"""
INSERT_STEP = """
    INSERT INTO profile_steps (account_id, step, done_at) VALUES (%(account_id)s, %(step)s, %(done_at)s)
    ON CONFLICT DO NOTHING
"""


async def find(conn: Conn, *, account_id: UUID) -> StoredProfile:
    """Return the profile of the account, or an empty one if it was never changed."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND, {"account_id": account_id})
        row = await cursor.fetchone()
    if row is None:
        return StoredProfile()
    steps = dict(zip(row.pop("done"), row.pop("times"), strict=True))
    return StoredProfile(**row | {"roles": tuple(row["roles"]), "steps": steps})


async def find_done(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, frozenset[str]]:
    """Return the completed steps and the roles of the accounts that have a profile, by name."""
    rows = await (await conn.execute(FIND_DONE, {"account_ids": list(account_ids)})).fetchall()
    return {account_id: frozenset((*roles, *done)) for account_id, roles, done in rows}


async def list_time_zones(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, str]:
    """Return the time zones of the accounts that have set one."""
    found = await conn.execute(LIST_TIME_ZONES, {"account_ids": list(account_ids)})
    return {account_id: zone async for account_id, zone in found}


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


async def insert_step(conn: Conn, *, account_id: UUID, step: StepKey, done_at: datetime) -> None:
    """Insert a completed step; an existing one keeps its time."""
    await conn.execute(INSERT_STEP, {"account_id": account_id, "step": step, "done_at": done_at})
