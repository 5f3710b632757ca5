"""Migrate a table with 1,000,000 rows while one reads, one writes, and a transaction is open: who waits how long.

    script/soak migrations [--rows 1000000]

The table is `projects`; the files add a column, an index, the rows of a backfill, and a constraint that is
validated and becomes NOT NULL. `builders migrate` applies them, and the worker fills the rows.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psycopg

from bench.fixtures import temporary_database
from builders.kit.db.migration_files import Migration
from tests.kit.db.files import make_file
from tests.releases import copies
from tests.releases.copies import Release

ACCOUNTS = 1_000
PAUSE_S = 0.005  # between two reads or writes
OPEN_S = 3.0  # of the transaction that is open when a step begins
FILLED_WITHIN_S = 1_200  # on a busy machine
POLL_S = 1.0
MAX_S = 1.0  # of a read or a write
INDEX = "CREATE INDEX CONCURRENTLY"
BARE = "-- no transaction\n"
FILL = "-- backfill: projects (account_id, id)\n-- rows: colour IS NULL\n-- set: colour = 'grey'\n"
FILES = copies.number(
    (
        "column",
        make_file(
            "",
            "ALTER TABLE projects ADD COLUMN colour text;\n"
            "ALTER TABLE projects ALTER COLUMN colour SET DEFAULT 'grey';",
        ),
    ),
    (
        "index",
        make_file(
            "", "CREATE INDEX CONCURRENTLY projects_by_colour ON projects (account_id, colour);", first=BARE
        ),
    ),
    (
        "rows_to_fill",
        make_file(
            "",
            "CREATE INDEX CONCURRENTLY projects_bare ON projects (account_id, id) WHERE colour IS NULL;",
            first=BARE,
        ),
    ),
    (
        "filled",
        make_file(
            "",
            "ALTER TABLE projects ADD CONSTRAINT projects_have_colour CHECK (colour IS NOT NULL) NOT VALID;",
            run="after",
            last=FILL,
        ),
    ),
    ("valid", make_file("", "ALTER TABLE projects VALIDATE CONSTRAINT projects_have_colour;", run="after")),
    ("not_null", make_file("", "ALTER TABLE projects ALTER COLUMN colour SET NOT NULL;", run="after")),
)
NAMES = [each.name.partition("_")[2].removesuffix(".sql") for each in FILES]
ADD = """
    INSERT INTO projects (account_id, id, name, slug, created_at, updated_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n %% %(accounts)s), 12, '0'))::uuid,
        ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 'Project ' || n, 'project-' || n,
        now(), now()
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
"""
READ = "SELECT id, name, slug FROM projects WHERE account_id = %s ORDER BY id DESC LIMIT 10"
CHANGE = "UPDATE projects SET description = 'changed', version = version + 1 WHERE account_id = %s AND id = %s"
HOLD = "SELECT id FROM projects LIMIT 1"
LEFT = "SELECT EXISTS (SELECT FROM projects WHERE colour IS NULL)"
IS_VALID = """
    SELECT (SELECT bool_and(indisvalid) FROM pg_index WHERE indrelid = 'projects'::regclass)
        AND (SELECT attnotnull FROM pg_attribute WHERE attrelid = 'projects'::regclass AND attname = 'colour')
        AND (SELECT convalidated FROM pg_constraint WHERE conname = 'projects_have_colour')
