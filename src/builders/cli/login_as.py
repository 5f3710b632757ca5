"""`builders login-as`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import click

from builders.cli.commands import Output, Session, account_option, plain, reads, table, writes
from builders.identity import sessions
from builders.identity.records import Account, Grant
from builders.kit.values import clock, ids

REASON = range(5, 501)  # characters; shown to the account
OPERATOR = range(1, 121)
_HEAD = ("ID", "STATE", "ACCESS", "OPERATOR", "REASON")


@click.group("login-as")
def login_as() -> None:
    """Sign in as a customer, for support; recorded in the customer's audit list."""


def _within(lengths: range) -> Callable[[click.Context, click.Parameter, str], str]:
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
@writes
async def grant(session: Session, account: Account, operator: str, reason: str, *, write: bool) -> Output:
    """Create a grant, which is printed once and can be redeemed once within 10 minutes."""
    new = await sessions.create_grant(
        session.conn, account_id=account.id, operator=operator, reason=reason, may_write=write
    )
    return Output({**asdict(new.grant), "grant": new.text}, new.text)


@login_as.command("list")
@account_option
@reads
async def list_grants(session: Session, account: Account) -> Output:
    """List the newest grants for an account."""
    found = await sessions.list_grants(session.conn, account_id=account.id)
    return Output(list(found), table(_HEAD, map(_cells, found), empty="No grants."))


@login_as.command()
@click.argument("grant_id")
@writes
async def revoke(session: Session, grant_id: str) -> Output:
    """Revoke a grant by its id; its session ends within seconds."""
    ended = await sessions.revoke_grant(session.conn, grant_id=ids.parse(grant_id))
    return Output(ended, f"Revoked {ended.id} ({plain(ended.operator)}).")


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
