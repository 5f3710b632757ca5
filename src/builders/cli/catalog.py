"""`builders catalog` and `builders funnel`."""

from collections.abc import Sequence
from pathlib import Path

import click

from builders.catalog import funnel as catalog_funnel
from builders.catalog.catalog_file import loader
from builders.catalog.records import FunnelLine, LoadReport
from builders.cli.session import counted, fail, json_option, plain, run, show
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import domain_names

_FUNNEL_HEAD = ("domain", "views", "checks", "of free names", "claims", "completed", "sessions", "machines")


@click.group()
def catalog() -> None:
    """Manage the vendor's domains."""


@catalog.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--partial", is_flag=True, help="Load the valid rows; by default one invalid row stops the load.")
@click.option("--dry-run", is_flag=True, help="Report the changes without writing them.")
@json_option
def load(file: Path, *, partial: bool, dry_run: bool, as_json: bool) -> None:
    """Load domains from a CSV file (docs/reference/catalog-csv.md); idempotent."""

    async def work(database: Database, settings: Settings) -> LoadReport:
        assets = settings.data_dir / "assets"
        return await loader.load(database, path=file, assets=assets, partial=partial, dry_run=dry_run)

    report = run(work)
    show(report, as_json=as_json, text=_text(report))
    if report.errors and not report.created + report.updated + report.unchanged:
        raise SystemExit(1)  # no row is valid; the same for a dry run


def _text(report: LoadReport) -> str:
    counts = f"{report.created} new, {report.updated} changed, {report.unchanged} unchanged"
    found = f"{counted(len(report.errors), 'error')}, {counted(len(report.warnings), 'warning')}"
    lines = [
        plain(f"{kind}: line {each.line}{f', {each.column}' if each.column else ''}: {each.message} ({each.code})")
        for kind, issues in (("error", report.errors), ("warning", report.warnings))
        for each in issues
    ]
    outcome = "Loaded." if report.is_written else "Nothing was written."
    return "\n".join([*lines, f"{counted(report.rows, 'row')}: {counts}; {found}. {outcome}"])


@click.command()
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="Number of days, today included."
)
@click.option("--domain", help="Only this domain, in Unicode or as an A-label.")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Maximum number of domains."
)
@json_option
def funnel(*, days: int, domain: str | None, limit: int, as_json: bool) -> None:
    """Show views, checks and claims of each domain, without machines; includes the newest events.

    A session counts once per day and step; machines are events of crawlers and programs, as curl.
    """
    name = None if domain is None else domain_names.find_a_label(domain)
    if domain is not None and name is None:
        fail(f"{plain(domain)} is not a domain name.")

    async def work(database: Database, settings: Settings) -> Sequence[FunnelLine]:
        del settings
        await catalog_funnel.roll_up(database)
        async with database.connection() as conn:
            return await catalog_funnel.report_funnel(conn, days=days, domain=name, limit=limit)

    lines = run(work)
    show(lines, as_json=as_json, text=_funnel_table(lines))


def _funnel_table(lines: Sequence[FunnelLine]) -> str:
    if not lines:
        return "No events."
    rows = [_FUNNEL_HEAD, *(_funnel_cells(each) for each in lines)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_FUNNEL_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    )


def _funnel_cells(line: FunnelLine) -> tuple[str, ...]:
    counts = (line.views, line.checks, line.available, line.claims, line.completed, line.sessions, line.machines)
    return (line.domain or "(catalog)", *(f"{each:,}" for each in counts))
