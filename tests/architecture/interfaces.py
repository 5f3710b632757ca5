"""The public interface of a package: what others may import, and the signatures of its functions."""

import ast
from collections.abc import Iterable, Iterator

from tests.architecture.source import Source

# In the top layers or the bottom one: only the import contracts restrict them.
UNRESTRICTED = {"app", "worker", "cli", "demo", "kit"}
NESTED = "portfolio"  # its subpackages have public interfaces of their own
PRIVATE = {"store", "schemas", "replies", "api", "jobs"}
# The conditions of the filters of domains: parts of statements of the packages above.
SHARED = {
    ("builders", "portfolio", "domains", "store", "filters"),
    *(("builders", "portfolio", "ledger", "store", each) for each in ("copies", "rates", "totals")),
}
# One importer each: the HTTP service mounts handlers, the worker registers jobs.
SOLE_IMPORTERS = {"api": ("builders", "app"), "jobs": ("builders", "worker")}
# Passed as values, to callers that know only the order of their arguments.
CALLBACKS = {"append", "execute"}
FIRST = {"conn", "pool", "database"}  # one connection, or a source of several


def package_of(module: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the package of a module, such as `("builders", "portfolio", "team")`; None without one."""
    if len(module) == 1 or module[0] != "builders" or module[1] in UNRESTRICTED:
        return None
    return module[:3] if module[1] == NESTED else module[:2]


def imported(file: Source) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """Yield each imported name in full: `from builders.mail import service` gives builders.mail.service."""
    for node in file.nodes:
        if isinstance(node, ast.Import):
            yield from ((node, tuple(each.name.split("."))) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = file.package[: len(file.package) - node.level + 1] if node.level else ()
            inside = tuple(node.module.split(".")) if node.module else ()
            yield from ((node, (*above, *inside, each.name)) for each in node.names)


def private_import(file: Source) -> Iterator[str]:
    """Yield imports of the private modules of other packages."""
    here = package_of(file.module)
    for node, name in imported(file):
        package = package_of(name)
        if package is None or package == here:
            continue
        part = name[len(package)] if len(name) > len(package) else None
        if part in PRIVATE and name[:5] not in SHARED and SOLE_IMPORTERS.get(part) != file.module:
            yield f"{file.at(node)}: {'.'.join(name)} is private to {'.'.join(package)}"


def signature(file: Source) -> Iterator[str]:
    """Yield public async functions that take a connection, but not first and all else by keyword."""
    package = package_of(file.module)
    if package is None or PRIVATE.intersection(file.module):
        return
    for function in file.tree.body:
        if (
            not isinstance(function, ast.AsyncFunctionDef)
            or function.name.startswith("_")
            or function.name in CALLBACKS
        ):
            continue
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        every = {*names, *(each.arg for each in function.args.kwonlyargs)}
        if FIRST & every and (len(names) != 1 or names[0] not in FIRST or function.args.vararg is not None):
            shown = f"{function.name}({', '.join(names)})"
            yield f"{file.at(function)}: {shown}: connection first, all else by keyword"


def folders_without_init(files: Iterable[Source]) -> list[str]:
    """Return folders with modules but without an `__init__.py`: import-linter does not see what is in them."""
    folders: dict[str, set[str]] = {}
    for file in files:
        folders.setdefault(str(file.path.parent), set()).add(file.path.name)
    return [folder for folder, names in folders.items() if "__init__.py" not in names]


def find_without_none(file: Source) -> Iterator[str]:
    """Yield functions named `find_…` that never return None: such a name says that there may be nothing."""
    for node in file.nodes:
        match node:
            case (
                ast.FunctionDef(name=name, returns=ast.expr() as found)
                | ast.AsyncFunctionDef(name=name, returns=ast.expr() as found)
            ) if name.lstrip("_").startswith("find_") and "None" not in ast.unparse(found):
                yield f"{file.at(node)}: {name} returns something in any case"
