"""SQL of single domains, and of lists of them."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from builders.domains.records import (
    AccountDomain,
    AccountDomainStatus,
    DnsHealth,
    DomainProof,
    DomainSettings,
    DomainSource,
)
from builders.domains.store.rows import COLUMNS, SETTINGS, cursor_of, health_json, settings_json
from builders.kit.db.connections import Conn
from builders.kit.values.ids import AccountSelection, selection_parameter

# The number of domains that is read under this lock stays valid until the commit.
LOCK_ACCOUNT = "SELECT pg_advisory_xact_lock(hashtextextended('domains ' || %(account_id)s::text, 0))"
COUNT = "SELECT count(*) FROM domains_domains WHERE account_id = %(account_id)s AND status <> 'released'"
INSERT = f"""
    INSERT INTO domains_domains (account_id, id, realm, domain, source, status, proof, token, next_check_at,
                                 added_at, verified_at, updated_at, {SETTINGS})
    SELECT %(account_id)s, %(id)s, %(realm)s, %(domain)s, %(source)s, %(status)s, %(proof)s, %(token)s,
           %(next_check_at)s::timestamptz, %(now)s::timestamptz,
           CASE WHEN %(status)s::text = 'live' THEN %(now)s::timestamptz END, %(now)s::timestamptz, {SETTINGS}
    FROM jsonb_populate_record(NULL::domains_domains, %(settings)s::jsonb)
    ON CONFLICT (account_id, domain) WHERE status <> 'released' DO NOTHING
    RETURNING {COLUMNS}
"""
FIND = f"""
    SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND id = %(id)s
"""
LOCK = f"""
    SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND id = %(id)s FOR UPDATE
"""
FIND_NAMED = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND domain = %(domain)s AND status <> 'released' FOR UPDATE
"""
LIST = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status <> 'released' AND domain > %(after)s
    ORDER BY domain LIMIT %(limit)s
"""
LIST_LIVE = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status = 'live' AND domain = ANY(%(domains)s::text[])
"""
# In one order, so that transactions that lock some of the same domains cannot deadlock.
LOCK_LIVE = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status = 'live' AND domain = ANY(%(domains)s::text[])
    ORDER BY id FOR SHARE
"""
LIST_CLAIMABLE = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status = 'live' AND NOT catch_all
"""
# Not prepared: each combination of filters needs another plan.
LIST_NEWEST = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE (%(account_id)s::uuid IS NULL OR account_id = %(account_id)s)
      AND (%(status)s::text IS NULL OR status = %(status)s) AND realm = %(realm)s AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
"""
# No manifest manages a released domain.
SET_STATUS = f"""
    UPDATE domains_domains
    SET status = %(status)s, source = %(source)s, proof = %(proof)s, lost_at = %(lost_at)s,
        verified_at = CASE WHEN %(status)s::text = 'live' THEN %(now)s ELSE verified_at END,
        suspended_at = CASE WHEN %(status)s::text = 'suspended' THEN %(now)s END,
        released_at = CASE WHEN %(status)s::text = 'released' THEN %(now)s END,
        manifest = CASE WHEN %(status)s::text = 'released' THEN NULL ELSE manifest END,
        manifest_key = CASE WHEN %(status)s::text = 'released' THEN NULL ELSE manifest_key END,
        next_check_at = %(next_check_at)s, checks = 0, updated_at = %(now)s, version = version + 1
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING {COLUMNS}
"""
CHANGE = f"""
    UPDATE domains_domains
    SET ({SETTINGS}, updated_at, version) = (
        SELECT {SETTINGS}, %(now)s::timestamptz, domains_domains.version + 1
        FROM jsonb_populate_record(NULL::domains_domains, %(settings)s::jsonb) AS new
    )
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING {COLUMNS}
"""
# The unique key decides: if two accounts prove a domain concurrently, the second one waits and is then refused.
SET_HOLDER = """
    INSERT INTO domains_holders (realm, domain, account_id, domain_id)
    VALUES (%(realm)s, %(domain)s, %(account_id)s, %(id)s)
    ON CONFLICT (realm, domain) DO UPDATE SET domain_id = excluded.domain_id
    WHERE domains_holders.account_id = excluded.account_id
    RETURNING account_id
"""
FIND_HOLDER = """
    SELECT account_id, domain_id FROM domains_holders
    WHERE realm = %(realm)s AND domain = %(domain)s
"""
DELETE_HOLDER = """
    DELETE FROM domains_holders
    WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s
