import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from builders.demo import service as demo
from builders.demo.service import DemoKey, list_titles
from builders.identity import accounts as identity_accounts, keys as identity_keys
from builders.identity.authenticator import Authenticator
from builders.identity.records import Account, KeyKind
from builders.kit.callers import OPERATOR, Caller
from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.http.callers import Credential
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.cli.databases import own_database
from tests.demo.make import demo_database

COUNTS = """
    SELECT (SELECT count(*) FROM catalog_domains), (SELECT count(*) FROM identity_accounts),
           (SELECT count(*) FROM identity_keys)
"""
COUNT_PORTFOLIO = """
    SELECT (SELECT count(*) FROM portfolio_domains), (SELECT count(*) FROM portfolio_notifications_notices)
"""
LIST_TEAM = "SELECT role FROM portfolio_team_members ORDER BY role"
COUNT_DECISIONS = "SELECT decision, count(*) FROM portfolio_renewals_decisions GROUP BY decision ORDER BY decision"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data folder of these tests."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
async def demo_conninfo(server: str, settings: Settings, demo_images: Path, data_dir: Path) -> AsyncIterator[str]:
    """Yield a separate database with the catalog, whose domains would disturb other tests."""
    async with demo_database(server, settings, images=demo_images, data_dir=data_dir) as own:
        yield own


@pytest.fixture
async def database(demo_conninfo: str, settings: Settings) -> AsyncIterator[Database]:
    pool = Database(demo_conninfo, settings)
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture
async def keys(database: Database, data_dir: Path) -> Sequence[DemoKey]:
    """Return the keys of a first start."""
    return await demo.set_up(database, data_dir=data_dir)


async def caller(database: Database, key: DemoKey) -> Caller:
    """Return the caller of the key."""
    authenticate = Authenticator(database, cache_s=0)
    return await authenticate(Credential("api_key", key.key), fresh=True)


async def counts(database: Database) -> tuple[int, ...]:
    """Return the numbers of domains, of accounts with sandbox accounts, and of keys."""
    async with database.connection() as conn:
        row = await (await conn.execute(COUNTS)).fetchone()
    assert row is not None
    return row


async def _list_people(database: Database) -> tuple[list[tuple[str]], list[tuple[str, int]]]:
    """Return the roles in teams, and the numbers of renewal decisions."""
    async with database.connection() as conn:
        roles = await (await conn.execute(LIST_TEAM)).fetchall()
        return roles, await (await conn.execute(COUNT_DECISIONS)).fetchall()


def names(folder: Path) -> set[str]:
    """Return the names in a folder."""
    return {each.name for each in folder.iterdir()}


async def test_each_demo_key_works(database: Database, keys: Sequence[DemoKey]) -> None:
    callers = [await caller(database, key) for key in keys]

    assert [each.mode for each in callers] == [key.kind for key in keys] == ["live", "test"] * 2
    assert [key.preset for key in keys] == ["developer_full"] * 2 + ["domainer_full"] * 2
    assert ["portfolio:write" in each.scopes for each in callers] == [False, False, True, True]
    assert len({each.live_account_id for each in callers}) == 2


async def test_a_second_start_changes_nothing(database: Database, keys: Sequence[DemoKey], data_dir: Path) -> None:
    before = await counts(database)

    assert await demo.set_up(database, data_dir=data_dir) == keys
    assert await counts(database) == before
    assert names(data_dir) == {"assets", "demo-keys.json"}  # no draft is left


async def test_only_the_owner_can_read_the_stored_keys(keys: Sequence[DemoKey], data_dir: Path) -> None:
    kept = data_dir / "demo-keys.json"

    assert kept.stat().st_mode & 0o777 == 0o600
    assert [each["key"] for each in json.loads(kept.read_text())] == [key.key for key in keys]
    assert keys[0].key not in repr(keys)


async def test_a_revoked_key_is_replaced(database: Database, keys: Sequence[DemoKey], data_dir: Path) -> None:
    who = await caller(database, keys[0])
    assert who.key_id is not None
    async with database.transaction() as conn:
        await identity_keys.revoke_key(
            conn, account_id=who.live_account_id, key_id=who.key_id, revoked_by=KeyKind.LIVE, actor=OPERATOR
        )

    again = await demo.set_up(database, data_dir=data_dir)

    assert (await caller(database, again[0])).live_account_id == who.live_account_id
    assert await demo.set_up(database, data_dir=data_dir) == again


@pytest.mark.parametrize("kept", ["", "{", "[]", '[{"key": "x"}]', "7", '[{"account": "a", "preset": "p"}]'])
async def test_stored_keys_that_cannot_be_read_are_replaced(
    database: Database, keys: Sequence[DemoKey], data_dir: Path, kept: str
) -> None:
    domains, accounts, _ = await counts(database)
    (data_dir / "demo-keys.json").write_text(kept)

    again = await demo.set_up(database, data_dir=data_dir)

    assert {key.key for key in again}.isdisjoint(key.key for key in keys)
    assert [(await caller(database, key)).mode for key in again] == ["live", "test"] * 2
    assert await demo.set_up(database, data_dir=data_dir) == again
    assert (await counts(database))[:2] == (domains, accounts)


async def test_a_first_start_adds_the_demo_and_another_database_gets_other_keys(
    server: str, settings: Settings, database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    with own_database(server) as conninfo:
        migrations.migrate(conninfo)
        first = Database(conninfo, settings)
        await first.open()
        none = await demo.find_day(first)
        made = await demo.set_up(first, data_dir=folder)
        working = [(await caller(first, key)).mode for key in made]
        domains, accounts, _ = await counts(first)
        async with first.connection() as conn:
            day = await demo.find_day(first)
            held, notices = await (await conn.execute(COUNT_PORTFOLIO)).fetchone() or (0, 0)
        people = [await _list_people(first)]
        await demo.set_up(first, data_dir=folder)
        people.append(await _list_people(first))
        await first.close()
    others = await demo.set_up(database, data_dir=folder)

    assert working == [(await caller(database, key)).mode for key in others] == ["live", "test"] * 2
    assert {key.key for key in others}.isdisjoint(key.key for key in made)
    assert (domains, accounts) == (
        len(list_titles()),
        8,
    )  # two with keys, two in a team, each with a sandbox account
    assert people == [([("accountant",), ("manager",)], [("drop", 2), ("renew", 3), ("undecided", 1)])] * 2
    assert held == 200 * 2  # of the account and of its sandbox account
    assert day == clock.now().date()
    assert none is None
    assert notices > 5
    assert names(folder) == {"assets", "demo-keys.json"}
    assert len(names(folder / "assets")) > domains


async def test_concurrent_first_starts_get_the_same_account(database: Database) -> None:
    email = f"demo-{ids.new().hex}@builders.example"

    async def start() -> Account:
        async with database.transaction() as conn:
            return await identity_accounts.ensure_account(conn, email=email)

    first, *others = await asyncio.gather(*(start() for _ in range(4)))

    assert others == [first] * 3
