"""`builders accounts`."""

import click
from email_validator import EmailNotValidError, validate_email

from builders.cli.session import json_option, run, show
from builders.identity import service as identity
from builders.identity.records import Account
from builders.kit.db import Database
from builders.kit.settings import Settings


@click.group()
def accounts() -> None:
    """Accounts and their sandbox twins."""


@accounts.command()
@click.option("--email", required=True, help="Address of the account; taken as verified.")
@click.option("--name", help="What to call it; the address' local part when absent.")
@json_option
def create(email: str, name: str | None, *, as_json: bool) -> None:
    """Create an account."""
    try:
        address = validate_email(email.strip(), check_deliverability=False).normalized
    except EmailNotValidError as error:
        raise click.BadParameter(str(error), param_hint="--email") from None

    async def work(database: Database, _: Settings) -> Account:
        async with database.transaction() as conn:
            return await identity.create_account(conn, email=address, name=name, verified=True)

    account = run(work)
    show(account, as_json=as_json, text=f"Account {account.id} for {account.email}.")
