"""Idempotency keys: a request repeated with its key gets the first response again and has no second effect.

After draft-ietf-httpapi-idempotency-key-header-07. The claim is a row of its own. The response is stored in the
transaction of the request, so that both are committed or neither is.

A claim has a lease by the clock of the database, which its process renews while the request runs. Whoever
takes over a claim whose lease has ended gets a higher fence; each transaction of the first request then fails
at its end.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from fastapi import Depends, Request
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.types.json import Jsonb
from pydantic_core import PydanticUndefined
from starlette.responses import Response

from builders.kit.callers import Caller
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database, before_commit
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Invalid, Problem
from builders.kit.marks import Mark
from builders.kit.values import clock, ids

HEADER = "Idempotency-Key"
RETENTION = timedelta(hours=24)
LEASE = timedelta(seconds=4)  # without a renewal a claim is abandoned; a client retries after a second more
RENEWAL_S = 1
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

# The ends differ by more than a lease if the held one has ended: a sharded database refuses a clock in WHERE.
CLAIM = """
    INSERT INTO kit_idempotency AS held
        (account_id, key, fingerprint, claimed_at, lease_until, selected_role, made_by)
    VALUES (%(account_id)s, %(key)s, %(fingerprint)s, %(now)s, statement_timestamp() + %(lease)s, %(role)s,
            %(made_by)s)
    ON CONFLICT (account_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, lease_until = excluded.lease_until, fence = excluded.fence,
        claimed_at = CASE WHEN held.claimed_at < %(expired)s THEN excluded.claimed_at ELSE held.claimed_at END,
        status = NULL, body = NULL, headers = NULL, selected_role = excluded.selected_role,
        made_by = excluded.made_by
    WHERE held.claimed_at < %(expired)s
       OR (held.status IS NULL AND excluded.lease_until - held.lease_until > %(lease)s)
    RETURNING fence, claimed_at
"""
FIND = """
    SELECT fingerprint, status, body, headers, selected_role, made_by FROM kit_idempotency
    WHERE account_id = %(account_id)s AND key = %(key)s
"""
FINISH = """
    UPDATE kit_idempotency SET status = %(status)s, body = %(body)s, headers = %(headers)s
    WHERE account_id = %(account_id)s AND key = %(key)s AND fence = %(fence)s
"""
RELEASE = """
    DELETE FROM kit_idempotency
    WHERE account_id = %(account_id)s AND key = %(key)s AND fence = %(fence)s AND status IS NULL
"""
# Keeps the time of the claim: a repetition finds what the request has committed before its failure. A renewal that
# is on its way does not match the fence.
END_LEASE = """
    UPDATE kit_idempotency SET lease_until = 'epoch', fence = 0
    WHERE account_id = %(account_id)s AND key = %(key)s AND fence = %(fence)s AND status IS NULL
"""
# The lock keeps others from taking over between this statement and the commit.
HOLD = """
    SELECT FROM kit_idempotency WHERE account_id = %(account_id)s AND key = %(key)s AND fence = %(fence)s FOR SHARE
"""
# A locked row is one that its request is finishing.
RENEW = """
    WITH held AS (
        SELECT key FROM kit_idempotency
        WHERE account_id = %(account_id)s AND key = %(key)s AND fence = %(fence)s AND status IS NULL
        FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE kit_idempotency AS renewed SET lease_until = statement_timestamp() + %(lease)s FROM held
    WHERE renewed.account_id = %(account_id)s AND renewed.key = held.key
"""

old_rows.declare("kit_idempotency", key="account_id, key", age="claimed_at", after=RETENTION)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Claim:
    """A key that this request has claimed, or the stored response of an earlier request."""

    account_id: UUID
    key: str
    fence: int
    replay: Response | None = None
    new_id: UUID = ids.NIL  # of what the request creates; that of a repetition is the same

    async def run(
        self, answer: Callable[[], Awaitable[Response]], database: Database, *, has_committed: bool = False
    ) -> Response:
        """Return the stored response, or that of `answer`. Release the key when `answer` raises."""
        if self.replay is not None:
            return self.replay
        leases = _leases.setdefault(database, _Leases())
        leases.add(self, database)
        try:
            return await answer()
        except BaseException:
            await self.release(database, has_committed=has_committed)
            raise
        finally:
            leases.held.discard(self)

    async def run_fenced(self, answer: Callable[[], Awaitable[Response]], database: Database) -> Response:
        """Do as `run`, and check at the end of each transaction of `answer` that nobody has taken over."""
        is_running = True

        async def check(conn: Conn) -> None:
            if is_running:  # tasks that the request has started keep its context
                await self.hold(conn)

        token, id_token = before_commit.set(check), _new_id.set(self.new_id)
        try:
            return await self.run(answer, database, has_committed=True)
        finally:
            is_running = False
            before_commit.reset(token)
            _new_id.reset(id_token)

    async def hold(self, conn: Conn) -> None:
        """Keep the claim until the transaction ends. Raise InFlight when another request has taken it over."""
        with suppress(ReadOnlySqlTransaction):  # which has nothing to commit
            if (await conn.execute(HOLD, self.row())).rowcount == 0:
                raise _taken_over()

    async def release(self, database: Database, *, has_committed: bool = False) -> None:
        """Let the next request with the key run. A claim that cannot be released is abandoned later.

        Keep its time for a request that may have committed a transaction.
        """
        with suppress(DatabaseUnavailable, DatabaseBusy, TimeoutError):
            async with asyncio.timeout(RELEASE_TIMEOUT_S), database.connection() as conn:
                await conn.execute(END_LEASE if has_committed else RELEASE, self.row())

    async def finish(self, conn: Conn, *, response: Response, body: bytes) -> None:
        """Store the response. Raise InFlight when another request has taken over the claim."""
        kept = {name: value for name, value in response.headers.items() if name in REPLAYED_HEADERS}
        row = {**self.row(), "status": response.status_code, "body": body.decode(), "headers": Jsonb(kept)}
        cursor = await conn.execute(FINISH, row)
        if cursor.rowcount == 0:
            raise _taken_over()

    def row(self) -> dict[str, Any]:
        """Return the parameters that identify the claim."""
        return {"account_id": self.account_id, "key": self.key, "fence": self.fence}


class _Leases:
    """The claims of running requests of one event loop, renewed together each second."""

    def __init__(self) -> None:
        self.held: set[Claim] = set()
        self._is_scheduled = False
        self._renewing: asyncio.Task[None] | None = None

    def add(self, claim: Claim, database: Database) -> None:
        """Renew the claim until it is discarded from `held`."""
        self.held.add(claim)
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_later(RENEWAL_S, self._start, database, context=Context())

    def _start(self, database: Database) -> None:
        self._is_scheduled = False
        if self.held:  # most requests have ended
            self._renewing = asyncio.create_task(self._renew(database))

    async def _renew(self, database: Database) -> None:
        """Renew all leases. One that is not renewed in time can be taken over; its request then fails."""
        rows = [{**each.row(), "lease": LEASE} for each in self.held]
        with suppress(DatabaseUnavailable, DatabaseBusy, TimeoutError):
            async with asyncio.timeout(RELEASE_TIMEOUT_S), database.connection() as conn:
                await conn.cursor().executemany(RENEW, rows)  # sent at once
        if self.held and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_later(RENEWAL_S, self._start, database)


_leases: WeakKeyDictionary[Database, _Leases] = WeakKeyDictionary()
_new_id: ContextVar[UUID | None] = ContextVar("idempotency_new_id", default=None)


def new_id() -> UUID:
    """Return the id of the one resource that a request creates in a transaction of its own.

    It is the same for a repetition with its Idempotency-Key, which finds what the first request has committed.
    """
    return _new_id.get() or ids.new()


def _taken_over() -> InFlight:
    message = "This request took too long, and a request with the same Idempotency-Key replaced it; repeat it."
    return InFlight(message, retry_after=1)


async def claim(
    request: Request, database: Database, *, caller: Caller, body: Any, key: str | None = None
) -> Claim | None:
    """Claim the key of the request, by default that of the header; return None without one.

    Raise InFlight while another request has the key, Invalid when the key is malformed, is of another request,
    or was used by other credentials and the caller is no person, and the Problem of a selecting header if the
    caller may no longer see the stored response.
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
    row = {"account_id": caller.account_id, "key": key, "made_by": caller.credential_id}
    selecting = next((each for each in selecting_headers if each.name in request.headers), None)
    async with database.connection() as conn:
        role = None
        if selecting is not None:
            role = await selecting.find_role(conn, caller, request.headers[selecting.name])
        times = {"now": now, "expired": now - RETENTION, "lease": LEASE}
        cursor = await conn.execute(CLAIM, {**row, **times, "fingerprint": fingerprint, "role": role})
        if (claimed := await cursor.fetchone()) is not None:
            fence, claimed_at = claimed
            noise = hashlib.sha256(caller.account_id.bytes + key.encode() + fingerprint).digest()
            made = ids.made_of(claimed_at, noise)
            return Claim(account_id=caller.account_id, key=key, fence=fence, new_id=made)
        found = await (await conn.execute(FIND, row)).fetchone()
    before, status, kept, headers, first_role, made_by = found or (fingerprint, None, None, None, role, None)
    is_other = before != fingerprint
    # Other credentials may see less; a person sees everything.
    if is_other or (status is not None and caller.signed_in_at is None and made_by != caller.credential_id):
        whose = "for another request" if is_other else "by other credentials"
        raise Invalid(("header", HEADER), f"This Idempotency-Key was used {whose}; use a new key.", "key_reused")
    if status is None:
        raise InFlight("Another request with this Idempotency-Key is in progress; try again.", retry_after=1)
    if selecting is not None:
        selecting.require_replayable(first_role, role)
    replay = Response(kept, status, {**headers, "Idempotent-Replayed": "true"})
    return Claim(account_id=caller.account_id, key=key, fence=0, replay=replay)


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
