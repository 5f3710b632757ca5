"""`builders accounts`."""

from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import click

from builders.cli import commands
from builders.cli.session import fail, read_keyring
from builders.erasure import execution
from builders.exports import service as exports
from builders.exports.lists import Reader
from builders.identity import accounts as identity_accounts, identities, scopes
from builders.identity.oauth import suspensions
from builders.identity.records import Account, AuditAction
from builders.kit.callers import OPERATOR, Caller
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings

issuer_option = click.option("--issuer", required=True, help="Issuer, as in BUILDERS_OIDC_ISSUERS.")
subject_option = click.option("--subject", required=True, help="Claim `sub` of its tokens.")


@click.group()
def accounts() -> None:
    """Manage accounts and their sandbox accounts."""


@accounts.command()
@click.option(
    "--email",
    required=True,
    callback=commands.email_of,
    help="Address of the account; verified unless --unverified is given.",
)
@click.option("--name", help="Name of the account; the local part of its address by default.")
@click.option("--unverified", is_flag=True, help="Send a confirmation link to the address.")
@commands.writes
async def create(session: commands.Session, email: str, name: str | None, *, unverified: bool) -> commands.Output:
    """Create an account."""
    account = await identity_accounts.create_account(session.conn, email=email, name=name, verified=not unverified)
    return commands.Output(account, f"Account {account.id} for {account.email}.")


@accounts.command("list")
@click.option("--containing", help="Only addresses that contain this text.")
@commands.limit_option(100_000)
@commands.reads
async def list_accounts(session: commands.Session, containing: str | None, limit: int) -> commands.Output:
    """List accounts, newest first."""
    found = await identity_accounts.list_accounts(session.conn, containing=containing, limit=limit)
    rows = ((each.id, each.email, each.name, _confirmed(each), f"{each.created_at:%Y-%m-%d}") for each in found)
    text = commands.table(("ID", "EMAIL", "NAME", "CONFIRMED", "CREATED"), rows, empty="No accounts.")
    return commands.Output(list(found), text)


@accounts.command("show")
@commands.account_option
@commands.reads
async def show_account(session: commands.Session, account: Account) -> commands.Output:
    """Show an account."""
    reason = await suspensions.find_reason(session.conn, account_id=account.id)
    rows = [
        ("id", account.id),
        ("sandbox account", account.sandbox_id),
        ("email", account.email),
        ("confirmed", _confirmed(account)),
        ("name", account.name),
        ("created", f"{account.created_at:%Y-%m-%d %H:%M}Z"),
        ("suspended", reason or "no"),
    ]
    return commands.Output(
        {**asdict(account), "suspended_for": reason}, commands.table(("MEMBER", "VALUE"), rows, empty="")
    )


def _confirmed(account: Account) -> str:
    return "no" if account.email_verified_at is None else f"{account.email_verified_at:%Y-%m-%d}"


@accounts.command()
@commands.account_option
@click.option("--reason", required=True, help="What its holder reads, and is mailed.")
@commands.works
async def suspend(database: Database, settings: Settings, account: str, reason: str) -> commands.Output:
    """Refuse all credentials of an account, and stop its jobs, email and webhooks; mail to its names goes on.

    Its sessions and connections end. A suspended account stays as it is.
    """
    keyring = read_keyring(settings)
    async with database.transaction() as conn:
        found = await identity_accounts.get_account_by_email(conn, email=account)
        done = await suspensions.suspend(conn, keyring=keyring, account=found, reason=reason.strip())
    shown = {"account_id": found.id, "suspended": done}
    return commands.Output(shown, f"{found.email} {'is' if done else 'was'} suspended{'' if done else ' before'}.")


@accounts.command()
@commands.account_option
@commands.works
async def restore(database: Database, settings: Settings, account: str) -> commands.Output:
    """End the suspension of an account: its keys work again. Its former sessions and connections do not."""
    keyring = read_keyring(settings)
    async with database.transaction() as conn:
        found = await identity_accounts.get_account_by_email(conn, email=account)
        done = await suspensions.restore(conn, keyring=keyring, account=found)
    shown = {"account_id": found.id, "restored": done}
    return commands.Output(shown, f"{found.email} {'is restored' if done else 'was not suspended'}.")


