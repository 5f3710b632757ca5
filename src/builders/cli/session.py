"""Settings, database and failures of commands."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import NoReturn, TypeVar

import click
import psycopg
from pydantic import SecretStr, ValidationError

from builders.cli import doctor
from builders.cli.embedded.locks import open_lock, try_exclusive
from builders.cli.embedded.server import EmbeddedServer
from builders.cli.embedded.system_user import EmbeddedServerError
from builders.kit.db import distribution, known_keys, migrations, rights, roles, sessions
from builders.kit.db.migration_files import MigrationError
from builders.kit.process import credentials, log, names, secret_keys
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings

T = TypeVar("T")

REFUSALS = (
    *(MigrationError, rights.RightMissing, distribution.CannotDistribute),
    known_keys.OtherKeys,
)

# What an operator does next after a refusal, by its code. The `next_action` of others is for clients of the API.
NEXT_COMMANDS = {
    "account_not_found": "List the accounts by `builders accounts list`; `builders accounts create` creates one.",
    "account_domain_not_found": "List the domains by `builders domains list`.",
    "api_key_not_found": "List the keys of the account by `builders keys list --account ADDRESS`.",
    "database_unavailable": "Check the database by `builders doctor`.",
    "database_busy": "Run the command again; `builders doctor` checks the database.",
    "delivery_not_found": "List the deliveries by `builders deliveries list`.",
    "invoice_not_found": "List the invoices by `builders invoices list`.",
}


class CommandFailed(click.ClickException):
    """A failure with exit status 1; `code` and `next_action` are in the JSON output."""

    def __init__(self, message: str, *, code: str = "command_failed", next_action: str | None = None) -> None:
        super().__init__("\n".join(filter(None, (message, next_action))))
        self.code, self.detail, self.next_action = code, message, next_action


class CannotStart(CommandFailed):
    """A failure that each further start has too: `serve` ends with it, and does not start the process again.

    Its exit status tells systemd the same (RestartPreventExitStatus): a mail server could lock out a user whose
    wrong password comes each second.
    """

    exit_code = os.EX_CONFIG


def fail(message: str) -> NoReturn:
    """End the command with a message and exit status 1."""
    raise CommandFailed(message)


@contextmanager
def failing(*errors: type[Exception], says: str = "") -> Iterator[None]:
    """End the command with the text of such an error, after what `says`."""
    try:
        yield
    except errors as error:
        fail(f"{says}{error}")


def read_settings(**overrides: object) -> Settings:
    """Return the settings of the environment and of files; errors name the setting but not its value."""
    given = {name: value for name, value in overrides.items() if value is not None}
    known = {f"{names.PREFIX}{field.upper()}" for field in Settings.model_fields}
    if unknown := names.list_unknown(os.environ, settings=known):
        raise CannotStart("\n".join(unknown))
    try:
        secrets = credentials.find(os.environ.get(credentials.FOLDER), known=Settings.model_fields)
        settings = Settings(_secrets_dir=secrets, **given)  # type: ignore[arg-type] # by field name, validated by the class itself
    except ValidationError as error:
        messages = []
        for each in error.errors():
            name = f"BUILDERS_{str(each['loc'][0]).upper().removeprefix('BUILDERS_')}"
            # The prefix of pydantic means nothing to an operator.
            messages.append(f"{name}: {each['msg'].removeprefix('Value error, ')}")
        raise CannotStart("\n".join(messages)) from None
    except ValueError as error:  # of the folder of secrets
        raise CannotStart(str(error)) from None
    try:
        log.configure(level=settings.log_level, style=settings.log_format)
    except ValueError as error:
        raise CannotStart(f"BUILDERS_LOG_LEVEL: {error}") from None
    return settings.model_copy(update={"data_dir": settings.data_dir.absolute()})


@contextmanager
def connected(settings: Settings, *, migrated: bool = True, watched: bool = False) -> Iterator[Settings]:
    """Return settings with a running database: the configured one, or the embedded one until its last use.

    `migrated` requires that of this release, and creates the schema in an empty one. `watched` restarts the
    embedded one when it dies.
    """
    with failing(EmbeddedServerError), _unwinding(), _database(settings, watched=watched) as ready:
        if settings.database_url is not None:
            _require_sessions(settings)
        if migrated:
            prepare_database(ready)
        yield ready


@contextmanager
def alone(settings: Settings, role: str) -> Iterator[None]:
    """Be the only process of a role on the embedded database; end the command if another one runs.

    With BUILDERS_DATABASE_URL several processes of a role may share a data folder.
    """
    if settings.database_url is not None:
        yield
        return
    descriptor = open_lock(settings.data_dir / f"{role}.lock")
    try:
        if not try_exclusive(descriptor):
            pid = os.read(descriptor, 20).decode()
            fail(
                f"`builders {role}` (pid {pid}) runs on the embedded database in {settings.data_dir}. "
                f"Stop it with `kill {pid}`, choose another folder by BUILDERS_DATA_DIR, or set "
                "BUILDERS_DATABASE_URL to a server that several can share."
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _unwinding() -> Iterator[None]:
    """End the command on SIGTERM or SIGHUP as on Ctrl-C, so that the embedded PostgreSQL is stopped.

    A second signal, as from both a service manager and the parent, does not interrupt the clean-up.
    """
    is_ending = False

    def end(number: int, _: FrameType | None) -> None:
        nonlocal is_ending
        if not is_ending:
            is_ending = True
            raise SystemExit(128 + number)

    handled = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, end) for each in handled}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _database(settings: Settings, *, watched: bool) -> Iterator[Settings]:
    if settings.database_url is not None:
        yield settings
        return
    stop = threading.Event()
    with EmbeddedServer(settings.data_dir) as embedded:
        thread = threading.Thread(target=embedded.watch, args=(stop,), daemon=True)
        if watched:
            thread.start()
        try:
            yield settings.model_copy(update={"database_url": SecretStr(embedded.conninfo)})
        finally:
            stop.set()
            if watched:
                thread.join()


def _require_sessions(settings: Settings) -> None:
    """End the command if a pooler would run wrong statements. An unavailable database is reported later."""
    try:
        asyncio.run(sessions.check(settings))
    except sessions.SessionsUnusable as error:
        raise CannotStart(error.reason, code="database_unusable", next_action=error.next_action) from None
    except (psycopg.Error, OSError, UnicodeError):
        pass


def migrate_database(settings: Settings, *, after: bool = False) -> list[str]:
    """Apply pending migrations and return their names; end the command with a message when that fails."""
    return _renewed(settings, on_database(settings, partial(migrations.migrate, after=after)))


def prepare_database(settings: Settings) -> None:
    """Create the schema in an empty database; else end the command if this release does not work with it."""
    _renewed(settings, on_database(settings, migrations.prepare))


def _renewed(settings: Settings, applied: list[str]) -> list[str]:
    if applied:  # new tables, which the roles of the processes may not use yet
        on_database(settings, roles.renew)
    return applied


def require_migrated(settings: Settings) -> None:
    """End the command with a message if this release does not work with the database."""
    on_database(settings, lambda conninfo: migrations.read(conninfo).require())


def require_rights(settings: Settings, *processes: str) -> None:
    """End the command with a message if the role may not run the processes.

    Also if the tables are distributed in part.
    """
    on_database(settings, lambda conninfo: rights.require(conninfo, *processes))
    on_database(settings, distribution.require_whole)


def on_database(settings: Settings, work: Callable[[str], T]) -> T:
    """Return the result of a function of the conninfo; end the command with a message when it fails."""
    conninfo = settings.conninfo if settings.session_url is None else settings.session_url.get_secret_value()
    try:
        return work(conninfo)
    except (
        rights.ReadOnly,
        MigrationError,
        rights.RightMissing,
        distribution.CannotDistribute,
    ) as error:  # others can end it in the database: a further start can succeed
        raise CommandFailed(error.reason, next_action=error.next_action) from None
    except known_keys.OtherKeys as error:
        raise CannotStart(error.reason, next_action=error.next_action) from None
    except (psycopg.Error, OSError, UnicodeError) as error:  # the text may contain the password of a malformed URL
        wrong = next((each for each in doctor.check_server(conninfo) if not each.ok), None)
        reason = (
            f"{wrong.detail} {wrong.next_action or ''}" if wrong else f"The database returned an error: {error}"
        )
        if settings.database_direct_url is not None:
            reason = reason.replace("BUILDERS_DATABASE_URL", "BUILDERS_DATABASE_DIRECT_URL")
        raise CommandFailed(reason, next_action=NEXT_COMMANDS["database_unavailable"]) from None


def require_keys(settings: Settings) -> None:
    """Create missing secret keys; end the command with a message if other ones sealed what the database has."""
    found = _read(settings, secret_keys.find_keyring)
    on_database(settings, partial(known_keys.check, keyring=found))
    on_database(settings, partial(known_keys.record, keyring=read_keyring(settings)))


def read_keyring(settings: Settings) -> Keyring:
    """Return the secret keys, created if they are missing; end the command with a message when that fails."""
    return _read(settings, secret_keys.keyring_of)


def _read(settings: Settings, load: Callable[[Settings], T]) -> T:
    try:
        return load(settings)
    except ValueError as error:
        raise CannotStart(f"The secret keys are not valid: {error}") from None
    except OSError as error:
        fail(f"Cannot store the secret keys in {settings.data_dir}: {error.strerror}. Set BUILDERS_DATA_DIR.")


def note(message: str) -> None:
    """Print a message to stderr."""
    print(message, file=sys.stderr)
