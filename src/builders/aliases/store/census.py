"""How many aliases there are of an account, by what they belong to."""

from collections.abc import Collection, Mapping
from uuid import UUID

from builders.kit.db.connections import Conn

COUNT_BY_DOMAIN = """
    SELECT domain, count(*) FROM aliases
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND status <> 'deleted'
    GROUP BY domain
"""


async def count_by_domain(conn: Conn, *, account_id: UUID, domains: Collection[str]) -> Mapping[str, int]:
    """How many aliases the account has on each of the domains, also suspended ones. One statement."""
    row = {"account_id": account_id, "domains": list(domains)}
    found = await (await conn.execute(COUNT_BY_DOMAIN, row)).fetchall()
    return dict.fromkeys(domains, 0) | {each[0]: each[1] for each in found}
