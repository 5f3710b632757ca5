"""Writes the generated parts of builders-client: `script/clients`, `script/clients --check`.

datamodel-code-generator makes the models of replies. The templates make operations, bodies and error classes, from
docs/reference. The client without `await` is made from the one with it.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from codegen import commands, contract, models, snippets
from codegen.document import OWN_TYPES, Body, Document, Operation

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PACKAGE = HERE.parent / "builders_client"
REFERENCE = ROOT / "docs/reference"
PAGES = "../../../docs/reference/"  # from PACKAGE
PAGE = f"{PAGES}bld.md"  # of the command line
CONTRACT = f"{PAGES}{contract.NAME}"
TYPESCRIPT = "../../typescript/src"  # from PACKAGE
HEADER = "# Written by script/clients."
STATUSES = {
    400: "BadRequestError",
    401: "UnauthorizedError",
    403: "ForbiddenError",
    404: "NotFoundError",
    405: "MethodError",
    409: "ConflictError",
    410: "GoneError",
    412: "PreconditionError",
    413: "TooLargeError",
    415: "MediaTypeError",
    422: "InvalidError",
    429: "TooManyRequestsError",
}
# A row of errors.md: status, code, meaning.
_ROW = re.compile(r"^\| (\d{3}) \| `(\w+)` \| (.*?) \| \w+ \|$", re.MULTILINE)
# Code with `await` to code without it.
_SYNC = (
    (re.compile(r"\b(?:async|await) "), ""),
    (re.compile(r"\bAsync(?=[A-Z])"), ""),
    (re.compile(r"\b__a(enter|exit|iter|next)__\b"), r"__\1__"),
    (re.compile(r"\baclose\b"), "close"),
    (re.compile(r"\bbuilders_client\.aio\b"), "builders_client.generated.sync"),
    (re.compile(r"\bgenerated\.aio\b"), "generated.sync"),
)
_OF_TYPESCRIPT = ("errors", "operations")
_WRITTEN = ("client", "events", "names", "pages", "sender")  # modules of aio
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE / "templates"),
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
    autoescape=False,  # noqa: S701 - Python, not HTML
)


def camel(name: str) -> str:
    """Return the name of a class."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[_-]", name))


def to_sync(text: str) -> str:
    """Return code without `await`."""
    for pattern, instead in _SYNC:
        text = pattern.sub(instead, text)
    return text


def document() -> Document:
    """Return the document."""
    return Document((REFERENCE / "openapi.json").read_text(encoding="utf-8"))


def render() -> Mapping[str, str]:
    """Return each generated file by its path in the package."""
    told = document()
    made = {path: f"{text.rstrip()}\n" for path, text in _files(told)}
    synced = {path.replace("/aio/", "/sync/"): to_sync(text) for path, text in made.items() if "/aio/" in path}
    written = {
        f"generated/sync/{name}.py": to_sync(
            f"{HEADER}\n{(PACKAGE / f'aio/{name}.py').read_text(encoding='utf-8')}"
        )
        for name in _WRITTEN
    }
    pages = {f"{PAGES}{name}": text for name, text in snippets.render(told).items()}
    return {
        **_formatted(made | synced | written),
        PAGE: commands.render(),
        **_contract(),
        **pages,
        **_typescript(told),
    }


def _contract() -> Mapping[str, str]:
    return {CONTRACT: contract.render(ROOT / "clients/contract.toml")}


