"""Clients that write and repeat each request until it is acknowledged, and the check of what they were told.

Acknowledged means: answered with 2xx. Then the row is there once, and a read by its id finds it. Two clients at a
time want the same name, which has one owner and one line of an invoice.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence, Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import httpx
import psycopg

from bench.scenarios import DOMAINS
from builders.kit.values import ids

WRITERS = 8
PAUSE_S = 0.1  # of a writer after each acknowledgment
REQUEST_S = 30.0
RETRY_S = 1.0  # without a response
CLAIM_PAUSE_S = 0.5
PLAN, PROMOTE = "/v1/sandbox/plan", "/v1/sandbox/promote"
COUNT = """
    SELECT name, count(*) FROM projects WHERE name LIKE %(run)s GROUP BY name
    UNION ALL
    SELECT session_id, count(*) FROM catalog_events WHERE session_id LIKE %(run)s GROUP BY session_id
"""
CLAIMED = """
    WITH created AS ( -- each owner that a name had
        SELECT data::json ->> 'address' AS address, count(*) AS owners
        FROM kit_outbox WHERE name = 'alias.created' GROUP BY 1
    ), charged AS (
        SELECT description AS address, count(*) AS lines FROM invoices_lines GROUP BY 1
    )
    SELECT address, id::text, coalesce(owners, 0), coalesce(lines, 0)
    FROM (SELECT id, local_part || '@' || domain AS address FROM aliases WHERE local_part LIKE %(run)s) AS claimed
    LEFT JOIN created USING (address) LEFT JOIN charged USING (address)
"""
LEADS = "SELECT email FROM leads_requests WHERE email LIKE %(run)s"
GAPS = """
    SELECT series, count(*), max(place)
    FROM (SELECT left(number, -6) AS series, right(number, 6)::int AS place FROM invoices_invoices) AS numbered
    GROUP BY series HAVING count(place) <> max(place)
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """An acknowledged write, by the clock of this process."""

    name: str
    sent_at: float
    answered_at: float


@dataclass(frozen=True, slots=True)
class Claim:
    """An acknowledged claim of a name, by the clock of this process."""

    id: str
    answered_at: float


@dataclass(slots=True)
class History:
    """What was acknowledged, and when the database accepted writes again after each kill."""

    run: str = field(default_factory=lambda: ids.new().hex)  # begins the names of its rows
    local_parts: str = field(default_factory=lambda: f"h{ids.new().hex[-10:]}-")  # begins the names that it claims
    answers: list[Answer] = field(default_factory=list)
    leads: dict[str, float] = field(default_factory=dict)  # addresses of acknowledged leads -> when
    claims: dict[str, Claim] = field(default_factory=dict)  # acknowledged names by address
    unread: list[str] = field(default_factory=list)  # acknowledged, and not found by a read after that
    outages: list[tuple[float, float]] = field(default_factory=list)  # killed, accepted writes
    stopping: bool = False
    is_cut: bool = False  # the service is gone for good: running requests are given up

    def list_acknowledged(self, *, until: float = math.inf) -> list[str]:
        """Return the names, events, leads and claims that were acknowledged until a moment."""
        return [
            *(each.name for each in self.answers if each.answered_at <= until),
            *(address for address, answered_at in self.leads.items() if answered_at <= until),
            *(address for address, each in self.claims.items() if each.answered_at <= until),
        ]

    def longest_retry_s(self) -> float:
        """Return the longest time from the acceptance of writes to the answer of a request that was running.

        Of several kills during a request, the last one counts.
        """
        waited = []
        for each in self.answers:
            during = [end for begin, end in self.outages if each.sent_at < end and each.answered_at > begin]
            if during:
                waited.append(max(each.answered_at - max(during), 0.0))
        return max(waited, default=0.0)


async def write(api: httpx.AsyncClient, history: History, *, writer: int, own: Sequence[str]) -> None:
    """Create projects, funnel events and leads until the end, and repeat each request until it is acknowledged."""
    count = 0
    while not history.stopping:
        count += 1
        name, secret = f"{history.run}-project-{writer}-{count}", own[count % len(own)]
        headers = {"X-API-Key": secret, "Idempotency-Key": ids.new().hex}
        made = await _acknowledge(api, history, name, "/v1/builders/projects", {"name": name}, headers)
        path = f"/v1/builders/projects/{made.json()['id']}"
        found = await _repeat(partial(api.get, path, headers={"X-API-Key": secret}))
        if not found.is_success:
            history.unread.append(name)
        session = f"{history.run}-event-{writer}-{count}"
        event = {"kind": "view", "domain": DOMAINS[0], "event_id": session, "session_id": session}
        await _acknowledge(api, history, session, "/v1/catalog/events", event, {})
        address = f"{history.run}-lead-{writer}-{count}@soak.example"
        asked = await _repeat(partial(api.post, "/v1/leads", json={"email": address}))
        assert asked.is_success, f"/v1/leads: {asked.status_code} {asked.text}"
        history.leads[address] = time.monotonic()
        await asyncio.sleep(PAUSE_S)


