# ruff: noqa: INP001 - a program, and what its tests import; not a package
"""Writes those parts of docs/reference that the code itself knows best: `script/docs`, `script/docs --check`.

A page is prose around one block between two marks; each block is one function here. tests/docs/test_generated.py
holds the pages against the functions, so none can go stale.
"""

import inspect
import json
import re
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import click
import psycopg
from procrastinate import RetryStrategy
from pydantic.fields import FieldInfo

from builders import worker
from builders.app import create_app
from builders.backup import archive
from builders.cli import main as cli
from builders.cli.embedded.server import EmbeddedServer
from builders.erasure.execution import INVOICES
from builders.forwarding import mail_log, queue_metrics, server as lookup_server
from builders.identity import scopes as identity_scopes
from builders.identity.records import Preset
from builders.kit import errors
from builders.kit.db import migrations, old_rows, partitions, placement, queries
from builders.kit.events import outbox
from builders.kit.jobs import queue
from builders.kit.limits import maximums, policies
from builders.kit.mandates import toolset_of
from builders.kit.process import metrics
from builders.kit.process.settings import Settings
from builders.portfolio.team import roles
from builders.portfolio.team.records import TeamRole
from builders.portfolio.transfers import rules as transfer_rules
from builders.portfolio.transfers.rules import COLUMNS as TRANSFERS_COLUMNS
from docs import console
from docs.document import derive_document
from tests.registrars import behaviors

REFERENCE = Path(__file__).parent / "reference"
DECLARING = (archive, lookup_server, mail_log, queue_metrics)  # of metrics; commands import them late
BEGIN = "<!-- script/docs writes from here, after the code -->"
END = "<!-- to here -->"
HELP_WIDTH = 100  # characters

COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod), attnotnull, coalesce(pg_get_expr(adbin, adrelid), '')
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
# Primary key, unique, foreign, check; what must not be null stands with its column.
CONSTRAINTS = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = to_regclass(%s) AND contype IN ('p', 'u', 'f', 'c')
    ORDER BY position(contype::text IN 'pufc'), conname
"""
INDEXES = """
    SELECT pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = to_regclass(%s)
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))
    ORDER BY indexrelid::regclass::text
