"""`builders login-as`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import click

from builders.cli.session import json_option, plain, run, show, table
from builders.identity import service as identity
from builders.identity.records import Grant, NewGrant
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids

REASON = range(5, 501)  # characters, as its account reads it
OPERATOR = range(1, 121)

Check = Callable[[click.Context, click.Parameter, str], str]

account_option = click.option("--account", "email", required=True, help="Address of the account.")


@click.group("login-as")
def login_as() -> None:
    """Sign in as a customer, for support; the customer sees it in the audit list."""


def _within(lengths: range) -> Check:
    def check(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
        text = value.strip()
        if len(text) not in lengths or not text.isprintable():
            raise click.BadParameter(f"it has {lengths[0]} to {lengths[-1]} characters, on one line")
        return text

    return check


@login_as.command()
@account_option
@click.option("--operator", required=True, callback=_within(OPERATOR), help="Who will sign in: a name or address.")
@click.option("--reason", required=True, callback=_within(REASON), help="Why; the customer reads it.")
@click.option("--write", is_flag=True, help="Let the session change things too; without it, it only reads.")
@json_option
def grant(email: str, operator: str, reason: str, *, write: bool, as_json: bool) -> None:
    """Make a grant. It is printed here and never again, and redeemed within 10 minutes, once."""

    async def work(database: Database, _: Settings) -> NewGrant:
        async with database.transaction() as conn:
            account = await identity.get_account_by_email(conn, email=email)
            return await identity.create_grant(
                conn, account_id=account.id, operator=operator, reason=reason, may_write=write
            )

    new = run(work)
    show({**asdict(new.grant), "grant": new.text}, as_json=as_json, text=new.text)


@login_as.command("list")
@account_option
@json_option
def list_grants(email: str, *, as_json: bool) -> None:
    """List the newest grants for an account."""

    async def work(database: Database, _: Settings) -> Sequence[Grant]:
        async with database.connection() as conn:
            account = await identity.get_account_by_email(conn, email=email)
            return await identity.list_grants(conn, account_id=account.id)

    found = run(work)
    show(list(found), as_json=as_json, text=table(_HEAD, map(_cells, found), empty="No grants."))


@login_as.command()
@click.argument("grant_id")
@json_option
def revoke(grant_id: str, *, as_json: bool) -> None:
    """Revoke a grant by its id; the session that was opened with it ends too, everywhere within seconds."""

    async def work(database: Database, _: Settings) -> Grant:
        async with database.transaction() as conn:
            return await identity.revoke_grant(conn, grant_id=ids.parse(grant_id))

    ended = run(work)
    show(ended, as_json=as_json, text=f"Revoked {ended.id} ({plain(ended.operator)}).")


_HEAD = ("ID", "STATE", "ACCESS", "OPERATOR", "REASON")


def _cells(grant: Grant) -> Sequence[object]:
    said = (
        f"revoked {grant.revoked_at:%Y-%m-%d %H:%M}Z"
        if grant.revoked_at
        else f"redeemed {grant.redeemed_at:%Y-%m-%d %H:%M}Z"
        if grant.redeemed_at
        else "expired"
        if grant.expires_at <= clock.now()
        else f"open until {grant.expires_at:%H:%M}Z"
    )
    right = "read and write" if grant.may_write else "read only"
    return grant.id, said, right, grant.operator, grant.reason
