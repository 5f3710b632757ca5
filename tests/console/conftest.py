"""Fixtures: Alice's browser, and an account with something on every page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Database
from builders.kit.values import clock, ids
from tests.cast import Person
from tests.conftest import MakePerson
from tests.console.scenes import Scene
from tests.console.visitor import Visitor
from tests.plans import make
from tests.webhooks import make as webhooks

Visit = Callable[[Person], Awaitable[Visitor]]
Fingerprint = Callable[[Scene], dict[str, str]]  # a hash of all rows that the people have, by table
TABLES = """
    SELECT quote_ident(table_name) FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'account_id'
      AND (table_name = ANY(%s)) IS FALSE
    ORDER BY 1
"""
# Rows that a request may write although it changes nothing of what the account has.
BOOKKEEPING = ["kit_idempotency"]
ROW = "to_jsonb(row) - 'last_used_at' - 'scope_uses'"  # a process writes the use of a key some seconds later
# A function, because PostgreSQL keeps its plan: to plan a statement on all tables takes longer than to read them.
HASHES = """
    CREATE FUNCTION pg_temp.hashes(people uuid[]) RETURNS TABLE (name text, hash text) LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan AS $$ BEGIN RETURN QUERY {statement}; END $$
"""


@pytest.fixture
async def visit() -> AsyncIterator[Callable[[Person], Awaitable[Visitor]]]:
    """Return a function that opens a browser in which a person is signed in."""
    opened: list[Visitor] = []

    async def open_browser(person: Person) -> Visitor:
        opened.append(Visitor(person, await person.sign_in()))
        return opened[-1]

    yield open_browser
    for each in opened:
        await each.aclose()


@pytest.fixture
async def browser(alice: Person, visit: Callable[[Person], Awaitable[Visitor]]) -> Visitor:
    """Return Alice's browser."""
    return await visit(alice)


@pytest.fixture(autouse=True)
def own_time() -> Iterator[None]:
    """Restore the clock after the test."""
    with clock.moved(timedelta()):
        yield


@pytest.fixture
async def charlie(people: MakePerson) -> Person:
    """Return a person whose key can join a team."""
    return await people("charlie", Preset.DOMAINER_FULL)


@pytest.fixture
async def domain(database: Database, tmp_path: Path, assets: Path) -> str:
    """Return a catalog domain."""
    return await make.Domains(database, folder=tmp_path, assets=assets)()


@pytest.fixture
async def name(alice: Person, domain: str) -> str:
    """Return the id of a name of Alice."""
    promotion = await make.apply(alice, make.alias(f"ada@{domain}"))
    return str(promotion["steps"][0]["resource_id"])


@pytest.fixture
async def everything(alice: Person, domain: str) -> dict[str, str]:
    """Return the id of one resource of each kind, by its page."""
    promotion = await make.apply(alice, make.alias(f"ada@{domain}"))
    hook = await webhooks.create(alice)
    await alice.post(f"{webhooks.PATH}/{hook['id']}/test", params={"event": "alias.created"})
    deliveries = (await alice.get(webhooks.DELIVERIES)).json()["items"]
    own = (await alice.post("/v1/domains", json={"domain": f"own-{ids.new().hex}.example"})).json()
    async with alice.browser() as browser:
        held = (await browser.post("/v1/portfolio/domains", json={"domain": f"{ids.new().hex}.com"})).json()
        names = {"domains": [f"{ids.new().hex}.com"]}
        imported = (await browser.post("/v1/portfolio/import", json=names)).json()
        listed = {"provider": "manual:old", **names}
        inventory = (await browser.post("/v1/portfolio/registrars/inventory/import", json=listed)).json()
    project = (await alice.post("/v1/builders/projects", json={"name": "Shop"})).json()
    return {
        "names": promotion["steps"][0]["resource_id"],
        "plans": promotion["plan_id"],
        "promotions": promotion["id"],
        "invoices": promotion["invoices"][0]["id"],
        "webhooks": hook["id"],
        "deliveries": deliveries[0]["id"],
        "domains": own["id"],
        "projects": project["id"],
        "portfolio": held["id"],
        "import": imported["import_id"],
        "run": inventory["import_id"],
    }


@pytest.fixture
async def scene(alice: Person, charlie: Person, domain: str, visit: Visit) -> AsyncIterator[Scene]:
    """Return Alice's account for a form, and the servers that it needs."""
    async with AsyncExitStack() as stack:
        yield Scene(alice, charlie, domain, visit, stack)


@pytest.fixture(scope="module")
def fingerprint(sweeper: psycopg.Connection) -> Iterator[Fingerprint]:
    """Return a function that reads what the people of a scene have."""
    names = [row[0] for row in sweeper.execute(TABLES, [BOOKKEEPING])]
    parts = [
        f"SELECT '{each}', md5(string_agg(({ROW})::text, ';' ORDER BY row::text)) FROM {each} AS row"  # noqa: S608 - names of tables, quoted by the database
        " WHERE account_id = ANY(people)"
        for each in names
    ]
    sweeper.execute(HASHES.format(statement=" UNION ALL ".join(parts)).encode())

    def read(scene: Scene) -> dict[str, str]:
        people = [scene.alice.account.id, scene.charlie.account.id]
        return dict(
            sweeper.execute("SELECT * FROM pg_temp.hashes(%s) WHERE hash IS NOT NULL", [people]).fetchall()
        )

    yield read
    sweeper.execute("DROP FUNCTION pg_temp.hashes")
