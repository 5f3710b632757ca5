"""`builders filter`, the process of `builders serve` that changes mail for a mail server.

It does not import the service, so that it is back soon after it was killed.
"""

import asyncio
import socket

import click

from builders.cli.session import read_settings
from builders.forwarding import filter_server
from builders.kit.process import activity


@click.command("filter", hidden=True)
@click.option("--fd", type=int, required=True, help="The bound socket.")
def filter_command(fd: int) -> None:
    """Change mail for a mail server, as a child of `serve`."""
    settings = read_settings()
    with activity.shown(settings.data_dir, "filter"):
        asyncio.run(filter_server.main(settings, socket.socket(fileno=fd)))
