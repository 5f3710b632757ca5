"""Python files as the architecture rules read them."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file, its path given from the folder that is searched for modules."""

    path: PurePosixPath
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]  # all of the tree, parents before their children

    @property
    def package(self) -> tuple[str, ...]:
        """The parts of the package that holds the module's names: `("builders", "catalog")`."""
        return self.path.parts[:-1]

    @property
    def module(self) -> tuple[str, ...]:
        """The parts of the module's name: `("builders", "catalog", "store")`."""
        stem = self.path.stem
        return self.package if stem == "__init__" else (*self.package, stem)

    def at(self, node: ast.stmt | ast.expr | ast.ExceptHandler) -> str:
        """Where a node is, as an editor jumps to it."""
        return f"{self.path}:{node.lineno}"


Rule = Callable[[Source], Iterator[str]]


def source(path: str, text: str) -> Source:
    """A file that is nowhere but here: the sample that breaks a rule."""
    tree = ast.parse(text)
    return Source(path=PurePosixPath(path), text=text, tree=tree, nodes=tuple(ast.walk(tree)))


def sources(root: Path, *folders: str) -> Iterator[Source]:
    """Every Python file of the folders, paths relative to the root, each read when its turn comes."""
    files = sorted(file for folder in folders for file in (root / folder).rglob("*.py"))
    yield from (source(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")) for file in files)


def breaches(rule: Rule, files: Iterable[Source]) -> list[str]:
    """What a rule says of all files together."""
    return [said for file in files for said in rule(file)]


def functions(file: Source) -> Iterator[Function]:
    """Every function and method, nested ones too."""
    yield from (node for node in file.nodes if isinstance(node, Function))


def span(nodes: list[ast.stmt]) -> int:
    """Lines from the first of the statements to the last, both counted."""
    return (nodes[-1].end_lineno or 0) - nodes[0].lineno + 1 if nodes else 0


def is_text(node: ast.AST) -> bool:
    """Whether a node is a string literal."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def after_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that do something."""
    return body[1:] if isinstance(body[0], ast.Expr) and is_text(body[0].value) else body
