"""Rules about the location of SQL, and whether PostgreSQL accepts it."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module

import psycopg
from psycopg.sql import Composable

from builders import worker
from builders.kit.db.queries import Query
from tests.architecture.interfaces import FIRST
from tests.architecture.source import Source

_LEAD = r"(?:\s|\(|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"  # space and comments before the first word
SQL = re.compile(
    _LEAD + r"(SELECT\s|INSERT\s+INTO\s|UPDATE\s+\S+\s+(AS\s+)?(\S+\s+)?SET\b|DELETE\s+FROM\s|MERGE\s+INTO\s"
    r"|WITH\s+(RECURSIVE\s+)?\w+\s*(\([^)]*\)\s*)?AS\s|VALUES\s*\(|TRUNCATE\s|LOCK\s+TABLE\s|COPY\s"
    r"|CREATE\s+\w+\s|ALTER\s+\w+\s|DROP\s+\w+\s|NOTIFY\s|LISTEN\s)"
)
# Statements that EXPLAIN accepts; PREPARE of the protocol checks the grammar of the others.
EXPLAINED = re.compile(_LEAD + r"(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES)\b", re.IGNORECASE)
EXECUTE = {"execute", "executemany", "stream", "copy"}
NAMED, UNNAMED = re.compile(r"%\((\w+)\)[sbt]"), re.compile(r"%[sbt]")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ACCOUNT = re.compile(r"%\(account_ids?\)s")  # as a parameter: a column of that name does not filter
QUERIES = "builders.kit.db.queries"
STORE = "store"  # a file, or a folder with a file for each family of tables
GROUPED = re.compile(r"\b\d+_\d")
# A condition that is true without a filter. The planner removes it if it knows that the parameter is NULL.
ABSENT = re.compile(r"%\(\w+\)s(::\w+(\[\])?)?\s+IS\s+NULL\s+(OR\b|AND\b[^()]*\bOR\b)", re.IGNORECASE)
LOCK = re.compile(r"\bFOR\s+(NO\s+KEY\s+)?UPDATE\b")
AS = re.compile(r"\bAS\s+(MATERIALIZED\s+)?$")
OWN_CLOCK = re.compile(
    r"\b(now\(\)|current_timestamp|current_date|(clock|statement|transaction)_timestamp\(\)|localtime)",
    re.IGNORECASE,
)


assert worker.JOBS  # all packages, which declare old rows of their tables
COMPOSING = "builders/kit/db/queries.py"  # its functions join pieces of statements
# Statements that packages declare; `foreign_declarations` looks for their tables.
DECLARED = {"builders/kit/db/old_rows.py:STATEMENTS", f"{COMPOSING}:FINDERS"}
DECLARING = {"old_rows.declare", "partitions.declare", "due_rows", "accounts_with", "stale_rows"}

# Statements that are sent without a constant, with the reason.
MAY_SEND = {
    "builders/kit/db/queries.py self.text": "the text of a query, which `statements` reads from its module",
    "builders/kit/db/traced_statements.py query": "a statement of its caller, whose name a span gets",
    "builders/kit/db/migrations.py tables.encode()": "the tables of a migration file",
    "builders/kit/db/migrations.py keys.encode()": "the foreign keys of a migration file",
    "builders/kit/db/indexes.py statement.encode()": "a statement of a migration file",
    "builders/kit/db/distribution.py statement.encode()": "a step, which `--dry-run` prints",
    "builders/kit/db/partitions.py counts": "composed in `read_months` for each default partition",
    "builders/kit/db/roles.py step": "a statement of a plan, composed of names and of the words of `roles.WORDS`",
    "builders/kit/db/migrations.py SchemaManager.get_schema()": "the queue's own schema, from its package",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A constant with SQL, or a query."""

    place: str  # builders/projects/store.py:INSERT
    text: str

    @property
    def package(self) -> str:
        """Return its package in the form of a table's prefix: `projects`, `portfolio_ledger`, `kit`."""
        parts = [part for part in self.place.split("/")[1:-1] if part != STORE]
        return "kit" if parts[:1] == ["kit"] else "_".join(parts)


def in_kit(file: Source) -> bool:
    """Return whether the file is part of the kit."""
    return file.package[:2] == ("builders", "kit")


def holds_sql(file: Source) -> bool:
    """Return whether the file may contain SQL."""
    return STORE in {file.path.stem, file.package[-1]} or in_kit(file)


