"""Measure opens, clicks and beacons: `python -m bench.public_endpoints [OPTION...] [NAME...]`.

Three processes on one core write to one durable PostgreSQL, whose commits reach the disk: a bare ASGI function and
a FastAPI + ORM stack that commit each write, and the service. They serve 64 concurrent requests in turn, in short
slices. The table has the medians of the ratios within a round, and the latency.
"""

import argparse
import asyncio
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import uvloop

from bench import figures, fixtures, load, run
from bench.contenders import CONTENDERS, pin
from bench.scenarios import DOMAINS
from builders.identity import accounts
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail import links as mail_links, service as mail
from builders.mail.templates import WebhookDisabled

CONNECTIONS = 64
BARE_ASGI_TARGETS, FASTAPI_ORM_TARGET = {"open": 2.0, "click": 2.0, "beacon": 1.6}, 4.0
SLICE_S = 1.0
MESSAGES = 300
TARGET = "https://builders.example/renewals?month=12"
BROWSER = "user-agent: Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0\r\n"
SET_SENT = "UPDATE mail_messages SET status = 'sent', sent_at = %s"
_POST = f"POST /v1/catalog/events HTTP/1.1\r\nhost: bench.example\r\n{BROWSER}content-type: application/json\r\n"
Requests = Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The figures of a contender in one slice."""

    rate: float  # responses per second
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the table."""

    scenario: str
    bare_asgi_ratio: float
    fastapi_orm_ratio: float
    rates: Mapping[str, float]
    p50_ms: Mapping[str, float]
    p99_ms: Mapping[str, float]


async def prepare(data_dir: Path, conninfo: str) -> tuple[fixtures.Fixtures, Mapping[str, Requests]]:
    """Return fixtures with mail sent an hour ago, and the requests of each scenario."""
    prepared = await fixtures.prepare(data_dir, conninfo)
    settings = Settings.model_validate({"data_dir": data_dir, "database_url": conninfo})
    keyring = keyring_of(settings)
    database = Database(conninfo, settings)
    await database.open()
    template = WebhookDisabled(label="main", url="https://hooks.example/in", reason="It answered 410 Gone.")
    async with database.transaction() as conn:
        account = await accounts.create_account(conn, email=f"{ids.new()}@bench.example", verified=True)
        sent = [
            await mail.send(
                conn, keyring=keyring, account_id=account.id, to="recipient@bench.example", template=template
            )
            for _ in range(MESSAGES)
        ]
        await conn.execute(SET_SENT, [clock.now() - timedelta(hours=1)])
    await database.close()
    links = [mail_links.mint_links(keyring, base_url="http://bench.example", message_id=each) for each in sent]
    opens = [_get(each.pixel) for each in links]
    clicks = [_get(each.click(TARGET)) for each in links]
    return prepared, {
        "open": lambda: itertools.cycle(opens),
        "click": lambda: itertools.cycle(clicks),
        "beacon": _beacons,
    }


def _get(address: str) -> bytes:
    parts = urlsplit(address)
    place = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return f"GET {place} HTTP/1.1\r\nhost: bench.example\r\naccept: text/html,*/*;q=0.8\r\n{BROWSER}\r\n".encode()


def _beacons() -> Iterator[bytes]:
    """Yield requests with new events, endlessly."""
    run_id = ids.new().hex
    for n in itertools.count():
        event = {
            "kind": "view",
            "domain": DOMAINS[n % len(DOMAINS)],
            "event_id": f"{run_id}-{n}",
            "session_id": f"session-{n // 3}",
        }
        body = json.dumps(event)
        yield f"{_POST}content-length: {len(body)}\r\n\r\n{body}".encode()


