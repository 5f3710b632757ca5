"""Whether mail servers are told the truth: the table of the look-up server, and the tables that own the facts.

Each transaction writes both, so a difference is a fault of the service, or was made by hand. A sharded database
can commit one half of a transaction later than the other: the job writes only what is wrong twice.
"""

from collections.abc import Collection
from datetime import timedelta

from builders.forwarding import store
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock

MAX_WRONG = 1_000  # of a run
RECHECK_AFTER = timedelta(minutes=10)


async def list_wrong(conn: Conn) -> list[str]:
    """Return addresses, or `@` and a domain, of which a mail server is told something else than is true."""
    return await store.list_wrong(conn, now=clock.now(), limit=MAX_WRONG)


async def repair(database: Database, *, addresses: Collection[str]) -> None:
    """Tell the truth of those of the addresses that are wrong now; changes of names wait meanwhile."""
    async with database.transaction() as conn:
        await store.lock_lookups(conn)
        await store.repair(conn, now=clock.now(), addresses=addresses)
