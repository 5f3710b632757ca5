"""`builders migrate`, `builders doctor`, `builders secrets`."""

import asyncio
from datetime import date, timedelta

import click
import psycopg

from builders.cli import doctor, serve
from builders.cli.address import with_address
from builders.cli.doctor import Finding
from builders.cli.session import (
    connected,
    fail,
    json_option,
    migrate_database,
    read_settings,
    run,
    show,
)
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import Resealed, keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import optouts
from builders.portfolio.ledger import rates
from builders.portfolio.registrars import credentials
from builders.webhooks import signing

MAX_RATES_AGE = timedelta(days=7)  # the European Central Bank pauses for up to five days


@click.command("migrate")
@json_option
def migrate_command(*, as_json: bool) -> None:
    """Apply the pending migrations."""
    with connected(read_settings(), migrated=False) as settings:
        applied = migrate_database(settings)
    text = "\n".join(f"applied {name}" for name in applied) or "The database is up to date."
    show(applied, as_json=as_json, text=text)


@click.command("doctor")
@json_option
def doctor_command(*, as_json: bool) -> None:
    """Check the installation and say how to fix it; the exit status is 1 when a check fails."""
    settings = with_address(read_settings())
    findings = doctor.run_checks(
        data_dir=settings.data_dir,
        conninfo=settings.database_url.get_secret_value() if settings.database_url else None,
        host=settings.host,
        port=settings.port,
        is_ours=serve.is_builders,
        check_data=None if settings.exchange_rates == "off" else _check_exchange_rates,
    )
    show(findings, as_json=as_json, text="\n".join(map(_finding_line, findings)))
    if not all(finding.ok for finding in findings):
        raise SystemExit(1)


def _check_exchange_rates(conninfo: str) -> Finding:
    """Report old rates without failing, because entries are converted at the newest rates."""
    newest = asyncio.run(_find_newest_rates(conninfo))
    if newest is None:
        detail, action = "No rates are loaded.", "Start the service; its worker loads the rates."
    else:
        detail = f"The newest rates are of {newest}."
        action = "Allow the worker HTTPS access to the host of BUILDERS_EXCHANGE_RATES."
    is_old = newest is None or clock.now().date() - newest > MAX_RATES_AGE
    return Finding(check="exchange rates", ok=True, detail=detail, next_action=action if is_old else None)


async def _find_newest_rates(conninfo: str) -> date | None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        return await rates.find_newest_day(conn)


def _finding_line(finding: Finding) -> str:
    text = f"{'ok   ' if finding.ok else 'WRONG'}  {finding.check}: {finding.detail}"
    return text if finding.next_action is None else f"{text}\n       {finding.next_action}"


@click.group()
def secrets() -> None:
    """Manage the secret keys of the service."""


@secrets.command()
@json_option
def reseal(*, as_json: bool) -> None:
    """Seal stored secrets again with the first secret key.

    These are the signing secrets of webhook destinations, the credentials of registrars and the email opt-outs.
    Idempotent; can run while the service runs.
    """

    async def work(database: Database, settings: Settings) -> dict[str, Resealed]:
        try:
            keyring = keyring_of(settings)
        except (ValueError, OSError) as error:
            fail(str(error))
        return {
            "webhook_secrets": await signing.reseal_secrets(database, keyring=keyring),
            "registrar_credentials": await credentials.reseal_credentials(database, keyring=keyring),
            "mail_optouts": await optouts.rehash(database, keyring=keyring),
        }

    done = run(work)
    rows = {
        "Signing secrets of webhooks": done["webhook_secrets"],
        "Credentials of registrars": done["registrar_credentials"],
        "Opt-outs of email": done["mail_optouts"],
    }
    show(done, as_json=as_json, text="\n".join(_resealed_line(name, each) for name, each in rows.items()))


def _resealed_line(name: str, done: Resealed) -> str:
    lost = f", {done.lost} sealed by a missing secret key" if done.lost else ""
    return f"{name}: {done.renewed} sealed again{lost}."
