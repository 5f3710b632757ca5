"""The FastAPI + ORM stack: routers, dependencies for credentials and session, an async ORM, response models.

It follows good practice: it caches keys as the service does, looks up many names in one statement, writes JSON
with pydantic, adds headers in plain ASGI middleware and writes the access log of uvicorn. It reads rows through
the ORM; only the index that ranks suggestions is in memory, because no team would build it for each request.
"""

import hashlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar
from uuid import UUID, uuid4

from fastapi import APIRouter, Cookie, Depends, FastAPI, Header, HTTPException, Query, Request
from psycopg.conninfo import conninfo_to_dict
from pydantic import BaseModel, create_model
from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import aliased
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench import fastapi_orm_names as names, fastapi_orm_public
from bench.fastapi_orm_tables import Account, ApiKey, CatalogDomain
from bench.fixtures import open_dependencies
from builders.aliases.records import LIVE, Reason, ReservedClass
from builders.aliases.rules import validate_local_part
from builders.catalog import suggestions as suggesting
from builders.catalog.records import Check, CheckedRules, Suggestion, Suggestions
from builders.catalog.snapshot import Snapshot
from builders.catalog.store import record
from builders.catalog.suggestion_index import tokenize
from builders.identity import scopes
from builders.identity.keys import parse_secret
from builders.identity.records import ApiKey as KeyRecord, ListedKey
from builders.kit.http import pagination
from builders.kit.http.bodies import Reply
from builders.kit.http.pagination import PageReply
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.resources import HIDDEN, extended, members_of, reply_type

M = TypeVar("M", bound=BaseModel)
KEY_CACHE_S = 5.0
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"private, no-store"),
]
AREAS = {  # prefix -> number of placeholders for the other operations of the specification
    "/v1/t": 0,
    "/v1/leads": 4,
    "/v1/builders/projects": 5,
    "/v1/sandbox": 8,
    "/v1/auth": 2,
    "/v1/me": 2,
    "/v1/account": 3,
    "/v1/domains": 6,
    "/v1/portfolio": 39,
    "/v1/notifications": 10,
    "/v1/invoices": 4,
}


def row_of(record: type) -> Callable[[type[M]], type[M]]:
    """Return a decorator of a model that reads the members of a record from the attributes of a row."""
    declared = [each for each in members_of(record) if HIDDEN not in each.marks]
    members: Any = {each.name: (reply_type(each.kind), ...) for each in declared}

    def add(model: type[M]) -> type[M]:
        return create_model(model.__name__, __base__=model, **members)

    return add


@row_of(ListedKey)
class ApiKeyItem(Reply):
    """An API key in a list."""


@row_of(KeyRecord)
class ApiKeyReply(Reply):
    """An API key."""


async def open_session(request: Request) -> AsyncIterator[AsyncSession]:
    """Yield a session for the request."""
    async with request.app.state.sessions() as session:
        yield session


Session = Annotated[AsyncSession, Depends(open_session)]


class Headers:
    """ASGI middleware that adds the headers of the service."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [*HEADERS, (b"x-request-id", uuid4().hex.encode())]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


async def current_account(
    request: Request,
    session: Session,
    authorization: Annotated[str | None, Header()] = None,
    x_api_key: Annotated[str | None, Header()] = None,
    svc_access_token: Annotated[str | None, Cookie()] = None,
) -> UUID:
    """Return the account of the credentials; a verified key is cached for some seconds."""
    text = x_api_key or (authorization or "").removeprefix("Bearer ") or svc_access_token
    if not text:
        raise HTTPException(401, "This operation needs credentials.")
    digest = hashlib.sha256(text.encode()).digest()
    known: dict[bytes, tuple[float, UUID]] = request.app.state.known
    until, account_id = known.get(digest, (0.0, LIVE))
    if until < time.monotonic():
        account_id = await _find_account(session, text, digest)
        known[digest] = time.monotonic() + KEY_CACHE_S, account_id
    return account_id


async def _find_account(session: AsyncSession, text: str, digest: bytes) -> UUID:
    sandbox_account = aliased(Account)
    secret = parse_secret(text)
    found = await session.execute(
        select(ApiKey)
        .join(sandbox_account, sandbox_account.sandbox_of == ApiKey.account_id)
        .where(
            ApiKey.account_id == (secret and secret.account_id),
            ApiKey.digest == digest,
            ApiKey.revoked_at.is_(None),
            or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > clock.now()),
        )
    )
    key = found.scalar_one_or_none()
    if key is None or "keys:read" not in scopes.PRESET_SCOPES[key.preset]:
        raise HTTPException(401, "The API key is unknown, revoked or expired.")
    return key.account_id


AccountId = Annotated[UUID, Depends(current_account)]


async def current_catalog(request: Request) -> Snapshot:
    """Return the catalog."""
    shown: Snapshot = await request.app.state.shared.catalog.current()
    return shown


Shown = Annotated[Snapshot, Depends(current_catalog)]

keys = APIRouter(prefix="/v1/api-keys", tags=["api-keys"])
catalog = APIRouter(prefix="/v1/catalog", tags=["catalog"])


@keys.get("", response_model=PageReply[ApiKeyItem])
async def list_keys(
    request: Request,
    account_id: AccountId,
    session: Session,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: str | None = None,
) -> Any:
    """List the account's API keys, newest first."""
    keyring, scope, after = request.app.state.shared.keyring, f"{request.url.path} []", ids.LAST
    if cursor is not None:
        after = UUID(str(pagination.decode_cursor(keyring, scope=scope, text=cursor)[0]))
    wanted = select(ApiKey).where(ApiKey.account_id == account_id, ApiKey.id < after)
    found = (await session.scalars(wanted.order_by(ApiKey.id.desc()).limit(limit + 1))).all()
    more = len(found) > limit
    last = pagination.encode_cursor(keyring, scope=scope, values=[str(found[limit - 1].id)]) if more else None
    return {"items": found[:limit], "next_cursor": last}


