"""The HTTP service: the routers of all packages, the middleware, and the resources that requests share."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI

import builders
from builders.catalog.funnel import Funnel
from builders.catalog.snapshot import CatalogCache
from builders.console import views as console_views
from builders.identity.authenticator import Authenticator, TokenAuthenticator
from builders.identity.oauth.clients import ClientDocuments
from builders.identity.oauth.records import METADATA_PATHS as OAUTH_METADATA_PATHS, PATHS as OAUTH_PATHS
from builders.kit.db.connections import Database
from builders.kit.db.restores import Known
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.http import application, guide
from builders.kit.http.heavy_requests import HeavyLoop
from builders.kit.http.middleware import Proxies, RequestMiddleware
from builders.kit.http.origins import Cors
from builders.kit.http.routes import PathRouter, Router
from builders.kit.limits.rate_limiter import RateLimiter
from builders.kit.limits.shared_quota import SharedQuota
from builders.kit.outbound.client import Outbound
from builders.kit.process import log, secret_keys
from builders.kit.process.discovery import load_modules
from builders.kit.process.settings import Settings
from builders.mcp_server.endpoint import add_mcp
from builders.plans.approval import policies
from builders.probes import service as probes
from builders.tracking.recorder import Recorder
from builders.webhooks.feed import FeedWaiters

# The packages with handlers, in the order of their operations in the document.
PACKAGES = (
    *(
        "console",
        "probes",
        "catalog",
        "plans",
        "identity",
        "identity.devices",
        "identity.oauth",
        "exports",
        "erasure",
    ),
    *("profile", "mail", "projects", "aliases", "forwarding", "invoices", "tracking", "leads", "domains"),
    *("webhooks", "portfolio.notifications", "portfolio.parking", "portfolio.registrars", "portfolio.renewals"),
    *("portfolio.team", "portfolio.transfers", "portfolio.domains", "portfolio.history"),
    *("portfolio.saved_formats", "portfolio.saved_views", "portfolio.finance", "portfolio.ledger"),
    *("portfolio.imports", "portfolio.billing"),
)
_APIS = load_modules(builders, "api")
ROUTERS = [
    each
    for package in sorted(_APIS, key=PACKAGES.index)
    for each in vars(_APIS[package]).values()
    if isinstance(each, Router)
]
# The areas of the document, in the order in which a newcomer reads them.
TAGS = {
    "catalog": "The public catalog: domains, prices, availability of names and suggestions. No credentials.",
    "sandbox": "Manifest, plan, promotion: describe the desired state, review the changes, execute them.",
    "aliases": "Claimed names, the mailboxes they forward to, and the recipients' confirmations.",
    "projects": "Builder projects, which group names and set their defaults and limits.",
    "domains": "Domains of the account: verification by DNS, mail health, and where names can be claimed.",
    "invoices": "Invoices, billing details and payment.",
    "api-keys": "API keys, their presets and scopes.",
    "auth": "Sign-in by email, sessions, login-as grants and the public keys of tokens.",
    "account": "The account: its audit log, its machines, its deciders, and exports.",
    "profile": "The profile of the account and the verification of its email address.",
    "webhooks": "Webhook destinations, deliveries, and the catalog of events with their payloads.",
    "portfolio": "The domain portfolio: domains and their finance, team, events, notifications.",
    "messages": "Notices mailed to the account, with opens and clicks.",
    "leads": "Contact forms and the builders waitlist. No credentials.",
    "tracking": "Open and click links of emails. No credentials.",
    "mail": "Unsubscribe links of emails. No credentials.",
    "probes": "Liveness and readiness. No credentials.",
}
# Paths with tokens of email links.
SECRET_PATHS = ("/v1/t/", "/v1/mail/unsubscribe/")
# Paths that the vendor's pages on other origins may call, with their methods.
OPEN_PATHS = {
    **dict.fromkeys(("/v1/catalog/check", "/v1/catalog/suggest"), "GET, HEAD"),
    **dict.fromkeys(("/v1/catalog/events", "/v1/leads", "/public/v1/builders/waitlist"), "POST"),
}
# Paths that any page may call: clients of OAuth run in browsers too.
ANYWHERE_PATHS = {
    **dict.fromkeys(OAUTH_METADATA_PATHS, "GET, HEAD"),
    **dict.fromkeys(OAUTH_PATHS, "POST"),
}
FLUSH_S = 30
# Garbage collections: of new objects, more than full load creates; of those and the survivors, after each second
# one, because it stops all requests for 30 ms with 100,000 survivors (a bill of 10,000 lines); of all, as rarely.
GC_THRESHOLDS = (10_000, 1, 100)

_log = log.get_logger()


class Service(RequestMiddleware):
    """The application: an ASGI callable that also returns its OpenAPI document."""

    def __init__(self, settings: Settings) -> None:
        tags = [{"name": name, "description": description} for name, description in TAGS.items()]
        self.api = application.make_app(lifespan=lifespan, openapi_tags=tags)
        guide.add_guide(self.api, guide.choose_folder(settings.data_dir))
        self.api.state.settings = settings
        self.api.state.mcp = add_mcp(self.api)
        self.api.state.limits = None if settings.limits is None else RateLimiter(factor=settings.limits)
        path_router = PathRouter(self.api, ROUTERS, limits=self.api.state.limits)
        self.api.openapi = cache(read_document)  # type: ignore[method-assign] # as FastAPI documents it
        self.openapi = self.api.openapi
        cors = Cors(
            path_router,
            paths=OPEN_PATHS,
            origins=settings.lander_origins,
            public="/v1/catalog/",
            anywhere=ANYWHERE_PATHS,
        )
        trusted = settings.trusted_proxies
        super().__init__(
            Proxies(cors, trusted) if trusted else cors,
            body_limit=settings.body_limit,
            body_budget=settings.body_budget,
            large_bodies=path_router.large_bodies,
            secret_paths=SECRET_PATHS,
        )

    def prepare(self) -> None:
        """Write what the first request for it would wait for; call it before the process answers."""
        for text in self.api.state.texts:
            text.write()
        console_views.prepare()

    def drain(self) -> None:
        """Report the process as not ready; call it when the process is about to stop."""
        prober: probes.Prober = self.api.state.prober
        prober.is_stopping = True

    def stop_waiting(self) -> None:
        """End long polls for events; call it when the process stops."""
        waiters: FeedWaiters = self.api.state.feed_waiters
        waiters.close()


def create_app(settings: Settings | None = None) -> Service:
    """Return the service; it opens nothing before its lifespan, so its document needs no database."""
    return Service(settings or Settings())


def read_document() -> dict[str, Any]:
    """Return the OpenAPI document, which `script/docs` derives: a process would need three seconds for it."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name("openapi.json").read_bytes())
    return found


