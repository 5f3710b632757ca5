"""Lose a machine under load and restore it: no acknowledged write is lost but the youngest, and nothing is sent.

    script/soak restores [at-once|archived] ... [--seed N]

`builders serve` runs with the embedded database, and backs up to a folder. Eight clients write and claim names
(soak/writers.py); each change calls a webhook, and each lead gets a mail. `builders backup drill` runs meanwhile,
and a project is archived by mistake. Then the receiver and the mail server refuse, so that messages wait. All
processes are killed at a random moment and the data folder is removed: `at-once` under load, `archived` when the
log of the last acknowledged write is archived. The machine is restored with all of the log, is watched, and is
accepted. Another one is restored to the moment before the mistake.
"""

import argparse
import asyncio
import json
import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import psycopg
from aiosmtpd.smtp import SMTP, Envelope, Session

from bench import fixtures
from builders.backup.archive import SLOT
from builders.cli.embedded.server import EmbeddedServer
from builders.kit.db import migrations, restores
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from soak.faults import MailServer
from soak.replicas import free_port, kill_all, kill_server
from soak.restarts import Machine as Service
from soak.writers import WRITERS, History, find_errors, find_lost, read_stored, writing

KINDS = ("at-once", "archived")
LOSS_S = 10  # the least that BUILDERS_BACKUP_LOSS_S may be
QUIET_S = 3.0  # before and after the drill
POLLS = 10  # of the worker that waits for the acceptance
WITHIN_S = 300.0  # each wait, on a busy machine
POLL_S = 0.1
OWNER = "owner@soak.example"
PROJECTS, WEBHOOKS = "/v1/builders/projects", "/v1/notifications/webhooks"
IS_ARCHIVED = "SELECT archived_at IS NOT NULL FROM projects WHERE id = %s"
REACHED = "SELECT restart_lsn >= %s FROM pg_replication_slots WHERE slot_name = %s"
DUE = """
    SELECT
        (SELECT count(*) FROM kit_outbox_pending) AS events,
        (SELECT count(*) FROM webhooks_due WHERE next_attempt_at <= %(at)s) AS deliveries,
        (SELECT count(*) FROM mail_messages WHERE next_try_at <= %(at)s) AS mails
"""
COLUMNS = (
    *(
        "killed",
        "acknowledged",
        "lost",
        "younger than 10 s",
        "of these missing",
        "drill",
        "restore",
        "to a moment",
    ),
    *("due", "sent before accept", "sent after it", "wrong"),
)


