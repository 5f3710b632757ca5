"""The limit: what an ASGI function can do that is written for these five requests and nothing else.

The same statements over the same pool, the same domain functions (judging a name, ranking suggestions), the
same answers. What is missing is the machinery: routes, validated parameters, records, models of answers, request
ids, headers for safety, a log. Authentication is the hash of the key and a look into a dictionary.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from starlette.types import Receive, Scope, Send

from bench.staff import staff
from builders.aliases import store as alias_store
from builders.aliases.records import LIVE, Reason, ReservedClass, Rules
from builders.aliases.service import judge
from builders.catalog import suggest
from builders.catalog.domain_names import find_a_label
from builders.catalog.records import CatalogDomain, Price, Suggestion
from builders.catalog.scoring import Candidate
from builders.catalog.snapshot import Snapshot
from builders.catalog.words import tokenise
from builders.identity import scopes
from builders.identity import store as identity_store
from builders.identity.records import Preset
from builders.identity.service import LAST_ID
from builders.kit import clock, cursors
from builders.kit.settings import Settings

Query = Mapping[str, str]
Place = tuple[str, str]  # a domain and a key

_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_JSON = (b"content-type", b"application/json")
_REASONS = {"claimed": "taken", "quarantined": "quarantined", "held": "held"}
_SCOPES = {preset.value: scopes.of_preset(preset) for preset in Preset}


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
            [holder] = await self._fetch(identity_store.FIND_HOLDER, row)
            assert holder[0] == digest
            account_id = self._known[digest] = holder[1]
        return account_id

    async def _list(self, account_id: UUID, query: Query) -> bytes:
        row = {"account_id": account_id, "after": LAST_ID, "limit": int(query["limit"])}
        [(items, last, more)] = await self._fetch(identity_store.LIST_KEYS, row)
        cursor = "null"
        if more:
            cursor = f'"{cursors.encode(self._staff.keyring, scope="/v1/api-keys []", values=[last])}"'
        return f'{{"items":{items},"next_cursor":{cursor}}}'.encode()

    async def _read(self, account_id: UUID, key_id: str) -> bytes:
        [row] = await self._fetch(identity_store.FIND_KEY, {"account_id": account_id, "key_id": UUID(key_id)})
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
            "scopes": _SCOPES[row[3]],
        }
        return _dumps(found).encode()

    async def _look_up(self, wanted: Sequence[tuple[str, str, str]]) -> dict[Place, str]:
        """Why those of the (domain, key, skeleton) that are not free are not."""
        domains, keys, skeletons = zip(*wanted, strict=True)
        row = {"realm": LIVE, "now": clock.now(), "domains": list(domains), "keys": list(keys)}
        found = await self._fetch(alias_store.LOOK_UP, {**row, "skeletons": list(skeletons)})
        return {(each[0], each[1]): _REASONS.get(each[2], "confusable") for each in found}

    async def _free(self, candidates: Sequence[Candidate]) -> set[Place]:
        wanted = [(each.domain.domain, each.key, each.skeleton) for each in candidates]
        return {each[:2] for each in wanted} - (await self._look_up(wanted)).keys()

    async def _suggest(self, query: Query) -> bytes:
        shown, q, limit = await self._current(), query["q"], int(query.get("limit", 12))
        candidates = suggest.candidates(shown.themes, q, limit=limit)
        free = await self._free(candidates)
        found = {
            "query": q,
            "tokens": tokenise(q.partition("@")[0]),
            "items": [_suggestion(each) for each in suggest.best(_in(free, candidates), limit=limit)],
            "catalog_version": shown.version,
        }
        return _dumps(found).encode()

    async def _check(self, query: Query) -> bytes:
        shown, asked = await self._current(), find_a_label(query["domain"]) or ""
        domain = shown.by_domain[asked]
        verdict = judge(query["local_part"], domain=asked, rules=domain.rules)
        reason = verdict.reason.value
        if verdict.is_ok:
            wanted = [(asked, verdict.key, verdict.skeleton)]
            reason = (await self._look_up(wanted)).get((asked, verdict.key), "ok")
        is_premium = verdict.reserved_class is ReservedClass.PREMIUM
        found = {
            "available": reason == "ok",
            "reason": reason,
            "detail": verdict.detail,
            "message": "The name is taken." if reason == "taken" else verdict.message,
            "local_part": query["local_part"],
            "normalized_local_part": verdict.normalized,
            "domain": asked,
            "address": f"{verdict.normalized}@{asked}",
            "price": _price(domain.price_for(verdict.key, is_premium=is_premium)),
            "alternatives": [] if reason == Reason.OK else await self._others(shown, domain, verdict.normalized),
            "available_at": None,
            "rules": _rules(domain.rules),
            "definitive": True,
            "checked_at": _time(clock.now()),
        }
        return _dumps(found).encode()

    async def _others(self, shown: Snapshot, domain: CatalogDomain, name: str) -> list[dict[str, object]]:
        near, far = suggest.alternatives(
            shown.themes, name, domain=domain.domain, categories=domain.categories
        )
        free = await self._free([*near, *far])
        return [_suggestion(each) for each in suggest.best_alternatives(_in(free, near), _in(free, far))]


def _in(free: set[Place], candidates: Sequence[Candidate]) -> list[Candidate]:
    return [each for each in candidates if (each.domain.domain, each.key) in free]


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
