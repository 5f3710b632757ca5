"""Faults under load: every acknowledged write is there once, and requests are answered soon after.

    script/soak [faults] [--citus] [NAME...] [--seconds 8]

`builders serve` runs two HTTP processes and the worker on a PostgreSQL of its own, which it reaches through a TCP
proxy. Eight clients write and claim names (soak/writers.py). Each fault happens in turn, for some seconds. At the
end each acknowledged lead has its mail. A full disk needs root, who mounts one. `--citus` uses the cluster of
BUILDERS_TEST_CITUS_URL without a proxy, and BUILDERS_TEST_CITUS_NODE to hurt a node (tests/citus/cluster.py).
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import psycopg
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench import fixtures
from builders.cli.embedded.server import EmbeddedServer
from builders.kit.db import migrations
from builders.kit.process.settings import Settings
from soak.replicas import free_port, kill_all, kill_server
from soak.restarts import Machine
from soak.writers import WRITERS, History, find_errors, writing
from tests.citus import cluster

QUIET_S = 2.0  # before a fault
ANSWER_S = 5.0  # of a retry after a process serves and the database accepts writes
PROBE_S, PROBE_TIMEOUT_S = 0.05, 2.0
REQUEST_S = 2.0  # a client does not wait longer for a response
KILL_S = 1.0  # between two kills
CHUNK = 65_536
DISK, BLOCK, FILLING = "512m", 65_536, "filling"  # of the fault that fills it
CLOCK = Path(__file__).parent / "stepped_clock"
MAILS_WITHIN_S = 900.0  # a mail waits for three minutes each time that its worker is killed
UNSENT = "SELECT template, status, attempts, last_error, next_try_at FROM mail_messages WHERE status <> 'sent'"
TABLE = """\
| fault | acknowledged | lost or doubled | not served for | longest retry after that | longest request |
|---|---|---|---|---|---|"""


@dataclass(slots=True)
class Installation:
    """What a fault can reach."""

    machine: Machine
    conninfo: str  # past the proxy
    data: Path  # PGDATA
    network: "Network"
    mails: "MailServer"
    disk: Path  # with PGDATA
    offset: Path  # has the seconds that the clock of the service is ahead
    blockers: list[psycopg.Connection] = field(default_factory=list)

    def list_children(self, command: str) -> list[psutil.Process]:
        """Return the processes of `builders serve` that run a command, such as `http`."""
        assert self.machine.process is not None
        return [each for each in psutil.Process(self.machine.process.pid).children() if command in each.cmdline()]

    def list_servers(self) -> list[psutil.Process]:
        """Return the processes of PostgreSQL, the first one first."""
        postmaster = psutil.Process(int((self.data / "postmaster.pid").read_text().split("\n", 1)[0]))
        return [postmaster, *postmaster.children()]

    def execute(self, *statements: str) -> None:
        """Run statements on the database, past the proxy."""
        with psycopg.connect(self.conninfo, autocommit=True) as conn:
            for each in statements:
                conn.execute(each.encode())


class MailServer:
    """An SMTP server in a thread, which can be away; keeps the recipients of what it took."""

    def __init__(self) -> None:
        self.recipients: list[str] = []
        self.port = free_port()
        self._controller: Controller | None = None

    def start(self) -> None:
        """Listen."""
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port)
        self._controller.start()

    def stop(self) -> None:
        """Break all connections, and refuse new ones."""
        if self._controller is not None:
            self._controller.stop()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        """Take a message."""
        del server, session
        self.recipients += envelope.rcpt_tos
        return "250 taken"


class Network:
    """A TCP proxy to PostgreSQL, which can lose its connections and delay their bytes."""

    def __init__(self, target: str) -> None:
        self.target, self.delay_s, self.is_cut, self.port = target, 0.0, False, 0
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def address(self) -> Mapping[str, str | int]:
        """Return where a client of PostgreSQL connects."""
        return {"host": "127.0.0.1", "port": self.port}

    def cut(self) -> None:
        """Reset all connections, and refuse new ones."""
        self.is_cut = True
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def serve(self, ready: Callable[[], None]) -> None:
        """Accept connections until it is canceled."""
        server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        self.port = int(server.sockets[0].getsockname()[1])
        ready()
        async with server:
            await server.serve_forever()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.is_cut:
                raise ConnectionRefusedError
            there, back = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        self._writers -= {writer, back}

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                writer.write(data)
                await writer.drain()
        writer.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault: what begins it, and what ends it after some seconds."""

    name: str
    begin: Callable[[Installation], object]
    end: Callable[[Installation], object] = lambda _: None
    needs_root: bool = False
    blocks_writes: bool = False  # until its end, although /readyz says ready


