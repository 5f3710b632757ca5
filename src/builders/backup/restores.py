"""The state of a restored database: what is ended before anything starts, and its acceptance."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import psycopg

from builders.backup import store
from builders.backup.records import Counted, Later, Opened
from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids

_NUMBER = re.compile(r"(INV-\d{4})-(\d{6,18})")


def read_number(text: str) -> tuple[str, int]:
    """Return the series and the counter of an invoice number. Raise ValueError."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError("An invoice number has the form INV-2026-000123.")
    return match[1], int(match[2])


@asynccontextmanager
async def holding_log(conninfo: str) -> AsyncIterator[Conn]:
    """Keep the log of the database while the context is open; yield a connection to it. Raise as psycopg does."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        await store.hold_log(conn, name=f"builders_backup_{ids.new().hex}")
        yield conn


async def begin(
    conn: Conn, *, target: datetime | None, keeps_keys: bool, last_invoice: str | None
) -> Mapping[str, int]:
    """Let the service only read, and end what may have been ended after the backup; return how many of each.

    Sessions, codes, requests of devices, connections, approvals, links of emails and invitations end. Unless
    `keeps_keys`, keys are disabled and addresses of calendars end. Mandates have no budget for 30 days. The next
    invoice follows the last one that was given. Cursors get a new epoch. Repeatable. Raise ValueError for what is
    no number of an invoice.
    """
    now = clock.now()
    series = None if last_invoice is None else read_number(last_invoice)
    await store.record_restore(conn, epoch=int(now.timestamp()), target=target)
    ended = {
        "sessions": await store.end_sessions(conn, now=now),
        "sign-in codes": await store.end_sign_ins(conn, now=now),
        "login-as grants": await store.end_grants(conn, now=now),
        "requests of devices": await store.end_devices(conn, now=now),
        "authorization codes": await store.end_codes(conn, now=now),
        "authorization requests": await store.end_requests(conn, now=now),
        "connections": await store.end_connections(conn, now=now),
        "approvals": await store.end_approvals(conn, now=now),
        "proposed approval policies": await store.end_proposals(conn, now=now),
        "links that change an address": await store.end_links(conn, now=now),
        "invitations": await store.end_invites(conn, now=now),
    }
    if not keeps_keys:
        ended["addresses of calendars"] = await store.end_calendars(conn)
        ended["keys, until they are enabled"] = await store.disable_keys(conn, now=now)
    ended["budgets of mandates"] = await store.spend_mandates(conn, subject=ids.new(), now=now)
    if series is not None:
        await store.skip_numbers(conn, series=series[0], last=series[1])
    return ended


async def count_open(conn: Conn) -> Opened:
    """Return how much goes on when the restore is accepted."""
    return await store.count_open(conn, now=clock.now())


async def accept(conn: Conn) -> bool:
    """Let the service send and change again; return False if it did."""
    return await store.accept(conn, now=clock.now())


async def list_later(conninfo: str, *, after: datetime) -> Sequence[Later]:
    """Return names, invoices and payments after a moment, the first 10,000 by time. Raise as psycopg does."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        return await store.list_later(conn, after=after)


async def count_rows(conninfo: str) -> Counted:
    """Return how much a restored database has. Raise as psycopg does."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        return await store.count_rows(conn)
