"""The HTTP service: every room's router behind one front, and what the kit needs from a room."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI
from redis import asyncio as redis
from starlette.types import Receive, Scope, Send

from builders.catalog import api as catalog_api
from builders.catalog import service as catalog
from builders.identity import service as identity
from builders.identity.api import keys as keys_api
from builders.kit import crypto, documents, log
from builders.kit.db import Database
from builders.kit.edge import Edge
from builders.kit.errors import DatabaseAway, DatabaseBusy
from builders.kit.routes import Front
from builders.kit.settings import Settings
from builders.probes import api as probes_api
from builders.sandbox import api as sandbox_api

ROUTERS = [probes_api.router, catalog_api.router, sandbox_api.router, keys_api.router]
# Tokens of mail links stand in the path.
SECRET_PATHS = ("/v1/t/",)
FLUSH_S = 30
CACHE_S = 0.1  # for any answer of the cache store; without it the service goes on

_log = log.get_logger()


class Service:
    """The application: an ASGI callable that also gives its OpenAPI document."""

    def __init__(self, settings: Settings) -> None:
        self.api = documents.make_app(lifespan=lifespan)
        self.api.state.settings = settings
        front = Front(self.api, ROUTERS)
        documents.publish(self.api)
        self.openapi = self.api.openapi
        self._edge = Edge(front, body_limit=settings.body_limit, secret_paths=SECRET_PATHS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers as ASGI says."""
        await self._edge(scope, receive, send)


def create_app(settings: Settings | None = None) -> Service:
    """The service; opens nothing until its lifespan starts, so its document can be had anywhere."""
    return Service(settings or Settings())


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    """Opens what requests share, and closes it again."""
    settings: Settings = api.state.settings
    if settings.database_url is None:
        raise RuntimeError("No database: set BUILDERS_DATABASE_URL, or start with `builders serve`.")
    database = Database(settings.database_url.get_secret_value(), settings)
    authenticator = identity.make_authenticator(database, cache_s=settings.key_cache_s)
    api.state.database = database
    api.state.authenticate = authenticator
    api.state.keyring = crypto.keyring_of(settings)
    api.state.cache = _cache(settings)
    api.state.catalog = catalog.Shelf(database, assets=settings.data_dir / "assets")
    await database.open()
    flushing = asyncio.create_task(_flush(authenticator))
    try:
        yield
    finally:
        flushing.cancel()
        with suppress(asyncio.CancelledError):
            await flushing
        with suppress(DatabaseAway, DatabaseBusy):
            await authenticator.flush()
        if api.state.cache is not None:
            await api.state.cache.aclose()
        await database.close()


def _cache(settings: Settings) -> redis.Redis | None:
    if settings.redis_url is None:
        return None
    url = settings.redis_url.get_secret_value()
    return redis.Redis.from_url(url, socket_timeout=CACHE_S, socket_connect_timeout=CACHE_S)


async def _flush(authenticator: identity.Authenticator) -> None:
    while True:
        await asyncio.sleep(FLUSH_S)
        try:
            await authenticator.flush()
        except (DatabaseAway, DatabaseBusy):
            _log.warning("key_uses_not_noted")