def _send(number: signal.Signals, processes: Sequence[psutil.Process]) -> None:
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(number)


def _of(command: str, number: signal.Signals) -> Callable[[Installation], None]:
    return lambda at: _send(number, at.list_children(command)[:1])


def _set(statement: str) -> Callable[[Installation], None]:
    return lambda at: at.execute("SET default_transaction_read_only = off", statement, "SELECT pg_reload_conf()")


def _delay(seconds: float) -> Callable[[Installation], None]:
    return lambda at: setattr(at.network, "delay_s", seconds)


def _kill_service(at: Installation) -> None:
    assert at.machine.process is not None
    kill_all(at.machine.process.pid)
    at.machine.process.wait()


def _kill_in_turn(at: Installation) -> None:
    for _ in range(3):
        for command in ("http", "worker"):
            _send(signal.SIGKILL, at.list_children(command)[:1])
            time.sleep(KILL_S)
        kill_server(at.data)
        time.sleep(KILL_S)


def _fill(at: Installation) -> None:
    """Leave no block of the disk; PostgreSQL's log and its WAL have what they have."""
    with (at.disk / FILLING).open("wb") as file, suppress(OSError):
        while True:
            os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), BLOCK)
            file.seek(BLOCK, os.SEEK_CUR)


def _step(seconds: int) -> Callable[[Installation], object]:
    return lambda at: at.offset.write_text(str(seconds))


def _block(at: Installation) -> None:
    """Lock a table that each change writes to, so that each connection of the pools waits."""
    conn = psycopg.connect(at.conninfo)
    conn.execute("LOCK TABLE kit_idempotency IN ACCESS EXCLUSIVE MODE")
    at.blockers.append(conn)


def _change(action: str) -> Callable[[Installation], None]:
    return lambda at: cluster.change(action, cluster.list_nodes(at.conninfo)[-1])


READ_ONLY = "ALTER SYSTEM SET default_transaction_read_only = on"
FAULTS = [
    Fault(name="nothing", begin=lambda _: None),
    Fault(name="HTTP process killed", begin=_of("http", signal.SIGKILL)),
    Fault(name="all HTTP processes killed", begin=lambda at: _send(signal.SIGKILL, at.list_children("http"))),
    Fault(name="HTTP process frozen", begin=_of("http", signal.SIGSTOP), end=_of("http", signal.SIGCONT)),
    Fault(name="worker killed", begin=_of("worker", signal.SIGKILL)),
    Fault(name="worker frozen", begin=_of("worker", signal.SIGSTOP), end=_of("worker", signal.SIGCONT)),
    Fault(name="database killed", begin=lambda at: kill_server(at.data)),
    Fault(name="database stopped (immediate)", begin=lambda at: _send(signal.SIGQUIT, at.list_servers()[:1])),
    Fault(
        name="database frozen",
        begin=lambda at: _send(signal.SIGSTOP, at.list_servers()),
        end=lambda at: _send(signal.SIGCONT, at.list_servers()),
    ),
    Fault(name="database read-only", begin=_set(READ_ONLY), end=_set(READ_ONLY.replace(" = on", " = off"))),
    Fault(
        name="disk of the database full",
        begin=_fill,
        end=lambda at: (at.disk / FILLING).unlink(),
        needs_root=True,
    ),
    Fault(
        name="pools exhausted by a lock",
        begin=_block,
        end=lambda at: at.blockers.pop().close(),
        blocks_writes=True,
    ),
    Fault(name="clock two minutes ahead", begin=_step(120), end=_step(0)),
    Fault(name="clock two minutes behind", begin=_step(-120), end=_step(0)),
    Fault(name="mail server away", begin=lambda at: at.mails.stop(), end=lambda at: at.mails.start()),
    Fault(
        name="network cut", begin=lambda at: at.network.cut(), end=lambda at: setattr(at.network, "is_cut", False)
    ),
    Fault(name="network slow (100 ms a packet)", begin=_delay(0.1), end=_delay(0.0)),
    Fault(name="service killed and started", begin=_kill_service, end=lambda at: at.machine.start()),
    Fault(name="HTTP, worker and database killed in turn", begin=_kill_in_turn),
]


