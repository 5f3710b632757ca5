"""Python files as the architecture rules read them."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A Python file; its path is relative to the folder of its top package."""

    path: PurePosixPath
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]  # all of the tree, parents before their children

    @property
    def package(self) -> tuple[str, ...]:
        """Return the parts of the package's name, such as `("builders", "catalog")`."""
        return self.path.parts[:-1]

    @property
    def module(self) -> tuple[str, ...]:
        """Return the parts of the module's name, such as `("builders", "catalog", "store")`."""
        stem = self.path.stem
        return self.package if stem == "__init__" else (*self.package, stem)

    def at(self, node: ast.stmt | ast.expr | ast.ExceptHandler) -> str:
        """Return the location of a node, in the form that editors open."""
        return f"{self.path}:{node.lineno}"


Rule = Callable[[Source], Iterator[str]]


def source(path: str, text: str) -> Source:
    """Return a file with this text, without reading it."""
    tree = ast.parse(text)
    return Source(path=PurePosixPath(path), text=text, tree=tree, nodes=tuple(ast.walk(tree)))


def sources(root: Path, *folders: str) -> Iterator[Source]:
    """Yield every Python file of the folders with its path relative to the root, one at a time."""
    files = sorted(file for folder in folders for file in (root / folder).rglob("*.py"))
    yield from (source(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")) for file in files)


def breaches(rule: Rule, files: Iterable[Source]) -> list[str]:
    """Return the errors of a rule in all files."""
    return [error for file in files for error in rule(file)]


def functions(file: Source) -> Iterator[Function]:
    """Yield every function and method, also nested ones."""
    yield from (node for node in file.nodes if isinstance(node, Function))


def span(nodes: list[ast.stmt]) -> int:
    """Return the number of lines from the first statement to the last, inclusive."""
    return (nodes[-1].end_lineno or 0) - nodes[0].lineno + 1 if nodes else 0


def is_text(node: ast.AST) -> bool:
    """Return whether a node is a string literal."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def after_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without a docstring."""
    return body[1:] if isinstance(body[0], ast.Expr) and is_text(body[0].value) else body
