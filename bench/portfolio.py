"""Measure a large portfolio: `python -m bench.portfolio [--domains N] [--seconds N]`.

A page of 50 domains is compared with a bare ASGI function that runs the same statements on the same pool and
writes the same JSON, in short slices in turn on one core. The ratio is of processor time per response, because
PostgreSQL and other programs share the core. Every other read follows (`bench/portfolio_reads.py`), and then the
files of another portfolio (`bench/portfolio_files.py`).
"""

import argparse
import asyncio
import itertools
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from statistics import median
from uuid import UUID

import uvicorn
from starlette.types import Receive, Scope, Send

from bench import fixtures, load, portfolio_files, portfolio_reads, run
from bench.contenders import pin
from bench.fixtures import open_dependencies
from builders.app import settle
from builders.identity.records import Preset
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.portfolio.domains import changes, figures as domain_figures, lookups, names
from builders.portfolio.domains.filters import FigureFilters
from builders.portfolio.domains.records import DomainSort, ExpirySource, NewDomain, PortfolioDomainStatus
from builders.portfolio.domains.store import pages
from builders.portfolio.domains.today import get_today
from builders.portfolio.finance import sales, store as finance_store
from builders.portfolio.finance.records import Sale
from builders.portfolio.ledger import entries as ledger_entries, rates
from builders.portfolio.ledger.records import EntryKind, EntrySource, NewEntry, SaleTerms

PAGE, BATCH, YEARS = 50, 5_000, 10
TARGET = 0.8
TLDS, TAGS, REGISTRARS = (
    ("com", "net", "org", "io", "co.uk"),
    ("brand", "geo", "short", "sell"),
    ("Porkbun", "Gandi"),
)
CURRENCIES, FOLDERS, SOLD = ("USD", "USD", "EUR", "GBP"), ("Ports", "Ships", None), 10  # one of SOLD was sold
WORDS = ("offer", "from", "buyer", "broker", "call", "Büro", "price", "list", "hold", "expired", "auction", "keep")
KINDS = (EntryKind.RENEWAL, EntryKind.RENEWAL, EntryKind.TAX, EntryKind.PARKING_REVENUE, EntryKind.REFUND)


class BarePage:
    """The first page of a portfolio, as a bare ASGI application."""

    def __init__(self, settings: Settings, account_id: UUID) -> None:
        self._settings = settings
        self._account_id = account_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            async with open_dependencies(self._settings) as shared:
                self._database = shared.database
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = await self._page()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _page(self) -> bytes:
        sort = DomainSort.CREATED_DESC
        async with self._database.connection() as conn:
            today = await get_today(conn, account_id=self._account_id)
            rows = await pages.list_page(
                conn,
                account_id=self._account_id,
                filters=FigureFilters(),
                sort=sort,
                position=pages.first_position(sort),
                limit=PAGE + 1,
                shows_finance=True,
                today=today,
            )
            shown = rows[:PAGE]
            prices = {each.id: each.price for each in shown}
            figures = await lookups.list_figures(conn, account_id=self._account_id, prices=prices, today=today)
        return f'{{"items":{lookups.write_items(shown, figures=figures, today=today)},"next_cursor":"x"}}'.encode()


async def fill(data_dir: Path, conninfo: str, *, count: int, years: int = YEARS) -> tuple[str, UUID]:
    """Add a portfolio with an entry per domain and year; return a key and the account."""
    settings = Settings.model_validate({"data_dir": data_dir, "database_url": conninfo})
    keyring_of(settings)
    database = Database(conninfo, settings)
    await database.open()
    await rates.load_installed_rates(database)
    started = time.perf_counter()
    async with database.transaction() as conn:
        account_id, secret = await fixtures.make_account(conn, preset=Preset.DOMAINER_FULL)
    for start in range(0, count, BATCH):
        async with database.transaction() as conn:
            added = await changes.add_domains(
                conn, account_id=account_id, new=[_domain(n) for n in range(start, min(count, start + BATCH))]
            )
        sold = [_sale(each.id) for each in added[::SOLD]] if years else []
        async with database.transaction() as conn:
            await finance_store.save_sales(
                conn, account_id=account_id, sales=[sale for sale, _ in sold], created_by=None
            )
            of_sales = [entry for _, entries in sold for entry in entries]
            await ledger_entries.post_entries(conn, account_id=account_id, entries=of_sales)
        for year in range(years):
            async with database.transaction() as conn:
                entries = [_entry(each.id, year) for each in added]
                await ledger_entries.post_entries(conn, account_id=account_id, entries=entries)
        print(f"bench: {start + len(added):,} domains, {time.perf_counter() - started:.1f} s", file=sys.stderr)
    await _settle(database, account_id)
    await database.close()
    return secret, account_id


async def _settle(database: Database, account_id: UUID) -> None:
    """Write the statistics of PostgreSQL and the figures, as autovacuum and the worker do within a minute."""
    async with database.connection() as conn:
        await conn.execute("ANALYZE")
    has_more = True
    while has_more:
        async with database.transaction() as conn:
            has_more = await domain_figures.refresh(conn, account_id=account_id)
    async with database.connection() as conn:
        await conn.execute("VACUUM ANALYZE")


def _domain(n: int) -> NewDomain:
    chance = random.Random(n)  # noqa: S311 - no secret
    return NewDomain(
        name=names.parse_name(f"d{n}.{chance.choice(TLDS)}"),
        registrar=chance.choice(REGISTRARS),
        acquired_on=clock.now().date() - timedelta(days=chance.randrange(3_000)),
        expires_at=datetime(2026, 12, 1, tzinfo=UTC) + timedelta(days=chance.randrange(365)),
        expiry_source=ExpirySource.MANUAL,
        auto_renew=chance.random() < 0.5,
        renewal_price=Money(Decimal(chance.randrange(700, 9_000)) / 100, chance.choice(CURRENCIES)),
        tags=[chance.choice(TAGS)],
        folder=chance.choice(FOLDERS),
        notes=" ".join(chance.choices(WORDS, k=20)) if chance.random() < 0.5 else None,
    )


