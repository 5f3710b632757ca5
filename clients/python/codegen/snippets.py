"""The call of each operation with curl, Python, TypeScript and `bld`: a page of docs/reference for each area."""

import json
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from codegen.document import Document, Operation, Parameter, Schema

FOLDER = "operations"
WIDTH = 76  # of a line of JSON
# Values of parameters that the document has no example of.
VALUES = {
    "domain": "harbour.example",
    "provider": "porkbun",
    "filename": "sailing.webp",
    "name": "my-registrar",
    "issuer": "https://accounts.example",
    "u": "https://example.net",
    "m": "0193a1b2-0000-7000-8000-000000000001",
}
ID = "0193a1b2-0000-7000-8000-000000000001"
TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - no token
_MARK = "# next\n"


class Call(NamedTuple):
    """An operation with the values of an example."""

    operation: Operation
    path: Mapping[str, str | int]
    query: Mapping[str, str | int]
    body: Mapping[str, Any] | None


class Snippets(NamedTuple):
    """The same call in four ways."""

    curl: str
    python: str
    typescript: str
    bld: str


TITLES = Snippets("curl", "Python", "TypeScript", "bld")
_LANGUAGES = Snippets("sh", "python", "typescript", "sh")


def calls(document: Document) -> Sequence[Call]:
    """Return the example of each operation."""
    return [
        Call(
            each,
            {one.wire: _value(document, each, one) for one in each.parameters.get("path", ())},
            {one.wire: _value(document, each, one) for one in each.parameters.get("query", ()) if one.required},
            _body(document, each),
        )
        for each in document.operations
    ]


def _value(document: Document, operation: Operation, parameter: Parameter) -> str | int:
    told = document.all["paths"][operation.path][operation.method.lower()]["parameters"]
    schema = next(each["schema"] for each in map(document.resolve, told) if each["name"] == parameter.wire)
    if document.resolve(schema).get("type") == "integer":
        return int(document.resolve(schema)["minimum"])
    found = schema.get("examples", [VALUES.get(parameter.wire) or (TOKEN if "token" in parameter.wire else ID)])
    return str(found[0])


def _body(document: Document, operation: Operation) -> Mapping[str, Any] | None:
    told = document.all["paths"][operation.path][operation.method.lower()].get("requestBody")
    if told is None:
        return None
    [content] = told["content"].values()
    schema = document.resolve(content["schema"])
    variants = [schema, *map(document.resolve, schema.get("anyOf", ()))]
    found: Mapping[str, Any] = next((each["examples"][0] for each in variants if "examples" in each), {})
    return found or dict.fromkeys(operation.required, TOKEN)


def write(found: Sequence[Call]) -> Sequence[Snippets]:
    """Return the snippets of each call."""
    python = _formatted([_python(each) for each in found])
    return [
        Snippets(_curl(each), text, _typescript(each), _bld(each))
        for each, text in zip(found, python, strict=True)
    ]


def _curl(call: Call) -> str:
    of = call.operation
    path = of.path.format(**call.path)
    base = "$API" if path.startswith("/v1/") else "${API%/v1}"
    address = f'"{base}{path.removeprefix("/v1")}{_asked(call)}"'
    words = [f"curl {address}" if of.method == "GET" else f"curl -X {of.method} {address}"]
    words += [] if of.public else ['-H "X-API-Key: $KEY"']
    if of.keyed:
        words.append('-H "Idempotency-Key: $(uuidgen)"')
    if call.body is not None and of.form:
        words += [f"--data-urlencode {shlex.quote(f'{name}={each}')}" for name, each in call.body.items()]
    elif call.body is not None:
        words += ['-H "Content-Type: application/json"', f"-d {shlex.quote(_lay_out(call.body))}"]
    return " \\\n  ".join(words)


def _asked(call: Call) -> str:
    return f"?{urlencode(call.query)}" if call.query else ""


