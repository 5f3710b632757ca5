"""`builders worker`, the process that runs jobs and dispatches events.

It does not import the HTTP application, which takes a second.
"""

import asyncio
from contextlib import ExitStack

import click

from builders import worker
from builders.cli import metrics, remote_checks, setting_files, traces
from builders.cli.address import with_address
from builders.cli.session import (
    alone,
    connected,
    prepare_database,
    read_settings,
    require_keys,
    require_migrated,
    require_rights,
)
from builders.kit.db import rights
from builders.kit.process import activity, supervision


@click.command("worker")
@click.option("--no-migrate", is_flag=True, help="Refuse to start on an empty database.")
def worker_command(*, no_migrate: bool) -> None:
    """Run jobs and dispatch events; `serve` starts one worker, and more can run on any host."""
    given = with_address(read_settings())
    setting_files.require(given)
    with connected(given, migrated=False) as settings, alone(given, "worker"):
        require_rights(settings, rights.WORKER)  # it reads the applied migrations too
        (require_migrated if no_migrate else prepare_database)(settings)
        require_keys(settings)
        with ExitStack() as stack:
            if not supervision.is_followed():  # `serve` does this, and a worker that is restarted goes on
                stack.enter_context(metrics.served(settings, of_children=False))
                remote_checks.require(settings)
            stack.enter_context(activity.shown(settings.data_dir, "worker"))
            stack.enter_context(traces.exported(settings, "worker"))
            asyncio.run(worker.main(settings))
