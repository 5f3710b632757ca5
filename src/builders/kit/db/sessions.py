"""What a connection is to the server: a session of its own, or turns in the sessions of a pooler.

A pooler in transaction mode, such as PgBouncer, runs each transaction of a connection in any of its sessions. What
a client leaves in a session is then missing or another client's: a prepared statement runs as a different one, and
a session lock is never released. No pooler says what it is, so this module compares process ids (decision 0038).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from builders.kit.process.settings import Settings

Conn = AsyncConnection[TupleRow]

ROUNDS = 5  # by chance, a busy pool gives two connections different sessions, and two poolers share an address
COMPARE_WITHIN_S = 5.0
CONNECT_WITHIN_S = 5
ALLOW_FOR_POOLER = (
    "Set BUILDERS_DATABASE_POOLED=true and BUILDERS_DATABASE_DIRECT_URL, or point BUILDERS_DATABASE_URL at the "
    "PostgreSQL server itself."
)
RECONNECT = "Then end the sessions that the pooler has open: RECONNECT in its console, or restart it."

GET_PROCESS = "SELECT pg_backend_pid()"
# The parameters that differ in the session, and the statement that sets each one for all sessions of the role.
COMPARE = """
    SELECT name, held,
        format('ALTER ROLE %%I IN DATABASE %%I SET %%I = %%L', current_user, current_database(), name, value)
    FROM (
        SELECT name, value, current_setting(name) AS held, set_config(name, value, true) AS wanted
        FROM unnest(%(names)s::text[], %(values)s::text[]) AS wanted (name, value)
    ) AS compared
    WHERE held <> wanted
