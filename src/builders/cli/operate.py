"""`builders migrate`, `builders doctor`, `builders secrets`."""

import asyncio
import os
from dataclasses import asdict
from datetime import date, timedelta
from functools import partial

import click
import psycopg

from builders.backup import repositories
from builders.cli import (
    address,
    doctor,
    jobs,
    listener_checks,
    mail_checks,
    node_checks,
    production_checks,
    remote_checks,
    serve,
    setting_files,
)
from builders.cli.address import with_address
from builders.cli.commands import Output, counted, json_option, show, works
from builders.cli.doctor import Finding
from builders.cli.session import connected, fail, migrate_database, on_database, read_keyring, read_settings
from builders.domains import dkim_keys
from builders.forwarding import correspondents, role
from builders.kit.db import (
    demand,
    distribution,
    known_keys,
    migration_plans,
    migrations,
    partitions,
    roles,
    sessions,
)
from builders.kit.db.connections import Database
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import optouts
from builders.portfolio.ledger import rates
from builders.portfolio.registrars import credentials
from builders.webhooks import signatures

MAX_SHOWN = 3  # partitions in a message
BACKUP_WITHIN = timedelta(hours=26)  # of the newest: a day, and the time that it takes
MAX_RATES_AGE = timedelta(days=7)  # the European Central Bank pauses for up to five days


@click.command("migrate")
@click.option("--after", is_flag=True, help="Apply those that wait until only processes of this release run.")
@click.option("--plan", is_flag=True, help="Print what would run, and which locks it takes; apply nothing.")
@json_option
def migrate_command(*, after: bool, plan: bool, as_json: bool) -> None:
    """Apply the migrations that run before the processes of this release start.

    Then restart the service, and apply the others with --after. A second run continues one that was ended.
    """
    with connected(read_settings(), migrated=False) as settings:
        if plan:
            steps = migration_plans.describe(on_database(settings, migrations.read).pending)
            text = "\n".join(map(migration_plans.render, steps)) or "Nothing is pending."
            show([asdict(each) for each in steps], as_json=as_json, text=f"{text}\n{migration_plans.PATIENCE}")
            return
        applied = migrate_database(settings, after=after)
        left = on_database(settings, migrations.list_pending)
    text = "\n".join(f"applied {name}" for name in applied) or "The database is up to date."
    if left and not after:
        text += f"\n{len(left)} run after the start of this release, by `builders migrate --after`."
    show(applied, as_json=as_json, text=text)


@click.command("distribute")
@click.option("--dry-run", is_flag=True, help="Print the statements, and run none.")
@json_option
def distribute_command(*, dry_run: bool, as_json: bool) -> None:
    """Distribute the migrated tables over the nodes of a Citus cluster, and set time limits on each node.

    Stop the service first. A run that was ended is continued by the next one.
    """
    settings = read_settings()
    if settings.database_url is None:
        fail("The embedded database is one server. Set BUILDERS_DATABASE_URL to the coordinator.")

    def run(conninfo: str) -> list[distribution.Step]:
        with psycopg.connect(conninfo, autocommit=True, connect_timeout=5) as conn:
            steps = distribution.plan(conn, sessions.parameters_of(settings))
            if not dry_run:
                distribution.distribute(conn, steps)
        return steps

    statements = [each for step in on_database(settings, run) for each in step]
    done = "The tables are distributed." if statements else "There is nothing to do."
    show(statements, as_json=as_json, text="".join(f"{each};\n" for each in statements) if dry_run else done)


@click.command("roles")
@click.option("--dry-run", is_flag=True, help="Print the statements, and run none.")
@json_option
def roles_command(*, dry_run: bool, as_json: bool) -> None:
    """Create a role for each process, and grant it what its statements need, as the owner of the tables.

    A role that exists gets what it lacks and loses what it does not need. `migrate` does so too.
    """
    settings = read_settings()
    if settings.database_url is None:
        fail(
            "The embedded database has one role. Set BUILDERS_DATABASE_URL to a server with the role of the owner."
        )

    def run(conninfo: str) -> list[str]:
        with psycopg.connect(conninfo, autocommit=True, connect_timeout=5) as conn:
            return [each.as_string(conn) for each in roles.plan(conn)] if dry_run else roles.grant(conn)

    statements = on_database(settings, run)
    done = (
        f"{counted(len(statements), 'statement')} granted what the roles need."
        if statements
        else "There is nothing to do."
    )
    show(statements, as_json=as_json, text="".join(f"{each};\n" for each in statements) if dry_run else done)


