"""`bld api`: any operation of the service."""

import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from builders_client.cli import output, texts
from builders_client.cli.faults import USAGE, Fault
from builders_client.cli.manifests import text_of
from builders_client.cli.state import State, read_json, state_of
from builders_client.operation import JSON, Operation

_QUERY = frozenset({"GET", "DELETE"})


class Parts(NamedTuple):
    """The values of a request by their place."""

    path: dict[str, str]
    query: dict[str, Any]
    headers: dict[str, str | None]
    body: dict[str, Any]


def send(
    ctx: typer.Context,
    operation: Annotated[
        str | None, typer.Argument(help="Its id in the OpenAPI document, such as projects_list_projects.")
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help="name=text, name:=JSON, name==value of the query, Name:value of a header.",
        ),
    ] = None,
    *,
    input_: Annotated[
        Path | None, typer.Option("--input", help="File with the JSON of the body; - reads the standard input.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All pages of a list.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the reply to this file.")] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option("--idempotency-key", help="Repeat the request with this key without a second effect."),
    ] = None,
) -> None:
    """Send the request of any operation and print its reply. Without OPERATION, list the operations.

    A name of the path is replaced there; others go to the query of GET and DELETE, else to the body.
    """
    state = state_of(ctx)
    if operation is None:
        output.show_list(state, _known(), {"OPERATION": "id", "METHOD": "method", "PATH": "path"}, empty="")
        return
    what = find(operation)
    parts = read_values(what, values or (), input_)
    if all_:
        for each in state.items(what.id, path=parts.path, query=parts.query, headers=parts.headers):
            output.print_line(state, each)
        return
    _print(state, _reply(state, what, parts, idempotency_key), out)


def _known() -> list[dict[str, str]]:
    from builders_client.generated.operations import OPERATIONS

    return [{"id": each.id, "method": each.method, "path": each.path} for each in OPERATIONS.values()]


def find(name: str) -> Operation:
    """Return an operation by its id, or by `area.method` of the client. Raise Fault."""
    from builders_client.generated.operations import OPERATIONS

    wanted = name.replace(".", "_", 1).replace("-", "_")
    if (found := OPERATIONS.get(wanted)) is not None:
        return found
    close = difflib.get_close_matches(wanted, OPERATIONS, n=3)
    hint = f"Did you mean {', '.join(close)}? " if close else ""
    raise Fault(f"There is no operation {name}.", next_action=f"{hint}`bld api` lists them.", code=USAGE)


def read_values(operation: Operation, values: Sequence[str], body: Path | None) -> Parts:
    """Return the values of a request. Raise Fault."""
    parts = Parts({}, {}, {}, {})
    for text in values:
        _place(operation, parts, text)
    parts = parts._replace(body={**({} if body is None else _body(body)), **parts.body})
    missing = [f"{name}=…" for name in _in_path(operation) if name not in parts.path]
    missing += [f"{name}=…" for name in operation.required if name not in parts.body]
    if missing:
        raise Fault(f"{operation.id} needs {' '.join(missing)}.", next_action="Add it to the command.", code=USAGE)
    return parts


def _in_path(operation: Operation) -> list[str]:
    return [part.partition("}")[0] for part in operation.path.split("{")[1:]]


def _place(operation: Operation, parts: Parts, text: str) -> None:
    """Put a value in its place; the first separator of the text decides."""
    separators = (":=", "==", "=", ":")
    where = {each: text.find(each) for each in separators if text.find(each) > 0}
    if not where:
        raise Fault(f"{text} is not NAME=VALUE.", next_action="Write NAME=VALUE, or NAME:=JSON.", code=USAGE)
    separator = min(where, key=lambda each: (where[each], separators.index(each)))
    name, _, value = text.partition(separator)
    if separator == ":":
        parts.headers[name] = value.strip()
    elif separator == ":=":
        _add(parts.body, name, _parse(value, f"{name}:="))
    elif separator == "==":
        parts.query.setdefault(name, []).append(value)
    elif name in _in_path(operation):
        parts.path[name] = value
    elif operation.method in _QUERY:
        parts.query.setdefault(name, []).append(value)
    else:
        _add(parts.body, name, value)


def _add(body: dict[str, Any], name: str, value: Any) -> None:
    if name in body:
        raise Fault(f"The member {name} is there twice.", next_action="Give it once.", code=USAGE)
    body[name] = value


def _body(file: Path) -> dict[str, Any]:
    found = _parse(text_of(file), str(file))
    if not isinstance(found, dict):
        raise Fault(f"{file} holds no JSON object.", next_action="Give a file with an object: {…}.", code=USAGE)
    return found


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except ValueError as error:
        raise Fault(
            f"{where} {error}", next_action='Write JSON there: true, 12, "text", [1] or {}.', code=USAGE
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a JSON text. Raise ValueError for a member that is there twice: one would be dropped."""
    found = dict(pairs)
    if len(found) < len(pairs):
        name = next(each for at, (each, _) in enumerate(pairs) if each in dict(pairs[:at]))
        raise ValueError(f"has the member {name} twice.")
    return found


def _reply(state: State, operation: Operation, parts: Parts, idempotency_key: str | None) -> Any:
    client = state.client()
    if idempotency_key is not None:
        client = client.with_options(idempotency_key=idempotency_key)
    has_body = bool(parts.body) or (operation.method in {"PUT", "PATCH"})
    return state.send(
        operation.id,
        client=client,
        path=parts.path,
        query=parts.query,
        headers=parts.headers,
        body=parts.body if has_body else None,
    )


def _print(state: State, reply: Any, out: Path | None) -> None:
    if out is not None:
        output.write_file(out, reply.content)
    elif reply.location is not None and not reply.content:
        typer.echo(texts.plain(reply.location))
    elif reply.content_type == JSON:
        output.print_json(state, read_json(reply))
    elif reply.content:
        output.print_file(reply.content, reply.content_type)
