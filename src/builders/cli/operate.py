"""`builders migrate`, `builders doctor`, `builders demo`."""

import asyncio
from collections.abc import Sequence

import click

from builders.cli import asking
from builders.cli.session import (
    connected,
    fail,
    json_option,
    migrate_database,
    opened,
    read_settings,
    run,
    show,
)
from builders.demo import service as demos
from builders.demo.records import DemoKey
from builders.kit import doctor, migrate
from builders.kit.db import Database
from builders.kit.doctor import Finding
from builders.kit.errors import Problem
from builders.kit.settings import Settings


@click.command("migrate")
@json_option
def migrate_command(*, as_json: bool) -> None:
    """Apply the migrations that the database still needs."""
    with connected(read_settings(), migrated=False) as settings:
        applied = migrate_database(settings)
    text = "\n".join(f"applied {name}" for name in applied) or "The database is up to date."
    show(applied, as_json=as_json, text=text)


@click.command("doctor")
@json_option
def doctor_command(*, as_json: bool) -> None:
    """Say what is wrong, and what to do about it; the status is 1 when something is."""
    settings = read_settings()
    findings = doctor.examine(
        data_dir=settings.data_dir,
        conninfo=settings.database_url.get_secret_value() if settings.database_url else None,
        host=settings.host,
        port=settings.port,
        pending=migrate.pending,
        is_ours=asking.is_ours,
    )
    show(findings, as_json=as_json, text="\n".join(map(_line, findings)))
    if not all(finding.ok for finding in findings):
        raise SystemExit(1)


def _line(finding: Finding) -> str:
    said = f"{'ok   ' if finding.ok else 'WRONG'}  {finding.check}: {finding.detail}"
    return said if finding.next_action is None else f"{said}\n       {finding.next_action}"


@click.command()
@json_option
def demo(*, as_json: bool) -> None:
    """Load the demo catalog and demo accounts, and print their keys."""

    async def work(database: Database, settings: Settings) -> Sequence[DemoKey]:
        return await demos.set_up(database, data_dir=settings.data_dir)

    keys = run(work)
    show(keys, as_json=as_json, text=describe(keys))


def set_up_demo(settings: Settings) -> Sequence[DemoKey]:
    """The demo's keys; loads the demo on the first start."""

    async def inside() -> Sequence[DemoKey]:
        async with opened(settings) as database:
            return await demos.set_up(database, data_dir=settings.data_dir)

    try:
        return asyncio.run(inside())
    except Problem as problem:
        fail(problem.detail)


def describe(keys: Sequence[DemoKey]) -> str:
    """The demo's keys, a line each."""
    return "\n".join(f"  {key.preset:<15} {key.kind:<4} {key.key}" for key in keys)
