"""A database, fakes of registrars that hold domains and bills, and workers that are killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil

from builders.demo.registrars.fake import FakeAccount, FakeDomain, FakeLine, FakePurchase, FakeServer
from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.billing import charge_sync as billing_syncing
from builders.portfolio.billing.records import SyncOptions
from builders.portfolio.domains import changes, names as domain_names
from builders.portfolio.domains.records import NewDomain
from builders.portfolio.registrars import connections, credentials as sealing, inventory_sync, requests
from builders.portfolio.registrars.records import Connection
from builders.portfolio.registrars.store import connections as store
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import Run
from tests.registrars.fakes import FAKES

PROVIDERS = ("porkbun", "godaddy", "namecom", "spaceship")
BILLING_PROVIDERS = ("godaddy", "namecom", "namesilo", "route53")
KILLED_DOMAINS = 6_000
LINES_OF_ORDER, REFUNDED_EVERY = 20, 5  # of the orders, every fifth one has a refund
PRICE = Decimal("10.98")
EXPIRES, CREATED = datetime(2027, 2, 28, 12, tzinfo=UTC), datetime(2020, 2, 29, 12, tzinfo=UTC)
FAR_PAST = "UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat - interval '1 hour'"
STATE = """
    SELECT held.domain, held.provider, held.expires_at, held.auto_renew, held.missing_since IS NULL,
        mine.expires_at, mine.expiry_source, mine.auto_renew, mine.locked, mine.registrar
    FROM portfolio_registrars_holdings AS held
    LEFT JOIN portfolio_domains AS mine USING (account_id, domain)
    WHERE account_id = %s ORDER BY held.domain
"""
EVENTS = """
    SELECT name, count(*) FROM kit_outbox WHERE account_id = %s AND name ~ '^portfolio[.](sync|billing)[.]'
    GROUP BY name ORDER BY name
"""
# With two entries of the ledger for a charge, it has two rows.
CHARGES = """
    SELECT charge.provider, order_id, line_id, domain, charge.kind, total, charge.currency, state, is_linked,
        entry.kind, entry.amount, entry.occurred_on, entry.voided_at IS NULL
    FROM portfolio_billing_charges AS charge
    LEFT JOIN portfolio_ledger_entries AS entry
        ON entry.account_id = charge.account_id AND entry.reference = charge.id::text
    WHERE charge.account_id = %s ORDER BY charge.provider, order_id, line_id, domain, entry.id
"""
BOOKED = """
    SELECT (SELECT count(*) FROM portfolio_billing_charges WHERE account_id = %(account_id)s),
        (SELECT sum(total) FROM portfolio_billing_charges WHERE account_id = %(account_id)s),
        count(*), count(DISTINCT reference), sum(CASE kind WHEN 'refund' THEN -amount ELSE amount END),
        (SELECT sum(total) FROM portfolio_billing_charges WHERE account_id = %(account_id)s AND state = 'applied')
    FROM portfolio_ledger_entries WHERE account_id = %(account_id)s
