"""Fixtures of the benchmarks: a temporary database with the demo catalog, API keys and claimed names.

`Dependencies` are what the bare ASGI function and the FastAPI + ORM stack share with the service.
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from bench.scenarios import DOMAINS, TAKEN_NAMES, SampleKeys
from builders.aliases import claims
from builders.aliases.records import AliasSpec
from builders.aliases.rules import validate_local_part
from builders.catalog import availability
from builders.catalog.snapshot import CatalogCache
from builders.cli.embedded.server import EmbeddedServer
from builders.demo import service as demo
from builders.identity import accounts, keys as identity_keys
from builders.identity.records import KeyKind, NewApiKey, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db import migrations
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import ids

KEYS = 100  # as many as an account may have
OTHER_ACCOUNTS, LISTED = 15, 50  # with the first account one for each connection; as many keys as a list shows
OTHER_NAMES = 2_000  # claimed names that no scenario requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixtures:
    """A prepared database and the API keys in it."""

    data_dir: Path
    conninfo: str
    keys: SampleKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What a process opens once: none of it handles HTTP, so each contender needs it."""

    database: Database
    keyring: Keyring
    catalog: CatalogCache


@asynccontextmanager
async def open_dependencies(settings: Settings) -> AsyncIterator[Dependencies]:
    """Open the connection pool and the catalog; close them at the end of the block."""
    assert settings.database_url is not None
    database = Database(settings.database_url.get_secret_value(), settings)
    await database.open()
    try:
        yield Dependencies(
            database=database,
            keyring=keyring_of(settings),
            catalog=CatalogCache(database, assets=settings.data_dir / "assets"),
        )
    finally:
        await database.close()


@contextmanager
def temporary_database(*, durable: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield a temporary folder and a migrated database in it; commits reach the disk when `durable`."""
    folder = Path(tempfile.mkdtemp(prefix="builders-bench-"))
    folder.chmod(0o711)  # when root runs this, the user of PostgreSQL must enter it
    try:
        with EmbeddedServer(folder, durable=durable) as embedded:
            migrations.migrate(embedded.conninfo)
            yield folder, embedded.conninfo
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def temporary() -> Iterator[Fixtures]:
    """Yield the fixtures in a temporary folder. Starts an event loop, so call it outside one."""
    with temporary_database() as (folder, conninfo):
        yield asyncio.run(prepare(folder, conninfo))


async def prepare(data_dir: Path, conninfo: str) -> Fixtures:
    """Fill a migrated database that no other program uses."""
    settings = Settings.model_validate({"data_dir": data_dir, "database_url": conninfo})
    keyring_of(settings)  # creates the key before three processes would
    database = Database(conninfo, settings)
    await database.open()
    try:
        await demo.set_up(database, data_dir=data_dir)
        async with database.transaction() as conn:
            keys = await _make_keys(conn)
            await _claim(conn)
        async with database.connection() as conn:
            await conn.execute("ANALYZE")
    finally:
        await database.close()
    return Fixtures(data_dir=data_dir, conninfo=conninfo, keys=keys)


async def make_account(conn: Conn, *, preset: Preset = Preset.DEVELOPER_FULL) -> tuple[UUID, str]:
    """Create an account; return its id and a live key of it."""
    account = await accounts.create_account(conn, email=f"{ids.new()}@bench.example", verified=True)
    made = await identity_keys.create_key(
        conn,
        account_id=account.id,
        label="bench",
        key_kind=KeyKind.LIVE,
        preset=preset,
        minted_by=KeyKind.LIVE,
        actor=OPERATOR,
    )
    return account.id, made.secret


async def make_keys(conninfo: str, settings: Settings, count: int) -> list[str]:
    """Return keys of as many accounts."""
    database = Database(conninfo, settings)
    await database.open()
    made = list[str]()
    for _ in range(count):
        async with database.transaction() as conn:
            made.append((await make_account(conn))[1])
    await database.close()
    return made


async def _make_keys(conn: Conn) -> SampleKeys:
    made = await _make_account_keys(conn, count=KEYS)
    others = [(await _make_account_keys(conn, count=LISTED))[0].secret for _ in range(OTHER_ACCOUNTS)]
    return SampleKeys(secret=made[0].secret, ids=[str(each.id) for each in made], others=others)


async def _make_account_keys(conn: Conn, *, count: int) -> Sequence[NewApiKey]:
    account = await accounts.create_account(conn, email=f"{ids.new()}@bench.example", verified=True)
    return [
        await identity_keys.create_key(
            conn,
            account_id=account.id,
            label=f"key {n}",
            key_kind=KeyKind.LIVE,
            preset=Preset.DEVELOPER_FULL,
            minted_by=KeyKind.LIVE,
            actor=OPERATOR,
        )
        for n in range(count)
    ]


async def _claim(conn: Conn) -> None:
    account = await accounts.create_account(conn, email=f"{ids.new()}@bench.example", verified=True)
    found = await availability.load_domains(conn, domains=DOMAINS)
    others = [(f"crowd{n}", DOMAINS[n % len(DOMAINS)]) for n in range(OTHER_NAMES)]
    names = [*((name, domain) for name in TAKEN_NAMES for domain in DOMAINS), *others]
    specs: list[AliasSpec] = []
    for name, domain in names:
        known = found[domain]
        result = validate_local_part(name, domain=domain, rules=known.rules)
        assert result.is_ok, result
        specs.append(
            AliasSpec(
                id=ids.new(),
                domain=domain,
                local_part=result.normalized,
                key=result.key,
                skeleton=result.skeleton,
                destinations=["someone@example.net"],
                enabled=True,
                note=None,
                labels={},
                manifest=None,
                manifest_key=None,
                price=known.price.money,
                interval=known.price.interval,
            )
        )
    await claims.create_aliases(conn, account_id=account.id, specs=specs)
