"""Measure the pages of the console: `python -m bench.console`.

Each page is compared with the calls of the API that it makes, which are sent one after the other with the same
cookie, in slices in turn. The difference is of processor time per page, because other programs share the core. The
pages of a portfolio of 20,000 domains follow (`bench/console_portfolio.py`).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from statistics import median
from typing import Any
from uuid import UUID

import httpx

from bench import console_portfolio, fixtures, portfolio
from builders.app import create_app, lifespan
from builders.console import pages
from builders.identity import accounts, keys, sessions
from builders.identity.records import MAIL_CODE, KeyKind, Preset, SessionKind, SignIn
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn
from builders.kit.http.callers import COOKIE
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock

ROWS = 50
TARGET_MS = 10.0
ROUNDS, SLICE = 12, 5
_OWN = {"Sec-Fetch-Site": "same-origin"}


async def measure(prepared: fixtures.Fixtures, owner: UUID) -> tuple[Sequence[str], Sequence[str]]:
    """Return a line for each page, and for each page of the large portfolio of an owner."""
    settings = Settings.model_validate(
        {"data_dir": prepared.data_dir, "database_url": prepared.conninfo, "limits": "off"}
    )
    service = create_app(settings)
    async with lifespan(service.api):
        transport = httpx.ASGITransport(app=service)
        cookie, key = await make_account(service.api.state, "console@bench.example")
        async with httpx.AsyncClient(transport=transport, base_url="http://bench.test", timeout=60) as client:
            await _fill(client, key)
            client.headers["Cookie"] = f"{COOKIE}={cookie}"
            await _fill_portfolio(client)
            lines = [
                await _line(client, each) for each in pages.PAGES if "{" not in each.path and each.path != "claim"
            ]
            async with service.api.state.database.transaction() as conn:
                cookie = await _sign_in(conn, service.api.state, owner)
            client.headers["Cookie"] = f"{COOKIE}={cookie}"
            return lines, await console_portfolio.measure(client)


async def make_account(
    state: Any,  # Starlette's State
    email: str,
) -> tuple[str, str]:
    """Return the token of a session and a key of a new account."""
    async with state.database.transaction() as conn:
        account = await accounts.create_account(conn, email=email, verified=True)
        token = await _sign_in(conn, state, account.id)
        made = await keys.create_key(
            conn,
            account_id=account.id,
            label="bench",
            key_kind=KeyKind.LIVE,
            preset=Preset.DEVELOPER_FULL,
            minted_by=KeyKind.LIVE,
            actor=OPERATOR,
        )
    return token, made.secret


async def _sign_in(conn: Conn, state: Any, account_id: UUID) -> str:
    """Return the token of a new session."""
    opened = await sessions.open_session(
        conn,
        keyring=state.keyring,
        settings=state.settings,
        account_id=account_id,
        kind=SessionKind.LOGIN,
        sign_in=SignIn(by=MAIL_CODE, at=clock.now()),
    )
    return opened.token


async def _fill(client: httpx.AsyncClient, key: str) -> None:
    """Give the account ROWS names, projects and plans."""
    headers = {"X-API-Key": key}

    async def post(path: str, body: object) -> dict[str, str]:
        answer = await client.post(path, json=body, headers=headers)
        found: dict[str, str] = answer.raise_for_status().json()
        return found

    for at in range(ROWS):
        await post("/v1/builders/projects", {"name": f"Project {at}"})
    aliases = [
        {"key": f"n{at}", "address": f"bench{at:03}@harbour.example", "destinations": ["ada@example.net"]}
        for at in range(ROWS)
    ]
    manifest = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": "bench"}}
    plan = await post("/v1/sandbox/plan", {**manifest, "resources": {"aliases": aliases}})
    await post("/v1/sandbox/promote", {"plan_id": plan["id"], "digest": plan["digest"]})


async def _fill_portfolio(client: httpx.AsyncClient) -> None:
    """Give the account ROWS domains that expire, with a cost and an income each."""
    price = {"amount": "12.34", "currency": "USD"}
    for at in range(ROWS):
        expires_at = (clock.now() + timedelta(days=7 * at)).isoformat()
        row = {"domain": f"bench{at:03}.com", "expires_at": expires_at, "renewal_price": price, "tags": ["bench"]}
        made = (await client.post("/v1/portfolio/domains", json=row, headers=_OWN)).raise_for_status().json()
        entries = [{"kind": kind, "amount": price} for kind in ("registration", "parking_revenue")]
        path = f"/v1/portfolio/domains/{made['id']}/finance"
        (await client.patch(path, json={"entries_add": entries}, headers=_OWN)).raise_for_status()


async def _line(client: httpx.AsyncClient, page: pages.Page) -> str:
    path = f"/console/{page.path}".removesuffix("/")

    async def open_page() -> None:
        answer = await client.get(path, headers={"Accept": "text/html"})
        answer.raise_for_status()

    async def call() -> None:
        for each in pages.calls_of(page, {}, ()).values():
            (await client.get(each.target)).raise_for_status()

    await open_page()
    await call()
    rounds = [(await _slice_ms(open_page), await _slice_ms(call)) for _ in range(ROUNDS)]
    whole, parts = (median(each) for each in zip(*rounds, strict=True))
    mark = "" if whole - parts <= TARGET_MS else " (over)"
    return f"| {path} | {whole:.1f} | {parts:.1f} | {whole - parts:+.1f}{mark} |"


async def _slice_ms(work: Callable[[], Awaitable[None]]) -> float:
    before = time.process_time()
    for _ in range(SLICE):
        await work()
    return (time.process_time() - before) / SLICE * 1000


def main() -> None:
    """Fill an account, measure, and print the table."""
    log.configure(level="error")
    with fixtures.temporary_database() as (folder, conninfo):
        # Before the fixtures: their statistics of empty tables would slow it down.
        _, owner = asyncio.run(portfolio.fill(folder, conninfo, count=console_portfolio.DOMAINS))
        console_portfolio.fill(conninfo, owner)
        prepared = asyncio.run(fixtures.prepare(folder, conninfo))
        lines, large = asyncio.run(measure(prepared, owner))
    print(f"| page | page, ms | its calls, ms | difference (target {TARGET_MS:+.0f}) |\n|---|---|---|---|")
    print("\n".join(lines))
    print(console_portfolio.head())
    print("\n".join(large))


if __name__ == "__main__":
    main()
