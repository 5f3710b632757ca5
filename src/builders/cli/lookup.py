"""`builders lookup`, the process of `builders serve` that answers a mail server.

It does not import the service, so that it is back soon after it was killed.
"""

import asyncio
import socket

import click

from builders.cli.session import CannotStart, read_settings
from builders.forwarding import role, server
from builders.kit.process import activity


@click.command("lookup", hidden=True)
@click.option("--fd", type=int, required=True, help="The bound socket.")
def lookup_command(fd: int) -> None:
    """Answer the look-ups of a mail server, as a child of `serve`."""
    settings = read_settings()
    try:
        with activity.shown(settings.data_dir, "lookup"):
            asyncio.run(server.main(settings, socket.socket(fileno=fd)))
    except role.RoleUnusable as error:
        raise CannotStart(error.reason, next_action=error.next_action) from None
