"""Statements that a sharded database accepts: rules of Citus that PostgreSQL alone does not check.

A statement is read as nested queries. The rules see names: an operator that depends on settings, such as the
difference of a time and an interval, has none.

Sources: https://github.com/citusdata/citus (src/backend/distributed/planner: multi_router_planner.c,
query_pushdown_planning.c), and all statements of the service, planned and executed on Citus 13.2 by hand.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import psycopg

from builders.kit.db.placement import NODE, place_of
from tests.architecture.statements import Statement
from tests.architecture.tenancy import Table, columns

HIDDEN = "§"  # in place of a nested query
NOT_SQL = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
QUERY = re.compile(r"\s*(WITH|SELECT|INSERT|UPDATE|DELETE|VALUES)\b")
CTE = re.compile(r"\bAS\s+(NOT\s+)?(MATERIALIZED\s+)?$")
FROM = re.compile(r"(\bFROM|\bJOIN|\bLATERAL|\bUSING)\s*$")
CALL = re.compile(r"(\w+)\s*\(")
UPDATE = re.compile(r"\bUPDATE\s+(?!SET\b)(\w+)")  # not that of a lock, nor of ON CONFLICT
# A condition with an alternative. Its parameters and calls have parentheses of their own.
EITHER = re.compile(r"\((?:[^()]|\(\w*\))*\bOR\b(?:[^()]|\(\w*\))*\)")
LOCK = re.compile(r"\bFOR\s+(NO\s+KEY\s+)?(UPDATE|SHARE)\b")
ROWS = re.compile(rf"\bFROM\s+(unnest|jsonb_to_recordset|\({HIDDEN}\)\s+AS\s+\w+\s*\()", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query of a statement: its own text, without comments, literals and nested queries."""

    text: str
    nested: Sequence["Query"] = field(default_factory=list)
    lead: str = ""  # the text of the outer query before it

    @property
    def is_cte(self) -> bool:
        """Return whether it is a common table expression, which is executed for itself."""
        return CTE.search(self.lead) is not None

    @property
    def all_text(self) -> str:
        """Return the text with that of all nested queries."""
        return " ".join([self.text, *(each.all_text for each in self.nested)])

    def walk(self) -> Iterator["Query"]:
        """Yield the query and all nested ones."""
        yield self
        for each in self.nested:
            yield from each.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Functions:
    """Names of functions that return other values at other times."""

    volatile: Collection[str]
    changing: Collection[str]  # the volatile ones, and those that are stable in a statement


def read_functions(conn: psycopg.Connection) -> Functions:
    """Return the functions of a database, by whether a form of theirs is stable or volatile."""
    found = conn.execute("SELECT proname, provolatile FROM pg_proc WHERE provolatile <> 'i' AND prokind = 'f'")
    kinds = found.fetchall()
    return Functions(volatile={name for name, kind in kinds if kind == "v"}, changing={name for name, _ in kinds})


def parse(statement: str) -> Query:
    """Return the queries of a statement."""
    text = NOT_SQL.sub(lambda found: "''" if found[0].startswith("'") else " ", statement).replace("%(", "$(")
    query, end = _parse(text, 0, "")
    assert end == len(text), "parentheses are balanced"
    return query


def _parse(text: str, start: int, lead: str) -> tuple[Query, int]:
    own, nested, at, depth = "", [], start, 0
    while at < len(text):
        char = text[at]
        if char == "(" and text[at - 1] != "$" and QUERY.match(text, at + 1):
            inner, end = _parse(text, at + 1, own)
            nested.append(inner)
            own, at = f"{own}({HIDDEN})", end + 1
            continue
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        own, at = own + char, at + 1
    return Query(text=own, nested=nested, lead=lead), at


def volatile_updates(statement: Statement, functions: Functions) -> Iterator[str]:
    """Yield UPDATE with a function that counts or reads a clock, other than in a CTE."""
    for query in parse(statement.text).walk():
        if UPDATE.search(query.text):
            parts = [query, *(each for part in query.nested if not part.is_cte for each in part.walk())]
            for name in _calls(" ".join(each.text for each in parts), functions.volatile):
                yield f"{statement.place}: UPDATE calls {name}"


def changing_conflicts(statement: Statement, functions: Functions) -> Iterator[str]:
    """Yield DO UPDATE with a function whose value can change, also in its condition."""
    for query in parse(statement.text).walk():
        _, found, action = query.text.partition("DO UPDATE")
        for name in _calls(action, functions.changing) if found else ():
            yield f"{statement.place}: DO UPDATE calls {name}"


def _calls(text: str, names: Collection[str]) -> list[str]:
    return sorted(set(CALL.findall(text)) & set(names))


def wide_locks(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield row locks of a query that does not name the shard of each of its tables by a parameter."""
    for query in parse(statement.text).walk():
        if LOCK.search(query.text):
            for column in sorted(_shard_columns(query.text, tables)):
                if not _names_shard(query.text, column):
                    yield f"{statement.place}: locks rows without {column} = a parameter"


def deletions_by_place(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield the use of ctid, which identifies a row only in its shard."""
    query = parse(statement.text)
    for column in sorted(_shard_columns(query.all_text, tables)) if "ctid" in query.all_text else ():
        if not _names_shard(query.all_text, column):
            yield f"{statement.place}: uses ctid without {column} = a parameter"


def correlated(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield sub-selects, other than in FROM, beside the rows of a function or of VALUES."""
    for query in parse(statement.text).walk():
        for each in query.nested if ROWS.search(query.text) else ():
            if not each.is_cte and not FROM.search(each.lead):
                for column in sorted(_shard_columns(each.all_text, tables)):
                    if not _names_shard(each.all_text, column):
                        yield f"{statement.place}: a sub-select beside such rows, without {column} = a parameter"


def recursive(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield a recursive query over several shards."""
    query = parse(statement.text)
    for column in sorted(_shard_columns(query.all_text, tables)) if "RECURSIVE" in query.all_text else ():
        if not _names_shard(query.all_text, column):
            yield f"{statement.place}: is recursive without {column} = a parameter"


def _shard_columns(text: str, tables: Collection[str]) -> set[str]:
    """Return the columns by which the tables in the text are sharded."""
    places = [place_of(name) for name in set(tables) & set(re.findall(r"\w+", text))]
    return {place.by for place in places if place.by is not None}


def _names_shard(text: str, column: str) -> bool:
    """Return whether a condition, without an alternative, compares the column with a parameter."""
    return re.search(rf"\b{column}\s*=\s*\$\(\w+\)s", EITHER.sub("", text)) is not None


def unsharded(tables: Sequence[Table]) -> Iterator[str]:
    """Yield what a sharded table cannot have: a trigger, SET NULL in a key with its shard, no primary key."""
    for table in tables:
        place = place_of(table.name)
        if place == NODE:
            continue
        for name, _ in table.triggers:
            yield f"{table.name}: the trigger {name}"
        if not table.has_primary_key:
            yield f"{table.name}: no primary key"
        for key in table.clearing_keys:
            if place.by in columns(key):
                yield f"{table.name}: SET NULL in the foreign key to {key}"
