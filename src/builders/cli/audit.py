"""`builders audit`."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta

import click

from builders.cli import commands
from builders.identity import accounts
from builders.identity.records import Account, AuditAction, AuditEntry
from builders.kit.values import clock

HEAD = ("AT", "ACTION", "BY", "ACCOUNT", "ADDRESS", "ABOUT")


@click.command("audit")
@click.option(
    "--hours", type=click.IntRange(1, 24 * 400), default=24, show_default=True, help="Of the last hours."
)
@click.option("--action", "actions", multiple=True, type=commands.Member(AuditAction), help="Can be repeated.")
@click.option("--by", type=click.Choice(["agent", "key", "operator", "support", "user"]), help="By such actors.")
@commands.any_account_option
@commands.limit_option(10_000)
@commands.reads
async def audit(
    session: commands.Session,
    hours: int,
    actions: Sequence[AuditAction],
    by: str | None,
    account: Account | None,
    limit: int,
) -> commands.Output:
    """List what was done in accounts, newest first: keys, sessions, suspensions, plans, policies."""
    found = await accounts.list_recent_audit(
        session.conn,
        since=clock.now() - timedelta(hours=hours),
        account_id=None if account is None else account.id,
        actions=actions,
        actor=by,
        limit=limit,
    )
    owners = await accounts.list_owners(session.conn, account_ids={each.account_id for each in found})
    emails = {account_id: owner.email for account_id, owner in owners.items()}
    rows = [_cells(each, emails.get(each.account_id)) for each in found]
    values = [{**asdict(each), "email": emails.get(each.account_id)} for each in found]
    return commands.Output(values, commands.table(HEAD, rows, empty="Nothing was recorded."))


def _cells(entry: AuditEntry, email: str | None) -> Sequence[object]:
    about = " ".join(f"{name}={value}" for name, value in entry.about.items() if value is not None)
    by = f"{entry.actor_type} {entry.actor_label or ''}".strip()
    return f"{entry.created_at:%Y-%m-%dT%H:%M:%SZ}", entry.action, by, entry.account_id, email or "-", about
