"""`builders aliases`."""

from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, Literal, TextIO

import click
from pydantic_core import to_json

from builders.aliases import lookups
from builders.aliases.records import SeparatorPolicy
from builders.cli.commands import counted, json_option, open_output, output_option, run, show
from builders.cli.session import note
from builders.forwarding import export, lookup_checks
from builders.forwarding.records import MapEntry
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings

Format = Literal["postfix", "spellings", "json"]
Write = Callable[[Database, TextIO, int], Coroutine[Any, Any, str]]


@click.group("aliases")
def commands() -> None:
    """Manage claimed names and their destinations."""


@commands.command("export")
@click.option("--since", default=0, type=click.IntRange(min=0), help="Serial at the end of the previous export.")
@click.option(
    "--format",
    "form",
    default="postfix",
    show_default=True,
    type=click.Choice(["postfix", "spellings", "json"]),
    help="Output: a map, the spelling rules for the map, or one line of JSON per change.",
)
@output_option
@json_option
def export_command(since: int, form: Format, output: Path | None, *, as_json: bool) -> None:
    """Export forwarding names for a mail server; with --since and JSON, the changes.

    Only names that are enabled, not suspended, and have a confirmed destination, and catch-alls that have one.
    """
    if since and form != "json" and not as_json:
        raise click.UsageError("--since requires --format json: a map is always complete.")
    write = WRITERS["json" if as_json else form]

    async def work(database: Database, _: Settings) -> str:
        with open_output(output) as file:
            return await write(database, file, since)

    summary = run(work)
    if output is not None:
        note(f"{summary} in {output}.")


@commands.command("check")
@click.option("--repair", is_flag=True, help="Tell the truth of these addresses; changes of names wait meanwhile.")
@json_option
def check_command(*, repair: bool, as_json: bool) -> None:
    """Compare what mail servers are told of addresses with the names, domains and destinations.

    Prints the addresses of which they are told something wrong; the exit status is 1 if there are any.
    """

    async def work(database: Database, _: Settings) -> list[str]:
        wrong = await lookup_checks.list_wrong(database)
        if repair:
            await lookup_checks.repair(database, addresses=wrong)
        return wrong

    wrong = run(work)
    show({"wrong": wrong}, as_json=as_json, text="\n".join(wrong) or "Mail servers are told the truth.")
    if wrong and not repair:
        raise SystemExit(1)


async def _write_map(database: Database, file: TextIO, since: int) -> str:
    del since
    names = 0
    async for entry in export.list_map_entries(database):
        file.writelines(f"{line}\n" for line in export.format_map_entry(entry))
        names += bool(entry.destinations)
    async with database.connection() as conn:
        catch_alls, domains = await lookups.list_catch_alls(conn), await lookups.list_domains(conn)
    file.writelines(f"@{domain} {', '.join(found)}\n" for domain, found in catch_alls.items())
    # By which Postfix accepts mail for the domain (virtual_alias_domains).
    file.writelines(f"{domain} {domain}\n" for domain in domains)
    count = f"{counted(names, 'name')} and {counted(len(catch_alls), 'catch-all')}"
    return f"{count} of {counted(len(domains), 'domain')} are"


async def _write_spellings(database: Database, file: TextIO, since: int) -> str:
    del since
    async with database.connection() as conn:
        domains = await lookups.list_domains(conn)
    for policy in SeparatorPolicy:
        alike = [domain for domain, each in domains.items() if each == policy]
        file.writelines(f"{line}\n" for line in export.format_spelling_rules(policy, alike))
    return f"The spellings of {counted(len(domains), 'domain')} are"


async def _write_changes(database: Database, file: TextIO, since: int) -> str:
    async with database.connection() as conn:
        horizon = await export.get_horizon(conn, since=since)
        catch_alls = await lookups.list_catch_alls(conn)
    changes: AsyncIterator[MapEntry] = (
        export.list_map_changes(database, since=since, horizon=horizon)
        if since
        else export.list_map_entries(database)
    )
    count = 0
    async for entry in changes:
        if entry.destinations or since:
            file.write(f"{_change(entry)}\n")
            count += 1
    # Always all of them: they are few, and the latest list replaces the earlier one.
    file.write(f"{to_json({'op': 'set_catch_alls', 'catch_alls': catch_alls}).decode()}\n")
    file.write(f'{{"next_serial":{horizon}}}\n')
    return f"{counted(count, 'change')} (next serial {horizon}) {_are(count)}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _change(entry: MapEntry) -> str:
    name = {"domain": entry.domain, "key": entry.key, "local_part": entry.local_part}
    if not entry.destinations:
        return to_json({"op": "delete", **name}).decode()
    return to_json({"op": "set", **name, "destinations": entry.destinations}).decode()


WRITERS: dict[Format, Write] = {"postfix": _write_map, "spellings": _write_spellings, "json": _write_changes}
