"""The limit: what an ASGI function can do that is written for these requests and nothing else.

The same statements over the same pool, the same doors of the catalog (judging a name, ranking suggestions), the
same answers. What is missing is the machinery: routes, validated parameters, models of answers, time limits,
request ids, headers for safety, a log. Authentication is the hash of the key and a look into a dictionary.
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

from bench import limit_doors
from bench.staff import staff
from builders.aliases.records import Rules
from builders.catalog import service as catalog
from builders.catalog.records import Price, Suggestion
from builders.identity import scopes
from builders.identity.records import Preset
from builders.identity.store import keys as key_store
from builders.kit.http import cursors
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids

Query = Mapping[str, str]

_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_JSON = (b"content-type", b"application/json")
_SCOPES = {preset.value: scopes.preset_scopes(preset) for preset in Preset}


class Limit:
    """The application."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._known: dict[bytes, UUID] = {}
        self._plain: dict[str, Callable[[Query], Awaitable[bytes]]] = {
            "/v1/catalog/check": self._check,
            "/v1/catalog/suggest": self._suggest,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path = scope["path"]
        if path.startswith(("/v1/t/", "/v1/catalog/events")):
            await limit_doors.answer(self._staff, scope, receive, send)
            return
        query = dict(parse_qsl(scope["query_string"].decode()))
        answer = self._plain.get(path)
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

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._staff = await self._stack.enter_async_context(staff(self._settings))
        self._pool, self._current = self._staff.database.pool, self._staff.shelf.current
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
        account_id = self._known.get(digest)
        if account_id is None:
            row = {"public_id": key.decode().split("_")[2], "now": clock.now()}
            [holder] = await self._fetch(key_store.FIND_HOLDER, row)
            assert holder[0] == digest
            account_id = self._known[digest] = holder[1]
        return account_id

    async def _list(self, account_id: UUID, query: Query) -> bytes:
        row = {"account_id": account_id, "after": ids.LAST, "limit": int(query["limit"])}
        [(items, last, more)] = await self._fetch(key_store.LIST_KEYS, row)
        cursor = "null"
        if more:
            cursor = f'"{cursors.encode(self._staff.keyring, scope="/v1/api-keys []", values=[last])}"'
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
            "scopes": _SCOPES[row[3]],
        }
        return _dumps(found).encode()

    async def _suggest(self, query: Query) -> bytes:
        shown, limit = await self._current(), int(query.get("limit", 12))
        async with self._pool.connection() as conn:
            found = await catalog.suggest_names(conn, catalog=shown, q=query["q"], limit=limit)
        said = {
            "query": found.query,
            "tokens": found.tokens,
            "items": [_suggestion(each) for each in found.items],
            "catalog_version": found.catalog_version,
        }
        return _dumps(said).encode()

    async def _check(self, query: Query) -> bytes:
        shown, local_part, domain = await self._current(), query["local_part"], query["domain"]
        async with self._pool.connection() as conn:
            found = await catalog.check_availability(conn, catalog=shown, local_part=local_part, domain=domain)
        said = {
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
        return _dumps(said).encode()


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


def make(data_dir: Path, conninfo: str) -> Limit:
    """The application on a prepared database."""
    return Limit(Settings.model_validate({"data_dir": data_dir, "database_url": conninfo}))
