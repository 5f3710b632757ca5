"""What a migration would do to the tables that are in use: which lock it takes, and who waits for how long.

A statement is recognized by its text; of an unknown one it is said that it is unknown.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from builders.kit.db.migration_files import Migration

TABLE = r"(?:IF EXISTS )?(?:ONLY )?(?P<table>\w+)"
NEW = re.compile(r"(?i)CREATE (?:UNLOGGED )?(?:TABLE|(?:MATERIALIZED )?VIEW|SEQUENCE) (?:IF NOT EXISTS )?(\w+)")
REFERENCED = re.compile(r"REFERENCES (?P<table>\w+)")
EXCLUSIVE, NO_WRITES, NO_CHANGES, ROWS = "ACCESS EXCLUSIVE", "SHARE", "SHARE UPDATE EXCLUSIVE", "ROW EXCLUSIVE"
OF_KEYS = "SHARE ROW EXCLUSIVE"
NOBODY, ROWS_WAIT = "nobody waits", "writers of these rows wait until the file ends"
WRITERS, WRITERS_LONG = "writers wait for a moment", "writers wait while the rows are read"
ALL, ALL_LONG = "readers and writers wait for a moment", "readers and writers wait while the rows are read"
ALL_LONGER = "readers and writers wait while the table is written again"
# The first form that fits a statement, or an action of ALTER TABLE: the lock, and who waits for how long.
FORMS = [
    (rf"(?i)CREATE (UNIQUE )?INDEX CONCURRENTLY \w+ ON {TABLE}", NO_CHANGES, NOBODY),
    (rf"(?i)CREATE (UNIQUE )?INDEX \w+ ON {TABLE}", NO_WRITES, WRITERS_LONG),
    (r"(?i)DROP INDEX CONCURRENTLY (IF EXISTS )?(?P<table>\w+)", NO_CHANGES, NOBODY),
    (rf"(?i)DROP (INDEX|VIEW|TABLE) {TABLE}", EXCLUSIVE, ALL),
    (rf"(?i)ALTER TABLE {TABLE} VALIDATE CONSTRAINT", NO_CHANGES, NOBODY),
    (rf"(?i)ALTER TABLE {TABLE} ADD .*FOREIGN KEY.*NOT VALID", OF_KEYS, WRITERS),
    (rf"(?i)ALTER TABLE {TABLE} ADD .*NOT VALID", EXCLUSIVE, ALL),
    (rf"(?i)ALTER TABLE {TABLE} ADD .*FOREIGN KEY", OF_KEYS, WRITERS_LONG),
    (rf"(?i)ALTER TABLE {TABLE} ADD (CONSTRAINT|CHECK|UNIQUE|PRIMARY|EXCLUDE)", EXCLUSIVE, ALL_LONG),
    (rf"(?i)ALTER TABLE {TABLE} ADD .*(GENERATED|\w\(\))", EXCLUSIVE, ALL_LONGER),
    (rf"(?i)ALTER TABLE {TABLE} ADD ", EXCLUSIVE, ALL),
    (rf"(?i)ALTER TABLE {TABLE} ALTER .*SET NOT NULL", EXCLUSIVE, f"{ALL_LONG}, unless a CHECK says it"),
    (rf"(?i)ALTER TABLE {TABLE} ALTER .* TYPE ", EXCLUSIVE, ALL_LONGER),
    (rf"(?i)ALTER TABLE {TABLE} (ALTER|DROP|RENAME|DETACH|SET)", EXCLUSIVE, ALL),
    (rf"(?i)(INSERT INTO|UPDATE|DELETE FROM) {TABLE}", ROWS, ROWS_WAIT),
]
HARMLESS = re.compile(r"(?i)(CREATE (OR REPLACE )?(FUNCTION|VIEW|TYPE)|COMMENT ON|SELECT|GRANT|REVOKE|DO)\b")
ALTER = re.compile(r"(?i)ALTER TABLE (IF EXISTS )?(ONLY )?\w+ ")
SPACE = re.compile(r"\s+")
SHOWN = 90  # characters of a statement
PATIENCE = (
    "A statement of a transaction waits 0.5 s for a lock, so nobody waits longer behind it; then the file begins "
    "again after a second, 60 times at most. A backfill is a job of the worker."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A lock on a table that exists before."""

    statement: str  # its beginning
    table: str | None  # null: unknown
    lock: str | None
    waits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A file that would run."""

    name: str
    run: str  # before or after the processes of this release start
    in_transaction: bool
    works_with: str
    locks: Sequence[Lock]


def describe(files: Sequence[Migration]) -> list[Step]:
    """Return what the files would do, in order; nobody waits for a table that one of them creates."""
    new = {name for each in files for statement in each.split() for name in NEW.findall(SPACE.sub(" ", statement))}
    return [
        Step(
            name=each.name,
            run="after" if each.header.is_after else "before",
            in_transaction=each.header.in_transaction,
            works_with=each.header.works_with,
            locks=[lock for text in each.split() for lock in _list_locks(text) if lock.table not in new],
        )
        for each in files
    ]


def render(step: Step) -> str:
    """Return the lines of a step."""
    how = "in a transaction" if step.in_transaction else "without a transaction"
    lines = [f"{step.name}: {step.run} the start, {how}; works with {step.works_with} or newer"]
    lines += [f"    {each.statement}\n        {_render_lock(each)}" for each in step.locks]
    return "\n".join(lines if step.locks else [*lines, "    locks no table that exists"])


def _render_lock(lock: Lock) -> str:
    return f"{lock.lock} on {lock.table}: {lock.waits}" if lock.lock else lock.waits


def _list_locks(statement: str) -> Iterator[Lock]:
    text = SPACE.sub(" ", statement)
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]} …"
    if NEW.match(text):
        for table in REFERENCED.findall(text):
            yield Lock(statement=shown, table=table, lock=OF_KEYS, waits=WRITERS)
        return
    for action in _split_actions(text):
        fitting = ((re.match(form, action), lock, waits) for form, lock, waits in FORMS)
        found = next(((match["table"], lock, waits) for match, lock, waits in fitting if match), None)
        if found is not None:
            yield Lock(statement=shown, table=found[0], lock=found[1], waits=found[2])
        elif not HARMLESS.match(action):
            yield Lock(statement=shown, table=None, lock=None, waits="unknown: any lock, for any time")


def _split_actions(text: str) -> list[str]:
    """Return the actions of an ALTER TABLE as statements of their own."""
    start = ALTER.match(text)
    if start is None:
        return [text]
    parts, depth = [""], 0
    for character in text[start.end() :]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [start[0] + each.strip() for each in parts]