NODE_FAULTS = [
    Fault(name="database node killed", begin=_change("kill"), end=_change("start"), blocks_writes=True),
    Fault(name="database node frozen", begin=_change("freeze"), end=_change("thaw"), blocks_writes=True),
]
ON_CITUS = {"nothing", "worker killed", "clock two minutes ahead", "clock two minutes behind"}  # of the others


async def watch(port: int, history: History, striking: "asyncio.Task[None]") -> None:
    """Note from when to when the service accepts no writes, until the fault is over."""
    begun = recovered = time.monotonic()
    is_ready = True
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PROBE_TIMEOUT_S) as api:
        while not (striking.done() and is_ready):
            was_ready, is_ready = is_ready, False
            with suppress(httpx.TransportError):
                is_ready = (await api.get("/readyz?writes=required")).is_success
            if is_ready and not was_ready:
                recovered = time.monotonic()
            await asyncio.sleep(PROBE_S)
    history.outages.append((begun, recovered))


async def run(
    at: Installation, fault: Fault, keys: Sequence[str], seconds: float, *, quiet_s: float = QUIET_S
) -> History:
    """Return the history of a fault."""
    history = History()

    async def strike() -> None:
        await asyncio.to_thread(fault.begin, at)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(fault.end, at)

    async with writing(at.machine.port, keys, history, within_s=REQUEST_S):
        await asyncio.sleep(quiet_s)
        striking = asyncio.create_task(strike())
        await watch(at.machine.port, history, striking)
        await striking
        if fault.blocks_writes:
            history.outages = [(begun, time.monotonic()) for begun, _ in history.outages]
        await asyncio.sleep(quiet_s)
    return history


@contextmanager
def proxied(target: str) -> Iterator[Network]:
    """Run the proxy in a thread."""
    network, ready, loop = Network(target), threading.Event(), asyncio.new_event_loop()
    serving = loop.create_task(network.serve(ready.set))

    def work() -> None:
        with closing(loop), suppress(asyncio.CancelledError):
            loop.run_until_complete(serving)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield network
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join()


@contextmanager
def mounted(disk: Path) -> Iterator[None]:
    """Mount a small disk, as root."""
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", f"size={DISK},mode=711", "tmpfs", disk], check=True)
    try:
        yield
    finally:
        subprocess.run(["/bin/umount", "--lazy", disk], check=True)


@contextmanager
def database(disk: Path) -> Iterator[str]:
    """Run PostgreSQL with the schema, and start it again when it dies; yield its conninfo."""
    with EmbeddedServer(disk) as server, ExitStack() as stack:
        migrations.migrate(server.conninfo)
        stop = threading.Event()
        watching = threading.Thread(target=server.watch, args=(stop,), daemon=True)
        watching.start()
        stack.callback(watching.join)
        stack.callback(stop.set)
        yield server.conninfo


