"""Whether mail servers are told the truth: the table of the look-up server, and the tables that own the facts.

Each transaction writes both, so a difference is a fault of the service, or was made by hand. A sharded database
can commit one half of a transaction later than the other: the job writes only what is wrong twice.
"""

from collections.abc import Sequence
from datetime import timedelta

from builders.forwarding import store
from builders.forwarding.records import LookupKey
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock

MAX_KEYS = 2_000  # of a page
MAX_WRONG = 1_000  # of a list
RECHECK_AFTER = timedelta(minutes=10)

START = LookupKey("", "")


async def check(conn: Conn, *, after: LookupKey, limit: int = MAX_KEYS) -> tuple[list[str], LookupKey | None]:
    """Return of which addresses, or `@` and a domain, mail servers are told what is not true, and where to go on.

    The addresses are of the keys that follow `after`, at most `limit`; no key is left after the last page.
    """
    keys = await store.list_lookup_keys(conn, domain=after.domain, name=after.name, limit=limit)
    wrong = await store.list_wrong(conn, now=clock.now(), **_columns(keys)) if keys else []
    return wrong, keys[-1] if len(keys) == limit else None


async def list_wrong(database: Database, *, page: int = MAX_KEYS) -> list[str]:
    """Return all such addresses; the list ends after the page with the thousandth."""
    found: list[str] = []
    last: LookupKey | None = START
    while last is not None and len(found) < MAX_WRONG:
        async with database.transaction() as conn:
            wrong, last = await check(conn, after=last, limit=page)
        found += wrong
    return found


async def repair(database: Database, *, addresses: Sequence[str]) -> None:
    """Tell the truth of those of the addresses that are wrong now; changes of names wait meanwhile."""
    keys = [LookupKey(domain, name) for name, _, domain in (each.rpartition("@") for each in addresses)]
    async with database.transaction() as conn:
        await store.lock_lookups(conn)
        await store.repair(conn, now=clock.now(), **_columns(keys))


def _columns(keys: Sequence[LookupKey]) -> dict[str, list[str]]:
    return {"domains": [each.domain for each in keys], "names": [each.name for each in keys]}