def constants(file: Source) -> dict[str, ast.expr]:
    """Return the constants of the module by name."""
    found: dict[str, ast.expr] = {}
    for node in file.tree.body:
        if isinstance(node, ast.Assign):
            found |= {each.id: node.value for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return {name: value for name, value in found.items() if name.isupper()}


def queries(file: Source) -> dict[str, ast.Call]:
    """Return the calls of `query` that define a function of the module, by its name."""
    if not uses_queries(file):
        return {}
    found: dict[str, ast.Call] = {}
    for node in file.tree.body if holds_sql(file) else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            for each in ast.walk(node.value):
                if is_query(each) and isinstance(each, ast.Call):
                    found[node.targets[0].id] = each
    return found


def uses_queries(file: Source) -> bool:
    """Return whether `query` is the function of the kit."""
    return any(isinstance(node, ast.ImportFrom) and node.module == QUERIES for node in file.tree.body)


def is_query(node: ast.AST) -> bool:
    """Return whether a node is a call of `query`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "query"


def texts(file: Source) -> Iterator[tuple[ast.expr, str]]:
    """Yield every string literal; an f-string has a word for each placeholder."""
    parts: set[int] = set()
    for node in file.nodes:
        if isinstance(node, ast.JoinedStr):
            parts |= {id(each) for each in node.values}
            filled = (str(each.value) if isinstance(each, ast.Constant) else "word" for each in node.values)
            yield node, "".join(filled)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node, node.value


def composed(file: Source) -> set[int]:
    """Return the literals in `sql.SQL(…)` of the kit: statements with a table name as parameter."""
    calls = (node for node in file.nodes if isinstance(node, ast.Call) and in_kit(file))
    composing = (each for each in calls if ast.unparse(each.func).startswith("sql.SQL"))
    return {id(node) for each in composing for node in ast.walk(each)}


def stray_sql(file: Source) -> Iterator[str]:
    """Yield SQL that is not a constant or a query of a store or of the kit."""
    named = {id(node) for value in constants(file).values() for node in ast.walk(value)} | composed(file)
    named |= {id(node) for call in queries(file).values() for node in ast.walk(call)}
    for node, text in texts(file):
        if SQL.match(text) and not holds_sql(file):
            yield f"{file.at(node)}: SQL outside of a store"
        elif SQL.match(text) and id(node) not in named and str(file.path) != COMPOSING:
            yield f"{file.at(node)}: SQL without a constant"


def executed(file: Source) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Yield every call that sends SQL to the database, with its argument."""
    for node in file.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=verb), args=[sent, *_]) if verb in EXECUTE:
                # Our own functions of that name take the connection first.
                if ast.unparse(sent) not in FIRST:
                    yield node, sent


def names_in(sent: ast.expr) -> list[str] | None:
    """Return the constants that a query can be; None if it is no constant."""
    match sent:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name.isupper():
            return [name]
        case ast.IfExp(body=one, orelse=other):
            names = (names_in(one), names_in(other))
            return [*names[0], *names[1]] if names[0] and names[1] else None
        case ast.Subscript(value=table):  # a table of statements
            return names_in(table)
        case _:
            return None


def sql_without_constant(file: Source, allowed: Collection[str] = MAY_SEND) -> Iterator[str]:
    """Yield calls that execute anything but a constant of a store or of the kit, which `rejected` checks."""
    for call, sent in executed(file):
        if not holds_sql(file):
            yield f"{file.at(call)}: executes SQL outside of a store"
        elif names_in(sent) is None and id(sent) not in composed(file):
            place = f"{file.path} {ast.unparse(sent)}"
            if place not in allowed:
                yield f"{place}: executed, but no constant"
    defined = queries(file).values()
    for node in file.nodes:
        if isinstance(node, ast.Call) and is_query(node) and uses_queries(file):
            if not any(node is each for each in defined):
                yield f"{file.at(node)}: a query that is no function of a store"
            elif not isinstance(node.args[0], ast.Constant | ast.JoinedStr) and names_in(node.args[0]) is None:
                yield f"{file.at(node)}: a query of neither a text nor a constant"


def statements(file: Source) -> Iterator[Statement]:
    """Yield the SQL of a store with the values of the imported module."""
    known = constants(file) if holds_sql(file) else {}
    called = queries(file)
    sent = {name for _, each in executed(file) for name in names_in(each) or ()}
    only_called = {name for call in called.values() for name in names_in(call.args[0]) or ()} - sent
    module = import_module(".".join(file.module)) if known or called else None
    for name in called:
        yield Statement(place=f"{file.path}:{name}", text=query_named(module, name).text)
    for name in [each for each in known if each not in only_called]:
        for text in strings(getattr(module, name)):
            if name in sent or SQL.match(text):
                yield Statement(place=f"{file.path}:{name}", text=text)


def query_named(module: object, name: str) -> Query[object]:
    """Return a query of a module. Raise AttributeError without it."""
    found: Query[object] = getattr(module, name)
    return found