@contextmanager
def installed(
    folder: Path, faults: Sequence[Fault], *, url: str | None = None
) -> Iterator[tuple[Installation, list[str]]]:
    """Run PostgreSQL, the proxy, a mail server and the service for faults; yield them and keys for the writers.

    `url`: of a cluster, in place of PostgreSQL and the proxy.
    """
    with ExitStack() as stack:
        (folder / "disk").mkdir(mode=0o711)
        if any(each.needs_root for each in faults):
            stack.enter_context(mounted(folder / "disk"))
        conninfo = stack.enter_context(cluster.distributed_database(url) if url else database(folder / "disk"))
        prepared = asyncio.run(fixtures.prepare(folder, conninfo))
        parts = conninfo_to_dict(conninfo)
        network = stack.enter_context(proxied(f"{parts['host']}/.s.PGSQL.{parts.get('port', 5432)}"))
        mails, offset = MailServer(), folder / "offset"
        mails.start()
        stack.callback(mails.stop)
        offset.write_text("0")
        settings = Settings.model_validate({"data_dir": folder, "database_url": conninfo})
        keys = asyncio.run(fixtures.make_keys(conninfo, settings, WRITERS * len(faults)))
        environment = {
            **os.environ,
            "PYTHONPATH": str(CLOCK),
            "SOAK_CLOCK_OFFSET": str(offset),
            "BUILDERS_DATABASE_URL": conninfo if url else make_conninfo(conninfo, **network.address),
            "BUILDERS_DATA_DIR": str(prepared.data_dir),
            "BUILDERS_SMTP_URL": f"smtp://127.0.0.1:{mails.port}?starttls=never",
            "BUILDERS_MAIL_FROM": "builders@soak.example",
            "BUILDERS_LIMITS": "off",
            "BUILDERS_LOG_LEVEL": "info",
        }
        machine = Machine(free_port(), ["--workers", "2"], environment, folder / "log")
        stack.callback(machine.stop)
        machine.start()
        with psycopg.connect(conninfo) as conn:
            found = conn.execute("SHOW data_directory").fetchone()
        assert found is not None
        yield Installation(machine, conninfo, Path(found[0]), network, mails, folder / "disk", offset), keys


def report(at: Installation, fault: Fault, history: History) -> bool:
    """Print the row of a fault, and its errors; return whether something is wrong."""
    with suppress(psycopg.errors.UndefinedFunction):  # without Citus
        at.execute("SELECT recover_prepared_transactions()")
    errors = find_errors(at.conninfo, history)
    [(begun, accepted)] = history.outages
    longest = max(each.answered_at - each.sent_at for each in history.answers)
    times = (f"{each:.1f} s" for each in (accepted - begun, history.longest_retry_s(), longest))
    print("|", " | ".join(map(str, (fault.name, len(history.answers), len(errors), *times))), "|", flush=True)
    for error in errors[:10]:
        print(f"faults: {error}", file=sys.stderr)
    return bool(errors) or history.longest_retry_s() > ANSWER_S


def can_have(fault: Fault) -> bool:
    """Return whether the user of this process may cause the fault."""
    return not fault.needs_root or os.geteuid() == 0


def find_unsent(at: Installation, histories: Sequence[History]) -> set[str]:
    """Return the acknowledged leads without a mail, after the time in which a mail is tried again."""
    wanted = {lead for each in histories for lead in each.leads}
    deadline = time.monotonic() + MAILS_WITHIN_S
    while (unsent := wanted - {*at.mails.recipients}) and time.monotonic() < deadline:
        time.sleep(PROBE_S)
    if unsent:
        with psycopg.connect(at.conninfo) as conn:
            for each in conn.execute(UNSENT).fetchmany(len(unsent)):
                print(f"faults: not sent: {each}", file=sys.stderr)
    return unsent


def main() -> None:
    """Print a row for each fault; exit with 1 if a write is lost or doubled, or a retry waits for too long."""
    parser = argparse.ArgumentParser(description="Faults under load.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=8, help="of each fault")
    parser.add_argument("--citus", action="store_true", help="on the cluster of BUILDERS_TEST_CITUS_URL")
    given = parser.parse_args()
    offered = [*(each for each in FAULTS if each.name in ON_CITUS), *NODE_FAULTS] if given.citus else FAULTS
    faults = [each for each in offered if can_have(each) and (not given.names or each.name in given.names)]
    is_wrong, histories = False, list[History]()
    with tempfile.TemporaryDirectory(prefix="builders-faults-") as name:
        Path(name).chmod(0o711)
        with installed(Path(name), faults, url=cluster.URL if given.citus else None) as (at, keys):
            print(TABLE, flush=True)
            for place, fault in enumerate(faults):
                own = keys[place * WRITERS : (place + 1) * WRITERS]
                histories.append(asyncio.run(run(at, fault, own, given.seconds)))
                is_wrong |= report(at, fault, histories[-1])
            unsent = find_unsent(at, histories)
            print(f"\n{sum(len(each.claims) for each in histories)} names")
            print(f"{len(at.mails.recipients)} mails; acknowledged leads without one: {len(unsent)}")
    sys.exit(is_wrong or bool(unsent))


if __name__ == "__main__":
    main()
