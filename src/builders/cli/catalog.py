"""`builders catalog`."""

from pathlib import Path

import click

from builders.catalog import service as catalogs
from builders.catalog.records import LoadReport
from builders.cli.session import counted, json_option, plain, run, show
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings


@click.group()
def catalog() -> None:
    """The vendor's domains."""


@catalog.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--partial", is_flag=True, help="Load the good rows; without it one bad row stops all.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and write nothing.")
@json_option
def load(file: Path, *, partial: bool, dry_run: bool, as_json: bool) -> None:
    """Load domains from a CSV file (docs/reference/catalog-csv.md); loading again changes nothing."""

    async def work(database: Database, settings: Settings) -> LoadReport:
        assets = settings.data_dir / "assets"
        return await catalogs.load(database, path=file, assets=assets, partial=partial, dry_run=dry_run)

    report = run(work)
    show(report, as_json=as_json, text=_text(report))
    if report.errors and not report.created + report.updated + report.unchanged:
        raise SystemExit(1)  # nothing of the file is good enough, of a dry run too


def _text(report: LoadReport) -> str:
    counts = f"{report.created} new, {report.updated} changed, {report.unchanged} as before"
    found = f"{counted(len(report.errors), 'error')}, {counted(len(report.warnings), 'warning')}"
    said = [
        plain(f"{kind}: line {each.line}{f', {each.column}' if each.column else ''}: {each.message} ({each.code})")
        for kind, issues in (("error", report.errors), ("warning", report.warnings))
        for each in issues
    ]
    outcome = "Loaded." if report.is_written else "Nothing was written."
    return "\n".join([*said, f"{counted(report.rows, 'row')}: {counts}; {found}. {outcome}"])
