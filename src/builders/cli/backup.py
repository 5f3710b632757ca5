"""`builders backup`."""

from dataclasses import asdict

import click

from builders.backup import restores
from builders.backup.records import Opened
from builders.cli import commands


@click.group()
def backup() -> None:
    """Back the database up, and restore it."""


@backup.command()
@click.option("--yes", is_flag=True, help="Accept; without it, only show what goes on then.")
@commands.writes
async def accept(session: commands.Session, *, yes: bool) -> commands.Output:
    """Let a restored service send, promote, renew and claim again. It shows what goes on then."""
    opened = await restores.count_open(session.conn)
    done = yes and await restores.accept(session.conn)
    text = "The service sends and changes again." if done else "Nothing was changed."
    if not yes:
        text = "Run it with --yes to accept."
    return commands.Output({**asdict(opened), "accepted": done}, f"{describe(opened)}\n{text}")


def describe(opened: Opened) -> str:
    """Return what goes on when the restore is accepted, as a table."""
    rows = ((number, name.replace("_", " ")) for name, number in asdict(opened).items())
    return commands.table(("OPEN", "WHAT"), rows, empty="")
