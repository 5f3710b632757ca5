"""The bare ASGI function: only what the measured requests need, as the upper limit of what is possible.

It runs the same statements on the same connection pool, calls the same functions of the catalog and sends the same
responses. It has no routes, validation, response models, timeouts, request ids, security headers or log. Opens,
clicks and beacons write and commit one row each; visitors are not classified, and one key detects a repeated
event.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from starlette.types import Receive, Scope, Send

from bench.fixtures import Dependencies, open_dependencies
from builders.aliases.records import Rules
from builders.catalog import availability, suggestions
from builders.catalog.records import Price, Suggestion
from builders.identity import keys, scopes
from builders.identity.records import Preset
from builders.identity.store import keys as key_store
from builders.kit.http import pagination
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail import links

Query = Mapping[str, str]

INSERT_TRACKING_EVENT = """
    INSERT INTO tracking_hits (account_id, id, created_at, message_id, kind, url, agent, network)
    SELECT account_id, %(id)s, %(now)s, id, %(kind)s, %(url)s, 'browser', '127.0.0.0/24'
    FROM mail_messages WHERE id = %(message_id)s AND created_at = %(sent)s
"""
INSERT_FUNNEL_EVENT = """
    WITH fresh AS (
        INSERT INTO catalog_event_keys (key, event_id, created_at) VALUES (%(key)s, %(id)s, %(now)s)
        ON CONFLICT (key) DO NOTHING RETURNING event_id
    )
    INSERT INTO catalog_events (id, created_at, occurred_at, kind, domain, session_id, utm, metadata,
                                is_machine, agent)
    SELECT event_id, %(now)s, %(now)s, %(kind)s, %(domain)s, %(session_id)s, '{}', '{}', false, 'browser'
    FROM fresh
