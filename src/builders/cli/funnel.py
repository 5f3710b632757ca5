"""`builders funnel`."""

from collections.abc import Sequence

import click

from builders.catalog import service as catalog
from builders.catalog.records import FunnelLine
from builders.cli.session import fail, json_option, plain, run, show
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings

_HEAD = ("domain", "views", "checks", "of free names", "claims", "completed", "sessions", "machines")


@click.command()
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="Up to now, today included."
)
@click.option("--domain", help="Of this domain alone, in either form.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Domains shown.")
@json_option
def funnel(*, days: int, domain: str | None, limit: int, as_json: bool) -> None:
    """What visitors did: views, checks and claims of each domain, without machines; sums up the newest events.

    A session counts anew on each day and for each step; machines are the events of crawlers and programs, as curl.
    """
    named = None if domain is None else catalog.find_a_label(domain)
    if domain is not None and named is None:
        fail(f"{plain(domain)} is no domain.")

    async def work(database: Database, settings: Settings) -> Sequence[FunnelLine]:
        del settings
        await catalog.roll_up(database)
        async with database.connection() as conn:
            return await catalog.report_funnel(conn, days=days, domain=named, limit=limit)

    lines = run(work)
    show(lines, as_json=as_json, text=_table(lines))


def _table(lines: Sequence[FunnelLine]) -> str:
    if not lines:
        return "Nobody was here."
    rows = [_HEAD, *(_cells(each) for each in lines)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    )


def _cells(line: FunnelLine) -> tuple[str, ...]:
    counts = (line.views, line.checks, line.available, line.claims, line.completed, line.sessions, line.machines)
    return (line.domain or "(catalog)", *(f"{each:,}" for each in counts))
