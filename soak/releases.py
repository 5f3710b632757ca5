"""Upgrade and roll back under load, from 1.0.0 over 1.1.0 to 1.2.0: no request fails.

    script/soak releases

The releases are copies of the checkout. 1.1.0 adds a column, an index and a constraint whose rows a backfill
fills; its code writes the column. 1.2.0 contracts: it drops the default that the code of 1.0.0 needs. The data is
that which 1.0.0 stored (`tests/releases`). SIGUSR1 replaces the processes behind a kept socket by those of the
installed release, which a link names, as docs/how-to/upgrade.md says.
"""

import asyncio
import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from builders.cli.embedded.server import EmbeddedServer
from soak.replicas import free_port
from soak.restarts import Machine, Outcome, load
from tests.kit.db.files import make_file
from tests.releases import copies, make, walk
from tests.releases.copies import Release

MEASURED_S = 3.0  # of the capacity
MOST = 200.0  # requests a second
RUNS_S = 2.0  # of a release under load, before the next step
FILLED_WITHIN_S = 90
POLL_S = 0.5
MAX_S = 5.0  # of a request
PROJECTS = walk.PROJECTS
STORE = "src/builders/projects/store.py"
FILES = copies.number(
    (
        "column",
        make_file(
            "",
            "ALTER TABLE projects ADD COLUMN colour text;\n"
            "ALTER TABLE projects ALTER COLUMN colour SET DEFAULT 'grey'; -- of the release before\n",
        ),
    ),
    (
        "index",
        make_file(
            "",
            "CREATE INDEX CONCURRENTLY projects_by_colour ON projects (account_id, colour);\n",
            first="-- no transaction\n",
        ),
    ),
    (
        "filled",
        make_file(
            "",
            "ALTER TABLE projects ADD CONSTRAINT projects_have_colour CHECK (colour IS NOT NULL) NOT VALID;\n",
            run="after",
            last="-- backfill: projects (account_id, id)\n-- rows: colour IS NULL\n-- set: colour = 'grey'\n",
        ),
    ),
    (
        "contract",
        make_file("", "ALTER TABLE projects ALTER COLUMN colour DROP DEFAULT;\n", works_with="1.1.0", run="after"),
    ),
)
# What the code of 1.1.0 changes: it writes the column.
WRITES_COLOUR = {
    STORE: [
        (
            "{columns_of(ProjectSpec)}, created_at, updated_at)",
            "{columns_of(ProjectSpec)}, created_at, updated_at, colour)",
        ),
        ("%(now)s, %(now)s FROM {NEW}", "%(now)s, %(now)s, 'blue' FROM {NEW}"),
    ]
}
COLOURS = "SELECT coalesce(colour, 'none'), count(*) FROM projects GROUP BY 1 ORDER BY 1"
INVALID = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"
CLIENT = """
import sys
from pathlib import Path
import builders_client
from builders_client import Builders
assert Path(builders_client.__file__).is_relative_to(Path.cwd())
with Builders(sys.argv[1], base_url=sys.argv[2]) as client:
    made = client.projects.create(name="Made by the client before")
    client.projects.update(made.id, description="Changed")
    assert made.id in {each.id for each in client.projects.list_projects()}
    assert list(client.api_keys.list_keys())
"""


