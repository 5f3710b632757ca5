"""The bounds of OAuth: waiting requests, limits by address, and rows that are deleted."""

from datetime import timedelta

import pytest

from builders.app import create_app, lifespan
from builders.identity.oauth.records import MAX_OPEN
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client
from tests.identity.oauth.program import Program

TABLES = ("identity_oauth_requests", "identity_oauth_codes", "identity_oauth_tokens")


@pytest.mark.maximum("authorization_requests")
async def test_waiting_programs_are_bounded(program: Program, conn: Conn) -> None:
    fill = """
        INSERT INTO identity_oauth_requests (id, browser_hash, parameters, expires_at)
        SELECT gen_random_uuid(), '', '', %s FROM generate_series(1, %s)
    """
    await conn.execute(fill, [clock.now() + timedelta(minutes=5), MAX_OPEN])
    try:
        full = await program.client.get("/oauth/authorize", params=program.parameters)
        clock.move(timedelta(minutes=6))
        later = await program.client.get("/oauth/authorize", params=program.parameters)
    finally:
        await conn.execute("DELETE FROM identity_oauth_requests")

    assert (full.status_code, full.json()["code"]) == (503, "authorization_requests_full")
    assert later.status_code == 303


@pytest.mark.parametrize(
    ("method", "path", "quota"),
    [
        ("GET", "/oauth/authorize", 60),
        ("POST", "/oauth/token", 600),
        ("POST", "/oauth/revoke", 600),
        ("GET", "/.well-known/oauth-authorization-server", 600),
        ("GET", "/.well-known/oauth-protected-resource/mcp", 600),
    ],
)
async def test_an_address_has_limits(settings: Settings, conn: Conn, method: str, path: str, quota: int) -> None:
    await conn.execute("DELETE FROM kit_quotas")
    app = create_app(settings.model_copy(update={"limits": 0.01}))
    async with lifespan(app.api), Client(app) as client:
        allowed = max(1, round(quota * 0.01))
        codes = [(await client.request(method, path)).status_code for _ in range(allowed + 1)]

    assert codes.count(429) == 1
    assert codes[-1] == 429


async def test_what_has_ended_is_deleted_a_day_later(program: Program, conn: Conn, database: Database) -> None:
    await program.connect(expires_in_days=1)
    count = "SELECT (SELECT count(*) FROM identity_oauth_requests), (SELECT count(*) FROM identity_oauth_codes)"
    before = await (await conn.execute(count)).fetchone()
    await old_rows.delete(database, *TABLES)
    kept = await (await conn.execute(count)).fetchone()
    clock.move(timedelta(days=3))
    await old_rows.delete(database, *TABLES)

    assert kept == before
    assert await (await conn.execute(count)).fetchone() == (0, 0)
    ended = "SELECT count(*) FROM identity_oauth_tokens WHERE refresh_expires_at < %s"
    left = await (await conn.execute(ended, [clock.now() - timedelta(days=1)])).fetchone()
    assert left == (0,)
