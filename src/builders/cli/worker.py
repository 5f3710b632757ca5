"""`builders worker`, the process that runs jobs and dispatches events.

It does not import the HTTP application, which takes a second.
"""

import asyncio

import click

from builders import worker
from builders.cli import setting_files
from builders.cli.address import with_address
from builders.cli.session import alone, connected, read_settings, require_keys, require_migrated, require_rights


@click.command("worker")
@click.option("--no-migrate", is_flag=True, help="Refuse to start while migrations are pending.")
def worker_command(*, no_migrate: bool) -> None:
    """Run jobs and dispatch events; `serve` starts one worker, and more can run on any host."""
    given = with_address(read_settings())
    setting_files.require(given)
    with connected(given, migrated=not no_migrate) as settings, alone(given, "worker"):
        if no_migrate:
            require_migrated(settings)
        require_rights(settings, of_owner=True)
        require_keys(settings)
        asyncio.run(worker.main(settings))
