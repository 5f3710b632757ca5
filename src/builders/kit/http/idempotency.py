"""Idempotency keys: a request repeated with its key gets the first response again and has no second effect.

After draft-ietf-httpapi-idempotency-key-header-07. The claim is a row of its own. The response is stored in the
transaction of the request, so that both are committed or neither is.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from fastapi import Depends, Request
from psycopg.types.json import Jsonb
from pydantic_core import PydanticUndefined
from starlette.responses import Response

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Invalid, Problem
from builders.kit.http.callers import Caller
from builders.kit.marks import Mark
from builders.kit.values import clock

HEADER = "Idempotency-Key"
RETENTION = timedelta(hours=24)
CLAIM_TIMEOUT = timedelta(seconds=60)  # then a claim is abandoned; longer than the request deadline
RELEASE_TIMEOUT_S = 3
# Headers that a replay repeats. Set-Cookie is a secret; the others differ for each response.
REPLAYED_HEADERS = frozenset(
    (
        *("content-type", "content-disposition", "content-language", "content-location"),
        *("cache-control", "etag", "last-modified", "link", "location", "vary"),
    )
)
_ANY = frozenset(("", "*/*", "application/json"))  # values of Accept that mean JSON
MAX_KEY_LENGTH = 255
LARGE_BODY = 1024 * 1024  # bytes; a repeated request has to have the same ones

PARAMETER: Mapping[str, Any] = {  # OpenAPI's form
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "The service executes requests with the same key once, and repeats the first response.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "title": HEADER},
}


without_idempotency, with_idempotency = Mark(), Mark()
# For `dependencies` of a POST that ignores the key. Responses are stored for an account, so an operation on the
# credentials themselves needs it: a second session would get the response of the first.
WITHOUT_IDEMPOTENCY = Depends(without_idempotency)
# For `dependencies` of a PATCH that is not idempotent, which also accepts the key.
WITH_IDEMPOTENCY = Depends(with_idempotency)

CLAIM = """
    INSERT INTO kit_idempotency AS held (account_id, key, fingerprint, claimed_at, selected_role)
    VALUES (%(account_id)s, %(key)s, %(fingerprint)s, %(now)s, %(role)s)
    ON CONFLICT (account_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, claimed_at = excluded.claimed_at, status = NULL, body = NULL,
        headers = NULL, selected_role = excluded.selected_role
    WHERE held.claimed_at < %(expired)s OR (held.status IS NULL AND held.claimed_at < %(abandoned)s)
    RETURNING true
"""
FIND = """
    SELECT fingerprint, status, body, headers, selected_role FROM kit_idempotency
    WHERE account_id = %(account_id)s AND key = %(key)s
"""
FINISH = """
    UPDATE kit_idempotency SET status = %(status)s, body = %(body)s, headers = %(headers)s
    WHERE account_id = %(account_id)s AND key = %(key)s AND claimed_at = %(claimed_at)s
"""
RELEASE = """
    DELETE FROM kit_idempotency
    WHERE account_id = %(account_id)s AND key = %(key)s AND claimed_at = %(claimed_at)s AND status IS NULL
"""
PRUNE = """
    DELETE FROM kit_idempotency WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM kit_idempotency WHERE claimed_at < %(expired)s LIMIT %(batch)s
    ))
