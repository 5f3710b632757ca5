"""`builders domains`."""

from collections.abc import Sequence
from typing import Any

import click

from builders.cli.commands import (
    Member,
    Output,
    Session,
    account_option,
    any_account_option,
    limit_option,
    reads,
    table,
    writes,
)
from builders.cli.session import read_keyring
from builders.domains import assignment
from builders.domains.records import AccountDomain, AccountDomainStatus, DomainSource, RecordHealth
from builders.identity.records import Account
from builders.kit.values.ids import ALL_ACCOUNTS

UNHEALTHY = {RecordHealth.MISSING, RecordHealth.WRONG}
_HEAD = ("ADDED", "STATUS", "SOURCE", "ACCOUNT", "DOMAIN", "PROBLEMS")


@click.group("domains")
def commands() -> None:
    """Manage the domains of accounts."""


@commands.command()
@click.argument("domain")
@account_option
@click.option("--source", type=Member(DomainSource), required=True, help="How the account obtained it.")
@writes
async def assign(session: Session, domain: str, account: Account, source: DomainSource) -> Output:
    """Assign a domain to an account; it is live at once, without verification by DNS."""
    assigned = await assignment.assign(
        session.conn, keyring=read_keyring(session.settings), account_id=account.id, domain=domain, source=source
    )
    return Output(_item(assigned), f"{assigned.domain} is live for {account.email} ({assigned.source}).")


@commands.command()
@click.argument("domain")
@click.option("--release-names", is_flag=True, help="Release the account's names on it, without quarantine.")
@writes
async def unassign(session: Session, domain: str, *, release_names: bool) -> Output:
    """Remove a domain from its account; refused while the account has names on it."""
    released = await assignment.unassign(session.conn, domain=domain, with_names=release_names)
    return Output(_item(released), f"{released.domain} is not assigned.")


@commands.command("list")
@any_account_option
@click.option("--status", type=Member(AccountDomainStatus), help="Only this status.")
@limit_option(1000)
@reads
async def list_command(
    session: Session, account: Account | None, status: AccountDomainStatus | None, limit: int
) -> Output:
    """List domains of accounts, newest first."""
    account_id = account.id if account else ALL_ACCOUNTS
    found = await assignment.list_newest(session.conn, account_id=account_id, status=status, limit=limit)
    return Output([_item(each) for each in found], table(_HEAD, map(_cells, found), empty="No domains."))


def _cells(domain: AccountDomain) -> Sequence[object]:
    bad = [kind for kind, health in domain.health.statuses.items() if health in UNHEALTHY]
    added = f"{domain.added_at:%Y-%m-%d %H:%M}Z"
    return added, domain.status, domain.source, domain.account_id, domain.domain, ", ".join(bad)


def _item(domain: AccountDomain) -> dict[str, Any]:
    return {
        "id": domain.id,
        "account_id": domain.account_id,
        "domain": domain.domain,
        "source": domain.source,
        "status": domain.status,
        "method": domain.proof,
        **domain.settings(),
        "dns": domain.health.statuses,
        "lost_at": domain.lost_at,
        "added_at": domain.added_at,
        "verified_at": domain.verified_at,
        "released_at": domain.released_at,
    }
