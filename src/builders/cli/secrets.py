"""`builders secrets`."""

import click

from builders.cli.session import fail, json_option, run, show
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import Resealed, keyring_of
from builders.kit.process.settings import Settings
from builders.mail import service as mail
from builders.portfolio.registrars import service as registrars
from builders.webhooks import service as webhooks


@click.group()
def secrets() -> None:
    """The secret keys of the service."""


@secrets.command()
@json_option
def reseal(*, as_json: bool) -> None:
    """Seal stored secrets again with the first secret key.

    These are the signing secrets of webhook destinations, the credentials of registrars and the email opt-outs.
    Can be repeated, and run while the service runs.
    """

    async def work(database: Database, settings: Settings) -> dict[str, Resealed]:
        try:
            keyring = keyring_of(settings)
        except (ValueError, OSError) as error:
            fail(str(error))
        return {
            "webhook_secrets": await webhooks.reseal_secrets(database, keyring=keyring),
            "registrar_credentials": await registrars.reseal_credentials(database, keyring=keyring),
            "mail_optouts": await mail.rehash_optouts(database, keyring=keyring),
        }

    done = run(work)
    rows = {
        "Signing secrets of webhooks": done["webhook_secrets"],
        "Credentials of registrars": done["registrar_credentials"],
        "Opt-outs of email": done["mail_optouts"],
    }
    show(done, as_json=as_json, text="\n".join(_line(name, each) for name, each in rows.items()))


def _line(name: str, done: Resealed) -> str:
    lost = f", {done.lost} sealed by a missing secret key" if done.lost else ""
    return f"{name}: {done.renewed} sealed again{lost}."