@keys.get("/{key_id}", response_model=ApiKeyReply)
async def get_key(account_id: AccountId, session: Session, key_id: UUID) -> Any:
    """Read one API key."""
    key = await session.get(ApiKey, (account_id, key_id))
    if key is None:
        raise HTTPException(404, "There is no such API key.")
    item = ApiKeyItem.model_validate(key)
    return {**dict(item), "scopes": scopes.PRESET_SCOPES[key.preset]}


@catalog.get("/check", response_model=Check)
async def check(
    session: Session,
    shown: Shown,
    local_part: Annotated[str, Query(min_length=1)],
    domain: Annotated[str, Query(min_length=1)],
) -> Any:
    """Check whether a name can be claimed."""
    row = await session.scalar(select(CatalogDomain).where(CatalogDomain.domain == domain))
    if row is None:
        raise HTTPException(404, "The catalog has no such domain.")
    known = record(vars(row))  # the ORM row has the same attributes
    result = validate_local_part(local_part, domain=domain, rules=known.rules)
    reason, alternatives = result.reason, list[Suggestion]()
    if result.is_ok and await names.find_taken(session, [(domain, result.key, result.skeleton)]):
        reason = Reason.TAKEN
    if reason is not Reason.OK:
        themes, near_name = shown.suggestion_index, result.normalized or local_part
        near, far = suggesting.alternatives(themes, near_name, domain=domain, categories=known.categories)
        taken = await names.find_taken(session, names.keys_of([*near, *far]))
        alternatives = suggesting.best_alternatives(
            names.without_taken(near, taken), names.without_taken(far, taken)
        )
    return Check(
        reason=reason,
        detail=result.detail,
        message="The name is taken." if reason is Reason.TAKEN else result.message,
        local_part=local_part,
        normalized_local_part=result.normalized or None,
        domain=domain,
        price=known.price_for(result.key, is_premium=result.reserved_class is ReservedClass.PREMIUM),
        alternatives=tuple(alternatives),
        available_at=None,
        rules=extended(CheckedRules, known.rules),
        checked_at=clock.now(),
    )


@catalog.get("/suggest", response_model=Suggestions)
async def suggest(
    session: Session, shown: Shown, q: str = "", limit: Annotated[int, Query(ge=1, le=24)] = 12
) -> Any:
    """Suggest free names."""
    candidates = suggesting.candidates(shown.suggestion_index, q, limit=limit)
    taken = await names.find_taken(session, names.keys_of(candidates))
    return Suggestions(
        query=q,
        tokens=tokenize(q.partition("@")[0]),
        items=tuple(suggesting.best(names.without_taken(candidates, taken), limit=limit)),
        catalog_version=shown.version,
    )


def _placeholders(prefix: str, count: int) -> APIRouter:
    """Return routes of a part of the service that is not measured, which the router must pass."""
    router = APIRouter(prefix=prefix)

    async def placeholder(account_id: AccountId, session: Session, item_id: str) -> dict[str, str]:
        del account_id, session
        return {"id": item_id}

    for n in range(count):
        router.add_api_route(f"/operation-{n}/{{item_id}}", placeholder)
    return router


def _engine(conninfo: str) -> AsyncEngine:
    given = conninfo_to_dict(conninfo)
    place = {name: given[name] for name in ("host", "port", "user", "password") if name in given}
    if given.get("passfile"):  # asyncpg cannot read this file: its first line is the password for initdb
        place["password"] = Path(str(given["passfile"])).read_text().splitlines()[0]
    return create_async_engine(
        "postgresql+asyncpg://",
        connect_args={**place, "database": given["dbname"], "server_settings": {"timezone": "UTC"}},
        pool_size=10,
        max_overflow=10,
    )


def make(data_dir: Path, conninfo: str) -> FastAPI:
    """Return the application on a prepared database."""
    settings = Settings.model_validate({"data_dir": data_dir, "database_url": conninfo})

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        engine = _engine(conninfo)
        app.state.sessions = async_sessionmaker(engine, expire_on_commit=False)
        app.state.known = {}
        async with open_dependencies(settings) as app.state.shared:
            yield
        await engine.dispose()

    app = FastAPI(lifespan=lifespan)
    app.add_middleware(Headers)
    for prefix, count in AREAS.items():
        app.include_router(_placeholders(prefix, count))
        if prefix == "/v1/t":
            app.include_router(fastapi_orm_public.router)
            app.include_router(catalog)
    app.include_router(keys)
    return app
