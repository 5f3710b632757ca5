"""Calls of queries: mypy checks their results, and this the names of their parameters."""

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from builders.kit.db.queries import Query
from tests.architecture.source import Source, functions
from tests.architecture.statements import NAMED

# Calls that pass `**` of anything but a dictionary that their function writes, with the reason.
MAY_SPREAD: Mapping[str, str] = {
    "builders/portfolio/domains/renewal_facts.py store.list_expiring": "parameters of filters, which others share",
}


def imports(file: Source) -> dict[str, Any]:
    """Return the modules and objects of the service that the file imports, by the name that it uses."""
    found: dict[str, Any] = {}
    for node in file.nodes:
        if not isinstance(node, ast.ImportFrom) or node.level or not (node.module or "").startswith("builders"):
            continue
        module = import_module(str(node.module))
        for each in node.names:
            value = getattr(module, each.name, None)
            if value is None and hasattr(module, "__path__") and find_spec(f"{node.module}.{each.name}"):
                value = import_module(f"{node.module}.{each.name}")
            found[each.asname or each.name] = value
    return found


def named(file: Source) -> dict[str, Any]:
    """Return what the names of a file refer to: its imports, and the queries that it defines."""
    known = imports(file)
    if file.path.parts[0] == "builders" and "query" in known:
        known |= vars(import_module(".".join(file.module)))
    return known


def query_of(node: ast.AST, known: Mapping[str, Any]) -> Query[Any] | None:
    """Return the query that a name refers to."""
    match node:
        case ast.Name(id=name):
            value = known.get(name)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            value = getattr(known.get(module), name, None)
        case _:
            return None
    return value if isinstance(value, Query) else None


def wrong_call(file: Source, allowed: Mapping[str, str] = MAY_SPREAD) -> Iterator[str]:
    """Yield calls of queries with other names than the statement has, and queries that are passed as values."""
    known = named(file)
    if not any(isinstance(each, Query) or hasattr(each, "__spec__") for each in known.values()):
        return
    seen: set[int] = set()
    for node in file.nodes:  # parents before their children
        match node:
            case ast.Call(func=ast.IfExp(body=one, orelse=other)):
                functions = [one, other]
            case ast.Call(func=function):
                functions = [function]
            case ast.Attribute(value=function, attr="text"):
                seen.add(id(function))
                continue
            case _:
                functions = []
        for function in functions:
            if (query := query_of(function, known)) and isinstance(node, ast.Call):
                seen.add(id(function))
                yield from differences(file, node, ast.unparse(function), query, allowed)
        in_service = file.path.parts[0] == "builders"  # a test may replace a query
        if in_service and query_of(node, known) and id(node) not in seen and not isinstance(node.ctx, ast.Store):  # type: ignore[attr-defined] # a name or an attribute
            yield f"{file.at(node)}: {ast.unparse(node)} is passed as a value; call it"  # type: ignore[arg-type] # an expression


def differences(
    file: Source, call: ast.Call, name: str, query: Query[Any], allowed: Mapping[str, str]
) -> Iterator[str]:
    """Yield the parameters that a call lacks, and those that the statement does not have."""
    given = {each.arg for each in call.keywords if each.arg}
    wanted = set(NAMED.findall(query.text)) - query.constants.keys()
    spread = [keys_of(file, call, each.value) for each in call.keywords if each.arg is None]
    hidden = None in spread
    if hidden and f"{file.path} {name}" not in allowed:
        yield f"{file.path} {name}: passes **, which hides the names of its parameters"
    for keys in spread:
        given |= keys or set()
    unknown, missing = given - wanted, set() if hidden else wanted - given
    if unknown:
        yield f"{file.at(call)}: {name}: the statement has no {', '.join(sorted(unknown))}"
    if missing:
        yield f"{file.at(call)}: {name}: without {', '.join(sorted(missing))}"


def keys_of(file: Source, call: ast.Call, value: ast.expr) -> set[str] | None:
    """Return the keys of a dictionary that the function of the call writes, or a function of the file returns."""
    written: list[ast.expr] = []
    for function in functions(file):
        nodes = list(ast.walk(function))
        match value:
            case ast.Name(id=name) if any(node is call for node in nodes):
                pairs = [pair for node in nodes if isinstance(node, ast.Assign) for pair in assigned(node)]
                pairs += [
                    (node.target, node.value) for node in nodes if isinstance(node, ast.AnnAssign) and node.value
                ]
                written += [part for target, part in pairs if ast.unparse(target) == name]
            case ast.Call(func=ast.Name(id=name)) if function.name == name:
                written += [node.value for node in nodes if isinstance(node, ast.Return) and node.value]
    match written:
        case [ast.Dict(keys=keys)] if all(isinstance(key, ast.Constant) for key in keys):
            return {str(key.value) for key in keys if isinstance(key, ast.Constant)}
        case _:
            return None


def assigned(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Return each target of an assignment with what it gets."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            return list(zip(names, values, strict=True))
        case _:
            return [(target, node.value) for target in node.targets]


def unknown_constants(file: Source) -> Iterator[str]:
    """Yield constants of queries that their statements do not have."""
    for name, value in named(file).items():
        if isinstance(value, Query) and (unknown := value.constants.keys() - set(NAMED.findall(value.text))):
            yield f"{file.path}: {name}: the statement has no {', '.join(sorted(unknown))}"
