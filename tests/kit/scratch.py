"""Small services for one test: routes of the kit behind the middleware, on a database, and temporary tables."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from psycopg import AsyncConnection, sql
from pydantic import SecretStr

from builders.kit.db.connections import Conn, Database
from builders.kit.http import application
from builders.kit.http.middleware import RequestMiddleware
from builders.kit.http.routes import PathRouter, Router
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from tests.kit.http.plain_routes import authenticate


@dataclass(frozen=True, slots=True)
class Scratch:
    """A service; `api` holds its state."""

    middleware: RequestMiddleware
    api: FastAPI
    database: Database


@asynccontextmanager
async def serve(settings: Settings, router: Router, **changed: object) -> AsyncIterator[Scratch]:
    """Serve the routes with their own pool and some settings changed; the key `reader` is valid."""
    if "database_url" in changed:
        changed["database_url"] = SecretStr(str(changed["database_url"]))
    own = settings.model_copy(update=changed)
    assert own.database_url is not None
    api = application.make_app()
    path_router = PathRouter(api, [router])
    api.state.database = Database(own.database_url.get_secret_value(), own)
    api.state.authenticate = authenticate
    api.state.keyring = secret_keys.Keyring([secret_keys.generate_secret()])
    await api.state.database.open()
    try:
        yield Scratch(
            RequestMiddleware(path_router, body_limit=own.body_limit, log_requests=False), api, api.state.database
        )
    finally:
        await api.state.database.close()


@asynccontextmanager
async def table(conninfo: str, columns: str) -> AsyncIterator[tuple[sql.Identifier, Conn]]:
    """Create a table in its own schema; yield it with a connection in autocommit."""
    schema = f"scratch_{uuid.uuid4().hex[:12]}"
    async with await AsyncConnection.connect(conninfo, autocommit=True) as conn:
        await conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        name = sql.Identifier(schema, "things")
        try:
            await conn.execute(sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(columns)))
            yield name, conn
        finally:
            await conn.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


async def until(true: Callable[[], Awaitable[bool]], *, within_s: float = 60) -> None:
    """Wait until the condition is true."""
    deadline = time.monotonic() + within_s
    while not await true():
        assert time.monotonic() < deadline, f"waited {within_s} s in vain"
        await asyncio.sleep(0.02)