@click.command("doctor")
@click.option("--production", is_flag=True, help="Name also what is still a value of the demo or a default.")
@json_option
def doctor_command(*, production: bool, as_json: bool) -> None:
    """Check the installation and say how to fix it; the exit status is 1 when a check fails."""
    settings = with_address(read_settings())
    findings = doctor.run_checks(
        data_dir=settings.data_dir,
        conninfo=settings.database_url.get_secret_value() if settings.database_url else None,
        host=settings.host,
        port=settings.port,
        is_ours=serve.is_builders,
        settings=settings,
        check_data=[
            partial(_check_keys, settings=settings),
            partial(_check_connections, settings=settings),
            jobs.check_failed,
            _check_partitions,
            *([] if settings.exchange_rates == "off" else [_check_exchange_rates]),
            *(
                []
                if settings.lookup_listen is None
                else [partial(_check_look_ups, postmaster=settings.postmaster)]
            ),
            *([] if settings.filter_listen is None else [mail_checks.check_domain_keys]),
            *(production_checks.list_data_checks(settings) if production else []),
        ],
    )
    findings += [] if settings.backup_to is None else [_check_backups(settings)]
    findings += node_checks.run_checks(settings)
    findings += setting_files.run_checks(settings)
    findings += listener_checks.run_checks(settings, address.load_parts(settings))
    findings += mail_checks.run_checks(settings)
    findings += remote_checks.run_checks(settings)
    findings += production_checks.run_checks(settings, os.environ) if production else []
    lines = []
    for finding in findings:
        lines.append(f"{'ok   ' if finding.ok else 'WRONG'}  {finding.check}: {finding.detail}")
        lines += [] if finding.next_action is None else [f"       {finding.next_action}"]
    show(findings, as_json=as_json, text="\n".join(lines))
    if not all(finding.ok for finding in findings):
        raise SystemExit(1)


def _check_keys(conninfo: str, *, settings: Settings) -> Finding:
    check = "secret keys"
    try:
        known_keys.check(conninfo, keyring=secret_keys.find_keyring(settings))
    except known_keys.OtherKeys as error:
        return Finding(check=check, ok=False, detail=error.reason, next_action=error.next_action)
    except (OSError, ValueError) as error:
        action = "Correct BUILDERS_SECRET_KEYS, or the file secret_keys in BUILDERS_DATA_DIR."
        return Finding(check=check, ok=False, detail=f"They cannot be read: {error}", next_action=action)
    saved = known_keys.find_saved(conninfo)
    when = f" `builders backup create --keys` saved them at {saved:%Y-%m-%d %H:%M}Z." if saved else ""
    return Finding(check=check, ok=True, detail=f"No other keys have sealed data in this database.{when}")


def _check_backups(settings: Settings) -> Finding:
    """Check that there is a backup of the last day, and say when it was made."""
    try:
        newest = repositories.find_newest(settings)
    except OSError as error:
        action = "Correct BUILDERS_BACKUP_TO and what belongs to it."
        return Finding(check="backup", ok=False, detail=str(error), next_action=action)
    last = f"The last backup is of {newest.made_at:%Y-%m-%d %H:%M}Z." if newest else "There is no backup."
    is_new = newest is not None and clock.now() - newest.made_at < BACKUP_WITHIN
    wrong = "`builders serve` makes one each day: `backup_failed` in its log says why not."
    return Finding(check="backup", ok=is_new, detail=last, next_action=None if is_new else wrong)


