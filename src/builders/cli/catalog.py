"""`builders catalog` and `builders funnel`."""

from pathlib import Path
from typing import Any

import click

from builders.catalog import funnel as catalog_funnel
from builders.catalog.catalog_file import loader
from builders.catalog.records import FunnelLine, LoadReport
from builders.cli.commands import Output, counted, limit_option, plain, works
from builders.cli.session import fail
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.sheets.csv_files import MAX_HEADER_LINE
from builders.kit.sheets.encodings import find_encoding, list_encodings
from builders.kit.sheets.sources import DecimalNotation, DelimiterNotation, TableOptions
from builders.kit.values import domain_names

_FUNNEL_HEAD = ("domain", "views", "checks", "of free names", "claims", "completed", "sessions", "machines")


def _known_encoding(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return the codec of an encoding, by any of its usual names."""
    found = None if value is None else find_encoding(value)
    if value is not None and found is None:
        raise click.BadParameter(f"{plain(value)} is not known. Known ones: {', '.join(list_encodings())}.")
    return found


def _readable(_: click.Context, __: click.Parameter, value: Path) -> Path:
    """Return the file, which can be read now. Raise BadParameter with the reason of the system."""
    try:
        with value.open("rb"):
            return value
    except OSError as error:
        raise click.BadParameter(f"Cannot read {plain(str(value))}: {error.strerror}.") from None


@click.group()
def catalog() -> None:
    """Manage the vendor's domains."""


@catalog.command()
@click.argument("file", type=click.Path(path_type=Path), callback=_readable)
@click.option("--partial", is_flag=True, help="Load the valid rows; by default one invalid row stops the load.")
@click.option("--dry-run", is_flag=True, help="Report the changes without writing them.")
@click.option(
    "--encoding", callback=_known_encoding, help="Encoding of the file, such as cp1251; else it is detected."
)
@click.option("--sheet", help="Sheet of a workbook; else the first visible one with cells.")
@click.option(
    "--delimiter", type=click.Choice([*map(str, DelimiterNotation)]), default="auto", help="What parts the cells."
)
@click.option(
    "--header-line", type=click.IntRange(0, MAX_HEADER_LINE), help="Line of the header; else it is recognized."
)
@click.option(
    "--decimal-mark", type=click.Choice([*map(str, DecimalNotation)]), default="auto", help="Decimal mark."
)
@works
async def load(
    database: Database,
    settings: Settings,
    file: Path,
    *,
    partial: bool,
    dry_run: bool,
    **options: Any,
) -> Output:
    """Load domains from a CSV file or a workbook (docs/reference/catalog-csv.md); idempotent."""
    notations: dict[str, Any] = {
        "delimiter": DelimiterNotation(options.pop("delimiter")),
        "decimal_mark": DecimalNotation(options.pop("decimal_mark")),
    }
    report = await loader.load(
        database,
        path=file,
        assets=settings.data_dir / "assets",
        partial=partial,
        dry_run=dry_run,
        options=TableOptions(**notations, **options),
    )
    # No row is valid; the same for a dry run.
    is_failure = bool(report.errors) and not report.created + report.updated + report.unchanged
    return Output(report, _text(report), is_failure=is_failure)


def _text(report: LoadReport) -> str:
    counts = f"{report.created} new, {report.updated} changed, {report.unchanged} unchanged"
    problems = f"{counted(len(report.errors), 'error')}, {counted(len(report.warnings), 'warning')}"
    lines = [
        plain(f"{kind}: line {each.line}{f', {each.column}' if each.column else ''}: {each.message} ({each.code})")
        for kind, issues in (("error", report.errors), ("warning", report.warnings))
        for each in issues
    ]
    outcome = "Loaded." if report.is_written else "Nothing was written."
    return "\n".join([*lines, f"{counted(report.rows, 'row')}: {counts}; {problems}. {outcome}"])


@click.command()
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="Number of days, today included."
)
@click.option("--domain", help="Only this domain, in Unicode or as an A-label.")
@limit_option(100_000)
@works
async def funnel(database: Database, _settings: Settings, *, days: int, domain: str | None, limit: int) -> Output:
    """Show views, checks and claims of each domain, without machines; includes the newest events.

    A session counts once per day and step; machines are events of crawlers and programs, as curl.
    """
    name = None if domain is None else domain_names.find_a_label(domain)
    if domain is not None and name is None:
        fail(f"{plain(domain)} is not a domain name.")
    await catalog_funnel.roll_up(database)
    async with database.connection() as conn:
        lines = await catalog_funnel.report_funnel(conn, days=days, domain=name, limit=limit)
    rows = [_FUNNEL_HEAD, *map(_funnel_cells, lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = "\n".join(
        "  ".join(
            (name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(counts, widths[1:], strict=True)))
        )
        for name, *counts in rows
    )
    return Output(lines, text if lines else "No events.")


def _funnel_cells(line: FunnelLine) -> tuple[str, ...]:
    counts = (line.views, line.checks, line.available, line.claims, line.completed, line.sessions, line.machines)
    return (line.domain or "(catalog)", *(f"{each:,}" for each in counts))