def fetch(server: run.Server, request: bytes) -> tuple[int, str | None, object]:
    """Return the status, the Location header and the body without its id."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.decode().splitlines()
    method, place, _ = lines[0].split(" ")
    connection = HTTPConnection(load.HOST, server.port, timeout=run.READY_WITHIN_S)
    connection.request(method, place, body or None, dict(line.split(": ", 1) for line in lines[1:]))
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    is_json = answer.headers["content-type"] == "application/json"
    shown = sorted({**json.loads(content), "id": "…"}.items()) if is_json else content
    return answer.status, answer.headers["location"], shown


def compare(servers: Sequence[run.Server], requests: Requests) -> None:
    """Raise LoadFailed unless all contenders send the same response."""
    responses = {server.name: fetch(server, next(requests())) for server in servers}
    if len({repr(each) for each in responses.values()}) > 1:
        raise load.LoadFailed(f"the responses differ: {responses}")


def measure_slice(server: run.Server, requests: Iterator[bytes], seconds: float) -> Slice:
    """Measure one contender for a slice."""
    result = uvloop.run(
        load.run(server.port, requests, seconds=seconds, connections=CONNECTIONS, statuses=(200, 302))
    )
    took = sorted(result.took)
    return Slice(rate=result.rate, p50_ms=took[len(took) // 2] * 1e3, p99_ms=took[len(took) * 99 // 100] * 1e3)


def measure(name: str, servers: Sequence[run.Server], requests: Requests, seconds: float) -> Line:
    """Measure all contenders in turn, each for `seconds`."""
    compare(servers, requests)
    asked = {server.name: requests() for server in servers}
    length = min(SLICE_S, seconds)
    rounds = [
        {server.name: measure_slice(server, asked[server.name], length) for server in servers}
        for _ in range(1 + max(1, round(seconds / length)))
    ][1:]  # the first fills caches
    return Line(
        scenario=name,
        bare_asgi_ratio=median(each["service"].rate / each["bare_asgi"].rate for each in rounds),
        fastapi_orm_ratio=median(each["service"].rate / each["fastapi_orm"].rate for each in rounds),
        rates={one: median(each[one].rate for each in rounds) for one in CONTENDERS},
        p50_ms={one: median(each[one].p50_ms for each in rounds) for one in CONTENDERS},
        p99_ms={one: median(each[one].p99_ms for each in rounds) for one in CONTENDERS},
    )


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a Markdown table."""
    rows = [
        "| scenario | to bare ASGI, by rate | to FastAPI + ORM | responses/s | p50 / p99, ms |",
        "|---|---|---|---|---|",
    ]
    for line in lines:
        rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in line.rates.items())
        took = ", ".join(f"{name} {line.p50_ms[name]:.1f} / {line.p99_ms[name]:.1f}" for name in line.rates)
        bare = run.compared(line.bare_asgi_ratio, BARE_ASGI_TARGETS[line.scenario])
        orm = run.compared(line.fastapi_orm_ratio, FASTAPI_ORM_TARGET)
        rows.append(f"| {line.scenario} | {bare} | {orm} | {rates} | {took} |")
    return "\n".join(rows)


def main() -> None:
    """Measure the named scenarios, or all, and print the table."""
    parser = argparse.ArgumentParser(description="Speed of opens, clicks and beacons, as ratios within one run.")
    parser.add_argument("names", nargs="*", help="open click beacon")
    parser.add_argument("--seconds", type=float, default=8.0, help="measured for each contender and scenario")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON, for programs")
    parser.add_argument("--write", action="store_true", help="write the table into docs/explanation/speed.md")
    given = parser.parse_args()
    server_core, client_core = run.cores()
    pin(client_core)  # the database is a child process and inherits the core
    with fixtures.temporary_database(durable=True) as (folder, conninfo):
        prepared, known = asyncio.run(prepare(folder, conninfo))
        if unknown := set(given.names) - known.keys():
            parser.error(f"no such scenario: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        lines: list[Line] = []
        with run.serving(prepared, server_core) as servers:
            for name in given.names or known:
                print(f"bench: {name}, {CONNECTIONS} connections", file=sys.stderr)
                lines.append(measure(name, servers, known[name], given.seconds))
    print(json.dumps([asdict(line) for line in lines], indent=2) if given.as_json else table(lines))
    if given.write:
        figures.write_table("public-endpoints", table(lines))


if __name__ == "__main__":
    main()