@dataclass(slots=True)
class Rehearsal:
    """One service, whose release is what the link names."""

    one: Release
    two: Release
    three: Release
    link: Path
    machine: Machine
    own: Mapping[str, str]  # settings
    state: Mapping[str, Any]

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        """Ask the database."""
        with psycopg.connect(self.own["BUILDERS_DATABASE_URL"]) as conn:
            return conn.execute(question.encode()).fetchall()

    def run(self, release: Release, *words: str) -> str:
        """Run a command of a release, which must succeed; return what it prints."""
        code, printed = release.run("-m", "builders", *words, **self.own)
        assert code == 0, printed
        return printed

    def refuse(self, release: Release, *words: str, because: str) -> None:
        """Run a command of a release, which must be refused."""
        code, printed = release.run("-m", "builders", *words, **self.own)
        assert code != 0, printed
        assert because in printed, printed

    def install(self, release: Release) -> None:
        """Replace the code, and the processes."""
        fresh = self.link.with_suffix(".new")
        fresh.symlink_to(release.folder)
        fresh.rename(self.link)
        self.machine.replace()

    def make_project(self) -> str:
        """Create a project by the API; return its colour."""
        key = {"X-API-Key": self.state["keys"]["developer_full"]}
        address = f"http://127.0.0.1:{self.machine.port}{PROJECTS}"
        made = httpx.post(address, json={"name": "Rehearsed"}, headers=key, timeout=30)
        assert made.status_code == httpx.codes.CREATED, made.text
        [(colour,)] = self.ask(f"SELECT colour FROM projects WHERE id = '{made.json()['id']}'")  # noqa: S608 - an id
        return str(colour)


def expand(on: Rehearsal) -> None:
    """Three processes of 1.1.0 migrate at once, and 1.0.0 runs on the new schema."""
    on.refuse(on.two, "serve", "--http-only", "--port", "0", because="migrations are pending")
    processes = [on.two.start("-m", "builders", "migrate", **on.own) for _ in range(3)]
    ended = [process.wait() for process in processes]
    assert [code for code, _ in ended] == [0, 0, 0], ended
    names = [sum(file.name in printed for _, printed in ended) for file in FILES[:2]]
    assert names == [1, 1], ended  # one process has applied each
    assert on.ask(INVALID) == []
    assert on.make_project() == "grey"


def upgrade(on: Rehearsal) -> None:
    """1.1.0 runs on data of 1.0.0, and the file that needs rows filled waits for them."""
    on.install(on.two)
    assert on.make_project() == "blue"
    assert on.ask("SELECT count(*) > 0 FROM projects WHERE colour IS NULL") == [(True,)]
    on.refuse(on.two, "migrate", "--after", because="rows of projects are not filled yet")


def fill(on: Rehearsal) -> None:
    """The worker of 1.1.0 fills the rows."""
    worker = on.two.start("-m", "builders", "worker", "--no-migrate", **on.own)
    try:
        deadline = time.monotonic() + FILLED_WITHIN_S
        while on.ask("SELECT count(*) FROM projects WHERE colour IS NULL") != [(0,)]:
            assert worker.process.poll() is None, "the worker has ended"
            assert time.monotonic() < deadline, "the rows were not filled"
            time.sleep(POLL_S)
    finally:
        worker.stop()
    assert FILES[2].name in on.run(on.two, "migrate", "--after")


def serve_the_client_before(on: Rehearsal) -> None:
    """The Python client of 1.0.0 calls 1.1.0."""
    address = f"http://127.0.0.1:{on.machine.port}"
    code, printed = on.one.run("-c", CLIENT, on.state["keys"]["developer_full"], address)
    assert code == 0, printed


def roll_back(on: Rehearsal) -> None:
    """1.0.0 runs again, and 1.2.0 names the release between."""
    on.run(on.one, "migrate")
    on.install(on.one)
    assert on.make_project() == "grey"
    on.refuse(on.three, "migrate", because="The way from 1.0.0 to 1.2.0 is by 1.1.0.")


def contract(on: Rehearsal) -> None:
    """1.2.0 follows 1.1.0 and excludes 1.0.0, and 1.1.0 runs again."""
    on.run(on.two, "migrate")
    on.install(on.two)
    on.run(on.three, "migrate")
    on.install(on.three)
    assert FILES[3].name in on.run(on.three, "migrate", "--after")
    for words in (("migrate",), ("serve", "--http-only", "--port", "0"), ("worker",)):
        on.refuse(on.one, *words, because="The database works with release 1.1.0 or newer, and this is 1.0.0.")
    on.run(on.two, "migrate")
    on.install(on.two)
    assert on.make_project() == "blue"


STEPS: list[Callable[[Rehearsal], None]] = [
    expand,
    upgrade,
    fill,
    serve_the_client_before,
    roll_back,
    contract,
]


