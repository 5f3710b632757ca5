"""A migration: an SQL file with a header, which ends at the first empty line (decision 0064).

-- no transaction                                      only with CONCURRENTLY; each statement is repeatable
-- works with: 1.0.0                                   the oldest release that works after it
-- run: before                                         the processes of its release start, or `after`
-- backfill: projects (account_id, id)                 the table and its key; only of a file that runs after
-- rows: colour IS NULL                                those to fill; the file waits until there is none
-- set: colour = 'grey'                                absent if a job of the package fills them

Statements follow.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property

from builders.kit.process.version import order_of

HEADER = re.compile(
    r"(?P<bare>-- no transaction\n)?"
    r"-- works with: (?P<works_with>\d+\.\d+\.\d+)\n"
    r"-- run: (?P<run>before|after)\n"
    r"(-- backfill: (?P<table>\w+) \((?P<key>\w+(, \w+)*)\)\n"
    r"-- rows: (?P<rows>.+)\n(-- set: (?P<column>\w+) = (?P<value>.+)\n)?)?\n"
)
TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|(\$\w*\$).*?\1|'[^']*'|\"[^\"]*\"|;|[^-/$'\";]+|.", re.DOTALL)


class MigrationError(Exception):
    """The database cannot be migrated; the message says why and what to do."""

    def __init__(self, reason: str, next_action: str) -> None:
        super().__init__(f"{reason} {next_action}")
        self.reason = reason
        self.next_action = next_action


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """Rows that a job fills in batches before a file runs."""

    table: str
    key: str  # columns
    rows: str  # a condition
    column: str  # empty: a job of the package fills them
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a file says of itself."""

    works_with: str = "0.0.0"
    is_after: bool = False  # it runs when only processes of its release run
    in_transaction: bool = True
    backfill: Backfill | None = None


@dataclass(frozen=True)
class Migration:
    """One SQL file."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """Return a hash that detects a change of an applied file."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def header(self) -> Header:
        """Return the header. Raise MigrationError if it is malformed. The files of the queue have none."""
        if self.is_of_queue:
            return Header(is_after="_post_" in self.name)
        found = HEADER.match(self.text)
        is_after = found is not None and found["run"] == "after"
        if found is None or (found["table"] and not is_after):
            reason = f"The header of the migration {self.name} is malformed."
            raise MigrationError(reason, "The form is in src/builders/kit/db/migration_files.py.")
        fields = {name: found[name] or "" for name in ("table", "key", "rows", "column", "value")}
        return Header(
            works_with=found["works_with"],
            is_after=is_after,
            in_transaction=found["bare"] is None,
            backfill=Backfill(**fields) if found["table"] else None,
        )

    @property
    def is_of_queue(self) -> bool:
        """Return whether the package of the job queue brings it."""
        return self.name.startswith("procrastinate/")

    def excludes(self, release: str) -> bool:
        """Return whether this release does not work after it."""
        return order_of(self.header.works_with) > order_of(release)

    def split(self) -> list[str]:
        """Return its statements without comments."""
        parts = [""]
        for token in TOKEN.finditer(self.text):
            if token[0] == ";":
                parts.append("")
            elif not token[0].startswith(("--", "/*")):
                parts[-1] += token[0]
        return [each.strip() for each in parts if each.strip()]