def _python(call: Call) -> str:
    of = call.operation
    named = {one.wire: one.name for one in of.parameters.get("query", ())}
    words = [repr(each) for each in call.path.values()]
    if call.body is not None and not of.is_flat:
        words.append(repr(call.body))
    words += [f"{named[name]}={each!r}" for name, each in call.query.items()]
    if call.body is not None and of.is_flat:
        words += [f"{name}={each!r}" for name, each in call.body.items()]
    return f"client.{of.tag}.{of.name}({', '.join(words)})\n"


def _typescript(call: Call) -> str:
    of = call.operation
    given: dict[str, Any] = {}
    if params := {name: each for name, each in (("path", call.path), ("query", call.query)) if each}:
        given["params"] = params
    if call.body is not None:
        given["body"] = call.body
    options = f", {_lay_out(given, key=_bare)}" if given else ""
    return f'await client.{of.method}("{of.path}"{options});'


def _bld(call: Call) -> str:
    words = [f"bld api {call.operation.id}"]
    words += [shlex.quote(f"{name}={each}") for name, each in call.path.items()]
    words += [shlex.quote(f"{name}=={each}") for name, each in call.query.items()]
    for name, each in (call.body or {}).items():
        text = f"{name}={each}" if isinstance(each, str) else f"{name}:={json.dumps(each, ensure_ascii=False)}"
        words.append(shlex.quote(text))
    return " \\\n  ".join(words) if call.body else " ".join(words)


def _lay_out(value: Any, *, key: Callable[[str], str] = json.dumps, indent: str = "") -> str:
    """Return the value as JSON, where an object or a list that is short enough is one line."""
    if not isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False)
    deeper = f"{indent}  "
    left, right = "{}" if isinstance(value, Mapping) else "[]"
    names = [f"{key(each)}: " for each in value] if isinstance(value, Mapping) else [""] * len(value)
    inner = value.values() if isinstance(value, Mapping) else value
    parts = [name + _lay_out(each, key=key, indent=deeper) for name, each in zip(names, inner, strict=True)]
    short = ", ".join(parts)
    if "\n" not in short and len(indent + short) <= WIDTH:
        return f"{{ {short} }}" if left == "{" and short else f"{left}{short}{right}"
    lines = ",\n".join(f"{deeper}{each}" for each in parts)
    return f"{left}\n{lines}\n{indent}{right}"


def _bare(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def _formatted(statements: Sequence[str]) -> Sequence[str]:
    """Return each statement as ruff formats it."""
    ruff = [sys.executable, "-m", "ruff", "format", "--quiet", "--isolated", "--line-length", "88", "-"]
    done = subprocess.run(ruff, input=_MARK.join(statements), capture_output=True, text=True, check=True)
    return [each.strip() for each in done.stdout.split(_MARK)]


def render(document: Document) -> Mapping[str, str]:
    """Return a page for each area by its name."""
    found = calls(document)
    shown = dict(zip((each.operation.id for each in found), write(found), strict=True))
    areas: dict[str, list[str]] = {}
    for path, methods in document.all["paths"].items():
        for method, told in methods.items():
            areas.setdefault(told["tags"][0], []).append(
                "\n\n".join(_section(method.upper(), path, told, shown[told["operationId"]]))
            )
    said = {each["name"]: each.get("description", "") for each in document.all.get("tags", ())}
    return {
        f"{FOLDER}/{area}.md": "\n\n".join([f"# Operations: {area}", said.get(area) or area, *sections]) + "\n"
        for area, sections in areas.items()
    }


def _section(method: str, path: str, told: Schema, snippets: Snippets) -> Iterator[str]:
    yield f"## {method} {path}"
    if not told["description"].startswith(told["summary"]):
        yield f"{told['summary']}."
    yield str(told["description"])
    for title, language, text in zip(TITLES, _LANGUAGES, snippets, strict=True):
        yield f'=== "{title}"\n\n' + textwrap.indent(f"```{language}\n{text}\n```", "    ")