def list_requests(state: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield reads and changes of projects, whose table is migrated, and reads of the catalog."""
    key = f"X-API-Key: {state['keys']['developer_full']}\r\n"
    ids = [each["id"] for each in state["answers"][PROJECTS]]
    for number in itertools.count():
        body = ""
        if number % 3 == 0:
            line, headers = "GET /v1/catalog/categories", ""
        elif number % 3 == 1:
            line, headers = f"GET {PROJECTS}?limit=10", key
        else:
            line, body = f"PATCH {PROJECTS}/{ids[number % len(ids)]}", f'{{"description":"change {number}"}}'
            headers = f"{key}Content-Type: application/json\r\n"
        yield (
            f"{line} HTTP/1.1\r\nHost: builders.example\r\n{headers}Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


async def rehearse(on: Rehearsal) -> Outcome:
    """Take the steps under load; print the seconds of each."""
    port, requests = on.machine.port, list_requests(on.state)
    most = await load(port, requests, rate=float("inf"), until=asyncio.ensure_future(asyncio.sleep(MEASURED_S)))
    rate = min(MOST, len(most.took) / MEASURED_S / 2)
    print(f"releases: {rate:.0f} requests a second", flush=True)

    async def take() -> None:
        for step in STEPS:
            began = time.monotonic()
            await asyncio.to_thread(step, on)
            await asyncio.sleep(RUNS_S)
            print(f"releases: {step.__name__:<23} {time.monotonic() - began:5.1f} s", flush=True)

    taking = asyncio.ensure_future(take())
    outcome = await load(port, requests, rate=rate, until=taking)
    await taking
    return outcome


def start(stack: ExitStack, folder: Path) -> Rehearsal:
    """Make the releases and the data of the first, and start it."""
    one = copies.copy(folder, "1.0.0", [], {})
    two = copies.copy(folder, "1.1.0", FILES[:3], WRITES_COLOUR)
    three = copies.copy(folder, "1.2.0", FILES, WRITES_COLOUR)
    code, printed = one.run("-m", "tests.releases.make", str(folder / "fixture"))
    assert code == 0, printed
    print(f"releases: data of 1.0.0: {printed.strip().rpartition(' ')[0].rpartition(' ')[2]} bytes", flush=True)
    data = folder / "data"
    data.mkdir(mode=0o711)
    conninfo = stack.enter_context(EmbeddedServer(data, durable=False)).conninfo
    make.load(folder / "fixture", conninfo, data)
    link = folder / "installed"
    link.symlink_to(one.folder)
    own = {"BUILDERS_DATABASE_URL": conninfo, "BUILDERS_DATA_DIR": str(data), "BUILDERS_LIMITS": "off"}
    environment = Release(link).environment(**own)
    machine = Machine(free_port(), ["--http-only", "--workers", "2"], dict(environment), folder / "log")
    stack.callback(machine.stop)
    machine.start()
    return Rehearsal(one, two, three, link, machine, own, make.read_state(folder / "fixture"))


def main() -> None:
    """Exit with 1 if a request failed or took too long."""
    folder = Path(tempfile.mkdtemp(prefix="builders-releases-"))
    folder.chmod(0o711)  # when root runs this, the user of PostgreSQL must enter it
    try:
        with ExitStack() as stack:
            on = start(stack, folder)
            walk.walk(f"http://127.0.0.1:{on.machine.port}", on.state)
            outcome = asyncio.run(rehearse(on))
            print("releases: projects by colour:", dict(on.ask(COLOURS)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    failures = outcome.failures()
    p50, p999, longest = (outcome.quantile(share) * 1000 for share in (0.5, 0.999, 1))
    print(
        f"releases: {len(outcome.took)} requests, {sum(failures.values())} failed, "
        f"p50 {p50:.0f} ms, p99.9 {p999:.0f} ms, longest {longest:.0f} ms"
    )
    for reason, count in failures.items():
        print(f"releases: {count} times {reason}", file=sys.stderr)
    sys.exit(bool(failures) or longest > MAX_S * 1000)


if __name__ == "__main__":
    main()
