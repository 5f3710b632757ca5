"""`builders leads`."""

import csv
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click
from pydantic_core import to_json

from builders.cli.session import counted, json_option, note, open_output, query, run, show, table
from builders.kit.db.connections import Database
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.sheets.cells import safe_cell
from builders.kit.values.texts import canonical_email
from builders.leads import lifecycle
from builders.leads.records import Erased, Interest, Lead, LeadFilter, Status

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
Command = TypeVar("Command", bound=Callable[..., Any])  # as click declares it


def _filter_options(command: Command) -> Command:
    """Add the filter options of leads."""
    days = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])
    states, interests = ([each.value for each in kind] for kind in (Status, Interest))
    command = click.option("--since", type=days, help="Requested then or later (UTC).")(command)
    command = click.option("--interest", type=click.Choice(interests), help="Only this interest.")(command)
    command = click.option("--source", help="Only this source, such as builders_waitlist.")(command)
    return click.option("--status", type=click.Choice(states), help="Only this status.")(command)


def _filter(status: str | None, source: str | None, interest: str | None, since: datetime | None) -> LeadFilter:
    return LeadFilter(
        status=None if status is None else Status(status),
        source=source,
        interest=None if interest is None else Interest(interest),
        since=None if since is None else since.replace(tzinfo=UTC),
    )


@click.group("leads")
def commands() -> None:
    """Manage leads: submitted addresses and their confirmations."""


@commands.command("list")
@_filter_options
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Maximum number.")
@json_option
def list_command(limit: int, *, as_json: bool, **chosen: Any) -> None:
    """List leads, newest first."""
    found = query(lambda conn: lifecycle.list_newest(conn, filters=_filter(**chosen), limit=limit))
    show(found, as_json=as_json, text=table(_HEAD, map(_cells, found), empty="No leads."))


_HEAD = ("CREATED", "STATUS", "SOURCE", "INTEREST", "EMAIL")


def _cells(lead: Lead) -> Sequence[object]:
    created = f"{lead.created_at:%Y-%m-%d %H:%M:%SZ}"
    return created, lead.status, lead.source or "-", lead.interest or "-", lead.email


@commands.command()
@_filter_options
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Output file; standard output by default."
)
@json_option
def export(output: Path | None, *, as_json: bool, **chosen: Any) -> None:
    """Export all leads as CSV with escaped formulas, or as JSON; only the owner can read the file."""

    async def work(database: Database, settings: Settings) -> int:
        keyring = secret_keys.keyring_of(settings)
        found = lifecycle.list_all(database, filters=_filter(**chosen))
        if settings.base_url is None and not as_json:
            note(f"The unsubscribe links begin with {settings.url}; set BUILDERS_BASE_URL to the public address.")
        with open_output(output) as file:
            if not as_json:
                return await write_csv(
                    found,
                    file,
                    link=lambda lead: lifecycle.unsubscribe_link(keyring, settings=settings, lead=lead),
                )
            rows = [lead async for lead in found]
            file.write(to_json(rows, indent=2, ensure_ascii=True).decode() + "\n")
            return len(rows)

    count = run(work)
    if output is not None:
        note(f"{counted(count, 'lead')} {'is' if count == 1 else 'are'} in {output}.")


@commands.command()
@click.argument("email")
@json_option
def erase(email: str, *, as_json: bool) -> None:
    """Delete all data of an address except a hash, which prevents it from being stored or emailed again."""
    try:
        address = canonical_email(email)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="EMAIL") from None

    async def work(database: Database, settings: Settings) -> Erased:
        async with database.transaction() as conn:
            return await lifecycle.erase(conn, keyring=secret_keys.keyring_of(settings), email=address)

    erased = run(work)
    result = f"Erased {counted(erased.requests, 'request')}" if erased.requests else "No data was stored"
    show(erased, as_json=as_json, text=f"{result}; the address is suppressed.")


async def write_csv(found: AsyncIterator[Lead], file: TextIO, *, link: Callable[[Lead], str]) -> int:
    """Write leads as CSV (RFC 4180), each with its unsubscribe `link`; return their number."""
    writer, count = csv.writer(file), 0
    writer.writerow(CSV_HEADER)
    async for lead in found:
        writer.writerow(map(csv_cell, [*_csv_values(lead), link(lead)]))
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


def _csv_values(lead: Lead) -> list[Any]:
    details, utm = lead.details, lead.details.get("utm") or {}
    return [
        *(getattr(lead, name) for name in CSV_COLUMNS),
        *(details.get(name) for name in CSV_DETAILS),
        *(utm.get(name) for name in CSV_UTM),
        details.get("metadata"),
    ]
