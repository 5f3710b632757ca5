"""What the statements of each process need in the database: this writes the file `migrations/grants.toml`.

A process reaches a statement by names: its handlers, jobs or commands name functions, those name others, and
stores name statements. A class is reached as a whole. A function with a decorator is called by what it is
registered with: a handler by HTTP, a job and a subscriber by the worker, a command by the operator.

    script/bootstrap test python -m tests.architecture.grants
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module

from pglast import ast as pg

from builders import app, worker
from builders.exports import lists
from builders.kit.db import migrations, partitions
from builders.kit.db.migration_files import Migration
from builders.kit.db.queries import Query
from tests.architecture.sharding import Node, parse, walk
from tests.architecture.source import ROOT, Source, sources
from tests.architecture.statements import EXPLAINED, Statement, holds_sql, strings

assert app.ROUTERS
assert worker.JOBS  # all packages, which declare the old rows of their tables
FILE = ROOT / "src" / "builders" / "migrations" / "grants.toml"
HEAD = """\
# What the statements of each process do with tables, views, sequences and functions; `builders roles` grants it.
# Written by script/docs from the code (tests/architecture/grants.py).
"""
HTTP, WORKER, OPERATOR, LOOKUP = "http", "worker", "operator", "lookup"
# What calls a function with a decorator of this name.
CALLERS = {
    **dict.fromkeys(("get", "post", "put", "patch", "delete", "tool"), HTTP),
    **dict.fromkeys(("task", "periodic", "run_at_start", "subscribe", "subscribe_batches", "measured"), WORKER),
    **dict.fromkeys(("command", "group", "reads", "writes", "works"), OPERATOR),
}
# The modules that start a process, whose definitions it reaches.
STARTS: Mapping[str, Sequence[str]] = {
    HTTP: ["builders.app", "builders.cli.http", "builders.cli.serve", "builders.cli.mail_filter"],
    WORKER: ["builders.worker", "builders.cli.worker", "builders.cli.mail_log"],
    LOOKUP: ["builders.cli.lookup"],
    OPERATOR: [],
}
# What the owner does, and registers that others read.
STOPS = {
    *(("builders.kit.db.migrations", name) for name in ("migrate", "create_database")),
    *(("builders.kit.db.distribution", name) for name in ("plan", "distribute", "place_new")),
    ("builders.kit.db.roles", "grant"),
    ("builders.cli.demo", "demo"),
    ("builders.kit.db.queries", "FINDERS"),
    ("builders.kit.db.old_rows", "declare"),  # which the worker reads
}
# The tables of which a role gets single columns: the books, which only grow (`test_grants`), and accounts, whose
# sandbox accounts lose invoices by functions of the owner.
BOOKS = {
    "identity_accounts",
    "identity_audit",
    *(f"invoices_{name}" for name in ("invoices", "lines", "numbers", "credit", "line_credits", "payments")),
    "portfolio_ledger_entries",
}
# Handlers that the worker calls for an export.
EXPORTED = {(each.endpoint.__module__, each.endpoint.__name__) for each in lists.routes().values()}
READ, ADD, CHANGE, REMOVE = "SELECT", "INSERT", "UPDATE", "DELETE"
NUMBERED = ("jobs", "events", "periodic_defers")  # tables of the queue
ENQUEUES = {
    "procrastinate_jobs": {READ, ADD},
    "procrastinate_events": {ADD},
    "procrastinate_jobs_id_seq": {"USAGE"},
    "procrastinate_events_id_seq": {"USAGE"},
}
# The statements of the queue, which are in its own package.
QUEUE: Mapping[str, Mapping[str, Collection[str]]] = {
    HTTP: ENQUEUES,
    OPERATOR: {
        **ENQUEUES,
        "procrastinate_jobs": {READ, ADD, CHANGE, REMOVE},
        "procrastinate_periodic_defers": {READ, CHANGE},
    },
    WORKER: {
        **{f"procrastinate_{name}": {READ, ADD, CHANGE, REMOVE} for name in ("workers", *NUMBERED)},
        **{f"procrastinate_{name}_id_seq": {"USAGE"} for name in NUMBERED},
    },
}
# Functions with the rights of the owner.
FUNCTIONS = {"kit_make_partitions", "kit_drop_partitions", "identity_erase", "invoices_clear", "exports_read"}
READABLE = re.compile(rf"{EXPLAINED.pattern}\s|\s*LOCK TABLE", re.IGNORECASE)
ORDER = (READ, ADD, CHANGE, REMOVE, "USAGE", "EXECUTE")
Name = tuple[str, str]  # a module, and what it defines; "" is what its import runs
Grants = Mapping[str, Mapping[str, Collection[str]]]  # privileges by role and table


class Codebase:
    """The definitions of all modules, and what each one names."""

    def __init__(self, files: Iterable[Source]) -> None:
        self.files = {".".join(each.module): each for each in files}
        self.definitions: dict[Name, list[ast.stmt]] = defaultdict(list)
        self._imports = {name: dict(self._imported(file)) for name, file in self.files.items()}
        for module, file in self.files.items():
            for node in file.tree.body:
                for name in _defined(node):
                    self.definitions[module, name].append(node)

    def callers(self) -> Iterator[tuple[Name, str]]:
        """Yield each function that a decorator registers, with the process that calls it."""
        for name, nodes in self.definitions.items():
            for node in nodes:
                for each in getattr(node, "decorator_list", ()):
                    called = each.func if isinstance(each, ast.Call) else each
                    last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                    if last in CALLERS:
                        yield name, CALLERS[last]

    def reach(self, process: str) -> set[Name]:
        """Return the definitions that a process reaches."""
        callers = dict(self.callers())
        starts = {module: name for name, started in STARTS.items() for module in started}
        callers |= {name: starts[name[0]] for name in callers if name[0] in starts}
        callers |= dict.fromkeys(EXPORTED, WORKER) if process == WORKER else {}
        stops = STOPS | {name for name, caller in callers.items() if caller != process}
        waiting = [name for name, caller in callers.items() if caller == process and name not in stops]
        waiting += [name for name in self.definitions if name[0] in STARTS[process]]
        if process != LOOKUP:
            jobs = [name for name in self.definitions if not name[1] and name[0].endswith(".jobs")]
            waiting += jobs if process == WORKER else []
            waiting += [name for name in self.definitions if not name[1] and name not in jobs]
        reached: set[Name] = set()
        while waiting:
            if (name := waiting.pop()) not in reached and name not in stops:
                reached.add(name)
                waiting += [each for node in self.definitions[name] for each in self._named(name[0], node)]
        return reached

    def _imported(self, file: Source) -> Iterator[tuple[str, tuple[str, ...]]]:
        for node in file.nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from ((each.asname or each.name, (node.module, each.name)) for each in node.names)
            elif isinstance(node, ast.Import):
                yield from ((each.asname or each.name, (each.name,)) for each in node.names)

    def _named(self, module: str, node: ast.stmt) -> Iterator[Name]:
        """Yield the definitions that a definition names."""
        inner = {id(each.value) for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        for each in ast.walk(node):
            if isinstance(each, ast.Attribute | ast.Name) and id(each) not in inner:
                yield from self._resolve(module, ast.unparse(each).split("."))

    def _resolve(self, module: str, chain: Sequence[str]) -> Iterator[Name]:
        """Yield the definition of a name, or all of a module that is a value."""
        head, *rest = chain
        if (module, head) in self.definitions:
            yield module, head
            return
        imported = self._imports.get(module, {}).get(head)
        if imported is None:
            return
        path = ".".join(imported)
        while rest and path in self.files and f"{path}.{rest[0]}" in self.files:
            path, rest = f"{path}.{rest[0]}", rest[1:]
        if path in self.files and rest:
            yield from self._resolve(path, rest[:1])
        elif path in self.files and path != "builders":
            yield from (name for name in self.definitions if f"{name[0]}.".startswith(f"{path}."))
        elif len(imported) > 1:
            yield from self._resolve(imported[0], imported[1:])


def _defined(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Import() | ast.ImportFrom():
            pass
        case _:
            yield ""


def statements_of(codebase: Codebase, reached: Collection[Name]) -> Iterator[Statement]:
    """Yield the statements among the definitions."""
    for module, name in sorted(reached):
        if name and holds_sql(codebase.files[module]):
            value = getattr(import_module(module), name, None)
            texts = [value.text] if isinstance(value, Query) else strings(value) if name.isupper() else ()
            for text in texts:
                if READABLE.match(text):
                    yield Statement(place=f"{module}:{name}", text=text)


def backfills(files: Iterable[Migration]) -> Iterator[Statement]:
    """Yield the statements by which the worker fills rows for migrations; `kit/db/backfills.py` composes them."""
    for file in files:
        found = file.header.backfill
        if found is not None and found.column:  # else a job of a package does, whose statement is in its store
            select = f"SELECT {found.key} FROM {found.table} WHERE {found.rows}"  # noqa: S608 - read, not run
            change = f"UPDATE {found.table} SET {found.column} = {found.value}"  # noqa: S608 - read, not run
            text = f"{change} WHERE ({found.rows}) AND ({found.key}) IN ({select})"
            yield Statement(place=f"builders/migrations/{file.name}", text=text)


def needs(statement: Statement) -> Iterator[tuple[str, str]]:
    """Yield what a statement does with each table, sequence and function of its own."""
    tree = parse(statement)
    ctes = {str(each.ctename) for each in walk(tree) if isinstance(each, pg.CommonTableExpr)}
    written = {
        id(each.relation) for each in walk(tree) if isinstance(each, (pg.InsertStmt, pg.UpdateStmt, pg.DeleteStmt))
    }
    each: object
    for each in walk(tree, without=(pg.LockingClause,)):
        match each:
            case pg.RangeVar(relname=str(name), schemaname=None) if name not in ctes and id(each) not in written:
                yield name, CHANGE if isinstance(tree, pg.LockStmt) else READ
            case pg.InsertStmt():
                yield from _insertion(each)
            case pg.UpdateStmt(relation=pg.RangeVar(relname=str(name)), targetList=tuple(columns)):
                yield name, READ
                yield from _changes(name, columns)
            case pg.DeleteStmt(relation=pg.RangeVar(relname=str(name))):
                yield from ((name, verb) for verb in (READ, REMOVE))
            case pg.SelectStmt(lockingClause=tuple()):
                yield from ((name, CHANGE) for name in _locked(each) - ctes)
            case pg.FuncCall(
                funcname=(pg.String(sval="nextval"),), args=(pg.A_Const(val=pg.String(sval=str(name))),)
            ):
                yield name, "USAGE"
            case pg.FuncCall(funcname=(pg.String(sval=str(name)),)) if name in FUNCTIONS:
                yield name, "EXECUTE"


def _insertion(insert: Node) -> Iterator[tuple[str, str]]:
    table = insert.relation.relname
    yield table, ADD
    if insert.returningClause or insert.onConflictClause:
        yield table, READ
    if insert.onConflictClause:
        yield from _changes(table, insert.onConflictClause.targetList or ())


def _changes(table: str, targets: Iterable[Node]) -> Iterator[tuple[str, str]]:
    for each in targets:
        yield table, f"{CHANGE} {each.name}" if table in BOOKS else CHANGE


def _locked(query: Node) -> set[str]:
    """Return the tables whose rows a query locks; those of its sub-selects lock their own."""
    tables = {}
    for each in walk(query, without=(pg.WithClause, pg.SubLink, pg.LockingClause)):
        if isinstance(each, pg.RangeVar):
            tables[each.alias.aliasname if each.alias else each.relname] = str(each.relname)
    named = {str(each.relname) for clause in query.lockingClause for each in clause.lockedRels or ()}
    return {table for alias, table in tables.items() if not named or alias in named}


def derive() -> Grants:
    """Return what each role needs."""
    codebase = Codebase(sources(ROOT / "src", "builders"))
    found: dict[str, dict[str, set[str]]] = {}
    for process in STARTS:
        of_process = found[process] = defaultdict(set)
        filling = backfills(migrations.list_migrations()) if process == WORKER else ()
        for statement in (*statements_of(codebase, codebase.reach(process)), *filling):
            for table, verb in needs(statement):
                if not table.startswith(("pg_", "citus_")):
                    of_process[table].add(verb)
        for table, verbs in QUEUE.get(process, {}).items():
            of_process[table] |= {*verbs}
        if "kit_partitioned" in of_process:  # whose default partitions `partitions.read_months` reads
            for table in partitions.tables():
                of_process[f"{table}_default"].add(READ)
    return found


def render(found: Grants) -> str:
    """Return the file."""
    lines = [HEAD]
    for process, tables in sorted(found.items()):
        lines.append(f"\n[{process}]\n")
        lines += (f'{table} = "{_privileges(verbs)}"\n' for table, verbs in sorted(tables.items()))
    return "".join(lines)


def _privileges(verbs: Collection[str]) -> str:
    columns = sorted(each.partition(" ")[2] for each in verbs if " " in each)
    whole = {each for each in verbs if " " not in each}
    if columns:  # a lock of rows needs one column
        whole.discard(CHANGE)
    found = {each: each for each in whole} | ({CHANGE: f"{CHANGE} ({', '.join(columns)})"} if columns else {})
    return ", ".join(found[each] for each in ORDER if each in found)


if __name__ == "__main__":
    FILE.write_text(render(derive()), encoding="utf-8")
