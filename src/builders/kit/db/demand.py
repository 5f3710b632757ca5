"""How many connections to the database the processes of a service open at most, and how many the server allows."""

from collections.abc import Iterable
from dataclasses import dataclass

import psycopg

from builders.kit.process.settings import Settings

HEAVY = 4  # of an HTTP process, for its heavy requests
PROBES = 2  # of an HTTP process, for /readyz: the check of the database, and that of writes
LISTENERS = 3  # of a worker, one for each lane of its queue
LOCKS = 1  # of a worker, while it looks for the jobs of killed ones
MAIL_LOG = 1
BACKUP = 3  # the archive of the log, and a backup with what it keeps
GRANTS = 1  # of the look-up server, when it starts

# PostgreSQL 15 has no reserved_connections.
FIND_LIMIT = """
    SELECT least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true)::int, 0),
        (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
        (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
    ), (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())
"""


@dataclass(frozen=True, slots=True)
class Demand:
    """Connections at most: those that a pooler may pass on, and those past it."""

    pooled: int = 0
    direct: int = 0

    def __add__(self, other: "Demand") -> "Demand":
        return Demand(self.pooled + other.pooled, self.direct + other.direct)

    def of_server(self, settings: Settings) -> int:
        """Return those that the server sees; a pooler opens as many of the pooled ones as it is set to."""
        return self.direct if settings.database_pooled else self.pooled + self.direct


def of_part(part: str, settings: Settings) -> Demand:
    """Return the demand of a process of `serve`, such as `http-1` or `worker`."""
    size = settings.pool_size
    match part.partition("-")[0]:
        case "http":
            return Demand(size + min(HEAVY, size) + PROBES)
        case "worker":
            return Demand(size, LISTENERS + LOCKS)
        case "lookup":
            return Demand(0, size + GRANTS)
        case "mail":
            return Demand(MAIL_LOG)
        case "backup":
            return Demand(0, BACKUP)
    return Demand(size)


def of_parts(parts: Iterable[str], settings: Settings) -> Demand:
    """Return the demand of several processes."""
    return sum((of_part(each, settings) for each in parts), Demand())


def list_usual_parts(settings: Settings) -> list[str]:
    """Return the processes of a `serve` without options."""
    others = {"lookup": settings.lookup_listen, "filter": settings.filter_listen, "mail-log": settings.mail_log}
    return ["http-1", "worker", *(name for name, setting in others.items() if setting is not None)]


def read_limit(conninfo: str) -> tuple[int, int]:
    """Return how many connections the role may open, and how many clients are connected. Raise psycopg.Error."""
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        row = conn.execute(FIND_LIMIT).fetchone()
    limit, connected = row or (0, 0)
    return int(limit), int(connected)


def find_excess(parts: Iterable[str], settings: Settings, limit: int) -> str | None:
    """Return a sentence if the processes need more connections than the server allows."""
    names = list(parts)
    need = of_parts(names, settings).of_server(settings)
    if need <= limit:
        return None
    return f"{', '.join(names)} open up to {need} connections, and the server allows {limit}."


LOWER = "Lower BUILDERS_POOL_SIZE, run fewer HTTP processes, or raise max_connections of the server."