"""
GIF = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
_NO_STORE = (b"cache-control", b"no-store")
_PIXEL = [(b"content-type", b"image/gif"), (b"content-length", b"%d" % len(GIF)), _NO_STORE]

_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_JSON = (b"content-type", b"application/json")
_SCOPES = {preset.value: scopes.PRESET_SCOPES[preset] for preset in Preset}


class BareApp:
    """The ASGI application."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._accounts: dict[bytes, UUID] = {}
        self._public: dict[str, Callable[[Query], Awaitable[bytes]]] = {
            "/v1/catalog/check": self._check,
            "/v1/catalog/suggest": self._suggest,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        path = scope["path"]
        if path.startswith(("/v1/t/", "/v1/catalog/events")):
            await serve_public(self._shared, scope, receive, send)
            return
        query = dict(parse_qsl(scope["query_string"].decode()))
        answer = self._public.get(path)
        if answer is not None:
            body = await answer(query)
        else:
            account_id = await self._authenticate(scope)
            if path == "/v1/api-keys":
                body = await self._list(account_id, query)
            else:
                body = await self._read(account_id, path.rpartition("/")[2])
        headers = [_JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._shared = await self._stack.enter_async_context(open_dependencies(self._settings))
        self._pool, self._current = self._shared.database.pool, self._shared.catalog.current
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._stack.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _fetch(self, statement: Any, row: Mapping[str, object]) -> list[Any]:
        async with self._pool.connection() as conn:
            return await (await conn.execute(statement, row)).fetchall()

    async def _authenticate(self, scope: Scope) -> UUID:
        key = next(value for name, value in scope["headers"] if name == b"x-api-key")
        digest = hashlib.sha256(key).digest()
        account_id = self._accounts.get(digest)
        if account_id is None:
            secret = keys.parse_secret(key.decode())
            assert secret is not None
            row = {"account_id": secret.account_id, "digest": digest, "now": clock.now()}
            [holder] = await self._fetch(key_store.find_holder.text, row)
            account_id = self._accounts[digest] = holder[1]
        return account_id

    async def _list(self, account_id: UUID, query: Query) -> bytes:
        row = {"account_id": account_id, "after": ids.LAST, "limit": int(query["limit"])}
        row |= {"unused_since": clock.now() - keys.UNUSED_FOR, "held": key_store.HELD}
        [(items, last, more)] = await self._fetch(key_store.list_keys.text, row)
        cursor = "null"
        if more:
            cursor = f'"{pagination.encode_cursor(self._shared.keyring, scope="/v1/api-keys []", values=[last])}"'
        return f'{{"items":{items},"next_cursor":{cursor}}}'.encode()

    async def _read(self, account_id: UUID, key_id: str) -> bytes:
        [row] = await self._fetch(key_store.FIND_KEY, {"account_id": account_id, "key_id": UUID(key_id)})
        found = {
            "id": str(row[0]),
            "label": row[1],
            "key_kind": row[2],
            "preset": row[3],
            "prefix": row[4],
            "last4": row[5],
            "created_at": _time(row[6]),
            "expires_at": _time(row[7]),
            "revoked_at": _time(row[8]),
            "last_used_at": _time(row[9]),
            "allowed_ips": row[11],
            "mandate": row[13],
            "client_name": row[15],
            "unused_scopes": [],  # the keys of a benchmark are young
            "scopes": _SCOPES[row[3]],
        }
        return _dumps(found).encode()

    async def _suggest(self, query: Query) -> bytes:
        shown, limit = await self._current(), int(query.get("limit", 12))
        async with self._pool.connection() as conn:
            found = await suggestions.suggest_names(conn, catalog=shown, q=query["q"], limit=limit)
        reply = {
            "query": found.query,
            "tokens": found.tokens,
            "items": [_suggestion(each) for each in found.items],
            "catalog_version": found.catalog_version,
        }
        return _dumps(reply).encode()

    async def _check(self, query: Query) -> bytes:
        shown, local_part, domain = await self._current(), query["local_part"], query["domain"]
        async with self._pool.connection() as conn:
            found = await availability.check_availability(
                conn, catalog=shown, local_part=local_part, domain=domain
            )
        reply = {
            "available": found.available,
            "reason": found.reason,
            "detail": found.detail,
            "message": found.message,
            "local_part": local_part,
            "normalized_local_part": found.normalized_local_part,
            "domain": found.domain,
            "address": found.address,
            "price": None if found.price is None else _price(found.price),
            "alternatives": [_suggestion(each) for each in found.alternatives],
            "available_at": _time(found.available_at),
            "rules": _rules(found.rules),
            "definitive": True,
            "checked_at": _time(found.checked_at),
        }
        return _dumps(reply).encode()


def _time(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def _price(price: Price) -> dict[str, str]:
    return {
        "amount": price.amount,
        "currency": price.currency,
        "interval": price.interval,
        "tier": price.tier,
    }


def _rules(rules: Rules) -> dict[str, object]:
    return {"min": rules.min_length, "max": rules.max_length, "separator_policy": rules.separator_policy}


def _suggestion(each: Suggestion) -> dict[str, object]:
    return {
        "address": each.address,
        "local_part": each.local_part,
        "domain": each.domain,
        "category": each.category,
        "price": _price(each.price),
        "available": each.available,
        "score": each.score,
        "why": [{"code": part.code, "points": part.points} for part in each.why],
    }


async def serve_public(shared: Dependencies, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to an open, a click or a beacon."""
    path: str = scope["path"]
    if path == "/v1/catalog/events":
        body = await _event(shared, receive)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await _respond(send, 200, headers, body)
    elif path.startswith("/v1/t/o/"):
        assert links.is_token(shared.keyring, path[8:])
        await _track(shared, links.message_of(path[8:]), "open", None)
        await _respond(send, 200, _PIXEL, GIF)
    else:
        query = dict(parse_qsl(scope["query_string"].decode()))
        assert links.is_target(shared.keyring, path[8:], target=query["u"], mac=query["m"])
        await _track(shared, links.message_of(path[8:]), "click", query["u"])
        await _respond(send, 302, [(b"location", query["u"].encode()), (b"content-length", b"0"), _NO_STORE], b"")


async def _track(shared: Dependencies, message_id: UUID, kind: str, url: str | None) -> None:
    row: dict[str, Any] = {"id": ids.new(), "now": clock.now(), "message_id": message_id, "kind": kind, "url": url}
    async with shared.database.pool.connection() as conn:
        await conn.execute(INSERT_TRACKING_EVENT, {**row, "sent": ids.time_of(message_id)})


async def _event(shared: Dependencies, receive: Receive) -> bytes:
    event = json.loads((await receive())["body"])
    event_id = ids.new()
    row = {name: event.get(name) for name in ("kind", "domain", "session_id")}
    key = hashlib.sha256(event["event_id"].encode()).digest()[:16]
    async with shared.database.pool.connection() as conn:
        written = await conn.execute(INSERT_FUNNEL_EVENT, {**row, "id": event_id, "key": key, "now": clock.now()})
    reply = {"id": str(event_id), "accepted": True, "duplicate": written.rowcount == 0}
    return json.dumps({**reply, "results": None, "warnings": []}).encode()


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def make(data_dir: Path, conninfo: str) -> BareApp:
    """Return the application on a prepared database."""
    return BareApp(Settings.model_validate({"data_dir": data_dir, "database_url": conninfo}))
