"""One PostgreSQL cluster: made, started, stopped, asked.

The caller holds the start lock (see `server`), so nobody else starts or stops it meanwhile.
"""

import os
import secrets
import shlex
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess

from psycopg.pq import PGconn, Ping

from builders.kit.db.embedded.binaries import MAJOR
from builders.kit.db.embedded.directory import ROLE, Home
from builders.kit.db.embedded.errors import EmbeddedFailed
from builders.kit.db.embedded.leftovers import Leftovers
from builders.kit.db.embedded.system_user import Account

CREATE_S = 180
START_S = 60  # a recovery after a crash is part of it
STOP_S = 30
PATIENCE_S = 3  # for what ends by itself after a kill
PAUSE_S = 0.2
SPACE_NEEDED = 128 * 2**20  # bytes; less explains most failures

# At creation, in postgresql.conf, where the operator may change them.
CHOSEN_ONCE = ("max_connections=200", "shared_buffers=128MB", "timezone=UTC", "log_timezone=UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster of a home, its programs and the user that runs them."""

    home: Home
    binaries: Path
    account: Account
    durable: bool  # False: nothing is synced to disk, for tests

    def create(self) -> None:
        """Make the cluster when there is none; raises EmbeddedFailed also when it is of another version."""
        if self.home.cluster.exists():
            self._check()
            return
        fresh, secret = self.home.folder / "cluster.new", self.home.password
        password = secrets.token_urlsafe(32)
        # One file for two readers: initdb takes the first line, libpq the one that matches.
        text = f"{password}\n*:*:*:{ROLE}:{password}\n"
        self._made(self.account.shell('rm -rf "$1"; cat >"$2.new" && mv "$2.new" "$2"', fresh, secret, text=text))
        initdb = self.account.run(
            self.binaries / "bin" / "initdb",
            *("-D", fresh, "--username", ROLE, "--pwfile", secret, "--auth=scram-sha-256"),
            # Text in the order of its bytes, the same on each machine; upper and lower case as Unicode says.
            *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *("--data-checksums", *(f"--set={setting}" for setting in CHOSEN_ONCE)),
            *(() if self.durable else ("--no-sync",)),
            wait_s=CREATE_S,
        )
        self._made(initdb)
        if self.durable:
            os.sync()  # the password too, before the name below says that all is there
        self._made(self.account.run("mv", fresh, self.home.cluster))

    def start(self) -> None:
        """Have the server running: one that runs already, perhaps after a kill of ours, is taken on.

        Raises EmbeddedFailed with its last words when it will not.
        """
        began = time.monotonic()
        while not self._is_up(waited := time.monotonic() - began):
            if waited > START_S:
                what = f"PostgreSQL did not start in {START_S} s; if it still recovers from a crash, try again"
                raise self._failed(what, self._last_words())
            time.sleep(PAUSE_S)

    def _is_up(self, waited: float) -> bool:
        """Whether it answers, after a try to start it; raises EmbeddedFailed when trying again is no use.

        One try is not enough: when the first process was killed, the others hold the memory for a moment.
        """
        answer = self._ping()
        if answer is Ping.NO_ATTEMPT:
            raise EmbeddedFailed("PostgreSQL cannot be asked: a PG... variable, as PGSERVICE, is in the way.")
        if answer is not Ping.NO_RESPONSE:  # up, or just starting or stopping
            return answer is Ping.OK
        late = waited > PATIENCE_S
        self._leftovers.clear(socket=self.home.socket, rough=late)
        alone = not self._leftovers.list_processes()
        started = self._pg_ctl("start", "-w", "-t", str(START_S), "-l", self.home.log, "-o", self._options())
        if started.returncode != 0 and alone and late:
            raise self._failed("PostgreSQL did not start", self._last_words() or started.stderr)
        return started.returncode == 0 and self._ping() is Ping.OK

    def stop(self) -> None:
        """Stop the server, ending its sessions; raises EmbeddedFailed when it will not."""
        for mode in ("fast", "immediate"):  # the second is a crash without loss
            if not self._leftovers.find_postmaster():
                return
            if self._pg_ctl("stop", "-w", "-t", str(STOP_S), "-m", mode).returncode == 0:
                return
        raise self._failed("PostgreSQL did not stop", self._last_words())

    def trim_log(self) -> None:
        """Keep the log from filling the disk: when it is long it becomes `log.1` and starts anew."""
        if self.home.has_long_log():
            # The server appends, so it goes on at the new end.
            self.account.shell('cp "$1" "$1.1"\n: >"$1"', self.home.log)

    def _check(self) -> None:
        try:
            found = (self.home.cluster / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise EmbeddedFailed(
                f"{self.home.cluster} is there, but is no PostgreSQL database. Move it away."
            ) from None
        if found != str(MAJOR):
            raise EmbeddedFailed(
                f"{self.home.cluster} is of PostgreSQL {found}, and this release brings {MAJOR}. Start the "
                "release that made it, save the database with pg_dump, move the folder away, start this one and "
                "restore."
            )
        if not self.home.password.exists():
            raise EmbeddedFailed(f"{self.home.password} is gone; without it nobody can sign in. Put it back.")

    def _options(self) -> str:
        settings = {
            "listen_addresses": "",
            "port": "5432",
            "unix_socket_directories": f'"{self.home.sockets}"',  # a list of names in quotes
            "unix_socket_permissions": "0700",
            "cluster_name": self._leftovers.mark,
            "log_error_verbosity": "terse",  # no values of rows in the log
        }
        if not self.durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        return " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())

    def _ping(self) -> Ping:
        return Ping(PGconn.ping(f"{self.home.conninfo('postgres')} connect_timeout=2".encode()))

    def _pg_ctl(self, verb: str, *words: str | Path) -> CompletedProcess[str]:
        account = replace(self.account, turn=None)  # what the server inherits it holds as long as it lives
        program = self.binaries / "bin" / "pg_ctl"
        return account.run(program, verb, "-D", self.home.cluster, *words, wait_s=2 * START_S)

    @property
    def _leftovers(self) -> Leftovers:
        return Leftovers(data=self.home.cluster, account=self.account)

    def _last_words(self) -> str:
        return self.account.shell('tail -n 12 "$1"', self.home.log).stdout

    def _made(self, step: CompletedProcess[str]) -> None:
        if step.returncode != 0:
            raise self._failed("PostgreSQL could not make its database", step.stderr)

    def _failed(self, what: str, words: str) -> EmbeddedFailed:
        free = shutil.disk_usage(self.home.folder).free
        space = f"; only {free // 2**20} MB are free there, so make room" if free < SPACE_NEEDED else ""
        return EmbeddedFailed(
            f"{what}. It is in {self.home.folder}{space}. Last words:\n{words.strip() or '(none)'}"
        )
