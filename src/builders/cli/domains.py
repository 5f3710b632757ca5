"""`builders domains`."""

from collections.abc import Sequence
from typing import Any

import click

from builders.cli import commands
from builders.cli.session import read_keyring
from builders.domains import account_domains
from builders.domains.records import AccountDomain, AccountDomainStatus, DomainSource, RecordHealth
from builders.identity.records import Account
from builders.kit.values.ids import ALL_ACCOUNTS

UNHEALTHY = {RecordHealth.MISSING, RecordHealth.WRONG}
_HEAD = ("ADDED", "STATUS", "SOURCE", "ACCOUNT", "DOMAIN", "PROBLEMS")


@click.group("domains")
def domains() -> None:
    """Manage the domains of accounts."""


@domains.command()
@click.argument("domain")
@commands.account_option
@click.option("--source", type=commands.Member(DomainSource), required=True, help="How the account obtained it.")
@commands.writes
async def assign(
    session: commands.Session, domain: str, account: Account, source: DomainSource
) -> commands.Output:
    """Assign a domain to an account; it is live at once, without verification by DNS."""
    assigned = await account_domains.assign(
        session.conn, keyring=read_keyring(session.settings), account_id=account.id, domain=domain, source=source
    )
    return commands.Output(_item(assigned), f"{assigned.domain} is live for {account.email} ({assigned.source}).")


@domains.command()
@click.argument("domain")
@click.option("--release-names", is_flag=True, help="Release the account's names on it, without quarantine.")
@commands.writes
async def unassign(session: commands.Session, domain: str, *, release_names: bool) -> commands.Output:
    """Remove a domain from its account; refused while the account has names on it."""
    released = await account_domains.unassign(session.conn, domain=domain, with_names=release_names)
    return commands.Output(_item(released), f"{released.domain} is not assigned.")


@domains.command("list")
@commands.any_account_option
@click.option("--status", type=commands.Member(AccountDomainStatus), help="Only this status.")
@commands.limit_option(1000)
@commands.reads
async def list_command(
    session: commands.Session, account: Account | None, status: AccountDomainStatus | None, limit: int
) -> commands.Output:
    """List domains of accounts, newest first."""
    account_id = account.id if account else ALL_ACCOUNTS
    found = await account_domains.list_newest(session.conn, account_id=account_id, status=status, limit=limit)
    return commands.Output(
        [_item(each) for each in found], commands.table(_HEAD, map(_cells, found), empty="No domains.")
    )


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
