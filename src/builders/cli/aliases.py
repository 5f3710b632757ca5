"""`builders aliases`."""

from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, Literal, TextIO

import click
from pydantic_core import to_json

from builders.aliases import forwarding
from builders.aliases.records import MapEntry, Rules, SeparatorPolicy
from builders.catalog import availability
from builders.cli.commands import counted, json_option, open_output, output_option, run
from builders.cli.session import note
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings

Format = Literal["postfix", "spellings", "json"]
Write = Callable[[Database, TextIO, int], Coroutine[Any, Any, str]]


@click.group("aliases")
def commands() -> None:
    """Manage claimed names and their destinations."""


@commands.command()
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
def export(since: int, form: Format, output: Path | None, *, as_json: bool) -> None:
    """Export forwarding names for a mail server; with --since and JSON, the changes.

    Only names that are enabled, not suspended, and have a confirmed destination.
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


async def _write_map(database: Database, file: TextIO, since: int) -> str:
    del since
    domains, names = set(), 0
    async for entry in forwarding.list_map_entries(database):
        file.writelines(f"{line}\n" for line in forwarding.format_map_entry(entry))
        if entry.destinations:
            domains.add(entry.domain)
            names += 1
    # By which Postfix accepts mail for the domain (virtual_alias_domains).
    file.writelines(f"{domain} {domain}\n" for domain in sorted(domains))
    return f"{counted(names, 'name')} on {counted(len(domains), 'domain')} {_are(names)}"


async def _write_spellings(database: Database, file: TextIO, since: int) -> str:
    del since
    async with database.connection() as conn:
        domains = await forwarding.list_live_domains(conn)
        known = await availability.load_domains(conn, domains=domains)
    rules = {domain: known[domain].rules if domain in known else Rules() for domain in domains}
    for policy in SeparatorPolicy:
        alike = [domain for domain in domains if rules[domain].separator_policy is policy]
        file.writelines(f"{line}\n" for line in forwarding.format_spelling_rules(policy, alike))
    return f"The spellings of {counted(len(domains), 'domain')} are"


async def _write_changes(database: Database, file: TextIO, since: int) -> str:
    async with database.connection() as conn:
        horizon = await forwarding.get_horizon(conn, since=since)
    changes: AsyncIterator[MapEntry] = (
        forwarding.list_map_changes(database, since=since, horizon=horizon)
        if since
        else forwarding.list_map_entries(database)
    )
    count = 0
    async for entry in changes:
        if entry.destinations or since:
            file.write(f"{_change(entry)}\n")
            count += 1
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
