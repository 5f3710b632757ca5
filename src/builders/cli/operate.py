"""`builders migrate`, `builders doctor`, `builders demo`."""

import asyncio
from collections.abc import Sequence

import click

from builders.cli.session import connected, json_option, opened, read_settings, run, show
from builders.demo import service as demos
from builders.demo.records import DemoKey
from builders.kit import migrate
from builders.kit.db import Database
from builders.kit.settings import Settings


@click.command("migrate")
@json_option
def migrate_command(*, as_json: bool) -> None:
    """Apply the migrations that the database still needs."""
    with connected(read_settings(), migrated=False) as settings:
        applied = migrate.migrate(settings.database_url.get_secret_value()) if settings.database_url else []
    text = "\n".join(f"applied {name}" for name in applied) or "The database is up to date."
    show(applied, as_json=as_json, text=text)


@click.command()
@json_option
def demo(*, as_json: bool) -> None:
    """Load the demo catalog and demo accounts, and print their keys."""

    async def work(database: Database, settings: Settings) -> Sequence[DemoKey]:
        return await demos.set_up(database, data_dir=settings.data_dir)

    keys = run(work)
    show([_shown(key) for key in keys], as_json=as_json, text=describe(keys))


def set_up_demo(settings: Settings) -> Sequence[DemoKey]:
    """The demo's keys; loads the demo on the first start."""

    async def inside() -> Sequence[DemoKey]:
        async with opened(settings) as database:
            return await demos.set_up(database, data_dir=settings.data_dir)

    return asyncio.run(inside())


def describe(keys: Sequence[DemoKey]) -> str:
    """The demo's keys, a line each."""
    return "\n".join(f"  {key.preset:<15} {key.kind:<4} {key.key}" for key in keys)


def _shown(key: DemoKey) -> dict[str, str]:
    return {"account": key.account, "preset": key.preset, "kind": key.kind, "key": key.key}
