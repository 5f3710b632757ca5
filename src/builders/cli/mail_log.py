"""`builders mail-log`, the process of `builders serve` that reads the log of a mail server.

It does not import the service, so that it is back soon after it was killed.
"""

import asyncio

import click

from builders.cli.session import read_settings
from builders.forwarding import mail_log
from builders.kit.process import activity


@click.command("mail-log", hidden=True)
def mail_log_command() -> None:
    """Count what the log of a mail server says, as a child of `serve`."""
    settings = read_settings()
    with activity.shown(settings.data_dir, "mail-log"):
        asyncio.run(mail_log.main(settings))