"""
HEAD = "| step | seconds | reads | longest read | writes | longest write |\n|---|---|---|---|---|---|"


@dataclass(slots=True)
class Users:
    """Those who use the table, and how long each statement took since the last step."""

    conninfo: str
    rows: int
    took: dict[str, list[float]] = field(default_factory=lambda: {"read": [], "write": []})
    longest: float = 0.0
    errors: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def use(self, what: str) -> None:
        """Read or write until the end."""
        chosen = random.Random(what)  # noqa: S311 - which rows
        made = self.rows
        try:
            with psycopg.connect(self.conninfo, autocommit=True) as conn:
                while not self.over.wait(PAUSE_S):
                    number = chosen.randrange(1, self.rows)
                    made += 1
                    began = time.monotonic()
                    if what == "read":
                        conn.execute(READ, (account_of(number),)).fetchall()
                    elif number % 2:
                        conn.execute(CHANGE, (account_of(number), id_of(number)))
                    else:
                        conn.execute(ADD, {"accounts": ACCOUNTS, "first": made, "last": made})
                    self.took[what].append(time.monotonic() - began)
        except psycopg.Error as error:
            self.errors.append(f"{what}: {error}")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print how long the statements took at most, with a transaction that is open when the step begins."""
        self.took = {"read": [], "write": []}
        began = time.monotonic()
        with psycopg.connect(self.conninfo) as holder:
            holder.execute(HOLD)
            ending = threading.Timer(OPEN_S, holder.rollback)
            ending.start()
            yield
            ending.join()
        took_s = time.monotonic() - began
        time.sleep(PAUSE_S)
        reads, writes = self.took["read"], self.took["write"]
        assert reads, "no read ended"
        assert writes, "no write ended"
        longest = (f"{max(each) * 1000:.0f} ms" for each in (reads, writes))
        first, second = longest
        print(f"| {name} | {took_s:.1f} | {len(reads)} | {first} | {len(writes)} | {second} |", flush=True)
        self.longest = max(self.longest, *reads, *writes)


def account_of(number: int) -> UUID:
    """Return the account of a row."""
    return UUID(f"00000000-0000-7000-8000-{number % ACCOUNTS:012x}")


def id_of(number: int) -> UUID:
    """Return the id of a row."""
    return UUID(f"00000000-0000-7000-9000-{number:012x}")


@contextmanager
def used(conninfo: str, rows: int) -> Iterator[Users]:
    """Let one read and one write."""
    users = Users(conninfo, rows)
    threads = [threading.Thread(target=users.use, args=(what,)) for what in users.took]
    for each in threads:
        each.start()
    try:
        yield users
    finally:
        users.over.set()
        for each in threads:
            each.join()


def apply(folder: Path, files: list[Migration], own: dict[str, str], *words: str) -> Release:
    """Apply the files as one more release."""
    release = copies.copy(folder, f"1.1.{len(files)}", files, {})
    code, printed = release.run("-m", "builders", "migrate", *words, **own)
    assert code == 0, printed
    return release


def fill(release: Release, conninfo: str, own: dict[str, str]) -> None:
    """Let the worker fill the rows."""
    worker = release.start("-m", "builders", "worker", "--no-migrate", **own)
    try:
        deadline = time.monotonic() + FILLED_WITHIN_S
        with psycopg.connect(conninfo, autocommit=True) as conn:
            while conn.execute(LEFT).fetchone() != (False,):
                assert worker.process.poll() is None, "the worker has ended"
                assert time.monotonic() < deadline, "the rows were not filled"
                time.sleep(POLL_S)
    finally:
        worker.stop()


def run(folder: Path, conninfo: str, data: Path, rows: int) -> Users:
    """Fill the table, and apply the files one after the other."""
    own = {"BUILDERS_DATABASE_URL": conninfo, "BUILDERS_DATA_DIR": str(data), "BUILDERS_LOG_LEVEL": "error"}
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(ADD, {"accounts": ACCOUNTS, "first": 1, "last": rows})
        conn.execute("ANALYZE projects")
    print(HEAD, flush=True)
    with used(conninfo, rows) as users:
        with users.step("nothing"):
            pass
        for place, name in enumerate(NAMES, 1):
            after = ["--after"] if FILES[place - 1].header.is_after else []
            if FILES[place - 1].header.backfill is not None:
                release = copies.copy(folder, "1.2.0", FILES[:place], {})
                with users.step("backfill"):
                    fill(release, conninfo, own)
            with users.step(name):
                apply(folder, FILES[:place], own, *after)
    with psycopg.connect(conninfo) as conn:
        assert conn.execute(IS_VALID).fetchone() == (True,)
    return users


def main() -> None:
    """Exit with 1 if a read or a write took too long."""
    parser = argparse.ArgumentParser(description="Migrate a large table that is in use.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    with temporary_database() as (data, conninfo), tempfile.TemporaryDirectory() as folder:
        users = run(Path(folder), conninfo, data, given.rows)
    for each in users.errors:
        print(f"migrations: {each}", file=sys.stderr)
    print(f"migrations: {given.rows} rows, the longest wait {users.longest * 1000:.0f} ms")
    sys.exit(bool(users.errors) or users.longest > MAX_S)


if __name__ == "__main__":
    main()