def _entry(domain_id: UUID, year: int) -> NewEntry:
    chance = random.Random(domain_id.int + year)  # noqa: S311 - no secret
    kind = chance.choice(KINDS) if year else EntryKind.ACQUISITION
    # One entry per domain and year, on a random day.
    day = clock.now().date() - timedelta(days=365 * (YEARS - 1 - year) + domain_id.int % 365)
    return NewEntry(
        domain_id=domain_id,
        kind=kind,
        money=Money(Decimal(chance.randrange(1, 20_000)) / 100, chance.choice(CURRENCIES)),
        occurred_on=day,
        source=EntrySource.IMPORT,
    )


def _sale(domain_id: UUID) -> tuple[Sale, Sequence[NewEntry]]:
    """Return the sale of a domain, with its entries: of two years before, after which it was bought back."""
    sale = Sale(
        id=ids.new(),
        domain_id=domain_id,
        sold_on=clock.now().date() - timedelta(days=365 * 2),
        own_share=Decimal(1),
        status_before=PortfolioDomainStatus.OWNED,
        created_at=clock.now(),
    )
    terms = SaleTerms(gross=Money(Decimal(500), "USD"), sold_on=sale.sold_on, commission_rate=Decimal("0.15"))
    return sale, sales.sale_entries(sale, terms, created_by=None)


@contextmanager
def serving(command: Sequence[str], name: str) -> Iterator[run.Server]:
    """Run a server on a new socket; the descriptor of the socket is appended to `command`."""
    with socket.create_server((load.HOST, 0), backlog=256) as listener:
        process = subprocess.Popen(
            [sys.executable, *command, str(listener.fileno())], pass_fds=[listener.fileno()]
        )
        try:
            yield run.Server(name=name, port=listener.getsockname()[1], pid=process.pid)
        finally:
            process.terminate()
            process.wait()


def serve_bare(data_dir: Path, conninfo: str, *, account_id: UUID, fd: int) -> None:
    """Serve the bare page on an inherited socket."""
    pin(run.cores()[0])
    settings = Settings.model_validate({"data_dir": data_dir, "database_url": conninfo})
    config = uvicorn.Config(
        BarePage(settings, account_id), loop="uvloop", http="httptools", ws="none", log_config=None
    )
    config.access_log = False
    settle()  # the service does this too, so garbage collection affects both alike
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=fd)])


def _page_line(bare: run.Server, service: run.Server, requests: Iterator[bytes], *, seconds: float) -> str:
    """Measure the page in turn, in alternating order, after slices that prepare statements."""
    for each in (bare, service):
        run.measure_slice(each, requests, 2 * run.SLICE_S)
    orders = itertools.islice(
        itertools.cycle(((bare, service), (service, bare))), max(2, round(seconds / run.SLICE_S))
    )
    rounds = [{each.name: run.measure_slice(each, requests, run.SLICE_S) for each in order} for order in orders]
    cpu_us = {name: median((each[name].cpu_s or 0) * 1e6 for each in rounds) for name in rounds[0]}
    rates = {name: median(each[name].rate for each in rounds) for name in rounds[0]}
    ratios = [(each["bare"].cpu_s or 0) / each["service"].cpu_s for each in rounds if each["service"].cpu_s]
    shown = (
        f"{median(ratios):.2f} of bare ASGI (target {TARGET})"
        if ratios
        else "the system does not report processor time"
    )
    return (
        f"| a page of {PAGE} | {shown}; processor time of a response {cpu_us['service']:,.0f} and "
        f"{cpu_us['bare']:,.0f} us; responses/s {rates['service']:,.0f} and {rates['bare']:,.0f} |"
    )


def main() -> None:
    """Fill a portfolio, measure, and print the table."""
    parser = argparse.ArgumentParser(description="Speed of a large portfolio.")
    parser.add_argument("--domains", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=5.0, help="measured for the page, for each contender")
    parser.add_argument("--bare", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bare:
        data_dir, conninfo, account, fd = given.bare
        serve_bare(Path(data_dir), conninfo, account_id=UUID(account), fd=int(fd))
        return
    server_core, client_core = run.cores()
    pin(client_core)
    with fixtures.temporary_database() as (folder, conninfo):
        key, account_id = asyncio.run(fill(folder, conninfo, count=given.domains))
        core = [] if server_core is None else ["--core", str(server_core)]
        where = ["--data-dir", str(folder), "--conninfo", conninfo]
        bare_command = ["-m", "bench.portfolio", "--bare", str(folder), conninfo, str(account_id)]
        service_command = ["-m", "bench.contenders", "service", *where, *core, "--fd"]
        with serving(bare_command, "bare") as bare, serving(service_command, "service") as service:
            request = f"GET /v1/portfolio/domains?limit={PAGE} HTTP/1.1\r\nhost: bench\r\nx-api-key: {key}\r\n\r\n"
            requests = itertools.cycle([request.encode()])
            print(_page_line(bare, service, requests, seconds=given.seconds))
            domain = f"d0.{random.Random(0).choice(TLDS)}"  # noqa: S311 - no secret
            for read in portfolio_reads.measure(service, conninfo, key, domain=domain):
                print(read.line())
        empty, _ = asyncio.run(fill(folder, conninfo, count=0))
        with portfolio_files.serving(folder, conninfo) as port:
            for line in portfolio_files.measure(port, empty):
                print(line)


if __name__ == "__main__":
    main()
