"""`builders postgres`: the embedded PostgreSQL is upgraded to the version of this release."""

import signal
from collections.abc import Callable

import click

from builders.cli.commands import json_option, require_consent, show, yes_option
from builders.cli.embedded import upgrade
from builders.cli.embedded.system_user import EmbeddedServerError
from builders.cli.session import fail, read_settings


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
    try:
        with upgrade.opened(settings.data_dir) as place:
            require_consent(ask(place), yes=yes)
            text = step(place)
    except (EmbeddedServerError, OSError) as error:
        fail(str(error))
    show({"text": text}, as_json=as_json, text=text)


@postgres.command("upgrade")
@json_option
def upgrade_command(*, as_json: bool) -> None:
    """Copy the database of an earlier PostgreSQL into one of this release by pg_upgrade, and use the copy.

    The earlier one is kept. The copy needs as much free space. A second run continues one that was ended.
    """
    _run(upgrade.Place.upgrade, as_json=as_json)


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
