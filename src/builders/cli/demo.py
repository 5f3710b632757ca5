"""`builders demo`, and the demo that `builders serve` starts with."""

import asyncio
from collections.abc import Sequence

import click

from builders.cli.session import fail, json_option, opened, run, show
from builders.demo import service as demos
from builders.demo.records import DemoKey
from builders.kit.db import Database
from builders.kit.errors import Problem
from builders.kit.settings import Settings


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