"""


class Sharing(Enum):
    """Who else uses the session of a connection."""

    NONE = "no pooler"
    SESSION = "a pooler in session mode"  # nobody, as long as the connection is open
    TRANSACTION = "a pooler in transaction mode"
    STATEMENT = "a pooler in statement mode"  # it refuses transactions


class SessionsUnusable(psycopg.OperationalError):
    """The service cannot work on the connections of this address; the message says why and what to do."""

    def __init__(self, reason: str, next_action: str) -> None:
        super().__init__(f"{reason} {next_action}")
        self.reason, self.next_action = reason, next_action


def parameters_of(settings: Settings) -> Mapping[str, str]:
    """Return the parameters of each session of the service."""
    return {
        "statement_timeout": f"{settings.statement_timeout_s:g}s",
        "lock_timeout": f"{settings.lock_timeout_s:g}s",
        # How long a process that is frozen in a transaction holds its rows against a retry of the request.
        "idle_in_transaction_session_timeout": "5s",
        "timezone": "UTC",
        "max_parallel_workers_per_gather": "0",  # a statement occupies one process of the server
        "jit": "off",  # compiling a sum takes longer than most sums
    }


def options_of(parameters: Mapping[str, str]) -> str:
    """Return the start-up parameter `options` of libpq that sets the parameters."""
    return " ".join(f"-c {name}={value}" for name, value in parameters.items())


async def check(settings: Settings) -> Sharing:
    """Return who uses the sessions of the service. Raise SessionsUnusable, and psycopg.Error if there are none."""
    urls = (settings.database_url, settings.session_url)
    address, direct = ["" if each is None else each.get_secret_value() for each in urls]
    async with await _connect(address) as conn:
        sharing = await require_mode(conn, pooled=settings.database_pooled)
        if settings.database_pooled:
            await require_parameters(conn, parameters_of(settings))
    if sharing is Sharing.SESSION and not settings.database_pooled:
        await _require_options(address, parameters_of(settings))
    if direct != address:
        async with await _connect(direct) as conn:
            await require_own(conn)
    return sharing


async def require_own(conn: Conn) -> None:
    """Raise SessionsUnusable unless the session belongs to this connection as long as it is open."""
    if await get_sharing(conn) not in {Sharing.NONE, Sharing.SESSION}:
        raise SessionsUnusable(
            "Migrations and LISTEN need sessions of their own, and a pooler shares those of this address.",
            "Point BUILDERS_DATABASE_DIRECT_URL at the PostgreSQL server itself.",
        )


async def require_parameters(conn: Conn, parameters: Mapping[str, str]) -> None:
    """Raise SessionsUnusable unless the session has the parameters."""
    row = {"names": [*parameters], "values": [*parameters.values()]}
    wrong = await (await conn.execute(COMPARE, row, prepare=False)).fetchall()
    if wrong:
        listed = ", ".join(f"{name} is {held}" for name, held, _ in wrong)
        statements = " ".join(f"{statement};" for *_, statement in wrong)
        raise SessionsUnusable(
            f"The sessions of the pooler lack parameters of the service: {listed}.",
            f"Run on the server itself: {statements} {RECONNECT}",
        )


async def require_mode(conn: Conn, *, pooled: bool) -> Sharing:
    """Return who uses the session. Raise SessionsUnusable for a mode in which the service cannot work."""
    sharing = await get_sharing(conn)
    if sharing is Sharing.STATEMENT:
        raise SessionsUnusable(
            "The database is behind a pooler in statement mode, which refuses transactions.",
            "Set pool_mode = transaction in the pooler.",
        )
    if sharing is Sharing.TRANSACTION and not pooled:
        raise SessionsUnusable(
            "The database is behind a pooler in transaction mode, which would run wrong statements.",
            ALLOW_FOR_POOLER,
        )
    return sharing


async def _require_options(conninfo: str, parameters: Mapping[str, str]) -> None:
    """Raise SessionsUnusable unless a pooler in session mode passes the start-up parameter `options` on."""
    try:
        async with await _connect(conninfo, options=options_of(parameters)) as conn:
            await require_parameters(conn, parameters)
    except psycopg.OperationalError as error:
        if "startup parameter" not in str(error):
            raise
        raise SessionsUnusable(
            "The pooler refuses the start-up parameter `options`, by which the service sets time limits.",
            ALLOW_FOR_POOLER,
        ) from None


async def get_sharing(conn: Conn) -> Sharing:
    """Return who uses the session of an autocommit connection. Raise psycopg.OperationalError."""
    # The server announces its process at the start of a session. A pooler announces a number of its own, because
    # it cannot know which process will run the next transaction.
    if await _get_process(conn) == conn.info.backend_pid:
        return Sharing.NONE
    # The URL can name several servers.
    here: dict[str, str | int | None] = {
        "host": conn.info.host,
        "port": conn.info.port,
        "hostaddr": conn.info.hostaddr or None,
    }
    conninfo = make_conninfo("", **{**conn.info.get_parameters(), **here, "password": conn.info.password or None})
    try:
        async with asyncio.timeout(COMPARE_WITHIN_S):
            is_shared = await changes_process(conn, lambda: AsyncConnection.connect(conninfo, autocommit=True))
    except psycopg.errors.ProtocolViolation:
        return Sharing.STATEMENT
    except TimeoutError:
        raise psycopg.OperationalError("The pooler has no free session to find out its mode.") from None
    return Sharing.TRANSACTION if is_shared else Sharing.SESSION


async def changes_process(conn: Conn, connect: Callable[[], Awaitable[Conn]]) -> bool:
    """Return whether transactions of a connection run in different sessions, or in that of another connection.

    The other one holds a transaction open. A pooler in transaction mode gives it the session in which `conn` has
    just ended a transaction, or `conn` gets another one. In session mode both keep their own.
    """
    for _ in range(ROUNDS):
        async with await connect() as other:
            process = await _get_process(conn)
            async with other.transaction():
                if await _get_process(other) == process or await _get_process(conn) != process:
                    return True
    return False


async def _get_process(conn: Conn) -> int:
    [(process,)] = await (await conn.execute(GET_PROCESS, prepare=False)).fetchall()
    return int(process)


async def _connect(conninfo: str, *, options: str | None = None) -> Conn:
    own: dict[str, str | int | None] = {
        "connect_timeout": CONNECT_WITHIN_S,
        "application_name": "builders",
        "options": options,
    }
    return await AsyncConnection.connect(make_conninfo(conninfo, **own), autocommit=True)
