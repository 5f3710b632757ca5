"""SQL of the holders: in each realm, one account holds a domain."""

from uuid import UUID

from builders.kit.db.connections import Conn

# The unique key decides: of two accounts that prove a domain concurrently, the second waits, and is then refused.
RESERVE = """
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
RELEASE = """
    DELETE FROM domains_holders
    WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s
"""


async def reserve(conn: Conn, *, realm: UUID, domain: str, account_id: UUID, domain_id: UUID) -> bool:
    """Make the account the holder of the domain; return False when another account holds it."""
    row = {"realm": realm, "domain": domain, "account_id": account_id, "id": domain_id}
    return await (await conn.execute(RESERVE, row)).fetchone() is not None


async def find_holder(conn: Conn, *, realm: UUID, domain: str) -> tuple[UUID, UUID] | None:
    """Return the account that holds the domain and the id of its domain, or None."""
    found = await (await conn.execute(FIND_HOLDER, {"realm": realm, "domain": domain})).fetchone()
    return None if found is None else (found[0], found[1])


async def release(conn: Conn, *, realm: UUID, domain: str, account_id: UUID) -> None:
    """Remove the account as the holder of the domain, if it is."""
    await conn.execute(RELEASE, {"realm": realm, "domain": domain, "account_id": account_id})