def planned_once(file: Source) -> Iterator[str]:
    """Yield statements with optional filters that are sent without `prepare=False`.

    A prepared statement gets one plan for all filters after ten calls of a connection, often a full scan.
    """
    calls = list(executed(file))
    anew = [each for each in calls if any(map(_is_not_prepared, each[0].keywords))]
    fresh = {name for _, sent in anew for name in names_in(sent) or ()}
    fresh |= {name for name in queries(file) if is_unprepared(file, name)}
    kept = {name for each in calls if each not in anew for name in names_in(each[1]) or ()}
    for statement in statements(file):
        name = statement.place.rpartition(":")[2]
        if ABSENT.search(statement.text) and (name in kept or name not in fresh):
            yield f"{statement.place}: optional filters; send it with prepare=False, or unprepared"


def is_unprepared(file: Source, name: str) -> bool:
    """Return whether each call of a query is planned anew."""
    return not query_named(import_module(".".join(file.module)), name).is_prepared


def _is_not_prepared(keyword: ast.keyword) -> bool:
    return keyword.arg == "prepare" and ast.unparse(keyword.value) == "False"


def strings(value: object) -> Iterator[str]:
    """Yield the texts of a constant, also of a mapping or a sequence."""
    match value:
        case str():
            yield value
        case Composable():
            yield value.as_string()
        case Mapping():
            yield from (text for each in value.values() for text in strings(each))
        case tuple() | list():
            yield from (text for each in value for text in strings(each))


def nulls(text: str) -> dict[str, datetime | None] | tuple[None, ...] | None:
    """Return NULL for each parameter but `now`, which is always a time."""
    names = NAMED.findall(text)
    return {**dict.fromkeys(names), "now": NOW} if names else (None,) * len(UNNAMED.findall(text)) or None


def rejected(conn: psycopg.Connection, statement: Statement) -> Iterator[str]:
    """Yield the error of PostgreSQL for a statement that it cannot plan with NULL for its parameters."""
    try:
        if EXPLAINED.match(statement.text):
            conn.execute(f"EXPLAIN {statement.text}".encode(), nulls(statement.text))
        else:
            result = conn.pgconn.prepare(b"", statement.text.encode())
            if result.error_message:
                yield f"{statement.place}: {result.error_message.decode()}"
    except psycopg.Error as error:
        yield f"{statement.place}: {error}"


def own_clock(statement: Statement) -> Iterator[str]:
    """Yield statements that read the clock of the database: `now` is a parameter, which tests can set."""
    if OWN_CLOCK.search(statement.text):
        yield f"{statement.place}: asks the database for the time"


def too_new(statement: Statement) -> Iterator[str]:
    """Yield numbers such as `1_000`, which PostgreSQL 15, the oldest of the service, does not read."""
    if GROUPED.search(statement.text):
        yield f"{statement.place}: a number with underscores, which PostgreSQL 15 does not read"


def repeated_locks(statement: Statement) -> Iterator[str]:
    """Yield sub-selects that lock rows outside a CTE.

    The planner may execute such a sub-select once for each row of the outer table: that takes quadratic time, and
    with SKIP LOCKED and LIMIT each execution finds other rows.
    """
    for lock in LOCK.finditer(statement.text):
        opening = _opening_parenthesis(statement.text, lock.start())
        if opening is not None and not AS.search(statement.text, 0, opening):
            yield f"{statement.place}: a sub-select locks rows; lock them in a CTE, which is executed once"


def _opening_parenthesis(text: str, end: int) -> int | None:
    """Return the position of the parenthesis that is open at `end`."""
    depth = 0
    for position in range(end - 1, -1, -1):
        depth += (text[position] == ")") - (text[position] == "(")
        if depth < 0:
            return position
    return None


def named_tables(statement: Statement, tables: Collection[str]) -> list[str]:
    """Return the tables that the statement names."""
    return sorted(set(tables) & set(re.findall(r"\w+", statement.text)))


def foreign_tables(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield tables of other packages, which only their own service may use."""
    for table in named_tables(statement, tables) if statement.place not in DECLARED else ():
        if table != statement.package and not table.startswith(f"{statement.package}_"):
            yield f"{statement.place} {table}: not a table of {statement.package}"


def foreign_declarations(file: Source) -> Iterator[str]:
    """Yield declarations of tables of other packages."""
    package = Statement(place=str(file.path), text="").package
    for node in file.nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) in DECLARING:
            text = next(each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant))
            table = str(text).split()[0]
            if table != package and not table.startswith(f"{package}_"):
                yield f"{file.at(node)}: {table} is not a table of {package}"


def any_account(statement: Statement, tenants: Collection[str]) -> Iterator[str]:
    """Yield statements on tenant tables without an account as parameter."""
    named = named_tables(statement, tenants)
    if named and not ACCOUNT.search(statement.text):
        yield f"{statement.place}: touches {', '.join(named)} without an account"
