"""`builders domains`."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from builders.aliases import lookups
from builders.cli import commands
from builders.cli.session import fail, read_keyring
from builders.domains import account_domains, dkim_keys, mail_records, verification
from builders.domains.records import (
    AccountDomain,
    AccountDomainStatus,
    DkimKey,
    DnsHealth,
    DomainSource,
    RecordHealth,
    RecordKind,
)
from builders.identity.records import Account
from builders.kit.db.connections import Conn, Database
from builders.kit.process.settings import Settings
from builders.kit.values.domain_names import find_a_label
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


@domains.command()
@click.argument("names", metavar="[DOMAIN]...", nargs=-1)
@commands.reads
async def records(session: commands.Session, names: Sequence[str]) -> commands.Output:
    """Print the DNS records that mail of the domains needs, as lines of a zone file; of all domains by default.

    A record of a signing key (DKIM) stays until this command no longer prints it.
    """
    keys = await _load_keys(session.conn, names)
    found = [
        each
        for domain, own in keys.items()
        for each in mail_records.list_records(domain, keys=own, settings=session.settings)
    ]
    return commands.Output([asdict(each) for each in found], "\n".join(each.line for each in found))


@domains.command()
@click.argument("names", metavar="[DOMAIN]...", nargs=-1)
@commands.works
async def check(database: Database, settings: Settings, names: Sequence[str]) -> commands.Output:
    """Verify MX, SPF, DKIM and DMARC of the domains now; of all domains by default.

    The exit status is 1 when a record is missing or wrong.
    """
    async with database.connection() as conn:
        keys = await _load_keys(conn, names)
    client, before = verification.Dns(settings), DnsHealth()
    checks = (verification.check_records(client, name, keys=own, before=before) for name, own in keys.items())
    found = dict(zip(keys, await asyncio.gather(*checks), strict=True))
    lines = [_health_line(name, kind, health) for name, health in found.items() for kind in RecordKind]
    bad = any(UNHEALTHY.intersection(each.statuses.values()) for each in found.values())
    return commands.Output(found, "\n".join(lines) or "No domains.", is_failure=bad)


@domains.command()
@click.argument("names", metavar="DOMAIN...", nargs=-1, required=True)
@commands.writes
async def rotate(session: commands.Session, names: Sequence[str]) -> commands.Output:
    """Make the next signing key (DKIM) of domains, at most one a day each, and print the records of their keys.

    A key signs as soon as DNS has its record. The earlier one is deleted a week later.
    """
    received = await _load_keys(session.conn, names)
    await dkim_keys.make(session.conn, keyring=read_keyring(session.settings), domains=received)
    keys = await dkim_keys.list_keys(session.conn, domains=received)
    made = [mail_records.MailRecord(name=each.name, type="TXT", value=each.value) for each in keys]
    return commands.Output([asdict(each) for each in made], "\n".join(each.line for each in made))


async def _load_keys(conn: Conn, names: Iterable[str]) -> Mapping[str, Sequence[DkimKey]]:
    """Return the keys of domains whose mail the service receives, of all without names."""
    received = await lookups.list_domains(conn)
    wanted = [find_a_label(each) or each for each in names] or sorted(received)
    unknown = sorted({*wanted} - received.keys())
    if unknown:
        fail(f"The service receives no mail for {', '.join(map(commands.plain, unknown))}.")
    found: dict[str, list[DkimKey]] = {each: [] for each in wanted}
    for key in await dkim_keys.list_keys(conn, domains=found):
        found[key.domain].append(key)
    return found


def _health_line(domain: str, kind: RecordKind, health: DnsHealth) -> str:
    finding = getattr(health, kind)
    return " ".join(filter(None, (f"{domain}  {kind}  {finding.status}", finding.next_action)))


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