def settle() -> None:
    """Exclude existing objects from garbage collection, in a process that only serves.

    Measured with 64 connections: a full collection of imported objects stops all requests for 80 ms, and young
    collections at the default threshold of 700 take 4 % of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    """Open and close the resources that requests share."""
    settings: Settings = api.state.settings
    database = Database(settings.conninfo, settings, response_timeout_s=settings.database_answer_timeout_s)
    keyring = secret_keys.keyring_of(settings)
    outbound = Outbound(settings)
    tokens = TokenAuthenticator(database, keyring=keyring, settings=settings, outbound=outbound)
    authenticator = Authenticator(database, cache_s=settings.key_cache_s, tokens=tokens)
    api.state.client_documents = ClientDocuments(outbound)
    api.state.loop = asyncio.get_running_loop()
    api.state.heavy = heavy_loop = HeavyLoop(settings)
    api.state.database, api.state.restores = database, Known(database)
    api.state.outbound = outbound
    api.state.authenticate, api.state.require_plan = authenticator, partial(policies.require_plan, database)
    api.state.require_sending = partial(policies.require_sending, database)
    api.state.keyring, api.state.issuers = keyring, tokens.issuers
    quota = SharedQuota(database)
    if api.state.limits is not None:
        api.state.limits.quota_source = quota
    api.state.catalog = CatalogCache(database, assets=settings.data_dir / "assets")
    api.state.funnel = funnel = Funnel(database)
    api.state.tracking_recorder = recorder = Recorder(database, keyring=keyring)
    api.state.prober = prober = probes.Prober(settings, serving=database)
    api.state.feed_waiters = waiters = FeedWaiters(database)
    await database.open()
    flush_task = asyncio.create_task(_flush(authenticator))
    try:
        async with quota, outbound, recorder, funnel, waiters, prober, api.state.mcp:
            yield
    finally:
        flush_task.cancel()
        with suppress(asyncio.CancelledError):
            await flush_task
        with suppress(DatabaseUnavailable, DatabaseBusy):
            await authenticator.flush()
        await heavy_loop.close()
        await database.close()


async def _flush(authenticator: Authenticator) -> None:
    while True:
        await asyncio.sleep(FLUSH_S)
        try:
            await authenticator.flush()
        except (DatabaseUnavailable, DatabaseBusy):
            _log.warning("key_use_not_recorded")