def _files(told: Document) -> Iterator[tuple[str, str]]:
    yield "errors.py", _errors()
    yield "generated/operations.py", _template("operations", operations=told.operations, quoted=_quoted)
    for package in ("", "aio/", "bodies/", "models/"):
        yield f"generated/{package}__init__.py", f'{HEADER}\n"""Generated from the OpenAPI document."""\n'
    replies = models.render(told)
    for name, text in replies.items():
        yield f"generated/models/{name}.py", text
    modules = {name: f"bodies.{tag}" for tag, bodies in told.bodies().items() for name in map(_name, bodies)}
    for tag, bodies in told.bodies().items():
        text = "".join(
            each.said + "".join(one.type for one in each.members) if isinstance(each, Body) else each[1]
            for each in bodies
        )
        own = {name for name, module in modules.items() if module == f"bodies.{tag}"}
        imports = _imports(text, {name: module for name, module in modules.items() if name not in own})
        yield (
            f"generated/bodies/{tag}.py",
            _template(
                "bodies", tag=tag, bodies=bodies, imports=f"{imports}\nfrom typing import NotRequired, TypedDict"
            ),
        )
    modules |= {name: f"models.{tag}" for name, tag in told.replies().items() if name not in OWN_TYPES}
    said = {re.sub(r"\W", "_", each["name"]): each.get("description", "") for each in told.all.get("tags", ())}
    tags = sorted({each.tag for each in told.operations})
    for tag in tags:
        yield f"generated/aio/{tag}.py", _tag(told, tag, _line(said.get(tag) or tag), modules)
    yield (
        "generated/aio/resources.py",
        _template("resources", tags=[(tag, camel(tag), _line(said.get(tag) or tag)) for tag in tags]),
    )


def _line(text: str) -> str:
    return f"{' '.join(text.split()).partition('. ')[0].rstrip('.')}."


def _name(body: Body | tuple[str, str]) -> str:
    return body.name if isinstance(body, Body) else body[0]


def _tag(told: Document, tag: str, said: str, modules: Mapping[str, str]) -> str:
    operations = [each for each in told.operations if each.tag == tag]
    calls = [_Call(each) for each in operations]
    text = " ".join(
        " ".join(
            (
                each.reply,
                each.item or "",
                each.body or "",
                *(one.type for place in each.parameters.values() for one in place),
            )
        )
        for each in operations
    )
    imports = [_imports(text, modules)]
    if any(each.item for each in operations):
        imports.append("from builders_client.aio.pages import AsyncPages")
    if any(each.is_flat for each in operations):
        imports.append("from typing import Unpack")
    if any(" | " in each.reply for each in operations):
        imports.append("from typing import cast")
    if any(each.reply == "None" for each in operations):
        imports.append("from types import NoneType")
    imports.append("from builders_client.aio.sender import AsyncSender")
    return _template(
        "tag",
        tag=tag,
        said=said,
        class_name=camel(tag),
        operations=calls,
        imports="\n".join(imports),
        optional=_optional,
    )


class _Call:
    """An operation with the statement that sends it."""

    def __init__(self, of: Operation) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    @property
    def call(self) -> str:
        of = self._of
        words = [f'"{of.id}"', _reply_value(of.reply)]
        if of.item:
            words = ["self._client", *words, f'"{of.items}"']
        for place, word in (("path", "path"), ("query", "query"), ("header", "headers")):
            if given := of.parameters.get(place, ()):
                pairs = ", ".join(f'"{each.wire}": {each.name}' for each in given)
                words.append(f"{word}={{{pairs}}}")
        if of.body:
            words.append("body=body")
        return f"return {'AsyncPages' if of.item else 'await self._client.send'}({', '.join(words)})"


def _reply_value(reply: str) -> str:
    if reply == "None":
        return "NoneType"
    return f'cast("type[{reply}]", {reply})' if " | " in reply else reply


def _optional(of: str) -> str:
    return f"{of} = None" if of.endswith("None") else f"{of} | None = None"


def _imports(text: str, modules: Mapping[str, str]) -> str:
    """Return the imports of the names in the text."""
    words = set(re.findall(r"\w+", text))
    found = [
        f"from builders_client.generated.{modules[name]} import {name}" for name in sorted(words & modules.keys())
    ]
    for module, names in (
        ("collections.abc", ("Mapping", "Sequence")),
        ("typing", ("Any", "Literal")),
        ("builders_client.values", ("AmountLike", "DateLike", "File", "MoneyLike", "TimeLike")),
    ):
        if used := [name for name in names if name in words]:
            found.append(f"from {module} import {', '.join(used)}")
    return "\n".join(found)


