"""The connections of an account: listed and revoked by people; a connection is a key without a secret."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.identity import keys, mandates
from builders.identity.oauth import store
from builders.identity.oauth.errors import ConnectionNotFound
from builders.identity.oauth.records import Connection
from builders.identity.records import KeyKind
from builders.identity.store import mandates as mandate_store
from builders.identity.store.keys import HELD
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.pages import Page
from builders.kit.values import clock, ids
from builders.kit.values.money import Money


async def list_connections(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[Connection]:
    """Return a page of the account's connections, active or not, newest first."""
    found = await store.list_connections(
        conn, account_id=account_id, before=page.before_id, limit=page.limit + 1, **_unused()
    )
    return page.cut(await _with_rest(conn, account_id, found), lambda each: [str(each.id)])


async def get_connection(conn: Conn, *, account_id: UUID, connection_id: UUID) -> Connection:
    """Return a connection of the account. Raise ConnectionNotFound."""
    found = await store.find_connection(conn, account_id=account_id, key_id=connection_id, **_unused())
    if found is None:
        raise ConnectionNotFound
    [connection] = await _with_rest(conn, account_id, [found])
    return connection


def _unused() -> Mapping[str, Any]:
    """Return the parameters of the scopes that are not used."""
    return {"unused_since": clock.now() - keys.UNUSED_FOR, "held": HELD}


async def _with_rest(conn: Conn, account_id: UUID, found: Sequence[Connection]) -> Sequence[Connection]:
    """Return the connections with what is left of their sums, each of which belongs to the client."""
    since = clock.now() - mandates.MONTH
    used = await mandate_store.list_uses(conn, account_id=account_id, since=since, subject=ids.NIL)
    spent = {(each.client, each.unit): each.amount for each in used}

    def rest(each: Connection) -> Sequence[Money]:
        limits = {
            limit.currency: limit.amount for limit in (each.mandate.max_total_per_30_days if each.mandate else ())
        }
        return [
            Money(max(Decimal(0), most - spent.get((each.client_id, currency), 0)), currency)
            for currency, most in limits.items()
        ]

    return [replace(each, left=rest(each)) for each in found]


async def revoke(
    conn: Conn, *, account_id: UUID, connection_id: UUID, revoked_by: KeyKind, actor: Actor
) -> Connection:
    """Revoke a connection with its tokens, and publish api_key.revoked.

    Raise ConnectionNotFound, and LiveKeyRequired when a test key revokes a live one.
    """
    await get_connection(conn, account_id=account_id, connection_id=connection_id)
    await keys.revoke_key(conn, account_id=account_id, key_id=connection_id, revoked_by=revoked_by, actor=actor)
    return await get_connection(conn, account_id=account_id, connection_id=connection_id)


async def revoke_others(conn: Conn, *, account_id: UUID, kept: Collection[UUID], actor: Actor) -> None:
    """Revoke the active connections of the account except those that are kept."""
    for each in await store.list_active(conn, account_id=account_id, now=clock.now()):
        if each not in kept:
            await keys.revoke_key(conn, account_id=account_id, key_id=each, revoked_by=KeyKind.LIVE, actor=actor)
