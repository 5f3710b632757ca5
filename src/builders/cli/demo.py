"""`builders demo`."""

from collections.abc import Sequence

import click

from builders.cli.session import json_option, run, show
from builders.demo import service as demos
from builders.demo.records import DemoKey
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings


@click.command()
@json_option
def demo(*, as_json: bool) -> None:
    """Load the demo catalog, accounts and portfolio, and print the keys of the accounts."""

    async def work(database: Database, settings: Settings) -> Sequence[DemoKey]:
        return await demos.set_up(database, data_dir=settings.data_dir)

    keys = run(work)
    lines = [f"  {each.preset:<15} {each.kind:<4} {each.key}" for each in keys]
    show(keys, as_json=as_json, text="\n".join(lines))
