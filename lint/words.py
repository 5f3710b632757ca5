# ruff: noqa: INP001 - a program, and what its tests import; not a package
"""Refuse retired words: `script/lint`, or `python lint/words.py PATH...` for some folders and files.

`words.toml` lists each retired word with the standard term, the reason, and where it is refused; `finished.txt`
lists the folders and files that must be free of them. The program examines:

- names: what a file defines (functions, classes, parameters, variables, attributes of self), and its own name. A
  name that another file defines is examined there;
- prose: docstrings, comments, strings with a space in them, and the text of Markdown pages.

It never examines what is kept for good: migrations; decisions; SQL, so table and column names; strings without
a space, so stored and public names; code in Markdown, in backticks, and in generated blocks.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent
RULES = Path(__file__).with_name("words.toml")
FINISHED = Path(__file__).with_name("finished.txt")
NEVER = ("src/builders/migrations", "docs/decisions")
_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|LOCK|TRUNCATE|ALTER|EXPLAIN|DROP|SET)\b")
_CODE = re.compile(r"``.*?``|`[^`]*`", re.DOTALL)
_TARGET = re.compile(r"\]\([^)]*\)|<!--.*?-->")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GENERATED = ("<!-- script/docs writes from here", "<!-- to here -->")


@dataclass(frozen=True)
class Rule:
    """A retired word."""

    word: str
    use: str
    reason: str
    forms: Sequence[str]  # of one word or several
    where: Sequence[str]  # of names, modules, classes and prose
    unless: Sequence[str]  # patterns of standard meanings, in prose
    violates: str
    passes: str

    @cached_property
    def prose(self) -> re.Pattern[str]:
        """Return the pattern that finds the word in text."""
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, self.forms))})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Piece:
    """A part of a file that is examined: a name, or some lines of prose."""

    kind: str  # name, module, class or prose
    line: int
    text: str

    @cached_property
    def words(self) -> str:
        """The lower-case words of a name, each between spaces."""
        return f" {' '.join(each.lower() for each in _WORDS.findall(self.text))} "


def read_rules(path: Path = RULES) -> list[Rule]:
    """Return the retired words. Raise ValueError when one is incomplete."""
    rules = []
    for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if unknown := row.keys() - {"use", "reason", "forms", "where", "unless", "violates", "passes"}:
            raise ValueError(f"{name}: unknown {', '.join(sorted(unknown))}")
        where = row.get("where", ["names", "prose"])
        if not {*where} <= {"names", "modules", "classes", "prose"}:
            raise ValueError(f"{name}: where is of names, modules, classes and prose")
        rules.append(
            Rule(
                name,
                row["use"],
                row["reason"],
                row.get("forms", [name]),
                where,
                row.get("unless", []),
                row["violates"],
                row["passes"],
            )
        )
    return rules


def check(path: Path, rules: Sequence[Rule]) -> Iterator[str]:
    """Yield an error for each retired word in the file, with the term to write."""
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    yield from check_text(name.as_posix(), path.read_text(encoding="utf-8"), rules)


def check_text(name: str, text: str, rules: Sequence[Rule]) -> Iterator[str]:
    """Yield an error for each retired word in the text of a file of this name."""
    if name.startswith(NEVER):
        return
    pieces = python_pieces(name, text) if name.endswith(".py") else markdown_pieces(text)
    for piece in pieces:
        for rule in rules:
            if found := find(rule, piece):
                yield f"{name}:{piece.line}: {found!r} is retired, write {rule.use}: {rule.reason}"


def find(rule: Rule, piece: Piece) -> str | None:
    """Return the retired word in the piece, or None."""
    if piece.kind == "prose":
        if "prose" not in rule.where:
            return None
        text = piece.text
        found = rule.prose.search(text)
        if found and rule.unless:
            for pattern in rule.unless:
                text = re.sub(pattern, "", text, flags=re.IGNORECASE)
            found = rule.prose.search(text)
        return found.group() if found else None
    applies = "names" in rule.where or {"module": "modules", "class": "classes"}.get(piece.kind) in rule.where
    return piece.text if applies and any(f" {form.lower()} " in piece.words for form in rule.forms) else None


def python_pieces(name: str, text: str) -> Iterator[Piece]:
    """Yield the definitions and the prose of a Python file."""
    yield Piece("module", 1, Path(name).stem if Path(name).stem != "__init__" else Path(name).parent.name)
    is_store = "/store/" in name or name.endswith("/store.py")  # all its strings are SQL
    nodes = list(ast.walk(ast.parse(text)))
    docs = {id(doc) for node in nodes if (doc := _docstring(node)) is not None}
    for node in nodes:
        yield from _defined(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_prose = " " in node.value.strip() and not is_store and not _SQL.match(node.value)
            if id(node) in docs or is_prose:
                yield from _lines(node.value, node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Piece("prose", token.start[0], _CODE.sub("", token.string))


def _docstring(node: ast.AST) -> ast.Constant | None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        match node.body:
            case [ast.Expr(value=ast.Constant() as text), *_]:
                return text
    return None


def _defined(node: ast.AST) -> Iterator[Piece]:
    match node:
        case ast.ClassDef(name=name, lineno=line):
            yield Piece("class", line, name)
        case ast.FunctionDef(name=name, lineno=line) | ast.AsyncFunctionDef(name=name, lineno=line):
            yield Piece("name", line, name)
        case ast.arg(arg=name, lineno=line) | ast.Name(id=name, ctx=ast.Store(), lineno=line):
            yield Piece("name", line, name)
        case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self" | "cls"), lineno=line):
            yield Piece("name", line, name)
        case ast.alias(asname=str(name), name=original, lineno=line) if name != original:
            yield Piece("name", line, name)


def markdown_pieces(text: str) -> Iterator[Piece]:
    """Yield the prose of a page, paragraph by paragraph: a pattern may cross the end of a line."""
    is_code = is_generated = False
    kept: list[str] = []
    for line in text.splitlines():
        is_generated = is_generated or line.startswith(_GENERATED[0])
        is_fence = line.lstrip().startswith("```")
        is_skipped = is_code or is_fence or is_generated or line.startswith("    ")
        kept.append("" if is_skipped else _TARGET.sub("]", line))
        is_code = is_code != is_fence
        is_generated = is_generated and not line.startswith(_GENERATED[1])
    yield from _lines("\n".join(kept), 1)


def _lines(text: str, begin: int) -> Iterator[Piece]:
    """Yield the paragraphs of a text without what is in backticks; each has the line that it begins at."""
    line = begin
    for paragraph in re.split(r"(\n\s*\n)", text):
        if paragraph.strip():
            yield Piece("prose", line, " ".join(_CODE.sub("", paragraph).split()))
        line += paragraph.count("\n")


def finished(path: Path = FINISHED) -> list[Path]:
    """Return the files of all listed parts. Raise FileNotFoundError for a missing part."""
    files: list[Path] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        part = line.partition("#")[0].strip()
        if part:
            files += files_of(ROOT / part)
    return files


def files_of(part: Path) -> list[Path]:
    """Return the Python and Markdown files of a folder, or the file itself. Raise FileNotFoundError."""
    if part.is_file():
        return [part]
    found = sorted(each for each in part.rglob("*") if each.suffix in {".py", ".md"})
    if not found:
        raise FileNotFoundError(f"{part} holds nothing to examine")
    return found


def main(parts: Sequence[str]) -> int:
    """Print the errors in these parts, or in all listed ones; return the exit status."""
    rules = read_rules()
    files = [file for part in parts for file in files_of(ROOT / part)] if parts else finished()
    said = [each for file in files for each in check(file, rules)]
    for each in said:
        sys.stdout.write(f"{each}\n")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
