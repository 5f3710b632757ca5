"""Names of all accounts, as a mail server follows them."""

from collections.abc import Sequence
from uuid import UUID

from psycopg.rows import class_row

from builders.aliases.records import LIVE, Entry
from builders.kit.db.connections import Conn

# No transaction before it is open any more: what they changed is there to be seen, or was taken back.
HORIZON = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_VERIFIED = """
    ARRAY(
        SELECT forward.email FROM aliases_forwards AS forward JOIN aliases_destinations AS destination
          ON destination.account_id = forward.account_id AND destination.email = forward.email
        WHERE forward.account_id = alias.account_id AND forward.alias_id = alias.id
          AND destination.verified_at IS NOT NULL AND alias.status = 'active'
        ORDER BY forward.position
    ) AS destinations
"""
LIST_ACTIVE = f"""
    SELECT alias.account_id, alias.id, alias.domain, alias.key, alias.local_part, {_VERIFIED}
    FROM aliases AS alias
    WHERE alias.status = 'active' AND (alias.account_id, alias.id) > (%(after_account)s, %(after_id)s)
    ORDER BY alias.account_id, alias.id LIMIT %(limit)s
"""  # noqa: S608 - of constants
# A name that another alias has by now is told with that one: its end must not be told after the new beginning.
LIST_CHANGED = f"""
    SELECT alias.account_id, alias.id, alias.domain, alias.key, alias.local_part, {_VERIFIED},
           alias.changed_in::text, alias.serial
    FROM aliases AS alias
    WHERE (alias.changed_in, alias.serial) > (%(after_change)s::text::xid8, %(after_serial)s)
      AND alias.changed_in < %(horizon)s::text::xid8
      AND NOT EXISTS (
          SELECT FROM aliases_names AS name
          WHERE name.realm = %(realm)s AND name.domain = alias.domain AND name.key = alias.key
            AND name.state = 'claimed' AND name.alias_id <> alias.id
      )
    ORDER BY alias.changed_in, alias.serial LIMIT %(limit)s
"""  # noqa: S608 - of constants
LIST_DOMAINS = "SELECT DISTINCT domain FROM aliases_names WHERE realm = %(realm)s ORDER BY domain"


async def get_horizon(conn: Conn) -> int:
    """The oldest transaction that is still open, or the next one."""
    row = await (await conn.execute(HORIZON)).fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM has a row
    return int(row[0])


async def list_active(conn: Conn, *, after: tuple[UUID, UUID], limit: int) -> Sequence[Entry]:
    """Active names behind that account and alias, in their order; without destinations those not yet verified."""
    async with conn.cursor(row_factory=class_row(Entry)) as cursor:
        await cursor.execute(LIST_ACTIVE, {"after_account": after[0], "after_id": after[1], "limit": limit})
        return await cursor.fetchall()


async def list_changed(conn: Conn, *, after: tuple[str, int], horizon: int, limit: int) -> Sequence[Entry]:
    """Names behind that change and before the horizon, in the order of their changes."""
    row = {"realm": LIVE, "after_change": after[0], "after_serial": after[1], "limit": limit}
    async with conn.cursor(row_factory=class_row(Entry)) as cursor:
        await cursor.execute(LIST_CHANGED, {**row, "horizon": str(horizon)})
        return await cursor.fetchall()


async def list_domains(conn: Conn) -> Sequence[str]:
    """Domains on which there is a live name."""
    return [each[0] for each in await (await conn.execute(LIST_DOMAINS, {"realm": LIVE})).fetchall()]
