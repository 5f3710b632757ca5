"""Maximum sizes of files, functions and handlers without docstrings, and names of modules."""

import ast
from collections.abc import Iterator

from tests.architecture.source import Function, Source, after_docstring, functions, span

FILE_LINES, FUNCTION_LINES, HANDLER_LINES = 500, 40, 8
# Names that do not describe the content of a module.
VAGUE = {
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
# Names of modules that end as a participle and are terms of the field.
NOUNS = {
    "accounting",
    "billing",
    "embedded",
    "feed",
    "forwarding",
    "onboarding",
    "parking",
    "planning",
    "tracking",
}


def long_file(file: Source) -> Iterator[str]:
    """Yield files above the maximum number of lines."""
    lines = len(file.text.splitlines())
    if lines > FILE_LINES:
        yield f"{file.path}: {lines} lines, not {FILE_LINES}"


def long_function(file: Source) -> Iterator[str]:
    """Yield functions above the maximum number of lines, without decorators."""
    for function in functions(file):
        doing = after_docstring(function.body)
        lines = span([function]) - (span(function.body) - span(doing))
        if lines > FUNCTION_LINES:
            yield f"{file.at(function)}: {function.name} has {lines} lines, not {FUNCTION_LINES}"


def is_handler(function: Function) -> bool:
    """Return whether a decorator of a router makes the function a handler."""
    called = (each.func for each in function.decorator_list if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and "router" in ast.unparse(each.value).lower() for each in called)


def arguments(doing: list[ast.stmt]) -> int:
    """Return the number of lines with keyword arguments only."""
    nodes = [node for statement in doing for node in ast.walk(statement)]
    lines = {each.lineno for node in nodes if isinstance(node, ast.Call) for each in node.keywords}
    return len(lines - {node.lineno for node in nodes if isinstance(node, ast.stmt)})


def long_handler(file: Source) -> Iterator[str]:
    """Yield handlers above the maximum number of lines, without arguments: logic belongs in the service."""
    for function in filter(is_handler, functions(file)):
        doing = after_docstring(function.body)
        lines = span(doing) - arguments(doing)
        if lines > HANDLER_LINES:
            yield f"{file.at(function)}: handler {function.name} has {lines} lines, not {HANDLER_LINES}"


def vague_name(file: Source) -> Iterator[str]:
    """Yield modules with a vague name; `kit.process` is about processes of the operating system."""
    parts = file.module[3:] if file.module[1:3] == ("kit", "process") else file.module
    yield from (f"{file.path}: {part} is a vague name" for part in parts if part in VAGUE)


def participle_name(file: Source) -> Iterator[str]:
    """Yield modules that are named with a participle: a module is named with the noun of what it holds."""
    for part in file.module:
        if part.endswith(("ing", "ed")) and part not in NOUNS:
            yield f"{file.path}: {part} is a participle; if it is a term of the field, add it to NOUNS"


def busy_package(file: Source) -> Iterator[str]:
    """Yield each `__init__.py` with more than a docstring."""
    if file.path.name == "__init__.py" and file.tree.body and after_docstring(file.tree.body):
        yield f"{file.path}: holds more than a docstring"
