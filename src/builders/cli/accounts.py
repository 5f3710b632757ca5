"""`builders accounts`."""

from collections.abc import Sequence

import click

from builders.cli.session import account_option, fail, json_option, plain, query, run, show, table, transact
from builders.identity import accounts as identity_accounts, oidc
from builders.identity.records import Account, Identity
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import OPERATOR
from builders.kit.process.settings import Settings
from builders.kit.values.texts import canonical_email

issuer_option = click.option("--issuer", required=True, help="Issuer, as in BUILDERS_OIDC_ISSUERS.")
subject_option = click.option("--subject", required=True, help="Claim `sub` of its tokens.")


@click.group()
def accounts() -> None:
    """Manage accounts and their sandbox accounts."""


@accounts.command()
@click.option("--email", required=True, help="Address of the account; verified unless --unverified is given.")
@click.option("--name", help="Name of the account; the local part of its address by default.")
@click.option("--unverified", is_flag=True, help="Send a confirmation link to the address.")
@json_option
def create(email: str, name: str | None, *, unverified: bool, as_json: bool) -> None:
    """Create an account."""
    try:
        address = canonical_email(email)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--email") from None
    account = transact(
        lambda conn: identity_accounts.create_account(conn, email=address, name=name, verified=not unverified)
    )
    show(account, as_json=as_json, text=f"Account {account.id} for {account.email}.")


@accounts.command("list")
@click.option("--containing", help="Only addresses that contain this text.")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Maximum number of accounts."
)
@json_option
def list_accounts(containing: str | None, limit: int, *, as_json: bool) -> None:
    """List accounts, newest first."""
    found = query(lambda conn: identity_accounts.list_accounts(conn, containing=containing, limit=limit))
    rows = ((each.id, each.email, each.name, _confirmed(each), f"{each.created_at:%Y-%m-%d}") for each in found)
    text = table(("ID", "EMAIL", "NAME", "CONFIRMED", "CREATED"), rows, empty="No accounts.")
    show(list(found), as_json=as_json, text=text)


@accounts.command("show")
@account_option
@json_option
def show_account(email: str, *, as_json: bool) -> None:
    """Show an account."""
    found = query(lambda conn: identity_accounts.get_account_by_email(conn, email=email))
    rows = [
        ("id", found.id),
        ("sandbox account", found.sandbox_id),
        ("email", found.email),
        ("confirmed", _confirmed(found)),
        ("name", found.name),
        ("created", f"{found.created_at:%Y-%m-%d %H:%M}Z"),
    ]
    show(found, as_json=as_json, text=table(("MEMBER", "VALUE"), rows, empty=""))


def _confirmed(account: Account) -> str:
    return "no" if account.email_verified_at is None else f"{account.email_verified_at:%Y-%m-%d}"


@accounts.command("link")
@account_option
@issuer_option
@subject_option
@json_option
def link_identity(email: str, issuer: str, subject: str, *, as_json: bool) -> None:
    """Link a subject of an OIDC issuer to an account: its tokens authenticate as the account."""

    async def work(database: Database, settings: Settings) -> Account:
        if issuer not in {each.issuer for each in settings.oidc_issuers}:
            fail(f"BUILDERS_OIDC_ISSUERS has no issuer {issuer}.")
        async with database.transaction() as conn:
            account = await identity_accounts.get_account_by_email(conn, email=email)
            await oidc.link_identity(conn, account_id=account.id, issuer=issuer, subject=subject, actor=OPERATOR)
            return account

    account = run(work)
    shown = {"account_id": account.id, "issuer": issuer, "subject": subject}
    show(shown, as_json=as_json, text=f"The subject {plain(subject)} is linked to {account.email}.")


@accounts.command("unlink")
@account_option
@issuer_option
@subject_option
@json_option
def unlink_identity(email: str, issuer: str, subject: str, *, as_json: bool) -> None:
    """Remove a link; tokens of the subject are refused within seconds."""

    async def work(conn: Conn) -> Account:  # the issuer may have been removed from the settings
        account = await identity_accounts.get_account_by_email(conn, email=email)
        await oidc.unlink_identity(conn, account_id=account.id, issuer=issuer, subject=subject, actor=OPERATOR)
        return account

    account = transact(work)
    shown = {"account_id": account.id, "issuer": issuer, "subject": subject}
    show(shown, as_json=as_json, text=f"The subject {plain(subject)} is not linked to {account.email}.")


@accounts.command("links")
@account_option
@json_option
def list_identities(email: str, *, as_json: bool) -> None:
    """List the linked subjects of an account, newest first."""

    async def work(conn: Conn) -> Sequence[Identity]:
        account = await identity_accounts.get_account_by_email(conn, email=email)
        return await oidc.list_identities(conn, account_id=account.id)

    found = query(work)
    rows = ((f"{each.created_at:%Y-%m-%d %H:%M}Z", each.issuer, each.subject) for each in found)
    text = table(("CREATED", "ISSUER", "SUBJECT"), rows, empty="No links.")
    show(list(found), as_json=as_json, text=text)
