"""`builders leads`."""

import csv
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click
from pydantic_core import to_json

from builders.cli import commands
from builders.cli.session import note, read_keyring
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.sheets.cells import safe_cell
from builders.leads import lifecycle
from builders.leads.records import Interest, Lead, LeadFilter, Status

CSV_DETAILS = (
    *("name", "company", "role", "domain", "local_part", "message", "use_case", "url", "expected_volume"),
    *("referral_code", "locale", "referrer"),
)
CSV_UTM = ("source", "medium", "campaign", "term", "content")
CSV_COLUMNS = (
    *("id", "email", "status", "source", "interest", "marketing", "text_version"),
    *("asked_at", "asked_from", "proved_at", "proved_from"),
    *("created_at", "confirmed_at", "unsubscribed_at", "last_sent_at", "send_count"),
)
CSV_HEADER = (*CSV_COLUMNS, *CSV_DETAILS, *(f"utm_{name}" for name in CSV_UTM), "metadata", "unsubscribe_url")
_HEAD = ("CREATED", "STATUS", "SOURCE", "INTEREST", "EMAIL")


def _filter_options(command: commands.Command) -> commands.Command:
    """Add the filter options of leads."""
    days = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])
    command = click.option("--since", type=days, help="Requested then or later (UTC).")(command)
    command = click.option("--interest", type=commands.Member(Interest), help="Only this interest.")(command)
    command = click.option("--source", help="Only this source, such as builders_waitlist.")(command)
    return click.option("--status", type=commands.Member(Status), help="Only this status.")(command)


def _filter(*, since: datetime | None, **chosen: Any) -> LeadFilter:
    return LeadFilter(since=None if since is None else since.replace(tzinfo=UTC), **chosen)


@click.group("leads")
def leads() -> None:
    """Manage leads: submitted addresses and their confirmations."""


@leads.command("list")
@_filter_options
@commands.limit_option(1000)
@commands.reads
async def list_command(session: commands.Session, limit: int, **chosen: Any) -> commands.Output:
    """List leads, newest first."""
    found = await lifecycle.list_newest(session.conn, filters=_filter(**chosen), limit=limit)
    return commands.Output(found, commands.table(_HEAD, map(_cells, found), empty="No leads."))


def _cells(lead: Lead) -> Sequence[object]:
    created = f"{lead.created_at:%Y-%m-%d %H:%M:%SZ}"
    return created, lead.status, lead.source or "-", lead.interest or "-", lead.email


@leads.command()
@_filter_options
@commands.output_option
@commands.json_option
def export(output: Path | None, *, as_json: bool, **chosen: Any) -> None:
    """Export all leads as CSV with escaped formulas, or as JSON; only the owner can read the file."""

    async def work(database: Database, settings: Settings) -> int:
        keyring = read_keyring(settings)
        found = lifecycle.list_all(database, filters=_filter(**chosen))
        if settings.base_url is None and not as_json:
            note(f"The unsubscribe links begin with {settings.url}; set BUILDERS_BASE_URL to the public address.")
        with commands.open_output(output) as file:
            if not as_json:
                link = partial(lifecycle.unsubscribe_link, keyring, settings=settings)
                return await write_csv(found, file, link=lambda lead: link(lead=lead))
            rows = [lead async for lead in found]
            file.write(to_json(rows, indent=2, ensure_ascii=True).decode() + "\n")
            return len(rows)

    count = commands.run(work)
    if output is not None:
        note(f"{commands.counted(count, 'lead')} {'is' if count == 1 else 'are'} in {output}.")


@leads.command()
@click.argument("email", callback=commands.email_of)
@commands.writes
async def erase(session: commands.Session, email: str) -> commands.Output:
    """Delete all data of an address except a hash, which prevents it from being stored or emailed again."""
    erased = await lifecycle.erase(session.conn, keyring=read_keyring(session.settings), email=email)
    result = f"Erased {commands.counted(erased.requests, 'request')}" if erased.requests else "No data was stored"
    return commands.Output(erased, f"{result}; the address is suppressed.")


async def write_csv(found: AsyncIterator[Lead], file: TextIO, *, link: Callable[[Lead], str]) -> int:
    """Write leads as CSV (RFC 4180), each with its unsubscribe `link`; return their number."""
    writer, count = csv.writer(file), 0
    writer.writerow(CSV_HEADER)
    async for lead in found:
        details, utm = lead.details, lead.details.get("utm") or {}
        values = [
            *(getattr(lead, name) for name in CSV_COLUMNS),
            *(details.get(name) for name in CSV_DETAILS),
            *(utm.get(name) for name in CSV_UTM),
            details.get("metadata"),
            link(lead),
        ]
        writer.writerow(map(csv_cell, values))
        count += 1
    return count


def csv_cell(value: Any) -> str:
    """Return a value as text; a formula is escaped with an apostrophe."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        case dict():
            text = json.dumps(value, ensure_ascii=False, sort_keys=True)
        case _:
            text = str(value)
    return safe_cell(text)