def _errors() -> str:
    return _template("errors", statuses=STATUSES, codes=_codes())


def _codes() -> Sequence[tuple[str, str, str, str]]:
    """Return each code of the service, with its class, the class of its status and its meaning."""
    rows = _ROW.findall((REFERENCE / "errors.md").read_text(encoding="utf-8"))
    codes = [
        (
            code,
            camel(code),
            STATUSES.get(int(status), "ServerError" if status >= "500" else "ApiError"),
            meaning.replace("\\", ""),
        )
        for status, code, meaning in rows
    ]
    return sorted(codes, key=lambda each: each[1])


def _typescript(told: Document) -> Mapping[str, str]:
    """Return what the TypeScript client adds to the types that its own generator makes."""
    values = {"statuses": STATUSES, "codes": _codes(), "operations": told.operations, "told": _told}
    return {f"{TYPESCRIPT}/{name}.ts": _template(name, "ts", **values) for name in _OF_TYPESCRIPT}


def _told(of: Operation) -> str:
    """Return an operation as an object of TypeScript, with the members that it has."""
    required = (("required", [*of.required]),) if of.required else ()
    items = (("items", of.items),) if of.item else ()
    flags = [(name, True) for name in ("keyed", "live", "public", "portfolio", "form") if getattr(of, name)]
    scope = (("scope", of.scope),) if of.scope else ()
    replies = (("replies", of.replies),) if of.replies else ()
    return json.dumps(dict((("id", of.id), *scope, *flags, *required, *items, *replies)))


def _template(template: str, language: str = "py", **values: Any) -> str:
    return TEMPLATES.get_template(f"{template}.{language}.jinja").render(header=HEADER, **values)


def _quoted(names: Sequence[str]) -> str:
    return f"({', '.join(map(repr, names))},)"


def _formatted(files: Mapping[str, str]) -> Mapping[str, str]:
    """Return the files as ruff sorts and formats them."""
    ruff = [sys.executable, "-m", "ruff"]
    # Without this, the order of imports depends on the files that exist.
    own = f'lint.isort.known-first-party = ["{PACKAGE.name}"]'
    config = ["--config", str(ROOT / "pyproject.toml"), "--config", own]
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text, encoding="utf-8")
        subprocess.run(
            [*ruff, "check", "--quiet", "--no-cache", "--select", "I,F401", "--fix", *config, folder], check=True
        )
        subprocess.run([*ruff, "format", "--quiet", "--no-cache", *config, folder], check=True)
        return {path: (Path(folder) / path).read_text(encoding="utf-8") for path in files}


def present() -> Mapping[str, str]:
    """Return the files that exist."""
    paths = [PACKAGE / "errors.py", *(PACKAGE / "generated").rglob("*.py")]
    found = {str(path.relative_to(PACKAGE)): path for path in paths}
    found |= {
        path: PACKAGE / path for path in (PAGE, CONTRACT, *(f"{TYPESCRIPT}/{name}.ts" for name in _OF_TYPESCRIPT))
    }
    found |= {f"{PAGES}{snippets.FOLDER}/{path.name}": path for path in (REFERENCE / snippets.FOLDER).glob("*.md")}
    return {name: path.read_text(encoding="utf-8") for name, path in found.items() if path.exists()}


def main(words: Sequence[str]) -> int:
    """Write the files, or with --check only list the stale ones; return the exit code."""
    if words not in ([], ["--check"]):
        sys.stderr.write("usage: script/clients [--check]\n")
        return 2
    wanted, have = render(), present()
    stale = sorted(path for path in wanted.keys() | have.keys() if wanted.get(path) != have.get(path))
    for path in stale:
        if not words and path in wanted:
            (PACKAGE / path).parent.mkdir(parents=True, exist_ok=True)
            (PACKAGE / path).write_text(wanted[path], encoding="utf-8")
        elif not words:
            (PACKAGE / path).unlink()
        shown = (PACKAGE / path).resolve().relative_to(ROOT)
        sys.stdout.write(f"{shown}: {'stale' if words else 'written'}\n")
    return 1 if words and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
