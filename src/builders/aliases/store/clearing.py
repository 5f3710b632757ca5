"""How many names an account has, and the end of all that a sandbox has."""

from uuid import UUID

from builders.kit.db.connections import Conn

COUNT = "SELECT count(*) FROM aliases WHERE account_id = %(account_id)s AND status <> 'deleted'"
# The realm of a sandbox is its account: live names are of another one, and no row of theirs is looked at.
CLEAR = """
    WITH forward AS (
        DELETE FROM aliases_forwards WHERE account_id = %(account_id)s
    ), link AS (
        DELETE FROM aliases_links WHERE account_id = %(account_id)s
    ), arrear AS (
        DELETE FROM aliases_arrears WHERE account_id = %(account_id)s
    ), undone AS (
        DELETE FROM aliases_undone WHERE account_id = %(account_id)s
    ), destination AS (
        DELETE FROM aliases_destinations WHERE account_id = %(account_id)s
    ), name AS (
        DELETE FROM aliases_names WHERE account_id = %(account_id)s AND realm = %(account_id)s
    ), skeleton AS (
        DELETE FROM aliases_skeletons WHERE account_id = %(account_id)s AND realm = %(account_id)s
    ), gone AS (
        DELETE FROM aliases WHERE account_id = %(account_id)s RETURNING status
    )
    SELECT count(*) FROM gone WHERE status <> 'deleted'
"""


async def count(conn: Conn, *, account_id: UUID) -> int:
    """How many aliases the account has, suspended ones too."""
    found = await (await conn.execute(COUNT, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Deletes every row of a sandbox account; how many aliases it had."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])
