"""The stage: a database of our own with the demo catalog, an account with some hundred keys, and claimed names."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.scenarios import DOMAINS, TAKEN_NAMES, Stage
from builders.aliases import service as aliases
from builders.aliases.records import AliasSpec
from builders.catalog import service as catalog
from builders.demo import service as demo
from builders.identity import service as identity
from builders.identity.records import KeyKind, Preset
from builders.kit.db import migrations
from builders.kit.db.connections import Conn, Database
from builders.kit.db.embedded.server import EmbeddedServer
from builders.kit.http.callers import OPERATOR
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import ids

KEYS = 100  # as many as an account may have
CROWD = 2_000  # claimed names that nobody asks for


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A stage that stands."""

    data_dir: Path
    conninfo: str
    stage: Stage


@contextmanager
def database(*, durable: bool = False) -> Iterator[tuple[Path, str]]:
    """A temporary folder, and a migrated database in it, `durable` when commits are to reach the disk."""
    folder = Path(tempfile.mkdtemp(prefix="builders-bench-"))
    folder.chmod(0o711)  # ours and new; as root PostgreSQL's user has to pass through
    try:
        with EmbeddedServer(folder, durable=durable) as embedded:
            migrations.migrate(embedded.conninfo)
            yield folder, embedded.conninfo
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def built() -> Iterator[Built]:
    """Builds the stage and removes it again. Needs no event loop, since it starts one."""
    with database() as (folder, conninfo):
        yield asyncio.run(prepared(folder, conninfo))


async def prepared(data_dir: Path, conninfo: str) -> Built:
    """The stage on a migrated database that nobody else uses."""
    settings = Settings.model_validate({"data_dir": data_dir, "database_url": conninfo})
    keyring_of(settings)  # once, before three processes could want to
    database = Database(conninfo, settings)
    await database.open()
    try:
        await demo.set_up(database, data_dir=data_dir)
        async with database.transaction() as conn:
            stage = await _make_keys(conn)
            await _claim(conn)
        async with database.connection() as conn:
            await conn.execute("ANALYZE")
    finally:
        await database.close()
    return Built(data_dir=data_dir, conninfo=conninfo, stage=stage)


async def _make_keys(conn: Conn) -> Stage:
    account = await identity.create_account(conn, email=f"{ids.new()}@bench.example", verified=True)
    made = [
        await identity.create_key(
            conn,
            account_id=account.id,
            label=f"key {n}",
            kind=KeyKind.LIVE,
            preset=Preset.DEVELOPER_FULL,
            minted_by=KeyKind.LIVE,
            actor=OPERATOR,
        )
        for n in range(KEYS)
    ]
    return Stage(key=made[0].secret, key_ids=[str(each.key.id) for each in made])


async def _claim(conn: Conn) -> None:
    account = await identity.create_account(conn, email=f"{ids.new()}@bench.example", verified=True)
    found = await catalog.find_domains(conn, domains=DOMAINS)
    crowd = [(f"crowd{n}", DOMAINS[n % len(DOMAINS)]) for n in range(CROWD)]
    names = [*((name, domain) for name in TAKEN_NAMES for domain in DOMAINS), *crowd]
    specs: list[AliasSpec] = []
    for name, domain in names:
        known = found[domain]
        verdict = aliases.judge(name, domain=domain, rules=known.rules)
        assert verdict.is_ok, verdict
        specs.append(
            AliasSpec(
                id=ids.new(),
                domain=domain,
                local_part=verdict.normalized,
                key=verdict.key,
                skeleton=verdict.skeleton,
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
    await aliases.create(conn, account_id=account.id, specs=specs)