"""
# A lease: the domains of a killed worker are due again when it ends.
CLAIM_DUE = f"""
    UPDATE domains_domains SET next_check_at = %(leased_until)s
    WHERE (account_id, id) IN (
        SELECT account_id, id FROM domains_domains WHERE next_check_at <= %(now)s
        ORDER BY next_check_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING {COLUMNS}
"""
RECORD_CHECK = f"""
    UPDATE domains_domains
    SET health = %(health)s::jsonb, asked_at = coalesce(%(asked_at)s, asked_at), lost_at = %(lost_at)s,
        checks = checks + 1, next_check_at = %(next_check_at)s
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING {COLUMNS}
"""


async def lock_account(conn: Conn, *, account_id: UUID) -> int:
    """Prevent other additions to the account until the transaction ends; return its number of domains."""
    await conn.execute(LOCK_ACCOUNT, {"account_id": account_id})
    row = await (await conn.execute(COUNT, {"account_id": account_id})).fetchone()
    return int(row[0]) if row else 0


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    realm: UUID,
    domain: str,
    source: DomainSource,
    status: AccountDomainStatus,
    proof: DomainProof,
    token: str,
    settings: DomainSettings,
    next_check_at: datetime | None,
    now: datetime,
) -> AccountDomain | None:
    """Insert a domain; return None when the account has it."""
    row = {
        "account_id": account_id,
        "id": domain_id,
        "realm": realm,
        "domain": domain,
        "source": source,
        "status": status,
        "proof": proof,
        "token": token,
        "settings": settings_json(settings),
        "next_check_at": next_check_at,
        "now": now,
    }
    return await (await cursor_of(conn).execute(INSERT, row)).fetchone()


async def find(conn: Conn, *, account_id: UUID, domain_id: UUID, lock: bool = False) -> AccountDomain | None:
    """Return a domain of the account, or None; with `lock` it is locked until the transaction ends."""
    row = {"account_id": account_id, "id": domain_id}
    return await (await cursor_of(conn).execute(LOCK if lock else FIND, row)).fetchone()


async def find_named(conn: Conn, *, account_id: UUID, domain: str) -> AccountDomain | None:
    """Return the account's domain of this name that is not released, locked, or None."""
    row = {"account_id": account_id, "domain": domain}
    return await (await cursor_of(conn).execute(FIND_NAMED, row)).fetchone()


async def list_page(conn: Conn, *, account_id: UUID, after: str, limit: int) -> list[AccountDomain]:
    """Return up to `limit` domains by name, after the name `after`, without released ones."""
    row = {"account_id": account_id, "after": after, "limit": limit}
    return await (await cursor_of(conn).execute(LIST, row)).fetchall()


async def list_live(
    conn: Conn, *, account_id: UUID, domains: Collection[str], lock: bool = False
) -> list[AccountDomain]:
    """Return the account's live domains among these."""
    row = {"account_id": account_id, "domains": list(domains)}
    return await (await cursor_of(conn).execute(LOCK_LIVE if lock else LIST_LIVE, row)).fetchall()


async def list_claimable(conn: Conn, *, account_id: UUID) -> list[AccountDomain]:
    """Return all domains on which the account can claim names, in no order."""
    return await (await cursor_of(conn).execute(LIST_CLAIMABLE, {"account_id": account_id})).fetchall()


async def list_newest(
    conn: Conn,
    *,
    account_id: AccountSelection,
    status: AccountDomainStatus | None,
    realm: UUID,
    before: UUID,
    limit: int,
) -> list[AccountDomain]:
    """Return the domains of an account, or of all, that were added before an id; the newest first."""
    row = {"account_id": selection_parameter(account_id), "status": status, "realm": realm, "before": before}
    cursor = await cursor_of(conn).execute(LIST_NEWEST, {**row, "limit": limit}, prepare=False)
    return await cursor.fetchall()


async def set_status(conn: Conn, *, changed: AccountDomain, now: datetime) -> AccountDomain:
    """Write the status, source, proof, loss and next check of a locked domain; return it."""
    row = {
        "account_id": changed.account_id,
        "id": changed.id,
        "status": changed.status,
        "source": changed.source,
        "proof": changed.proof,
        "lost_at": changed.lost_at,
        "next_check_at": changed.next_check_at,
        "now": now,
    }
    [found] = await (await cursor_of(conn).execute(SET_STATUS, row)).fetchall()
    return found


async def change(
    conn: Conn, *, account_id: UUID, domain_id: UUID, settings: DomainSettings, now: datetime
) -> AccountDomain:
    """Change the settings of a locked domain; return it."""
    row = {"account_id": account_id, "id": domain_id, "settings": settings_json(settings), "now": now}
    [found] = await (await cursor_of(conn).execute(CHANGE, row)).fetchall()
    return found


async def set_holder(conn: Conn, *, realm: UUID, domain: str, account_id: UUID, domain_id: UUID) -> bool:
    """Make the account the holder of the domain; return False when another account holds it."""
    row = {"realm": realm, "domain": domain, "account_id": account_id, "id": domain_id}
    return await (await conn.execute(SET_HOLDER, row)).fetchone() is not None


async def find_holder(conn: Conn, *, realm: UUID, domain: str) -> tuple[UUID, UUID] | None:
    """Return the account that holds the domain and the id of its domain, or None."""
    found = await (await conn.execute(FIND_HOLDER, {"realm": realm, "domain": domain})).fetchone()
    return None if found is None else (found[0], found[1])


async def delete_holder(conn: Conn, *, realm: UUID, domain: str, account_id: UUID) -> None:
    """Remove the account as the holder of the domain, if it is."""
    await conn.execute(DELETE_HOLDER, {"realm": realm, "domain": domain, "account_id": account_id})


async def claim_due(conn: Conn, *, now: datetime, leased_until: datetime, limit: int) -> list[AccountDomain]:
    """Lease the domains that have been due for longest, until `leased_until`; return them."""
    row = {"now": now, "leased_until": leased_until, "limit": limit}
    return await (await cursor_of(conn).execute(CLAIM_DUE, row)).fetchall()


async def record_check(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    health: DnsHealth,
    asked_at: datetime | None,
    lost_at: datetime | None,
    next_check_at: datetime | None,
) -> AccountDomain:
    """Write the result of a check of a locked domain; return it."""
    row = {
        "account_id": account_id,
        "id": domain_id,
        "health": health_json(health),
        "asked_at": asked_at,
        "lost_at": lost_at,
        "next_check_at": next_check_at,
    }
    [found] = await (await cursor_of(conn).execute(RECORD_CHECK, row)).fetchall()
    return found
