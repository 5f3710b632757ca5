"""`builders token`."""

from dataclasses import asdict
from datetime import timedelta

import click

from builders.cli.session import fail, json_option, run, show
from builders.identity import service as identity
from builders.identity.records import NewSession, SessionKind
from builders.kit.db.connections import Database
from builders.kit.http.callers import OPERATOR
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings

LONGEST = 12 * 60  # minutes


@click.command()
@click.option("--account", "email", required=True, help="Address of the account.")
@click.option(
    "--minutes", type=click.IntRange(1, LONGEST), default=15, show_default=True, help="How long it is good."
)
@json_option
def token(email: str, minutes: int, *, as_json: bool) -> None:
    """Make a short-lived token that acts as the account. It is printed here and never again."""

    async def work(database: Database, settings: Settings) -> NewSession:
        try:
            keyring = secret_keys.keyring_of(settings)
        except ValueError as error:
            fail(f"The secret keys will not do: {error}")
        async with database.transaction() as conn:
            account = await identity.get_account_by_email(conn, email=email)
            return await identity.open_session(
                conn,
                keyring=keyring,
                settings=settings,
                account_id=account.id,
                kind=SessionKind.TOKEN,
                actor=OPERATOR,
                lifetime=timedelta(minutes=minutes),
            )

    new = run(work)
    show({**asdict(new.session), "token": new.token}, as_json=as_json, text=new.token)
