"""The limit at the public doors: a bare ASGI function that writes a row and commits it, request by request.

It judges the link as the service does, and says what the service says. It keeps less: no class of visitor, and a
repeat is known by the one key alone.
"""

import hashlib
import json
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from starlette.types import Receive, Scope, Send

from bench.staff import Staff
from builders.kit.values import clock, ids
from builders.mail import service as mail

HIT = """
    INSERT INTO tracking_hits (account_id, id, created_at, message_id, kind, url, agent, network)
    SELECT account_id, %(id)s, %(now)s, id, %(kind)s, %(url)s, 'browser', '127.0.0.0/24'
    FROM mail_messages WHERE id = %(message_id)s AND created_at = %(sent)s
"""
EVENT = """
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
_KEPT = (b"cache-control", b"no-store")
_PIXEL = [(b"content-type", b"image/gif"), (b"content-length", b"%d" % len(GIF)), _KEPT]


async def answer(staff: Staff, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers an open, a click or a beacon."""
    path: str = scope["path"]
    if path == "/v1/catalog/events":
        body = await _event(staff, receive)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await _say(send, 200, headers, body)
    elif path.startswith("/v1/t/o/"):
        await _hit(staff, mail.read_token(staff.keyring, path[8:]), "open", None)
        await _say(send, 200, _PIXEL, GIF)
    else:
        query = dict(parse_qsl(scope["query_string"].decode()))
        assert mail.is_target(staff.keyring, path[8:], target=query["u"], mac=query["m"])
        await _hit(staff, mail.message_of(path[8:]), "click", query["u"])
        await _say(send, 302, [(b"location", query["u"].encode()), (b"content-length", b"0"), _KEPT], b"")


async def _hit(staff: Staff, message_id: UUID | None, kind: str, url: str | None) -> None:
    assert message_id is not None
    row: dict[str, Any] = {"id": ids.new(), "now": clock.now(), "message_id": message_id, "kind": kind, "url": url}
    async with staff.database.pool.connection() as conn:
        await conn.execute(HIT, {**row, "sent": ids.time_of(message_id)})


async def _event(staff: Staff, receive: Receive) -> bytes:
    event = json.loads((await receive())["body"])
    event_id = ids.new()
    row = {name: event.get(name) for name in ("kind", "domain", "session_id")}
    key = hashlib.sha256(event["event_id"].encode()).digest()[:16]
    async with staff.database.pool.connection() as conn:
        written = await conn.execute(EVENT, {**row, "id": event_id, "key": key, "now": clock.now()})
    told = {"id": str(event_id), "accepted": True, "duplicate": written.rowcount == 0}
    return json.dumps({**told, "results": None, "warnings": []}).encode()


async def _say(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
