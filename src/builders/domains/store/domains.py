"""Single domains, and lists of them."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.domains.records import AccountDomain, AccountDomainStatus, DomainProof, DomainSource
from builders.domains.store.rows import COLUMNS, Row, record
from builders.kit.db.connections import Conn
from builders.kit.values.accounts import AccountSelection, selection_parameter

# So that two who add at once do not both find room for one more.
LOCK_ACCOUNT = "SELECT pg_advisory_xact_lock(hashtextextended('domains ' || %(account_id)s::text, 0))"
COUNT = "SELECT count(*) FROM domains_domains WHERE account_id = %(account_id)s AND status <> 'released'"
INSERT = f"""
    INSERT INTO domains_domains (account_id, id, realm, domain, source, status, proof, token, catch_all,
                         default_destination, next_check_at, added_at, verified_at, updated_at)
    VALUES (%(account_id)s, %(id)s, %(realm)s, %(domain)s, %(source)s, %(status)s, %(proof)s, %(token)s,
            %(catch_all)s, %(default_destination)s, %(next_check_at)s, %(now)s,
            CASE WHEN %(status)s::text = 'live' THEN %(now)s::timestamptz END, %(now)s)
    ON CONFLICT (account_id, domain) WHERE status <> 'released' DO NOTHING
    RETURNING {COLUMNS}
"""  # noqa: S608 - of a constant
FIND = f"""
    SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND id = %(id)s
"""  # noqa: S608 - of a constant
LOCK = f"""
    SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND id = %(id)s FOR UPDATE
"""  # noqa: S608 - of a constant
FIND_NAMED = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND domain = %(domain)s AND status <> 'released' FOR UPDATE
"""  # noqa: S608 - of a constant
LIST = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status <> 'released' AND domain > %(after)s
    ORDER BY domain LIMIT %(limit)s
"""  # noqa: S608 - of a constant
LIST_LIVE = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status = 'live' AND domain = ANY(%(domains)s::text[])
"""  # noqa: S608 - of a constant
# In one order, so that two who lock some of the same do not wait for each other.
LOCK_LIVE = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status = 'live' AND domain = ANY(%(domains)s::text[])
    ORDER BY id FOR SHARE
"""  # noqa: S608 - of a constant
LIST_CLAIMABLE = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status = 'live' AND NOT catch_all
"""  # noqa: S608 - of a constant
# Not prepared: a plan for all filters would be good for none.
LIST_NEWEST = f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE (%(account_id)s::uuid IS NULL OR account_id = %(account_id)s)
      AND (%(status)s::text IS NULL OR status = %(status)s) AND realm = %(realm)s AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
"""  # noqa: S608 - of a constant
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
"""  # noqa: S608 - of a constant
CHANGE = f"""
    UPDATE domains_domains
    SET catch_all = %(catch_all)s, default_destination = %(default_destination)s, updated_at = %(now)s,
        version = version + 1
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING {COLUMNS}
"""  # noqa: S608 - of a constant


async def lock_account(conn: Conn, *, account_id: UUID) -> int:
    """Until the transaction ends nobody else adds a domain to the account; how many it has."""
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
    catch_all: bool,
    default_destination: str | None,
    next_check_at: datetime | None,
    now: datetime,
) -> AccountDomain | None:
    """The new domain, or None when the account has it."""
    row = {
        "account_id": account_id,
        "id": domain_id,
        "realm": realm,
        "domain": domain,
        "source": source,
        "status": status,
        "proof": proof,
        "token": token,
        "catch_all": catch_all,
        "default_destination": default_destination,
        "next_check_at": next_check_at,
        "now": now,
    }
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(INSERT, row)
        found = await cursor.fetchone()
    return None if found is None else record(found)


async def find(conn: Conn, *, account_id: UUID, domain_id: UUID, lock: bool = False) -> AccountDomain | None:
    """A domain of the account, released or not; with `lock` it stays as it is until the transaction ends."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(LOCK if lock else FIND, {"account_id": account_id, "id": domain_id})
        found = await cursor.fetchone()
    return None if found is None else record(found)


async def find_named(conn: Conn, *, account_id: UUID, domain: str) -> AccountDomain | None:
    """The account's domain of this name that is not released, locked."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(FIND_NAMED, {"account_id": account_id, "domain": domain})
        found = await cursor.fetchone()
    return None if found is None else record(found)


async def list_page(conn: Conn, *, account_id: UUID, after: str, limit: int) -> list[AccountDomain]:
    """Domains by name, from behind `after`; without those released."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(LIST, {"account_id": account_id, "after": after, "limit": limit})
        return [record(row) for row in await cursor.fetchall()]


async def list_live(
    conn: Conn, *, account_id: UUID, domains: Collection[str], lock: bool = False
) -> list[AccountDomain]:
    """Those of the domains that are the account's and live."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        row = {"account_id": account_id, "domains": list(domains)}
        await cursor.execute(LOCK_LIVE if lock else LIST_LIVE, row)
        return [record(row) for row in await cursor.fetchall()]


async def list_claimable(conn: Conn, *, account_id: UUID) -> list[AccountDomain]:
    """All on which the account can have names, in no order."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(LIST_CLAIMABLE, {"account_id": account_id})
        return [record(row) for row in await cursor.fetchall()]


async def list_newest(
    conn: Conn,
    *,
    account_id: AccountSelection,
    status: AccountDomainStatus | None,
    realm: UUID,
    before: UUID,
    limit: int,
) -> list[AccountDomain]:
    """The domains of an account, or of all, that were added before; the newest first."""
    row = {"account_id": selection_parameter(account_id), "status": status, "realm": realm, "before": before}
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(LIST_NEWEST, {**row, "limit": limit}, prepare=False)
        return [record(each) for each in await cursor.fetchall()]


async def set_status(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    status: AccountDomainStatus,
    source: DomainSource,
    proof: DomainProof,
    lost_at: datetime | None,
    next_check_at: datetime | None,
    now: datetime,
) -> AccountDomain:
    """The locked domain in another state."""
    row = {
        "account_id": account_id,
        "id": domain_id,
        "status": status,
        "source": source,
        "proof": proof,
        "lost_at": lost_at,
        "next_check_at": next_check_at,
        "now": now,
    }
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(SET_STATUS, row)
        [found] = await cursor.fetchall()
        return record(found)


async def change(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    catch_all: bool,
    default_destination: str | None,
    now: datetime,
) -> AccountDomain:
    """The locked domain with other settings."""
    row = {
        "account_id": account_id,
        "id": domain_id,
        "catch_all": catch_all,
        "default_destination": default_destination,
        "now": now,
    }
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(CHANGE, row)
        [found] = await cursor.fetchall()
        return record(found)
