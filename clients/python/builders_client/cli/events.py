"""`bld events`: the event feed."""

from itertools import islice
from typing import Annotated

import typer

from builders_client.cli import feed, output
from builders_client.cli.state import state_of

app = typer.Typer(no_args_is_help=True, help="Read the event feed.")


@app.command("tail")
def tail(
    ctx: typer.Context,
    *,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only this event or area, such as alias.*.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", help="Begin at this time, or `now`; else with the oldest stored event."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="End after this many.")] = None,
    no_follow: Annotated[bool, typer.Option("--no-follow", help="End after the last present event.")] = False,
) -> None:
    """Print events as they occur. `bld listen` also remembers its position."""
    state = state_of(ctx)
    found = feed.follow(state, types=types or (), since=feed.read_since(since), once=no_follow)
    for event in islice(found, limit):
        if state.is_json:
            output.print_line(state, event)
        else:
            typer.echo(feed.line(event))
