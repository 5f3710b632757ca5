"""How long things may be, and what modules may not be called. A docstring costs nothing."""

import ast
from collections.abc import Iterator

from tests.architecture.source import Function, Source, after_docstring, functions, span

FILE_LINES, FUNCTION_LINES, HANDLER_LINES = 300, 40, 8
# Names that say nothing about what a module holds.
SHAPELESS = {
    "utils",
    "helpers",
    "common",
    "manager",
    "base",
    "misc",
    "data",
    "info",
    "handle",
    "process",
}


def long_file(file: Source) -> Iterator[str]:
    """A file is read in one sitting."""
    lines = len(file.text.splitlines())
    if lines > FILE_LINES:
        yield f"{file.path}: {lines} lines, not {FILE_LINES}"


def long_function(file: Source) -> Iterator[str]:
    """A function fits on a screen; decorators do not count."""
    for function in functions(file):
        doing = after_docstring(function.body)
        lines = span([function]) - (span(function.body) - span(doing))
        if lines > FUNCTION_LINES:
            yield f"{file.at(function)}: {function.name} has {lines} lines, not {FUNCTION_LINES}"


def is_handler(function: Function) -> bool:
    """Whether a router's decorator makes the function answer requests."""
    called = (each.func for each in function.decorator_list if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and "router" in ast.unparse(each.value).lower() for each in called)


def arguments(doing: list[ast.stmt]) -> int:
    """Return the lines that hold nothing but arguments by keyword."""
    nodes = [node for statement in doing for node in ast.walk(statement)]
    lines = {each.lineno for node in nodes if isinstance(node, ast.Call) for each in node.keywords}
    return len(lines - {node.lineno for node in nodes if isinstance(node, ast.stmt)})


def long_handler(file: Source) -> Iterator[str]:
    """A handler calls a service and returns the reply; what needs more lines belongs in the service.

    Arguments on lines of their own are not counted.
    """
    for function in filter(is_handler, functions(file)):
        doing = after_docstring(function.body)
        lines = span(doing) - arguments(doing)
        if lines > HANDLER_LINES:
            yield f"{file.at(function)}: handler {function.name} has {lines} lines, not {HANDLER_LINES}"


def shapeless_name(file: Source) -> Iterator[str]:
    """A module is called what it is about; `kit.process` is about the operating system's process."""
    parts = file.module[3:] if file.module[1:3] == ("kit", "process") else file.module
    yield from (f"{file.path}: nothing is called {part}" for part in parts if part in SHAPELESS)


def busy_package(file: Source) -> Iterator[str]:
    """An `__init__.py` says what the package is; nothing hides in it."""
    if file.path.name == "__init__.py" and file.tree.body and after_docstring(file.tree.body):
        yield f"{file.path}: holds more than a docstring"
