"""`builders postgres`: the embedded PostgreSQL is upgraded to the version of this release."""

import signal
from collections.abc import Callable
from datetime import timedelta

import click

from builders.backup import repositories
from builders.cli import archiver
from builders.cli.commands import json_option, require_consent, show, yes_option
from builders.cli.embedded import upgrade
from builders.cli.embedded.backups import PUBLIC
from builders.cli.embedded.directory import MAJOR
from builders.cli.embedded.system_user import EmbeddedServerError
from builders.cli.session import fail, failing, read_settings
from builders.kit.process.settings import Settings
from builders.kit.values import clock

WITHIN = timedelta(hours=1)


@click.group()
def postgres() -> None:
    """Upgrade the embedded PostgreSQL, while the service is stopped."""


def _run(
    step: Callable[[upgrade.Place], str],
    *,
    as_json: bool,
    yes: bool = True,
    ask: Callable[[upgrade.Place], str] = lambda _: "",
) -> None:
    settings = read_settings()
    if settings.database_url is not None:
        fail("BUILDERS_DATABASE_URL names a server, which is upgraded by its own means.")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # pg_upgrade ends by itself, and is not killed half-way
    with failing(EmbeddedServerError, OSError), upgrade.opened(settings.data_dir) as place:
        require_consent(ask(place), yes=yes)
        text = step(place)
    show({"text": text}, as_json=as_json, text=text)


@postgres.command("upgrade")
@click.option("--without-backup", is_flag=True, help="Require no backup of the last hour.")
@json_option
def upgrade_command(*, without_backup: bool, as_json: bool) -> None:
    """Copy the database of an earlier PostgreSQL into one of this release by pg_upgrade, and use the copy.

    It needs a backup of the last hour, and makes a new one. The earlier database is kept. The copy needs as much
    free space. A second run continues one that was ended.
    """
    settings, former = read_settings(), []

    def step(place: upgrade.Place) -> str:
        former.append(place.read_major())
        if former != [MAJOR] and not without_backup:
            _require_backup(settings)
        return place.upgrade()

    _run(step, as_json=as_json)
    repository = repositories.opened(settings)
    if former != [MAJOR] and repository is not None and (settings.data_dir / PUBLIC).exists():
        archiver.back_up(settings, repository=repository, keeps_log=True)


def _require_backup(settings: Settings) -> None:
    """End the command unless there is a backup of the last hour, and as it was recorded."""
    repository = repositories.opened(settings)
    found = [] if repository is None else repositories.list_backups(repository)
    action = "Run `builders backup create` with the former release, or say --without-backup."
    if repository is None or not found or clock.now() - found[0].made_at > WITHIN:
        fail(f"There is no backup of the last hour. {action}")
    if errors := repositories.verify(repository, found[0]):
        fail("\n".join([f"The backup {found[0].id} is not as it was recorded. {action}", *errors]))


@postgres.command("revert")
@yes_option
@json_option
def revert_command(*, yes: bool, as_json: bool) -> None:
    """Use the database of the earlier PostgreSQL again, and delete the upgraded one.

    What was written since the upgrade is lost.
    """
    _run(upgrade.Place.revert, as_json=as_json, yes=yes, ask=upgrade.Place.ask_to_revert)


@postgres.command("confirm")
@yes_option
@json_option
def confirm_command(*, yes: bool, as_json: bool) -> None:
    """Delete the database of the earlier PostgreSQL, after the upgraded one has been tried."""
    _run(upgrade.Place.confirm, as_json=as_json, yes=yes, ask=upgrade.Place.ask_to_confirm)