"""


class Setup:
    """A database, fakes of registrars, and workers."""

    def __init__(self, folder: Path, conninfo: str, fakes: FakeServer) -> None:
        self.fakes = fakes
        self.environment = {
            **os.environ,
            "BUILDERS_DATA_DIR": str(folder),
            "BUILDERS_DATABASE_URL": conninfo,
            "BUILDERS_OUTBOUND_ALLOW": fakes.address,
            "BUILDERS_LOG_LEVEL": "error",
            "BUILDERS_EXCHANGE_RATES": "off",
            "BUILDERS_RDAP": "off",
        }
        self.settings = Settings.model_validate({"data_dir": folder, "database_url": conninfo})
        self.keyring = keyring_of(self.settings)
        self.database = Database(conninfo, self.settings)

    @contextmanager
    def worker(self) -> Iterator[psutil.Process]:
        """Run a worker; kill it at the end of the block."""
        process = subprocess.Popen([sys.executable, "-m", "builders", "worker"], env=self.environment)
        try:
            yield psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()

    async def portfolio(self, count: int, providers: Sequence[str] = PROVIDERS) -> UUID:
        """Make a portfolio of domains at registrars; one of ten domains is only at the registrar."""
        names = [f"soak-{at:06d}.com" for at in range(count)]
        async with self.database.transaction() as conn:
            account = await accounts.create_account(conn, email=f"{ids.new()}@soak.example", verified=True)
            for start in range(0, count, 1_000):
                new = [NewDomain(name=domain_names.parse_name(each)) for each in names[start : start + 900]]
                await changes.add_domains(conn, account_id=account.id, new=new, uses_rdap=False)
            for at, provider in enumerate(providers):
                await self._connect(conn, account.id, provider, names[at :: len(providers)])
        return account.id

    async def _connect(self, conn: Conn, account_id: UUID, provider: str, names: Sequence[str]) -> None:
        held = [FakeDomain(domain=each, expires_at=EXPIRES, created_at=CREATED) for each in names]
        fake = FAKES[provider](FakeAccount(domains=held, orders=list(_purchases(names))))
        connection_id = ids.new()
        now = clock.now()
        connection = Connection(
            account_id=account_id,
            id=connection_id,
            provider=provider,
            base_url=self.fakes.add(fake),
            created_at=now,
            updated_at=now,
        )
        sealed = sealing.seal(self.keyring, fake.credentials, account_id=account_id, connection_id=connection_id)
        await store.save(conn, connection, credentials=sealed)
        # As if synced, or the schedule would start a sync of its own.
        await requests.record_outcome(
            conn, account_id=account_id, connection_id=connection_id, failure=None, synced_at=clock.now()
        )

    async def start(self, account_id: UUID) -> Run:
        """Start a sync of domains."""
        async with self.database.transaction() as conn:
            return await inventory_sync.refresh_inventory(conn, account_id=account_id, member_id=account_id)

    async def start_billing(self, account_id: UUID) -> Run:
        """Start a sync of charges."""
        async with self.database.transaction() as conn:
            found = await connections.list_connections(conn, account_id=account_id)
            return await billing_syncing.start_sync(
                conn, account_id=account_id, connections=found, options=SyncOptions()
            )

    async def wait(self, run: Run, timeout_s: float) -> Run:
        """Return the run when it has ended, or after a time."""
        return await runs.wait_for_run(self.database, run=run, timeout_s=timeout_s)

    async def state(self, account_id: UUID, statement: str) -> Sequence[Any]:
        """Return what syncs have written."""
        async with self.database.connection() as conn:
            rows = await (await conn.execute(statement, [account_id])).fetchall()
            return [*rows, *await (await conn.execute(EVENTS, [account_id])).fetchall()]

    async def is_booked_once(self, account_id: UUID) -> bool:
        """Print charges and entries; return whether every charge that has a domain has exactly one entry."""
        async with self.database.connection() as conn:
            found = await (await conn.execute(BOOKED, {"account_id": account_id})).fetchone()
        assert found is not None
        charges, billed, entries, references, booked, applied = found
        if charges:
            print(
                f"{charges:,} charges of {billed} in total, {entries:,} entries for {references:,} of them, "
                f"{booked} booked of {applied} matched",
                flush=True,
            )
        return bool(entries == references and booked == applied)


def _purchases(names: Sequence[str]) -> Iterator[FakePurchase]:
    """Yield orders for the domains, and refunds of one line."""
    today = clock.now().date()
    for at, start in enumerate(range(0, len(names), LINES_OF_ORDER)):
        named = names[start : start + LINES_OF_ORDER]
        order_id, on = str(10_000 + at), today - timedelta(days=10 + at)
        yield FakePurchase(order_id=order_id, charged_on=on, lines=[_line(each, PRICE) for each in named])
        if at % REFUNDED_EVERY == 0:
            yield FakePurchase(
                order_id=f"{order_id}9",
                charged_on=on + timedelta(days=5),
                lines=[_line(named[0], -PRICE)],
                parent_order_id=order_id,
            )


def _line(name: str, total: Decimal) -> FakeLine:
    return FakeLine(domains=[name], operation="renewal", total=total)
