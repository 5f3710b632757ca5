"""The database role of the look-up server, which reads one table and nothing else.

A role belongs to a database server and not to a database: a dump does not contain it, and the service may lack the
right to create it. So no migration creates it. The look-up server does when it starts, or an administrator.
"""

import psycopg

from builders.aliases.lookups import TABLE
from builders.forwarding import store
from builders.kit.db.connections import Conn

NAME = "builders_lookup"
HOW = (
    "As an administrator of the database server: CREATE ROLE builders_lookup NOLOGIN; GRANT builders_lookup TO {}."
)


class RoleUnusable(Exception):
    """The role is missing, lacks its table, or has further rights; the message says which."""

    def __init__(self, reason: str, next_action: str) -> None:
        super().__init__(f"{reason} {next_action}")
        self.reason, self.next_action = reason, next_action


async def grant(conn: Conn) -> None:
    """Create the role unless it exists, and grant it its table, in a transaction. Raise RoleUnusable."""
    await store.lock_role(conn)
    try:
        if not await store.has_role(conn):
            await (store.create_login_role if await store.is_sharded(conn) else store.create_role)(conn)
            await store.join_role(conn)
    except psycopg.errors.InsufficientPrivilege:
        reason = f"The role {conn.info.user} may not create the role {NAME} of the look-up server."
        raise RoleUnusable(reason, HOW.format(conn.info.user)) from None
    if not await store.may_read(conn):
        try:
            await store.grant_table(conn)  # PostgreSQL may only warn that it grants nothing, which `check` finds
        except psycopg.errors.InsufficientPrivilege:
            raise _cannot_read() from None
    await check(conn)


async def check(conn: Conn) -> None:
    """Raise RoleUnusable unless the service can use the role, and the role reads its table only.

    The caller ends the transaction: its further statements have the role.
    """
    if not await store.has_role(conn):
        action = f"Start `builders serve`, which creates it if it may. {HOW.format(conn.info.user)}"
        raise RoleUnusable(f"The role {NAME} is missing.", action)
    if not await store.may_read(conn):
        raise _cannot_read()
    if further := await store.list_further_tables(conn):
        action = f"As an administrator of the database server: REVOKE ALL ON {', '.join(further)} FROM {NAME}."
        raise RoleUnusable(f"The role {NAME} may use {', '.join(further)}.", action)
    try:
        await store.set_role(conn)
    except psycopg.errors.InsufficientPrivilege:
        reason = f"The service is no member of the role {NAME}."
        raise RoleUnusable(reason, HOW.format(conn.info.user)) from None


def _cannot_read() -> RoleUnusable:
    action = "Restart `builders serve`, which grants it if it may; or, as the owner:"
    return RoleUnusable(f"The role {NAME} cannot read {TABLE}.", f"{action} GRANT SELECT ON {TABLE} TO {NAME}.")
