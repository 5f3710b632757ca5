"""`builders domains`."""

from collections.abc import Sequence
from typing import Any

import click

from builders.cli.session import account_option, json_option, query, run, show, table, transact
from builders.domains import assignment
from builders.domains.records import AccountDomain, AccountDomainStatus, DomainSource, RecordHealth
from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values.ids import ALL_ACCOUNTS

Item = dict[str, Any]  # a domain in the JSON output

UNHEALTHY = {RecordHealth.MISSING, RecordHealth.WRONG}


@click.group("domains")
def commands() -> None:
    """Manage the domains of accounts."""


@commands.command()
@click.argument("domain")
@account_option
@click.option(
    "--source",
    type=click.Choice([each.value for each in DomainSource]),
    required=True,
    help="How the account obtained it.",
)
@json_option
def assign(domain: str, email: str, source: str, *, as_json: bool) -> None:
    """Assign a domain to an account; it is live at once, without verification by DNS."""

    async def work(database: Database, settings: Settings) -> AccountDomain:
        async with database.transaction() as conn:
            account = await accounts.get_account_by_email(conn, email=email)
            return await assignment.assign(
                conn,
                keyring=secret_keys.keyring_of(settings),
                account_id=account.id,
                domain=domain,
                source=DomainSource(source),
            )

    assigned = run(work)
    show(_item(assigned), as_json=as_json, text=f"{assigned.domain} is live for {email} ({assigned.source}).")


@commands.command()
@click.argument("domain")
@click.option("--release-names", is_flag=True, help="Release the account's names on it, without quarantine.")
@json_option
def unassign(domain: str, *, release_names: bool, as_json: bool) -> None:
    """Remove a domain from its account; refused while the account has names on it."""
    released = transact(lambda conn: assignment.unassign(conn, domain=domain, with_names=release_names))
    show(_item(released), as_json=as_json, text=f"{released.domain} is not assigned.")


@commands.command("list")
@click.option("--account", "email", help="Address of the account; all accounts by default.")
@click.option(
    "--status", type=click.Choice([each.value for each in AccountDomainStatus]), help="Only this status."
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Maximum number.")
@json_option
def list_command(email: str | None, status: str | None, limit: int, *, as_json: bool) -> None:
    """List domains of accounts, newest first."""

    async def work(conn: Conn) -> Sequence[AccountDomain]:
        account = await accounts.get_account_by_email(conn, email=email) if email else None
        return await assignment.list_newest(
            conn,
            account_id=account.id if account else ALL_ACCOUNTS,
            status=AccountDomainStatus(status) if status else None,
            limit=limit,
        )

    found = query(work)
    show(
        [_item(each) for each in found],
        as_json=as_json,
        text=table(_HEAD, map(_cells, found), empty="No domains."),
    )


_HEAD = ("ADDED", "STATUS", "SOURCE", "ACCOUNT", "DOMAIN", "PROBLEMS")


def _cells(domain: AccountDomain) -> Sequence[object]:
    bad = [kind for kind, health in domain.health.statuses.items() if health in UNHEALTHY]
    added = f"{domain.added_at:%Y-%m-%d %H:%M}Z"
    return added, domain.status, domain.source, domain.account_id, domain.domain, ", ".join(bad)


def _item(domain: AccountDomain) -> Item:
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
