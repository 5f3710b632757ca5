"""Idempotency keys: a POST that is repeated with its key answers as the first time and does nothing twice.

After draft-ietf-httpapi-idempotency-key-header-07. The claim is a row of its own; the answer is written in
the request's transaction, so that work and answer stand or fall together.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from fastapi import Depends, Request
from psycopg.types.json import Jsonb
from pydantic_core import PydanticUndefined
from starlette.responses import Response

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Invalid, Problem
from builders.kit.values import clock

HEADER = "Idempotency-Key"
RETENTION = timedelta(hours=24)
CLAIM_TIMEOUT = timedelta(seconds=60)  # a claim whose process died; longer than any request may take
RELEASE_TIMEOUT_S = 3
# Headers of the first answer that a replay has too; Set-Cookie is a secret, and the rest is of each answer.
REPLAYED_HEADERS = frozenset(
    (
        *("content-type", "content-disposition", "content-language", "content-location"),
        *("cache-control", "etag", "last-modified", "link", "location", "vary"),
    )
)
_ANY = frozenset(("", "*/*", "application/json"))  # values of Accept that ask for nothing but JSON
MAX_KEY_LENGTH = 255

PARAMETER: Mapping[str, Any] = {  # OpenAPI's form
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A request repeated with its key is answered as the first time; nothing is done twice.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "title": HEADER},
}


def without_idempotency() -> None:
    """Nothing: the compiled handler knows its mark (kit/http/compiled_routes.py)."""


# For `dependencies` of a POST that is done each time it is asked for. Answers are kept for an account, so what
# acts on the credentials themselves is marked so: of two sessions the second would be told of the first.
WITHOUT_IDEMPOTENCY = Depends(without_idempotency)

CLAIM = """
    INSERT INTO kit_idempotency AS held (account_id, key, fingerprint, claimed_at)
    VALUES (%(account_id)s, %(key)s, %(fingerprint)s, %(now)s)
    ON CONFLICT (account_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, claimed_at = excluded.claimed_at, status = NULL, body = NULL,
        headers = NULL
    WHERE held.claimed_at < %(expired)s OR (held.status IS NULL AND held.claimed_at < %(abandoned)s)
    RETURNING true
"""
FIND = """
    SELECT fingerprint, status, body, headers FROM kit_idempotency
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
PRUNE_BATCH = 10_000  # so that no statement runs into its time limit


class InFlight(Problem):
    """A request with this Idempotency-Key is being answered."""

    status, code = 409, "idempotency_in_flight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A key that this request holds, or the answer that was given to it before."""

    account_id: UUID
    key: str
    claimed_at: datetime
    replay: Response | None = None

    async def run(self, answer: Callable[[], Awaitable[Response]], database: Database) -> Response:
        """The first answer again, or a new one; a refusal lets the key go."""
        if self.replay is not None:
            return self.replay
        try:
            return await answer()
        except BaseException:
            # What cannot be let go now is taken for abandoned later; the refusal itself is the answer.
            with suppress(DatabaseUnavailable, DatabaseBusy, TimeoutError):
                async with asyncio.timeout(RELEASE_TIMEOUT_S), database.reading() as conn:
                    await conn.execute(RELEASE, self._row())
            raise

    async def finish(self, conn: Conn, *, response: Response, body: bytes) -> None:
        """Keeps the answer. Raises InFlight when the claim was given up for dead and taken by another."""
        kept = {name: value for name, value in response.headers.items() if name in REPLAYED_HEADERS}
        row = {**self._row(), "status": response.status_code, "body": body.decode(), "headers": Jsonb(kept)}
        cursor = await conn.execute(FINISH, row)
        if cursor.rowcount == 0:
            raise InFlight("This request took too long, and its key was taken over.", retry_after=1)

    def _row(self) -> dict[str, Any]:
        return {"account_id": self.account_id, "key": self.key, "claimed_at": self.claimed_at}


async def claim(request: Request, database: Database, *, account_id: UUID, body: Any) -> Claim | None:
    """The claim for the request's key; None without the header.

    Raises InFlight for a concurrent twin, Invalid when the key was used for another request or is none.
    """
    header = request.headers.get(HEADER)
    if header is None:
        return None
    key = header.strip().removeprefix('"').removesuffix('"')
    if not 0 < len(key) <= MAX_KEY_LENGTH:
        raise Invalid(
            ("header", HEADER), f"An Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters.", "key_length"
        )
    now, fingerprint = clock.now(), _fingerprint(request, body)
    row = {"account_id": account_id, "key": key}
    async with database.reading() as conn:
        times = {"now": now, "expired": now - RETENTION, "abandoned": now - CLAIM_TIMEOUT}
        cursor = await conn.execute(CLAIM, {**row, **times, "fingerprint": fingerprint})
        if await cursor.fetchone():
            return Claim(account_id=account_id, key=key, claimed_at=now)
        found = await (await conn.execute(FIND, row)).fetchone()
    before, status, kept, headers = found or (fingerprint, None, None, None)
    if before != fingerprint:
        raise Invalid(
            ("header", HEADER),
            "This Idempotency-Key was used for another request; take a new one.",
            "key_reused",
        )
    if status is None:
        raise InFlight("A request with this Idempotency-Key is being answered; try again.", retry_after=1)
    if headers is None:  # kept by a release that kept none
        headers = {"content-type": "application/json"} if kept else {}
    replay = Response(kept, status, {**headers, "Idempotent-Replayed": "true"})
    return Claim(account_id=account_id, key=key, claimed_at=now, replay=replay)


async def prune(conn: Conn) -> None:
    """Forgets keys older than a day."""
    batch = {"expired": clock.now() - RETENTION, "batch": PRUNE_BATCH}
    while (await conn.execute(PRUNE, batch)).rowcount == PRUNE_BATCH:
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
    return hashlib.sha256(b"\n".join(parts)).digest()
