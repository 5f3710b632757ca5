"""`builders accounts`."""

import click

from builders.cli.commands import (
    Output,
    Session,
    account_option,
    email_of,
    limit_option,
    plain,
    reads,
    table,
    writes,
)
from builders.cli.session import fail
from builders.identity import accounts as identity_accounts, oidc
from builders.identity.records import Account
from builders.kit.http.callers import OPERATOR

issuer_option = click.option("--issuer", required=True, help="Issuer, as in BUILDERS_OIDC_ISSUERS.")
subject_option = click.option("--subject", required=True, help="Claim `sub` of its tokens.")


@click.group()
def accounts() -> None:
    """Manage accounts and their sandbox accounts."""


@accounts.command()
@click.option(
    "--email",
    required=True,
    callback=email_of,
    help="Address of the account; verified unless --unverified is given.",
)
@click.option("--name", help="Name of the account; the local part of its address by default.")
@click.option("--unverified", is_flag=True, help="Send a confirmation link to the address.")
@writes
async def create(session: Session, email: str, name: str | None, *, unverified: bool) -> Output:
    """Create an account."""
    account = await identity_accounts.create_account(session.conn, email=email, name=name, verified=not unverified)
    return Output(account, f"Account {account.id} for {account.email}.")


@accounts.command("list")
@click.option("--containing", help="Only addresses that contain this text.")
@limit_option(100_000)
@reads
async def list_accounts(session: Session, containing: str | None, limit: int) -> Output:
    """List accounts, newest first."""
    found = await identity_accounts.list_accounts(session.conn, containing=containing, limit=limit)
    rows = ((each.id, each.email, each.name, _confirmed(each), f"{each.created_at:%Y-%m-%d}") for each in found)
    text = table(("ID", "EMAIL", "NAME", "CONFIRMED", "CREATED"), rows, empty="No accounts.")
    return Output(list(found), text)


@accounts.command("show")
@account_option
@reads
async def show_account(session: Session, account: Account) -> Output:
    """Show an account."""
    del session
    rows = [
        ("id", account.id),
        ("sandbox account", account.sandbox_id),
        ("email", account.email),
        ("confirmed", _confirmed(account)),
        ("name", account.name),
        ("created", f"{account.created_at:%Y-%m-%d %H:%M}Z"),
    ]
    return Output(account, table(("MEMBER", "VALUE"), rows, empty=""))


def _confirmed(account: Account) -> str:
    return "no" if account.email_verified_at is None else f"{account.email_verified_at:%Y-%m-%d}"


@accounts.command("link")
@account_option
@issuer_option
@subject_option
@writes
async def link_identity(session: Session, account: Account, issuer: str, subject: str) -> Output:
    """Link a subject of an OIDC issuer to an account: its tokens authenticate as the account."""
    if issuer not in {each.issuer for each in session.settings.oidc_issuers}:
        fail(f"BUILDERS_OIDC_ISSUERS has no issuer {issuer}.")
    await oidc.link_identity(session.conn, account_id=account.id, issuer=issuer, subject=subject, actor=OPERATOR)
    shown = {"account_id": account.id, "issuer": issuer, "subject": subject}
    return Output(shown, f"The subject {plain(subject)} is linked to {account.email}.")


@accounts.command("unlink")
@account_option
@issuer_option
@subject_option
@writes
async def unlink_identity(session: Session, account: Account, issuer: str, subject: str) -> Output:
    """Remove a link; tokens of the subject are refused within seconds."""
    # The issuer may have been removed from the settings.
    await oidc.unlink_identity(session.conn, account_id=account.id, issuer=issuer, subject=subject, actor=OPERATOR)
    shown = {"account_id": account.id, "issuer": issuer, "subject": subject}
    return Output(shown, f"The subject {plain(subject)} is not linked to {account.email}.")


@accounts.command("links")
@account_option
@reads
async def list_identities(session: Session, account: Account) -> Output:
    """List the linked subjects of an account, newest first."""
    found = await oidc.list_identities(session.conn, account_id=account.id)
    rows = ((f"{each.created_at:%Y-%m-%d %H:%M}Z", each.issuer, each.subject) for each in found)
    return Output(list(found), table(("CREATED", "ISSUER", "SUBJECT"), rows, empty="No links."))