"""
PRUNE_BATCH = 10_000  # rows of one statement, which has a time limit


class SelectingHeader(NamedTuple):
    """A header that selects another account; the role there decides what the caller may see.

    `find_role` returns the role at this time, None without one. `require_replayable` is called with the role of
    the first request and that of the repeated one, and raises a Problem unless the second may see as much.
    """

    name: str  # in lower case
    find_role: Callable[[Conn, Caller, str], Awaitable[str | None]]
    require_replayable: Callable[[str | None, str | None], None]


selecting_headers: list[SelectingHeader] = []  # the package that reads one adds it


class InFlight(Problem):
    """Another request with this Idempotency-Key is in progress."""

    status, code = 409, "idempotency_in_flight"
    remedy = "Repeat the request with the same key after `retry_after` seconds."


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A key that this request has claimed, or the stored response of an earlier request."""

    account_id: UUID
    key: str
    claimed_at: datetime
    replay: Response | None = None

    async def run(self, answer: Callable[[], Awaitable[Response]], database: Database) -> Response:
        """Return the stored response, or that of `answer`. Release the key when `answer` raises."""
        if self.replay is not None:
            return self.replay
        try:
            return await answer()
        except BaseException:
            await self.release(database)
            raise

    async def release(self, database: Database) -> None:
        """Let the next request with the key run. A claim that cannot be released is abandoned later."""
        with suppress(DatabaseUnavailable, DatabaseBusy, TimeoutError):
            async with asyncio.timeout(RELEASE_TIMEOUT_S), database.connection() as conn:
                await conn.execute(RELEASE, self._row())

    async def finish(self, conn: Conn, *, response: Response, body: bytes) -> None:
        """Store the response. Raise InFlight when another request has replaced the abandoned claim."""
        kept = {name: value for name, value in response.headers.items() if name in REPLAYED_HEADERS}
        row = {**self._row(), "status": response.status_code, "body": body.decode(), "headers": Jsonb(kept)}
        cursor = await conn.execute(FINISH, row)
        if cursor.rowcount == 0:
            message = "This request took too long, and another request with its key replaced it."
            raise InFlight(message, retry_after=1)

    def _row(self) -> dict[str, Any]:
        return {"account_id": self.account_id, "key": self.key, "claimed_at": self.claimed_at}


async def claim(
    request: Request, database: Database, *, caller: Caller, body: Any, key: str | None = None
) -> Claim | None:
    """Claim the key of the request, by default that of the header; return None without one.

    Raise InFlight while another request has the key, Invalid when the key is malformed or belongs to another
    request, and the Problem of a selecting header if the caller may no longer see the stored response.
    """
    if key is None:
        header = request.headers.get(HEADER)
        if header is None:
            return None
        key = header.strip().removeprefix('"').removesuffix('"')
    if not 0 < len(key) <= MAX_KEY_LENGTH:
        message = f"An Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters."
        raise Invalid(("header", HEADER), message, "key_length")
    if isinstance(body, (dict, list)) and len(raw := await request.body()) > LARGE_BODY:
        body = raw  # normalizing a large one would block other requests
    now, fingerprint = clock.now(), _fingerprint(request, body)
    row = {"account_id": caller.account_id, "key": key}
    selecting = next((each for each in selecting_headers if each.name in request.headers), None)
    async with database.connection() as conn:
        role = None
        if selecting is not None:
            role = await selecting.find_role(conn, caller, request.headers[selecting.name])
        times = {"now": now, "expired": now - RETENTION, "abandoned": now - CLAIM_TIMEOUT}
        cursor = await conn.execute(CLAIM, {**row, **times, "fingerprint": fingerprint, "role": role})
        if await cursor.fetchone():
            return Claim(account_id=caller.account_id, key=key, claimed_at=now)
        found = await (await conn.execute(FIND, row)).fetchone()
    before, status, kept, headers, first_role = found or (fingerprint, None, None, None, role)
    if before != fingerprint:
        message = "This Idempotency-Key was used for another request; use a new key."
        raise Invalid(("header", HEADER), message, "key_reused")
    if status is None:
        raise InFlight("Another request with this Idempotency-Key is in progress; try again.", retry_after=1)
    if selecting is not None:
        selecting.require_replayable(first_role, role)
    replay = Response(kept, status, {**headers, "Idempotent-Replayed": "true"})
    return Claim(account_id=caller.account_id, key=key, claimed_at=now, replay=replay)


async def prune(conn: Conn, *, batch_size: int = PRUNE_BATCH) -> None:
    """Delete keys older than a day."""
    batch = {"expired": clock.now() - RETENTION, "batch": batch_size}
    while (await conn.execute(PRUNE, batch)).rowcount == batch_size:
        pass


def _fingerprint(request: Request, body: Any) -> bytes:
    if body is PydanticUndefined or body is None:
        canonical = b""
    elif isinstance(body, bytes):
        canonical = body
    else:
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    parts = [request.method.encode(), request.scope["path"].encode(), canonical]
    accept = ",".join(request.headers.getlist("accept")).replace(" ", "").lower()
    query = request.scope["query_string"]
    if query or accept not in _ANY:
        parts += query, accept.encode("latin-1")
    for each in selecting_headers:
        if each.name in request.headers:
            parts.append(f"{each.name}: {request.headers[each.name]}".encode("latin-1"))
    return hashlib.sha256(b"\n".join(parts)).digest()