@accounts.command()
@click.option("--account", help="Address of the account.")
@click.option("--reason", help="Why, as the number of the request of its holder; for the log, without an address.")
@click.option(
    "--from-list",
    type=click.File(encoding="utf-8-sig"),
    help="Repeat the erasures of this file, which a restored backup has not.",
)
@commands.works
async def erase(
    database: Database, settings: Settings, account: str | None, reason: str | None, from_list: TextIO | None
) -> commands.Output:
    """Erase an account with all its rows but issued invoices; a worker does it within minutes. It has no way back.

    Open invoices, promotions and a suspension are settled before.
    """
    if from_list is not None:
        try:
            listed = execution.read_list(from_list)
        except ValueError as error:
            raise click.UsageError(f"{from_list.name}: {error}") from None
        done = await execution.repeat(database, settings=settings, account_ids=listed)
        return commands.Output({"erased": done}, f"{commands.counted(len(done), 'account')} erased again.")
    if account is None or not (reason or "").strip():
        raise click.UsageError("Name the account by --account, and the reason by --reason.")
    async with database.transaction() as conn:
        found = await identity_accounts.get_account_by_email(conn, email=account)
        await execution.begin_now(conn, account=found, reason=str(reason))
    return commands.Output({"account_id": found.id}, f"The worker erases the account {found.id}.")


@accounts.command()
@commands.account_option
@click.option("--output", type=click.Path(path_type=Path), required=True, help="File, for its owner alone.")
@commands.works
async def export(database: Database, settings: Settings, account: str, output: Path) -> commands.Output:
    """Write all data of an account into a file of JSON lines, with its mail and the secrets that it set."""
    async with database.transaction() as conn:
        found = await identity_accounts.get_account_by_email(conn, email=account)
        await identity_accounts.record_audit(
            conn,
            account_id=found.id,
            actor=OPERATOR,
            action=AuditAction.EXPORT_REQUESTED,
            about={"complete": True},
        )
    caller = Caller(
        account_id=found.id, live_account_id=found.id, mode="live", method="jwt", scopes=scopes.ALL, key_id=None
    )
    reader, count = Reader(database, keyring=read_keyring(settings), settings=settings), 0
    with commands.open_output(output) as file:
        async for line in exports.read_all(reader, caller=caller):
            file.write(line)
            count += 1
    shown = {"account_id": found.id, "lines": count}
    return commands.Output(shown, f"{commands.counted(count, 'line')} of {found.email} in {output}.")


@accounts.command("link")
@commands.account_option
@issuer_option
@subject_option
@commands.writes
async def link_identity(session: commands.Session, account: Account, issuer: str, subject: str) -> commands.Output:
    """Link a subject of an OIDC issuer to an account: its tokens authenticate as the account."""
    if issuer not in {each.issuer for each in session.settings.oidc_issuers}:
        fail(f"BUILDERS_OIDC_ISSUERS has no issuer {issuer}.")
    await identities.link_identity(
        session.conn, account_id=account.id, issuer=issuer, subject=subject, actor=OPERATOR
    )
    shown = {"account_id": account.id, "issuer": issuer, "subject": subject}
    return commands.Output(shown, f"The subject {commands.plain(subject)} is linked to {account.email}.")


@accounts.command("unlink")
@commands.account_option
@issuer_option
@subject_option
@commands.writes
async def unlink_identity(
    session: commands.Session, account: Account, issuer: str, subject: str
) -> commands.Output:
    """Remove a link; tokens of the subject are refused within seconds."""
    # The issuer may have been removed from the settings.
    await identities.unlink_identity(
        session.conn, account_id=account.id, issuer=issuer, subject=subject, actor=OPERATOR
    )
    shown = {"account_id": account.id, "issuer": issuer, "subject": subject}
    return commands.Output(shown, f"The subject {commands.plain(subject)} is not linked to {account.email}.")


@accounts.command("links")
@commands.account_option
@commands.reads
async def list_identities(session: commands.Session, account: Account) -> commands.Output:
    """List the linked subjects of an account, newest first."""
    found = await identities.list_identities(session.conn, account_id=account.id)
    rows = ((f"{each.created_at:%Y-%m-%d %H:%M}Z", each.issuer, each.subject) for each in found)
    return commands.Output(list(found), commands.table(("CREATED", "ISSUER", "SUBJECT"), rows, empty="No links."))