async def claim(api: httpx.AsyncClient, history: History, *, writer: int, secret: str) -> None:
    """Plan and promote names until the end, each of which another client wants too."""
    count, send = 0, partial(api.post, headers={"X-API-Key": secret})
    while not history.stopping:
        count += 1
        address = f"{history.local_parts}{writer // 2}-{count}@{DOMAINS[0]}"
        alias = {"key": "name", "address": address, "destinations": ["claims@soak.example"]}
        named = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": f"soak-{count}"}}
        planned = await _repeat(partial(send, PLAN, json={**named, "resources": {"aliases": [alias]}}))
        assert planned.is_success, f"{PLAN}: {planned.status_code} {planned.text}"
        plan = planned.json()
        request = {"plan_id": plan["id"], "digest": plan["digest"]}
        promoted = await _repeat(partial(send, PROMOTE, json=request))
        while promoted.is_success and promoted.json()["status"] == "running":  # as its process ended
            await asyncio.sleep(RETRY_S)
            promoted = await _repeat(partial(send, PROMOTE, json=request))
        if promoted.is_success and promoted.json()["status"] == "succeeded":
            history.claims[address] = Claim(promoted.json()["steps"][0]["resource_id"], time.monotonic())
        elif (
            promoted.status_code != httpx.codes.CONFLICT
        ):  # the plan was made before the other client had the name
            history.unread.append(f"{address}: {promoted.status_code} {promoted.text}")
        await asyncio.sleep(CLAIM_PAUSE_S)


async def _acknowledge(
    api: httpx.AsyncClient,
    history: History,
    name: str,
    path: str,
    body: dict[str, str],
    headers: dict[str, str],
) -> httpx.Response:
    sent_at = time.monotonic()
    answer = await _repeat(lambda: api.post(path, json=body, headers=headers))
    assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
    history.answers.append(Answer(name, sent_at, time.monotonic()))
    return answer


async def _repeat(send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Send a request until it has a response that is not about the time being."""
    while True:
        pause_s = RETRY_S
        with suppress(httpx.TransportError):
            answer = await send()
            if "Retry-After" not in answer.headers:
                return answer
            pause_s = float(answer.headers["Retry-After"])
        await asyncio.sleep(pause_s)


@asynccontextmanager
async def writing(
    port: int, secrets: Sequence[str], history: History, *, within_s: float = REQUEST_S
) -> AsyncIterator[None]:
    """Let the writers write until the end of the block, and then until their last requests are acknowledged."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=within_s) as api:
        shares = [secrets[n::WRITERS] for n in range(WRITERS)]
        clients = [
            *(write(api, history, writer=n, own=own) for n, own in enumerate(shares)),
            *(claim(api, history, writer=n, secret=own[0]) for n, own in enumerate(shares)),
        ]
        running = [asyncio.create_task(each) for each in clients]
        yield
        history.stopping = True
        if history.is_cut:
            for each in running:
                each.cancel()
        for ended in await asyncio.gather(*running, return_exceptions=history.is_cut):
            if isinstance(ended, Exception):  # of before the end; what is canceled has none
                raise ended


@dataclass(frozen=True, slots=True)
class Stored:
    """What a database has of a history."""

    rows: Mapping[str, int]  # projects and events
    leads: AbstractSet[str]
    claims: Mapping[str, tuple[str, int, int]]  # id, owners that the name had, lines of invoices
    gaps: Sequence[object]  # between invoices

    @property
    def names(self) -> AbstractSet[str]:
        """Return all that is there."""
        return self.rows.keys() | self.leads | self.claims.keys()


def read_stored(conninfo: str, history: History) -> Stored:
    """Return what the database has of a history."""
    with psycopg.connect(conninfo) as conn:
        rows = conn.execute(COUNT, {"run": f"{history.run}-%"}).fetchall()
        leads = conn.execute(LEADS, {"run": f"{history.run}-%"}).fetchall()
        claims = conn.execute(CLAIMED, {"run": f"{history.local_parts}%"}).fetchall()
        return Stored(
            rows=dict(rows),
            leads={email for (email,) in leads},
            claims={address: (found, owners, lines) for address, found, owners, lines in claims},
            gaps=conn.execute(GAPS).fetchall(),
        )


def find_lost(stored: Stored, history: History, *, until: float = math.inf) -> list[str]:
    """Return what was acknowledged until a moment and is not there."""
    return [each for each in history.list_acknowledged(until=until) if each not in stored.names]


def find_errors(conninfo: str, history: History, *, until: float = math.inf) -> list[str]:
    """Return what is lost, there twice, charged twice or was not found by a read, and gaps between invoices.

    What was acknowledged after `until` may be lost.
    """
    stored = read_stored(conninfo, history)
    lost = [f"lost: {each}" for each in find_lost(stored, history, until=until)]
    doubled = [f"there {count} times: {name}" for name, count in stored.rows.items() if count != 1]
    wrong = [
        f"claimed as {history.claims.get(address)}: {address} {row}"
        for address, row in stored.claims.items()
        if row[1:] != (1, 1) or not _is_told(history.claims.get(address), row[0], history)
    ]
    unread = [f"not found: {name}" for name in history.unread]
    return [*lost, *doubled, *unread, *wrong, *(f"numbers of invoices with a gap: {each}" for each in stored.gaps)]


def _is_told(told: Claim | None, stored_id: str, history: History) -> bool:
    """Return whether a client knows a stored claim, or had no answer when the service went."""
    return history.is_cut if told is None else told.id == stored_id
