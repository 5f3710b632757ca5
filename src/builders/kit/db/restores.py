"""Whether the database is a restored backup that nobody has accepted: until then the service only reads.

What was sent, booked or revoked after the backup is not in it. So no process sends, promotes, renews or claims.
"""

import asyncio
from dataclasses import dataclass

import psycopg

from builders.kit.db.connections import Conn, Database
from builders.kit.db.queries import query
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Problem
from builders.kit.process import log

POLL_S = 1.0
RETRY_AFTER_S = 60


class AwaitsAcceptance(Problem):
    """The service was restored from a backup and only reads."""

    status, code = 503, "awaiting_acceptance"
    remedy = "Repeat the request after the seconds of Retry-After; the operator ends this state."


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """The newest restore of a database."""

    epoch: int  # seconds since 1970; 0: never
    is_accepted: bool


NEVER = Restore(epoch=0, is_accepted=True)
_find_newest = query("""
    SELECT epoch, accepted_at IS NOT NULL AS is_accepted FROM kit_restores ORDER BY epoch DESC LIMIT 1
""").one(Restore)
_log = log.get_logger()


async def read(conn: Conn) -> Restore:
    """Return the newest restore; NEVER without one."""
    return await _find_newest(conn) or NEVER


class Known:
    """What a process knows of the newest restore: read once, and again while nobody has accepted it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found: Restore | None = None

    async def read(self) -> Restore:
        """Return the newest restore. Raise DatabaseUnavailable, DatabaseBusy."""
        if self._found is None or not self._found.is_accepted:
            async with self._database.connection() as conn:
                self._found = await read(conn)
        return self._found

    async def require_accepted(self) -> None:
        """Raise AwaitsAcceptance while the service only reads, and as `read`."""
        if not (await self.read()).is_accepted:
            raise AwaitsAcceptance(retry_after=RETRY_AFTER_S)

    async def wait(self, stopping: asyncio.Event) -> bool:
        """Wait until the process may send and change; return False if it stops before."""
        is_told = False
        while not stopping.is_set():
            try:
                if (await self.read()).is_accepted:
                    return True
                if not is_told:
                    _log.warning("awaiting_acceptance", next_action="Run `builders backup accept`.")
                is_told = True
            except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
                _log.warning("restore_unknown", error=str(error))
            try:
                async with asyncio.timeout(POLL_S):
                    await stopping.wait()
            except TimeoutError:
                pass
        return False
