"""`builders migrate`, `builders doctor`."""

import click

from builders.cli import asking
from builders.cli.session import connected, json_option, migrate_database, read_settings, show, with_address
from builders.kit.db import doctor, migrations
from builders.kit.db.doctor import Finding


@click.command("migrate")
@json_option
def migrate_command(*, as_json: bool) -> None:
    """Apply the migrations that the database still needs."""
    with connected(read_settings(), migrated=False) as settings:
        applied = migrate_database(settings)
    text = "\n".join(f"applied {name}" for name in applied) or "The database is up to date."
    show(applied, as_json=as_json, text=text)


@click.command("doctor")
@json_option
def doctor_command(*, as_json: bool) -> None:
    """Say what is wrong, and what to do about it; the status is 1 when something is."""
    settings = with_address(read_settings())
    findings = doctor.run_checks(
        data_dir=settings.data_dir,
        conninfo=settings.database_url.get_secret_value() if settings.database_url else None,
        host=settings.host,
        port=settings.port,
        pending=migrations.list_pending,
        is_ours=asking.is_ours,
    )
    show(findings, as_json=as_json, text="\n".join(map(_line, findings)))
    if not all(finding.ok for finding in findings):
        raise SystemExit(1)


def _line(finding: Finding) -> str:
    said = f"{'ok   ' if finding.ok else 'WRONG'}  {finding.check}: {finding.detail}"
    return said if finding.next_action is None else f"{said}\n       {finding.next_action}"
