"""`builders accounts`."""

import click

from builders.cli.session import fail, json_option, plain, run, show
from builders.identity import service as identity
from builders.identity.records import Account
from builders.kit.callers import OPERATOR
from builders.kit.db import Database
from builders.kit.emails import canonical
from builders.kit.settings import Settings


@click.group()
def accounts() -> None:
    """Accounts and their sandbox twins."""


@accounts.command()
@click.option("--email", required=True, help="Address of the account; taken as verified, without --unverified.")
@click.option("--name", help="What to call it; the address' local part when absent.")
@click.option("--unverified", is_flag=True, help="Have the address confirmed: a link is mailed to it.")
@json_option
def create(email: str, name: str | None, *, unverified: bool, as_json: bool) -> None:
    """Create an account."""
    try:
        address = canonical(email)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--email") from None

    async def work(database: Database, _: Settings) -> Account:
        async with database.transaction() as conn:
            return await identity.create_account(conn, email=address, name=name, verified=not unverified)

    account = run(work)
    show(account, as_json=as_json, text=f"Account {account.id} for {account.email}.")


@accounts.command("link")
@click.option("--account", "email", required=True, help="Address of the account.")
@click.option("--issuer", required=True, help="The issuer, as BUILDERS_OIDC_ISSUERS names it.")
@click.option("--subject", required=True, help="The claim sub of its tokens.")
@json_option
def link_identity(email: str, issuer: str, subject: str, *, as_json: bool) -> None:
    """Have the tokens of an issuer's subject speak for an account."""

    async def work(database: Database, settings: Settings) -> Account:
        if issuer not in {each.issuer for each in settings.oidc_issuers}:
            fail(f"BUILDERS_OIDC_ISSUERS names no issuer {issuer}.")
        async with database.transaction() as conn:
            account = await identity.get_account_by_email(conn, email=email)
            await identity.link_identity(
                conn, account_id=account.id, issuer=issuer, subject=subject, actor=OPERATOR
            )
            return account

    account = run(work)
    shown = {"account_id": account.id, "issuer": issuer, "subject": subject}
    show(shown, as_json=as_json, text=f"The subject {plain(subject)} speaks for {account.email}.")
