"""Rules against tests that replace a constant of a module or assert a duration."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.source import Source

CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}


def patched_constant(file: Source) -> Iterator[str]:
    """Yield patched constants: a limit that a test changes is a setting or a parameter."""
    for node in file.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[_, ast.Constant(value=str(name)), _]):
                pass
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[ast.Constant(value=str(path)), _]):
                name = path.rpartition(".")[2]
            case ast.Assign(targets=[ast.Attribute(attr=name)]):
                pass
            case _:
                continue
        if CONSTANT.fullmatch(name):
            yield f"{file.at(node)}: patches {name}"


def timed_assertion(file: Source) -> Iterator[str]:
    """Yield assertions about durations, which depend on the machine; bench/ measures them."""
    for node in file.nodes:
        if not isinstance(node, ast.Assert):
            continue
        for part in ast.walk(node.test):
            match part:
                case ast.BinOp(op=ast.Sub(), left=ast.Call(func=ast.Attribute(attr=clock))) if clock in CLOCKS:
                    yield f"{file.at(node)}: asserts a duration"
