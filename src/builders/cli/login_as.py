"""`builders login-as`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import click

from builders.cli.session import account_option, json_option, plain, query, show, table, transact
from builders.identity import accounts, sessions
from builders.identity.records import Grant, NewGrant
from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids

REASON = range(5, 501)  # characters; shown to the account
OPERATOR = range(1, 121)

Check = Callable[[click.Context, click.Parameter, str], str]


@click.group("login-as")
def login_as() -> None:
    """Sign in as a customer, for support; recorded in the customer's audit list."""


def _within(lengths: range) -> Check:
    def check(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
        text = value.strip()
        if len(text) not in lengths or not text.isprintable():
            raise click.BadParameter(f"must have {lengths[0]} to {lengths[-1]} characters on one line")
        return text

    return check


@login_as.command()
@account_option
@click.option("--operator", required=True, callback=_within(OPERATOR), help="Name or address of the operator.")
@click.option("--reason", required=True, callback=_within(REASON), help="Reason, shown to the customer.")
@click.option("--write", is_flag=True, help="Allow changes; by default the session is read-only.")
@json_option
def grant(email: str, operator: str, reason: str, *, write: bool, as_json: bool) -> None:
    """Create a grant, which is printed once and can be redeemed once within 10 minutes."""

    async def work(conn: Conn) -> NewGrant:
        account = await accounts.get_account_by_email(conn, email=email)
        return await sessions.create_grant(
            conn, account_id=account.id, operator=operator, reason=reason, may_write=write
        )

    new = transact(work)
    show({**asdict(new.grant), "grant": new.text}, as_json=as_json, text=new.text)


@login_as.command("list")
@account_option
@json_option
def list_grants(email: str, *, as_json: bool) -> None:
    """List the newest grants for an account."""

    async def work(conn: Conn) -> Sequence[Grant]:
        account = await accounts.get_account_by_email(conn, email=email)
        return await sessions.list_grants(conn, account_id=account.id)

    found = query(work)
    show(list(found), as_json=as_json, text=table(_HEAD, map(_cells, found), empty="No grants."))


@login_as.command()
@click.argument("grant_id")
@json_option
def revoke(grant_id: str, *, as_json: bool) -> None:
    """Revoke a grant by its id; its session ends within seconds."""
    ended = transact(lambda conn: sessions.revoke_grant(conn, grant_id=ids.parse(grant_id)))
    show(ended, as_json=as_json, text=f"Revoked {ended.id} ({plain(ended.operator)}).")


_HEAD = ("ID", "STATE", "ACCESS", "OPERATOR", "REASON")


def _cells(grant: Grant) -> Sequence[object]:
    state = (
        f"revoked {grant.revoked_at:%Y-%m-%d %H:%M}Z"
        if grant.revoked_at
        else f"redeemed {grant.redeemed_at:%Y-%m-%d %H:%M}Z"
        if grant.redeemed_at
        else "expired"
        if grant.expires_at <= clock.now()
        else f"open until {grant.expires_at:%H:%M}Z"
    )
    access = "read and write" if grant.may_write else "read only"
    return grant.id, state, access, grant.operator, grant.reason
