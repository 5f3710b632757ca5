"""Where SQL may stand, and whether PostgreSQL understands it."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module

import psycopg

from tests.architecture.source import Source

SQL = re.compile(
    r"\s*(SELECT\s|INSERT\s+INTO\s|UPDATE\s+\S+\s+(AS\s+)?(\S+\s+)?SET\b|DELETE\s+FROM\s|MERGE\s+INTO\s"
    r"|WITH\s+(RECURSIVE\s+)?\w+\s*(\([^)]*\)\s*)?AS\s|VALUES\s*\(|TRUNCATE\s|LOCK\s+TABLE\s|COPY\s"
    r"|CREATE\s+\w+\s|ALTER\s+\w+\s|DROP\s+\w+\s|NOTIFY\s|LISTEN\s)"
)
# What EXPLAIN takes; the grammar of the rest is checked by PREPARE of the protocol.
EXPLAINED = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES)\b")
NAMED, UNNAMED = re.compile(r"%\((\w+)\)[sbt]"), re.compile(r"%[sbt]")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWN_CLOCK = re.compile(r"\b(now\(\)|current_timestamp|current_date|clock_timestamp\(\)|localtime)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A capital constant that holds SQL."""

    place: str  # builders/projects/store.py:INSERT
    text: str

    @property
    def room(self) -> str:
        """The folder that holds it, as table names begin: `projects`, `portfolio_ledger`."""
        return "_".join(self.place.split("/")[1:-1])


def in_kit(file: Source) -> bool:
    """Whether the file belongs to no room."""
    return file.package[:2] == ("builders", "kit")


def holds_sql(file: Source) -> bool:
    """Whether SQL may stand in the file."""
    return file.path.name == "store.py" or in_kit(file)


def constants(file: Source) -> dict[str, ast.expr]:
    """The module's capital names and what they stand for."""
    found: dict[str, ast.expr] = {}
    for node in file.tree.body:
        if isinstance(node, ast.Assign):
            found |= {each.id: node.value for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return {name: value for name, value in found.items() if name.isupper()}


def texts(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Every string literal, f-strings whole: what they fill in is shown as a word."""
    parts: set[int] = set()
    for node in ast.walk(tree):  # parents come before their children
        if isinstance(node, ast.JoinedStr):
            parts |= {id(each) for each in node.values}
            filled = (str(each.value) if isinstance(each, ast.Constant) else "word" for each in node.values)
            yield node, "".join(filled)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node, node.value


def composed(file: Source) -> set[int]:
    """What the kit hands to `sql.SQL`: statements on tables whose names it is told, such as partitions."""
    calls = (node for node in ast.walk(file.tree) if isinstance(node, ast.Call))
    return {id(each.args[0]) for each in calls if ast.unparse(each.func) == "sql.SQL" and in_kit(file)}


def stray_sql(file: Source) -> Iterator[str]:
    """SQL is a capital constant of a store or of the kit: there it is found, checked and reviewed."""
    named = {id(node) for value in constants(file).values() for node in ast.walk(value)} | composed(file)
    for node, text in texts(file.tree):
        if SQL.match(text) and not holds_sql(file):
            yield f"{file.at(node)}: SQL outside of a store"
        elif SQL.match(text) and id(node) not in named:
            yield f"{file.at(node)}: SQL without a capital name"


def encoded_sql(file: Source) -> Iterator[str]:
    """Bytes pass the type checker's rule that SQL is a literal; only whole migration files go that way."""
    for node in ast.walk(file.tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="execute" | "executemany" | "stream" | "copy"),
                args=[ast.Call(func=ast.Attribute(attr="encode")), *_],
            ) if str(file.path) != "builders/kit/migrate.py":
                yield f"{file.at(node)}: SQL as bytes"


def statements(file: Source) -> Iterator[Statement]:
    """The SQL of a store, with its values as they are when the module has run."""
    names = constants(file) if holds_sql(file) else {}
    module = import_module(".".join(file.module)) if names else None
    for name in names:
        text = getattr(module, name)
        if isinstance(text, str) and SQL.match(text):
            yield Statement(place=f"{file.path}:{name}", text=text)


def nulls(text: str) -> dict[str, datetime | None] | tuple[None, ...] | None:
    """NULL for each parameter; `now` alone is always there, and a time."""
    names = NAMED.findall(text)
    return {**dict.fromkeys(names), "now": NOW} if names else (None,) * len(UNNAMED.findall(text)) or None


def misunderstood(conn: psycopg.Connection, statement: Statement) -> Iterator[str]:
    """What PostgreSQL says of a statement that it cannot plan; parameters are NULL of a type it must know."""
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
    """`now` comes as a parameter, so that the clock has one source and tests can set it."""
    if OWN_CLOCK.search(statement.text):
        yield f"{statement.place}: asks the database for the time"


def named_tables(statement: Statement, tables: Collection[str]) -> list[str]:
    """Those of the tables that the statement names."""
    return sorted(set(tables) & set(re.findall(r"\w+", statement.text)))


def foreign_tables(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """A room reads and writes its own tables; another's are behind that room's door."""
    for table in named_tables(statement, tables):
        if table != statement.room and not table.startswith(f"{statement.room}_"):
            yield f"{statement.place} {table}: not a table of {statement.room}"


def any_account(statement: Statement, tenants: Collection[str]) -> Iterator[str]:
    """What touches rows of tenants says whose."""
    named = named_tables(statement, tenants)
    if named and "account_id" not in statement.text:
        yield f"{statement.place}: touches {', '.join(named)} without an account"