"""
PARTITION = "SELECT coalesce(pg_get_partkeydef(to_regclass(%s)), '')"
_TABLE = re.compile(r"\s*CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(")
_COLUMN = re.compile(r"\s+(\w+) [^-]*(?:-- (.*))?$")
_BOUNDS = {"ge": "from", "gt": "above", "le": "to"}
# What PostgreSQL writes, and what a person would.
_PLAIN = (
    (re.compile(r"CREATE (UNIQUE )?INDEX \w+ ON (?:ONLY )?\S+ USING btree "), r"\1INDEX "),
    (re.compile(r"::text\b"), ""),
    (re.compile(r"= ANY \(ARRAY\[(.*?)\]\)"), r"IN (\1)"),
    (re.compile(r"CHECK \(\((.*)\)\)$"), r"CHECK (\1)"),
    (re.compile(r"timestamp with time zone"), "timestamptz"),
)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; a cell with several lines becomes one line."""
    lines = (
        (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        for row in ([*head], ["---"] * len(head), *rows)
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def settings() -> str:
    """Write each variable with its default and bounds."""
    rows = [
        (
            f"`BUILDERS_{name.upper()}`",
            "unset" if field.default in (None, ()) else f"`{field.default}`",
            _bounds(field),
            field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]
    return table(("Variable", "Default", "Bounds", "Meaning"), rows)


def _bounds(field: FieldInfo) -> str:
    bounds = ((word, getattr(each, name, None)) for each in field.metadata for name, word in _BOUNDS.items())
    return " ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)


def scopes() -> str:
    """Write each scope with its toolset and the presets that hold it."""
    rows = [
        (
            f"`{each.scope}`",
            each.description,
            "" if (toolset := toolset_of(each.scope)) is None else f"`{toolset}`",
            *("yes" if preset in each.presets else "" for preset in Preset),
        )
        for each in identity_scopes.CATALOG
    ]
    return table(("Scope", "Allows to", "Toolset", *(f"`{preset}`" for preset in Preset)), rows)


def error_codes() -> str:
    """Write each error except 422."""
    known = sorted({*errors.list_problem_types()}, key=lambda each: (each.status, each.code))
    rows = [
        (str(each.status), f"`{each.code}`", inspect.getdoc(each) or "", each.__module__.split(".")[1])
        for each in known
    ]
    return table(("Status", "Code", "Meaning", "Package"), rows)


def events() -> str:
    """Write each public event: the members of its data, and an example."""
    parts = []
    for each in outbox.list_events():
        if not each.internal:
            members = table(("Member", "Type"), event_members(each.schema))
            example = f"```json\n{each.example.model_dump_json(indent=2)}\n```"
            parts += [f"## {each.name}", f"{each.description} Version {each.version}.", members, example]
    return "\n\n".join(parts)


def event_members(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the name and a short description of the type of each member of an event's data."""
    return [(f"`{name}`", _kind(each, schema)) for name, each in schema.get("properties", {}).items()]


def _kind(member: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "$ref" in member:
        return _kind(schema["$defs"][member["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in member:
        return " or ".join(_kind(each, schema) for each in member["anyOf"])
    if "enum" in member:
        return " or ".join(f"`{each}`" for each in member["enum"])
    if member.get("type") == "array":
        return f"list of {_kind(member['items'], schema)}"
    return str(member.get("format") or member.get("type", "any"))


def job_list() -> str:
    """Write each job of the service, without those of the queue."""
    when = {name: task.cron for (name, _), task in queue.app.periodic_registry.periodic_tasks.items()}
    rows = [
        (
            f"`{name}`",
            f"`{when[name]}`" if name in when else "on demand",
            (inspect.getdoc(task.func) or "").splitlines()[0],
            str(task.retry_strategy.max_attempts) if isinstance(task.retry_strategy, RetryStrategy) else "1",
        )
        for name, task in sorted(queue.tasks().items())
        if task.func.__module__.startswith(f"{worker.__package__}.")
    ]
    return table(("Job", "When", "Does", "Tries"), rows)


def access() -> str:
    """Write each class of operations with what each caller gets."""
    file = REFERENCE.parents[1] / "tests" / "access" / "matrix.toml"
    parts = []
    for each in tomllib.loads(file.read_text(encoding="utf-8"))["class"]:
        rows = [(f"`{found}`", ", ".join(callers)) for found, callers in each["callers"].items()]
        names = "\n".join(f"- `{name}`" for name in each["operations"])
        parts += [f"## {each['title']}", names, table(("Result", "Callers"), rows)]
    return "\n\n".join(parts)


def scattered() -> str:
    """Write the statements that can touch all shards, by how often they run."""
    file = REFERENCE.parents[1] / "tests" / "architecture" / "fan_out.toml"
    listed = tomllib.loads(file.read_text(encoding="utf-8"))
    rows = [(f"`{name}`", reason, often) for often, names in listed.items() for name, reason in names.items()]
    deleted = ", ".join(f"`{each}`" for each in sorted({name.partition(",")[0] for name in old_rows.STATEMENTS}))
    found = ", ".join(f"`{each}`" for each in sorted({name.split()[0] for name in queries.FINDERS}))
    listing = table(("Statement", "Does", "How often"), rows)
    return f"{listing}\n\n`STATEMENTS` deletes old rows of {deleted}.\n\n`FINDERS` finds rows of {found}."


def commands() -> str:
    """Write the help of each command."""
    return "\n\n".join(_helps(cli.main, None))


def _helps(command: click.Command, parent: click.Context | None) -> Iterator[str]:
    name = command.name if parent else worker.__package__
    names: Mapping[str, Any] = command.context_settings  # click's own, untyped there
    context = click.Context(command, parent=parent, info_name=name, terminal_width=HELP_WIDTH, **names)
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context).strip()}\n```"
    if isinstance(command, click.Group):
        for each in map(command.commands.get, command.list_commands(context)):
            if each is not None and not each.hidden:
                yield from _helps(each, context)


@cache
def document() -> Mapping[str, Any]:
    """Write the OpenAPI document."""
    return derive_document(create_app(Settings()).api)


def rate_limits() -> str:
    """Write each rate limit policy."""
    known = policies.list_policies()
    rows = [(f"`{each.name}`", str(each.quota), str(each.window_s), each.by, each.counts) for each in known]
    return table(("Limit", "Requests", "In seconds", "For each", "Counts"), rows)


def list_maximums() -> str:
    """Write each maximum of what an account holds."""
    rows = [
        (
            f"`{each.name}`",
            f"{each.value:,}",
            each.of,
            each.counts,
            f"`{each.code}`" if each.code else f"none: {each.otherwise}",
            f"`BUILDERS_{each.setting.upper()}`" if each.setting else "",
        )
        for each in maximums.list_maximums()
    ]
    return table(("Maximum", "Number", "Of each", "Counts", "Above it", "Setting"), rows)


def openapi() -> str:
    """Write the OpenAPI document as a file, to generate clients and to compare releases."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def operations() -> str:
    """Write each operation by area with its scope and effect, then who needs what is not in the specification."""
    by_tag: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    described = document()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            scope, star = operation.get("x-scope"), " *" * operation.get("x-beyond", False)
            said = operation["description"].rpartition("\n\n")[0] or f"{operation['summary']}."
            tag, anchor = operation["tags"][0], re.sub(r"[^\w-]", "", path).lower()
            linked = f"[`{method.upper()} {path}`](operations/{tag}.md#{method}-{anchor})"
            by_tag[tag].append((linked, f"`{scope}`" if scope else "", operation.get("x-effect", ""), said + star))
    parts = [
        f"## {tag}\n\n{table(('Operation', 'Scope', 'Effect', 'Does'), rows)}" for tag, rows in by_tag.items()
    ]
    return "\n\n".join([*parts, *needs(described)])


def needs(described: Mapping[str, Any]) -> Iterator[str]:
    """Write who needs each operation that is not in the specification, and each notification option."""
    said = tomllib.loads((Path(__file__).parent / "beyond.toml").read_text(encoding="utf-8"))
    beyond = [
        f"{method.upper()} {path}"
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if operation.get("x-beyond", False)
    ]
    options = list(_options(described["components"]["schemas"], "NotificationPreferencesUpdate"))
    for title, head, names, lines in (
        ("Who needs the operations with a star", "Operation", beyond, said["operations"]),
        ("Who needs the notification preferences", "Option", options, said["notifications"]),
    ):
        if lines.keys() ^ set(names):
            differing = ", ".join(sorted(lines.keys() ^ set(names)))
            raise ValueError(f"docs/beyond.toml: say who needs each of them, and of nothing else: {differing}")
        yield f"## {title}\n\n{table((head, 'Needed by'), [(f'`{each}`', lines[each]) for each in names])}"


def console_jobs() -> Iterator[str]:
    """Write the pages of the console on which each person does what an operation does, then those without one."""
    jobs, missing = console.list_jobs(document()), console.read_file()["missing"]
    for person in console.PEOPLE:
        own = [each for each in jobs if each.pages and person in each.people]
        rows = [(f"`{each.operation}`", ", ".join(f"`{page or '/'}`" for page in each.pages)) for each in own]
        yield f"## {person}\n\n{table(('Operation', 'Pages'), rows)}"
    reasons = [(f"`{each.operation}`", each.reason) for each in jobs if each.reason]
    yield f"## Without a page\n\n{table(('Operation', 'Why'), reasons)}"
    if missing:
        rows = [(f"`{name}`", what) for name, what in missing.items()]
        yield f"## Not in the console yet\n\n{table(('Operation', 'What'), rows)}"


def _options(schemas: Mapping[str, Any], name: str, path: str = "") -> Iterator[str]:
    """Yield the members of a body by path; the values of a map are `{event}`."""
    for member, schema in schemas[name]["properties"].items():
        parts = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
        is_map = "additionalProperties" in parts[0]
        inner = parts[0]["additionalProperties"] if is_map else parts[0]
        found = re.search(r"#/components/schemas/(\w+Update)", json.dumps(inner))
        place = f"{path}{member}.{{event}}." if is_map else f"{path}{member}."
        if found:
            yield from _options(schemas, found[1], place)
        else:
            yield place[:-1]


def tables(conninfo: str) -> str:
    """Write each table of a migrated database, with the comments of its migrations."""
    parts, package = [], ""
    with psycopg.connect(conninfo) as conn:
        for name, notes in _declared():
            package, before = name.partition("_")[0], package
            parts += [f"## {package}"] if package != before else []
            parts.append(_described(conn, name, notes))
    return "\n\n".join(parts)


def _texts() -> Sequence[str]:
    """Return the statements that make the tables."""
    own = (each.text for each in migrations.list_migrations())
    return [migrations.CREATE_TABLE, migrations.CREATE_RELEASES, *own]


def _declared() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Return each table in the order of the migrations, with comments by column; its own has the key ''."""
    for text in _texts():
        name, notes, above = "", dict[str, str](), list[str]()
        for line in text.splitlines():
            if line.strip().startswith("--"):
                above.append(line.strip(" -"))
                continue
            if found := _TABLE.match(line):
                name, notes = found[1], {"": " ".join(above)}
            elif name and line.strip().startswith(")"):
                yield name, notes
                name = ""
            elif name and (column := _COLUMN.match(line)):
                notes.setdefault(column[1], " ".join([*above, column[2] or ""]).strip())
            above = []


def retention() -> str:
    """Write for each table whose rows it has, how long they stay at most, and what ends them."""
    rows, columns = [], dict(_declared())
    texts = "\n".join(_texts())
    for name in re.findall(r"^ *CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+) \(", texts, re.MULTILINE):
        whose = "an account" if "account_id" in columns.get(name, ()) else "the service"
        reasons = [why for key, (_, why) in placement.load().items() if fnmatch(name, key)]
        reason = reasons[0] if reasons and whose == "the service" else ""
        kept = [("until the account is erased", "erasure")] if whose == "an account" else [("kept", "")]
        if name in INVOICES:
            kept = [("kept, also if the account is erased", "")]
        if (monthly := partitions.tables().get(name)) is not None:
            days = f"{monthly.retention.days} days"
            if monthly.setting is not None:
                bounds = _bounds(Settings.model_fields[monthly.setting])
                days = f"`BUILDERS_{monthly.setting.upper()}`, by default {days} ({bounds})"
            kept = [(days, "months are dropped")]
        old = old_rows.describe(name)
        kept += [(each, "old rows are deleted") for each in old]
        if old and whose == "the service":
            kept = kept[1:]
        rows += [(f"`{name}`", whose, how_long, by, reason) for how_long, by in kept]
    return table(("Table", "Rows of", "At most", "By", "Note"), rows)


def _described(conn: psycopg.Connection, name: str, notes: Mapping[str, str]) -> str:
    columns = [
        (f"`{own}`", _plain(kind), "" if needed else "yes", f"`{default}`" * bool(default), notes.get(own, ""))
        for own, kind, needed, default in conn.execute(COLUMNS, (name,)).fetchall()
    ]
    rules = [rule for query in (CONSTRAINTS, INDEXES) for (rule,) in conn.execute(query, (name,)).fetchall()]
    rules += [f"PARTITION BY {key}" for (key,) in conn.execute(PARTITION, (name,)).fetchall() if key]
    shown = table(("Column", "Type", "Null", "Default", "Note"), columns)
    parts = (f"### {name}", notes[""], shown, "\n".join(f"- `{_plain(rule)}`" for rule in rules))
    return "\n\n".join(filter(None, parts))


def _plain(text: str) -> str:
    for pattern, instead in _PLAIN:
        text = pattern.sub(instead, text)
    return text


def metric_list() -> str:
    """Write each metric with its labels."""
    rows = [
        (f"`{each.name}`", each.kind, ", ".join(map("`{}`".format, each.labels)), each.description)
        for each in sorted(metrics.DECLARED, key=lambda each: each.name)
    ]
    return table(("Metric", "Kind", "Labels", "Meaning"), rows)


BLOCKS: Mapping[str, Callable[[], str]] = {
    "access.md": access,
    "all-shards.md": scattered,
    "cli.md": commands,
    "console.md": lambda: "\n\n".join(console_jobs()),
    "errors.md": error_codes,
    "events.md": events,
    "jobs.md": job_list,
    "limits.md": lambda: f"{rate_limits()}\n\n## Maximums\n\n{list_maximums()}",
    "metrics.md": metric_list,
    "operations.md": operations,
    "retention.md": retention,
    "registrars.md": lambda: "\n\n".join(f"## {name}\n\n{table(*cells)}" for name, cells in behaviors.describe()),
    "scopes.md": scopes,
    "team-roles.md": lambda: table(("Permission", "Allows to", *map("`{}`".format, TeamRole)), roles.describe()),
    "settings.md": settings,
    "transfer-rules.md": lambda: table(TRANSFERS_COLUMNS, transfer_rules.describe_rules()),
}
SCHEMA, DOCUMENT = "schema.md", "openapi.json"


def fill(page: str, block: str) -> str:
    """Return the page with this block. Raise ValueError if the page has no place for the block."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no block between {BEGIN} and {END}")
    return f"{before}{begin}\n\n{block}\n\n{end}{after}"


def read(name: str) -> str:
    """Return the current page; empty if it does not exist."""
    return (REFERENCE / name).read_text(encoding="utf-8") if (REFERENCE / name).exists() else ""


def render() -> Mapping[str, str]:
    """Return each page as it should be; start a temporary database to read the tables."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # as root, PostgreSQL's own user must be able to reach its folder in it
        with EmbeddedServer(Path(folder), durable=False) as embedded:
            migrations.migrate(embedded.conninfo)
            blocks = {SCHEMA: tables(embedded.conninfo)} | {name: write() for name, write in BLOCKS.items()}
    return {DOCUMENT: openapi()} | {name: fill(read(name), block) for name, block in blocks.items()}


def main(words: Sequence[str]) -> int:
    """Write the pages, or with --check only list the stale ones; return the exit code."""
    if words not in ([], ["--check"]):
        sys.stderr.write("usage: script/docs [--check]\n")
        return 2
    stale = {name: page for name, page in render().items() if read(name) != page}
    for name, page in stale.items():
        if not words:
            (REFERENCE / name).write_text(page, encoding="utf-8")
        sys.stdout.write(f"docs/reference/{name}: {'stale' if words else 'written'}\n")
    return 1 if words and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
