"""Measure the look-ups of a mail server: `python -m bench.lookups [--seconds N] [--rounds N] [--json]`.

The look-up server answers from PostgreSQL. Beside it a bare socketmap server answers from a dict, as a map in a
file would. Both have the same clients: connections that send the next request when they have the reply, as the
processes of Postfix do. Server, PostgreSQL and clients share all cores.
"""

import argparse
import asyncio
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import psutil
import psycopg
from pydantic import SecretStr

from bench import fixtures
from builders.forwarding import server
from builders.kit.process.settings import Settings

RATE_TARGET, P99_TARGET_S = 4000, 0.020
NAMES = 100_000
CONNECTIONS = 32
CONTENDERS = ("dict", "service")
DOMAIN = "bench.example"
# Names of 100 accounts, each with a confirmed destination, as the look-up server is told of them.
SEED = """
    INSERT INTO aliases_lookups (domain, name, account_id, is_shared, separator_policy)
    SELECT 'bench.example', '', gen_random_uuid(), false, 'ignore_dots';
    INSERT INTO aliases_lookups (domain, name, account_id, alias_id, is_claimed, destinations, block)
    SELECT 'bench.example', 'name' || n, ('00000000-0000-4000-8000-' || lpad((n % 100)::text, 12, '0'))::uuid,
           gen_random_uuid(), true, ARRAY['to' || n || '@example.net'], '{}' FROM generate_series(1, 100000) AS n;
"""
ANALYZE = "ANALYZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What the clients and the processes of a contender measured."""

    rate: float  # look-ups per second
    p99_s: float
    cpu_us: float  # of the server per look-up, without PostgreSQL


def serve(name: str, listener: socket.socket, settings: Settings) -> None:
    """Serve until the process is terminated."""
    if name == "service":
        asyncio.run(server.main(settings, listener))
    else:
        asyncio.run(serve_dict(listener))


async def serve_dict(listener: socket.socket) -> None:
    """Answer from a dict."""
    known = {f"name{n}@{DOMAIN}": f"OK to{n}@example.net" for n in range(1, NAMES + 1)}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                _, _, key = (await server.read_request(reader)).partition(b" ")
                writer.write(server.netstring(known.get(key.decode(), "NOTFOUND ")))
        except asyncio.IncompleteReadError:
            writer.close()

    async with await asyncio.start_server(answer, sock=listener) as running:
        await running.serve_forever()


async def ask(port: int, seconds: float) -> list[float]:
    """Send requests on all connections for some seconds; return the seconds of each."""
    taken: list[float] = []
    end = time.perf_counter() + seconds

    async def work(seed: int) -> None:
        chosen = random.Random(seed)  # noqa: S311 - a choice of names
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (began := time.perf_counter()) < end:
            writer.write(server.netstring(f"alias name{chosen.randint(1, NAMES)}@{DOMAIN}"))
            reply = await server.read_request(reader)
            assert reply.startswith(b"OK to"), reply
            taken.append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*(work(seed) for seed in range(CONNECTIONS)))
    return taken


@contextmanager
def running(name: str, conninfo: str, data_dir: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Run a contender in a process of its own; yield its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        command = [sys.executable, "-m", "bench.lookups", "--as", name, "--fd", str(listener.fileno())]
        command += ["--conninfo", conninfo, "--data-dir", str(data_dir)]
        process = subprocess.Popen(command, pass_fds=[listener.fileno()], stderr=subprocess.DEVNULL)
        try:
            yield listener.getsockname()[1], psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def measure(name: str, conninfo: str, data_dir: Path, seconds: float) -> Round:
    """Measure a contender, after a second in which it starts."""
    with running(name, conninfo, data_dir) as (port, process):
        asyncio.run(ask(port, 1))
        before = process.cpu_times()
        taken = sorted(asyncio.run(ask(port, seconds)))
        after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    return Round(
        rate=len(taken) / seconds, p99_s=taken[int(len(taken) * 0.99)], cpu_us=used / len(taken) * 1_000_000
    )


def main() -> None:
    """Measure both in turn and print a line."""
    parser = argparse.ArgumentParser(description="Look-ups, as a ratio to a dict in the same run.")
    parser.add_argument("--seconds", type=float, default=4, help="of each contender and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON, for programs")
    parser.add_argument("--as", dest="name", choices=CONTENDERS, help=argparse.SUPPRESS)
    for hidden, kind in (("--fd", int), ("--conninfo", str), ("--data-dir", Path)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.name is not None:
        settings = Settings(database_url=SecretStr(given.conninfo), data_dir=given.data_dir)
        serve(given.name, socket.socket(fileno=given.fd), settings)
        return
    with fixtures.temporary_database() as (data_dir, conninfo):
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute(SEED)
            conn.execute(ANALYZE)
        rounds = [
            {name: measure(name, conninfo, data_dir, given.seconds) for name in CONTENDERS}
            for _ in range(given.rounds)
        ]
    if given.as_json:
        print(json.dumps([{name: asdict(each) for name, each in some.items()} for some in rounds], indent=2))
        return
    rate, p99 = (median(getattr(each["service"], key) for each in rounds) for key in ("rate", "p99_s"))
    ratio = median(each["service"].rate / each["dict"].rate for each in rounds)
    met = "" if rate >= RATE_TARGET and p99 <= P99_TARGET_S else " (below the target)"
    targets = f"targets {RATE_TARGET:,} a second, p99 {P99_TARGET_S * 1000:.0f} ms"
    print(f"| look-ups{met} | {rate:,.0f} a second, p99 {p99 * 1000:.1f} ms ({targets}) |")
    cpu = {name: median(each[name].cpu_us for each in rounds) for name in CONTENDERS}
    print(
        f"{ratio:.2f} of a dict; CPU of the server per look-up: {cpu['service']:.0f} us, dict {cpu['dict']:.0f} us"
    )


if __name__ == "__main__":
    main()