class Outside:
    """A receiver of webhooks and a mail server, which refuse while they are away; keeps what they took."""

    def __init__(self) -> None:
        self.is_away = False
        self.bodies: list[bytes] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self.mails = Mails(self)

    @property
    def taken(self) -> int:
        """Return the number of messages that were taken."""
        return len(self.bodies) + len(self.mails.recipients)

    def forget(self) -> None:
        """Be there again, and have nothing."""
        self.is_away, self.bodies = False, []
        self.mails.recipients = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Listen until the block ends."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.mails.start()
        try:
            yield
        finally:
            self.mails.stop()
            self._server.shutdown()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if not outside.is_away:
                    outside.bodies.append(body)
                self.send_response(503 if outside.is_away else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

        return Handler


class Mails(MailServer):
    """A mail server that defers what it gets while it is away."""

    def __init__(self, outside: Outside) -> None:
        super().__init__()
        self._outside = outside

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        """Take a message."""
        if self._outside.is_away:
            return "451 later"
        return await super().handle_DATA(server, session, envelope)


@dataclass(frozen=True, slots=True)
class Commands:
    """The command line of a machine, each command in a process of its own."""

    environment: Mapping[str, str]

    def read(self, *words: str, key: str | None = None) -> Any:
        """Return what a command says in JSON; `key` is the private key of the backups."""
        given = [*words, "--json", *([] if key is None else ["--key-fd", "0"])]
        command = [sys.executable, "-P", "-m", "builders", *given]
        done = subprocess.run(
            command, env=self.environment, input=key or "", text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)


@dataclass(slots=True)
class Machine:
    """A data folder, its commands and its service."""

    data: Path
    commands: Commands
    service: Service

    @contextmanager
    def database(self) -> Iterator[str]:
        """Yield the conninfo of its database, which runs until then at least."""
        with EmbeddedServer(self.data) as server:
            yield server.conninfo

    def lose(self) -> None:
        """Kill all processes, and remove all files."""
        assert self.service.process is not None
        kill_all(self.service.process.pid)
        self.service.process.wait()
        kill_server((self.data / "postgres").resolve() / "cluster")
        shutil.rmtree(self.data)


@dataclass(slots=True, kw_only=True)
class Setup:
    """What is beside the machines, and outlasts them."""

    folder: Path
    outside: Outside
    private: str = ""  # key of the backups
    owner: str = ""  # API key
    writers: Sequence[str] = ()  # API keys

    @property
    def sealed(self) -> Path:
        """Return the file of the secret keys."""
        return self.folder / "keys.age"

    def machine(self, name: str) -> Machine:
        """Return a machine with an empty data folder."""
        data = self.folder / name
        data.mkdir(mode=0o711)
        environment = {
            **os.environ,
            "BUILDERS_DATA_DIR": str(data),
            "BUILDERS_BACKUP_TO": str(self.folder / "backups"),
            "BUILDERS_BACKUP_LOSS_S": str(LOSS_S),
            "BUILDERS_OUTBOUND_ALLOW": f"127.0.0.1:{self.outside.port}",
            "BUILDERS_SMTP_URL": f"smtp://127.0.0.1:{self.outside.mails.port}?starttls=never",
            "BUILDERS_MAIL_FROM": "builders@soak.example",
            "BUILDERS_LIMITS": "off",
            "BUILDERS_LOG_LEVEL": "info",
        }
        service = Service(free_port(), [], environment, self.folder / f"{name}.log")
        return Machine(data, Commands(environment), service)


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What was measured of a kind, and what is wrong."""

    history: History = field(default_factory=History)
    killed_at: float = 0.0
    project_id: str = ""  # archived by mistake
    before: str = ""  # a moment before that
    drill_s: float = 0.0
    restore_s: float = 0.0
    to_moment_s: float = 0.0
    lost: int = 0
    missing: int = 0  # of what is younger
    due: str = ""
    sent_before: int = 0
    sent_after: int = 0
    errors: list[str] = field(default_factory=list)

    def require(self, is_right: bool, text: str) -> None:
        """Note an error."""
        if not is_right:
            self.errors.append(text)


def wait_until(is_there: Callable[[], object], what: str) -> None:
    """Wait for a state."""
    deadline = time.monotonic() + WITHIN_S
    while not is_there():
        assert time.monotonic() < deadline, what
        time.sleep(POLL_S)


def install(setup: Setup, machine: Machine) -> None:
    """Fill the database, seal the keys, start the service, and wait for its first backup."""
    with machine.database() as conninfo:
        migrations.migrate(conninfo)
        asyncio.run(fixtures.prepare(machine.data, conninfo))
        settings = Settings.model_validate({"data_dir": machine.data, "database_url": conninfo})
        setup.writers = asyncio.run(fixtures.make_keys(conninfo, settings, WRITERS))
        machine.commands.read("accounts", "create", "--email", OWNER)
        setup.owner = make_key(machine)
        setup.private = machine.commands.read("backup", "init")["private_key"]
        machine.commands.read("backup", "create", "--keys", str(setup.sealed))
    machine.service.start()
    wait_until(lambda: machine.commands.read("backup", "list"), "no backup was made")
    body = {"label": "soak", "enabled": True, "url": f"http://127.0.0.1:{setup.outside.port}/", "events": ["*"]}
    for each in (setup.owner, *setup.writers):
        change(machine, each, "POST", WEBHOOKS, json=body)


def make_key(machine: Machine) -> str:
    """Return a new API key of the owner."""
    words = ("--account", OWNER, "--kind", "live", "--preset", "developer_full")
    return str(machine.commands.read("keys", "create", *words)["secret"])


def ask(machine: Machine, secret: str, method: str, path: str, **options: object) -> httpx.Response:
    """Send a request."""
    with httpx.Client(base_url=f"http://127.0.0.1:{machine.service.port}", timeout=30) as api:
        return api.request(method, path, headers={"X-API-Key": secret}, **options)  # type: ignore[arg-type] # of httpx


def change(machine: Machine, secret: str, method: str, path: str, **options: object) -> str:
    """Send a change that is accepted; return the id of what is changed."""
    answer = ask(machine, secret, method, path, **options)
    assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
    return str(answer.json().get("id"))


def make_mistake(machine: Machine, secret: str, outcome: Outcome) -> None:
    """Create a project and archive it, and note a moment between the two."""
    outcome.project_id = change(machine, secret, "POST", PROJECTS, json={"name": "by mistake"})
    time.sleep(1)
    outcome.before = datetime.now(UTC).isoformat()
    time.sleep(1)
    change(machine, secret, "DELETE", f"{PROJECTS}/{outcome.project_id}")


def wait_for_archive(machine: Machine) -> None:
    """Return when all that is committed now is archived."""
    with machine.database() as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        written = conn.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
        assert written is not None
        wait_until(lambda: conn.execute(REACHED, [written[0], SLOT]).fetchone() == (True,), "not archived")


async def load(setup: Setup, machine: Machine, outcome: Outcome, *, cut: bool, chance: random.Random) -> None:
    """Write until the machine is lost: at once, or when all is archived."""
    history = outcome.history
    async with writing(machine.service.port, setup.writers, history):
        await asyncio.sleep(QUIET_S)
        drilled = await asyncio.to_thread(partial(machine.commands.read, "backup", "drill", key=setup.private))
        outcome.drill_s = drilled["seconds"]
        await asyncio.to_thread(make_mistake, machine, setup.owner, outcome)
        setup.outside.is_away = True
        await asyncio.sleep(LOSS_S + QUIET_S + chance.uniform(0, LOSS_S))
        if cut:
            history.is_cut, outcome.killed_at = True, time.monotonic()
            await asyncio.to_thread(machine.lose)
    if not cut:
        await asyncio.to_thread(wait_for_archive, machine)
        outcome.killed_at = time.monotonic()
        await asyncio.to_thread(machine.lose)


def check_rows(machine: Machine, outcome: Outcome) -> None:
    """Note what the restored database lacks, and what is wrong in it."""
    history = outcome.history
    until = outcome.killed_at - LOSS_S if history.is_cut else outcome.killed_at
    with machine.database() as conninfo:
        stored = read_stored(conninfo, history)
        outcome.lost = len(find_lost(stored, history, until=until))
        outcome.missing = len(find_lost(stored, history)) - outcome.lost
        outcome.errors += find_errors(conninfo, history, until=until)
        outcome.require(is_archived(conninfo, outcome) is True, "the mistake is not restored")


def is_archived(conninfo: str, outcome: Outcome) -> bool | None:
    """Return whether the project is archived, None without it."""
    with psycopg.connect(conninfo) as conn:
        row = conn.execute(IS_ARCHIVED, [outcome.project_id]).fetchone()
    return None if row is None else row[0]


def count_due(conninfo: str, at: datetime) -> tuple[int, int, int]:
    """Return how many events, deliveries and mails were due at a moment and are not sent."""
    with psycopg.connect(conninfo) as conn:
        events, deliveries, mails = conn.execute(DUE, {"at": at}).fetchall()[0]
    return events, deliveries, mails


def watch(setup: Setup, machine: Machine, outcome: Outcome) -> None:
    """Run the restored service until messages of both kinds are due and its worker had time to send them."""
    machine.service.start()
    wait_until(lambda: b"awaiting_acceptance" in machine.service.log.read_bytes(), "the worker does not wait")
    time.sleep(POLLS * restores.POLL_S)
    with machine.database() as conninfo:
        wait_until(
            lambda: setup.outside.taken or all(count_due(conninfo, datetime.now(UTC))[1:]), "no message is due"
        )
        time.sleep(POLLS * restores.POLL_S)
        outcome.due = " + ".join(map(str, count_due(conninfo, datetime.now(UTC))))
    outcome.sent_before = setup.outside.taken
    outcome.require(outcome.sent_before == 0, f"{outcome.sent_before} messages were sent before the acceptance")
    refuse_keys(setup, machine, outcome)


def refuse_keys(setup: Setup, machine: Machine, outcome: Outcome) -> None:
    """Note old keys that are not refused."""
    for each in (setup.owner, *setup.writers):
        answer = ask(machine, each, "GET", PROJECTS)
        refused = answer.status_code == httpx.codes.UNAUTHORIZED and answer.json()["code"] == "api_key_disabled"
        outcome.require(refused, f"an old key is answered {answer.status_code} {answer.text}")


def accept(setup: Setup, machine: Machine, outcome: Outcome) -> None:
    """Accept the restore; all that was due is sent, and so are messages of new changes by a new key."""
    due_at = datetime.now(UTC)
    outcome.require(machine.commands.read("backup", "accept", "--yes")["accepted"], "it is not accepted")
    secret, lead = make_key(machine), f"{ids.new().hex}@soak.example"
    refuse_keys(setup, machine, outcome)
    made = change(machine, secret, "POST", PROJECTS, json={"name": "after"})
    change(machine, secret, "POST", "/v1/leads", json={"email": lead})
    wait_until(lambda: any(made.encode() in each for each in setup.outside.bodies), "no webhook")
    wait_until(lambda: lead in setup.outside.mails.recipients, "no mail")
    with machine.database() as conninfo:
        wait_until(lambda: not any(count_due(conninfo, due_at)), "what was due is not sent")
    outcome.sent_after = setup.outside.taken


def restore(setup: Setup, name: str, *words: str) -> tuple[Machine, float]:
    """Restore into an empty data folder; return the machine and the seconds."""
    machine, began = setup.machine(name), time.monotonic()
    machine.commands.read("backup", "restore", "--secret-keys", str(setup.sealed), *words, key=setup.private)
    return machine, time.monotonic() - began


def run(kind: str, folder: Path, chance: random.Random) -> Outcome:
    """Return the outcome of a kind."""
    outcome, outside = Outcome(), Outside()
    setup = Setup(folder=folder, outside=outside)
    with ExitStack() as stack:
        stack.enter_context(outside.running())
        machine = setup.machine("lost")
        stack.callback(machine.service.stop)
        install(setup, machine)
        asyncio.run(load(setup, machine, outcome, cut=kind == "at-once", chance=chance))
        outside.forget()
        restored, outcome.restore_s = restore(setup, "restored")
        check_rows(restored, outcome)
        stack.callback(restored.service.stop)
        watch(setup, restored, outcome)
        accept(setup, restored, outcome)
        restored.service.stop()
        before, outcome.to_moment_s = restore(setup, "before", "--to", outcome.before)
        with before.database() as conninfo:
            outcome.require(
                is_archived(conninfo, outcome) is False, "the project of before the mistake is not there"
            )
    return outcome


def report(kind: str, outcome: Outcome) -> None:
    """Print the row of a kind, and its errors."""
    history = outcome.history
    acknowledged = history.list_acknowledged()
    older = history.list_acknowledged(until=outcome.killed_at - LOSS_S)
    row = (
        *(kind, len(acknowledged), outcome.lost, len(acknowledged) - len(older), outcome.missing),
        *(f"{each:.1f} s" for each in (outcome.drill_s, outcome.restore_s, outcome.to_moment_s)),
        *(outcome.due, outcome.sent_before, outcome.sent_after, len(outcome.errors)),
    )
    print("|", " | ".join(map(str, row)), "|", flush=True)
    for error in outcome.errors[:20]:
        print(f"restores: {error}", file=sys.stderr)


def main() -> None:
    """Print a row for each kind; exit with 1 if something is wrong."""
    parser = argparse.ArgumentParser(description="Lose a machine under load and restore it.")
    parser.add_argument("kinds", nargs="*", metavar="at-once|archived")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    given = parser.parse_args()
    chance = random.Random(given.seed)  # noqa: S311 - repeatable
    print(f"restores: seed {given.seed}", file=sys.stderr)
    print("|", " | ".join(COLUMNS), "|")
    print("|---" * len(COLUMNS), "|", sep="", flush=True)
    is_wrong = False
    for kind in given.kinds or KINDS:
        with tempfile.TemporaryDirectory(prefix="builders-restores-") as name:
            Path(name).chmod(0o711)
            outcome = run(kind, Path(name), chance)
        report(kind, outcome)
        is_wrong |= bool(outcome.errors)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
