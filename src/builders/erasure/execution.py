"""The erasure itself: batches of a transaction each, repeatable, so that a killed job continues.

The account is unreachable from its beginning on; its address goes with the last batch. What stays: issued invoices
with what tax law demands, a keyed hash of each name, and the id of the account with nothing else.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

from builders.aliases import claims, confirmations
from builders.domains import dkim_keys
from builders.erasure import settlement, store
from builders.erasure.records import LIST
from builders.identity import accounts
from builders.identity.oauth import suspensions as credentials
from builders.identity.records import ERASED, Account
from builders.invoices import invoices
from builders.kit.db import account_tables, suspensions
from builders.kit.db.account_tables import AccountTable
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import service as mail
from builders.portfolio.team import members

JOB = "erasure.erase"
AFTER = timedelta(minutes=2)  # requests that have begun end in this time
BATCH = 1_000  # rows
# What tax law demands: the rows of the real account stay (docs/explanation/what-is-kept.md).
INVOICES = frozenset(
    f"invoices_{each}" for each in ("credit", "invoices", "line_credits", "lines", "numbers", "payments")
)
LAST = "kit_suspensions"  # refuses the credentials until the end
_Work = Callable[[Conn], Awaitable[int]]  # a batch; returns the number of rows
_log = log.get_logger()


async def begin(conn: Conn, *, account: Account, delay: timedelta = AFTER) -> None:
    """Make an account unreachable, and enqueue the job that erases it."""
    account_ids = [account.id, account.sandbox_id]
    await suspensions.insert(conn, account_ids=account_ids, reason=suspensions.ERASING, now=clock.now())
    await credentials.end_credentials(conn, account_id=account.id)
    await accounts.begin_erasure(conn, account_id=account.id)
    await store.delete_request(conn, account_id=account.id)
    await enqueue(conn, account_id=account.id, delay=delay)
    _log.info("erasure_began", account_id=str(account.id))


async def begin_now(conn: Conn, *, account: Account, reason: str) -> None:
    """Begin an erasure as the operator, without the time to cancel it. Raise AccountUnsettled."""
    await settlement.require(conn, account_id=account.id)
    _log.info("erasure_ordered", account_id=str(account.id), reason=reason)
    await begin(conn, account=account)


def read_list(lines: Iterable[str]) -> Sequence[UUID]:
    """Return the accounts of a list of erasures. Raise ValueError for a line without an id."""
    listed = dict[UUID, None]()
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                listed[UUID(line.split()[0])] = None
            except ValueError:
                raise ValueError(f"Line {number} does not begin with the id of an account.") from None
    return [*listed]


async def repeat(database: Database, *, settings: Settings, account_ids: Iterable[UUID]) -> Sequence[UUID]:
    """Erase accounts, as far as this database has them; return their ids."""
    done = list[UUID]()
    for account_id in account_ids:
        async with database.transaction() as conn:
            found = (await accounts.list_accounts_by_id(conn, account_ids=[account_id])).get(account_id)
            if found is None or found.email == ERASED:
                continue
            await begin(conn, account=found)
        async for _ in run(database, settings=settings, account_id=account_id):
            pass
        done.append(account_id)
    return done


async def enqueue(conn: Conn, *, account_id: UUID, delay: timedelta = timedelta()) -> None:
    """Enqueue the job of an erasure that has begun, unless it waits."""
    lock = f"{JOB} {account_id}"
    await queue.defer(conn, JOB, once=lock, lock=lock, lane=queue.LONG, delay=delay, account_id=str(account_id))


async def run(
    database: Database, *, settings: Settings, account_id: UUID, batch: int = BATCH
) -> AsyncGenerator[None]:
    """Erase an account whose erasure has begun; yield after each batch. Without one, do nothing."""
    async with database.connection() as conn:
        account = await accounts.find_erasing(conn, account_id=account_id)
        erased_at = await accounts.find_erased_at(conn, account_id=account_id)
        tables = await account_tables.load(conn)
    if account is None or erased_at is None:
        return
    works = _list_works(account, erased_at, tables, settings, batch)
    deleted = 1
    while deleted:  # what was written meanwhile is deleted by another pass
        deleted = 0
        for work in works:
            size = batch
            while size >= batch:
                async with database.transaction() as conn:
                    size = await work(conn)
                deleted += size
                yield
    await asyncio.to_thread(_note, settings.data_dir / LIST, account_id, clock.now())
    async with database.transaction() as conn:
        await suspensions.delete(conn, account_ids=[account.id, account.sandbox_id])
        await accounts.end_erasure(conn, account_id=account_id)
    _log.info("account_erased", account_id=str(account_id))


def _list_works(
    account: Account, erased_at: datetime, tables: Sequence[AccountTable], settings: Settings, batch: int
) -> Sequence[_Work]:
    account_ids = [account.sandbox_id, account.id]
    until = clock.now() + timedelta(days=settings.erased_name_days)
    works: list[_Work] = [
        partial(members.erase, account_id=each, email=account.email, until=erased_at) for each in account_ids
    ]
    works += [partial(claims.erase_names, account_id=each, until=until, limit=batch) for each in account_ids]
    works += [partial(dkim_keys.erase, account_id=each) for each in account_ids]
    works.append(partial(mail.delete_files, account_ids=account_ids, data_dir=settings.data_dir))
    works += [partial(confirmations.erase_readers, account_id=each) for each in account_ids]
    for table in tables:
        works += [
            partial(_delete_rows, table=table, owner=owner, account_id=each, limit=batch)
            for owner in table.owners
            for each in account_ids
            if table.name != LAST and not (each == account.id and table.name in INVOICES)
        ]
    works.append(partial(invoices.erase_buyer, account_id=account.id))
    works.append(lambda conn: store.delete_sign_ins(conn, email=account.email, until=erased_at))
    works.append(lambda conn: store.delete_jobs(conn, account_ids=list(map(str, account_ids)), task=JOB))
    return works


async def _delete_rows(conn: Conn, *, table: AccountTable, owner: str, account_id: UUID, limit: int) -> int:
    most = None if table.is_whole else limit
    return await store.delete_rows(conn, table=table.name, owner=owner, account_id=account_id, most=most)


def _note(path: Path, account_id: UUID, at: datetime) -> None:
    """Add a line to the list of erasures, which a restored backup has to repeat."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"{account_id} {at:%Y-%m-%dT%H:%M:%SZ}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