def _check_partitions(conninfo: str) -> Finding:
    """Report what partitions lack without failing: rows go to the default partition, and no write is lost."""

    async def read() -> partitions.Months:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            return await partitions.read_months(conn)

    months = asyncio.run(read())
    shown = ", ".join(months.missing[:MAX_SHOWN]) + (" …" if len(months.missing) > MAX_SHOWN else "")
    lacks = [f"Missing: {shown}."] if months.missing else []
    lacks += [f"Rows in the default partition of {table}: {count}." for table, count in months.strays.items()]
    detail = " ".join(lacks) or "Each table has its months."
    action = "Start a worker, which makes them each hour; its log names the job kit.run_maintenance if that fails."
    return Finding(check="partitions", ok=True, detail=detail, next_action=action if lacks else None)


def _check_connections(conninfo: str, *, settings: Settings) -> Finding:
    """Compare what the processes open at most with what the server allows."""
    check = "connections"
    parts = [*address.load_parts(settings)] or demand.list_usual_parts(settings)
    limit, connected = demand.read_limit(conninfo)
    need = demand.of_parts(parts, settings).of_server(settings)
    if excess := demand.find_excess(parts, settings, limit):
        return Finding(check=check, ok=False, detail=excess, next_action=demand.LOWER)
    detail = f"{', '.join(parts)} open up to {need} of {limit}; {connected} clients are connected now."
    return Finding(check=check, ok=True, detail=detail)


def _check_exchange_rates(conninfo: str) -> Finding:
    """Report old rates without failing, because entries are converted at the newest rates."""

    async def find_newest() -> date | None:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            return await rates.find_newest_day(conn)

    newest = asyncio.run(find_newest())
    if newest is None:
        detail, action = "No rates are loaded.", "Start the service; its worker loads the rates."
    else:
        detail = f"The newest rates are of {newest}."
        action = "Allow the worker HTTPS access to the host of BUILDERS_EXCHANGE_RATES."
    is_old = newest is None or clock.now().date() - newest > MAX_RATES_AGE
    return Finding(check="exchange rates", ok=True, detail=detail, next_action=action if is_old else None)


def _check_look_ups(conninfo: str, *, postmaster: str | None) -> Finding:
    check = "look-up server"

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            await role.check(conn)

    try:
        asyncio.run(run())
    except role.RoleUnusable as error:
        return Finding(check=check, ok=False, detail=error.reason, next_action=error.next_action)
    action = (
        None if postmaster else "Set BUILDERS_POSTMASTER: a domain must accept mail for postmaster (RFC 5321)."
    )
    detail = f"Its role {role.NAME} reads what it needs, and no more."
    return Finding(check=check, ok=True, detail=detail, next_action=action)


@click.group()
def secrets() -> None:
    """Manage the secret keys of the service."""


@secrets.command("replace-lost")
@json_option
def replace_lost(*, as_json: bool) -> None:
    """Use the secret keys of the settings although others, which are lost, have sealed what is stored.

    Stored secrets cannot be read: enter those of webhooks and registrars again. Signatures and links are invalid.
    """
    with connected(read_settings()) as settings:
        on_database(settings, partial(known_keys.record, keyring=read_keyring(settings), replaces=True))
    text = "The service starts with these keys. Enter secrets of webhooks and credentials of registrars again."
    show({}, as_json=as_json, text=text)


@secrets.command()
@works
async def reseal(database: Database, settings: Settings) -> Output:
    """Seal stored secrets again with the first secret key.

    These are the signing secrets of webhook destinations, the credentials of registrars, the email opt-outs, the
    correspondents of names and the signing keys of domains. Idempotent; can run while the service runs.
    """
    keyring = read_keyring(settings)
    done = {
        "webhook_secrets": await signatures.reseal_secrets(database, keyring=keyring),
        "registrar_credentials": await credentials.reseal_credentials(database, keyring=keyring),
        "mail_optouts": await optouts.rehash(database, keyring=keyring),
        "correspondents": await correspondents.reseal(database, keyring=keyring),
        "domain_keys": await dkim_keys.reseal(database, keyring=keyring),
    }
    names = (
        *("Signing secrets of webhooks", "Credentials of registrars", "Opt-outs of email"),
        *("Correspondents of names", "Signing keys of domains"),
    )
    lines = []
    for name, each in zip(names, done.values(), strict=True):
        lost = f", {each.lost} sealed by a missing secret key" if each.lost else ""
        lines.append(f"{name}: {each.renewed} sealed again{lost}.")
    return Output(done, "\n".join(lines))
