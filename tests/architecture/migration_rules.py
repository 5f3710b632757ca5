"""Rules for the statements of migrations after 1.0.0, whose tables are in use."""

import re
from collections.abc import Iterator, Sequence

from builders.kit.db import indexes, migration_plans
from builders.kit.db.migration_files import Migration

REPEATABLE = re.compile(r"DROP INDEX CONCURRENTLY IF EXISTS \w+|ALTER TABLE \w+ VALIDATE CONSTRAINT \w+")
VALIDATED = re.compile(r"ALTER TABLE (\w+) VALIDATE CONSTRAINT (\w+)")
UNCHECKED = re.compile(r"CONSTRAINT (\w+) .*NOT VALID")


def breaches(file: Migration, earlier: Sequence[Migration]) -> Iterator[str]:
    """Yield what would stop readers or writers, or cannot be run again."""
    yield from _misplaced(file)
    yield from _waiting(file, earlier)
    texts = [" ".join(each.split()) for each in file.split()]
    added = {name for text in texts for name in UNCHECKED.findall(text)}
    for text in texts:
        if (found := VALIDATED.match(text)) and found[2] in added:
            yield f"{file.name}: validate {found[2]} in a later file: its lock would stay meanwhile"


def _misplaced(file: Migration) -> Iterator[str]:
    for statement in file.split():
        text = " ".join(statement.split())
        if file.header.in_transaction and "CONCURRENTLY" in text:
            yield f"{file.name}: begin the file with `-- no transaction`: {text}"
        if not file.header.in_transaction and not (indexes.CREATE.fullmatch(text) or REPEATABLE.fullmatch(text)):
            yield f"{file.name}: cannot be run again outside of a transaction: {text}"


def _waiting(file: Migration, earlier: Sequence[Migration]) -> Iterator[str]:
    [step] = migration_plans.describe([file])
    for lock in step.locks:
        if lock.lock == migration_plans.ROWS:
            yield f"{file.name}: change rows by a backfill: {lock.statement}"
            continue
        is_proven = "unless" in lock.waits and any(_proves(each, lock.table) for each in earlier)
        if (lock.lock is None or "while" in lock.waits) and not is_proven:
            yield f"{file.name}: {lock.waits}: {lock.statement}"


def _proves(file: Migration, table: str | None) -> bool:
    """Return whether a file has validated a constraint of the table, such as CHECK (… IS NOT NULL)."""
    return any((found := VALIDATED.match(" ".join(text.split()))) and found[1] == table for text in file.split())
