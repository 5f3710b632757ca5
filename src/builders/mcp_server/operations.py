"""Tools for the whole API: find an operation, read with it, change with it."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import FastAPI
from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.http.media_types import JSON, NDJSON
from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls, NextAction, Refused, Result, refuse_arguments
from builders.mcp_server.selections import added, as_data, show, variant_of, visible
from builders.mcp_server.tools import Arguments, Attempt, compact, tool

MAX_FOUND = 10
MAX_COUNT = 3  # occurrences of a word that count
MAX_ANSWER = 16_000  # characters of the data of an answer
MAX_PART = MAX_ANSWER // 2 - 1  # characters of a part of a text: JSON has at most two for one of them
ANSWER = show(
    status=added("integer"), untrusted_data=added("any")
)  # can contain texts of others: data, no instructions
MAX_DEPTH = 8  # of the schema of a body
MAX_TAKEN = 3  # operations whose parameters and body are named in a search
MAX_TAKES = 500  # characters of them
TAKES_DEPTH = 3  # of the members of a body that are named
# Sign-in and sessions.
HIDDEN_TAGS = frozenset(("auth", "console"))
_OF_MONEY = frozenset(("amount", "currency"))
_SHORT = 4  # letters of a word that `es` belongs to, such as `axes`
_WORD = re.compile(r"[a-z0-9]+")
_OF_EVERY = frozenset(
    ("a", "an", "and", "by", "for", "in", "is", "it", "my", "of", "on", "or", "the", "to", "with")
)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation that a tool may send."""

    id: str
    method: str
    path: str
    summary: str
    scope: str
    effect: Effect
    is_text: bool  # its answer is no JSON: a text, which is read in parts
    words: Counter[str]
    described: Mapping[str, Any]  # of the document


@dataclass(frozen=True, kw_only=True)
class Operations:
    """The operations by id, and what is needed to find one by words."""

    by_id: Mapping[str, Operation]
    of_people: Mapping[str, Operation]  # what has authority: found by words, and never sent
    weights: Mapping[str, float]
    document: Mapping[str, Any]

    def score(self, operation: Operation, words: Collection[str]) -> float:
        """Return how well the operation matches the words: rare ones count most."""
        return sum(self.weights.get(word, 0) * min(operation.words[word], MAX_COUNT) for word in words)


_INDEXES: WeakKeyDictionary[FastAPI, Operations] = WeakKeyDictionary()


def operations_of(app: FastAPI) -> Operations:
    """Return the operations that tools may send: with a scope, an answer of JSON, and without authority."""
    index = _INDEXES.get(app)
    if index is None:
        document = app.openapi()
        every = list(_list_operations(document))
        seen = Counter(word for each in every for word in each.words)
        index = _INDEXES[app] = Operations(
            by_id={each.id: each for each in every if each.effect is not Effect.AUTHORITY},
            of_people={each.id: each for each in every if each.effect is Effect.AUTHORITY},
            weights={word: log(1 + len(every) / count) for word, count in seen.items()},
            document=document,
        )
    return index


def _list_operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    for path, item in document["paths"].items():
        for method, each in item.items():
            answers = (each["responses"].get(code, {}).get("content", {}) for code in ("200", "201", "202"))
            kinds = {kind for answer in answers for kind in answer}
            if "x-scope" not in each or HIDDEN_TAGS & set(each["tags"]) or not kinds & {JSON, NDJSON}:
                continue
            text = " ".join((each["operationId"], path, each["summary"], each["summary"], *each["tags"]))
            yield Operation(
                id=each["operationId"],
                method=method.upper(),
                path=path,
                summary=each["summary"],
                scope=each["x-scope"],
                effect=Effect(each["x-effect"]),
                is_text=JSON not in kinds,
                words=Counter(_words(text)),
                described=each,
            )


def _words(text: str) -> list[str]:
    """Return the words in one form: `aliases`, `alias's` and `alias` are one."""
    found = (each for each in _WORD.findall(text.lower().replace("_", " ")) if each not in _OF_EVERY)
    return [
        each[:-2] if each.endswith("es") and len(each) > _SHORT else each.rstrip("s") or each for each in found
    ]


class SearchOperations(Arguments):
    """Words to look for, or the id of one operation."""

    words: Annotated[str | None, Field(max_length=200)] = None
    operation_id: Annotated[str | None, Field(description="Describe this one: parameters and body.")] = None


@tool(
    "Search operations",
    Toolset.API,
    shows=show(
        operations=added("array", *("id", "summary", "effect", "scope", "takes")),
        parameters=added("array"),
        body=added("object"),
    ),
)
async def search_operations(api: Calls, asked: SearchOperations) -> Result:
    """Find operations of the API by words, each with one sentence; or describe one: parameters and body."""
    index = operations_of(api.app)
    if asked.operation_id is not None:
        one = _find(api, asked.operation_id)
        parameters = [
            {name: each[name] for name in ("name", "in", "required")} | {"schema": compact(each["schema"])}
            for each in (_resolve(index, part) for part in one.described.get("parameters", ()))
            if each["in"] in {"path", "query"}
        ]
        return {"operations": [vars(one)], "parameters": parameters, "body": _body(index, one)}
    words = set(_words(asked.words or ""))
    every = [*index.by_id.values(), *index.of_people.values()]
    best = sorted(every, key=lambda each: (-index.score(each, words), each.id))
    found = [each for each in best[:MAX_FOUND] if index.score(each, words)]
    shown = [
        vars(each) | ({"takes": _takes(index, each)} if at < MAX_TAKEN and each.id in index.by_id else {})
        for at, each in enumerate(found)
    ]
    is_of_people = any(each.id in index.of_people for each in found)
    return {"operations": shown, "next_actions": [_ask_person(api)] if is_of_people else []}


def _ask_person(api: Calls) -> NextAction:
    return NextAction(
        "What has the effect `authority` only a person does, signed in here.", url=f"{api.url}/console"
    )


def _find(api: Calls, operation_id: str) -> Operation:
    index = operations_of(api.app)
    found = index.by_id.get(operation_id)
    if operation_id in index.of_people:
        reason = f"No mandate allows this: {index.of_people[operation_id].summary}"
        raise Refused("person_required", reason, _ask_person(api))
    if found is None:
        search = NextAction(
            "Look for the operation; sign-in and what only a person decides have none.", "search_operations"
        )
        raise Refused("operation_unknown", "No tool can send an operation with this id.", search)
    return found


def _body(index: Operations, operation: Operation) -> dict[str, Any] | None:
    content = operation.described.get("requestBody", {}).get("content", {})
    schema: dict[str, Any] | None = (
        compact(_inline(index, content[JSON]["schema"], MAX_DEPTH)) if JSON in content else None
    )
    return schema


def _takes(index: Operations, operation: Operation) -> str:
    """Return the names of the parameters and of the members of the body; `*` marks those that are required."""
    parameters = [_resolve(index, each) for each in operation.described.get("parameters", ())]
    parts = {
        place: ", ".join(f"{each['name']}{'*' * each['required']}" for each in parameters if each["in"] == place)
        for place in ("path", "query")
    }
    content = operation.described.get("requestBody", {}).get("content", {})
    body = _members(index, content[JSON]["schema"], TAKES_DEPTH) if JSON in content else ""
    named = {"path": parts["path"], "body": body, "query": parts["query"]}
    return as_data("; ".join(f"{place} {each}" for place, each in named.items() if each), longest=MAX_TAKES)


def _members(index: Operations, schema: Any, depth: int) -> str:  # a JSON schema
    found = variant_of(index.document, schema)
    if "items" in found:
        return _members(index, found["items"], depth)
    if not depth or found.get("properties", {}).keys() <= _OF_MONEY:
        return ""
    shown = []
    for name, each in found["properties"].items():
        inner = _members(index, each, depth - 1)
        required = "*" if name in found.get("required", ()) else ""
        shown.append(f"{name}{required}({inner})" if inner else f"{name}{required}")
    return ", ".join(shown)


def _resolve(index: Operations, part: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in part:
        *_, kind, name = part["$ref"].split("/")
        part = {**index.document["components"][kind][name], **{k: v for k, v in part.items() if k != "$ref"}}
    return part


def _inline(index: Operations, part: Any, depth: int) -> Any:  # a JSON schema or a part of it
    """Return the schema with what it refers to, and without examples."""
    if isinstance(part, list):
        return [_inline(index, each, depth) for each in part]
    if not isinstance(part, Mapping):
        return part
    if "$ref" in part and not depth:
        return {}
    found = _resolve(index, part)
    left = depth - ("$ref" in part)
    return {name: _inline(index, each, left) for name, each in found.items() if name != "examples"}


Values = Annotated[dict[str, str | int | bool | list[str]] | None, Field(description="By name.")]


class ReadOperation(Arguments):
    """What to read."""

    operation_id: str
    path: Annotated[dict[str, str] | None, Field(description="Parameters of the path by name.")] = None
    query: Values = None
    only: Annotated[list[str] | None, Field(description="Members of the answer, or of its items, to show.")] = None
    position: Annotated[int, Field(ge=0, le=10**12, description="Of a text: where to read on.")] = 0


@tool("Read with an operation", Toolset.API, shows=ANSWER)
async def read_operation(api: Calls, asked: ReadOperation) -> Result:
    """Send an operation that reads. Find it with search_operations; `only` keeps the answer short.

    A text, such as the content of an export, is read in parts: follow `next_actions`.
    """
    operation = _find(api, asked.operation_id)
    if operation.effect is not Effect.READ:
        other = NextAction("Send it with the tool that changes.", "write_operation")
        raise Refused("operation_writes", "This operation does not only read.", other)
    if operation.is_text:
        return await _read_text(api, operation, asked)
    if asked.position:
        raise refuse_arguments("Only a text is read from a position.")
    answer = await api.send(operation.method, operation.path, path=asked.path, query=asked.query)
    return _show(answer.status, answer.body, asked.only)


async def _read_text(api: Calls, operation: Operation, asked: ReadOperation) -> Result:
    """Return a part of a text in ASCII: whole lines, unless one is longer."""
    wanted = {"range": f"bytes={asked.position}-{asked.position + MAX_PART - 1}"}
    answer = await api.send(operation.method, operation.path, path=asked.path, query=asked.query, headers=wanted)
    text, size = answer.body, int(answer.headers[b"content-range"].rpartition(b"/")[2])
    if asked.position + len(text) < size:
        text = text[: text.rfind("\n") + 1] or text
    end = asked.position + len(text)
    again = {**asked.model_dump(exclude_defaults=True), "position": end}
    more = [NextAction(f"{size - end} of {size} characters are left.", "read_operation", again)]
    data = as_data(text, longest=MAX_PART)
    return {"status": answer.status, "untrusted_data": data, "next_actions": more if end < size else []}


class WriteOperation(Arguments):
    """What to change."""

    operation_id: str
    path: Annotated[dict[str, str] | None, Field(description="Parameters of the path by name.")] = None
    query: Values = None
    body: dict[str, Any] | None = None
    if_match: Annotated[str | None, Field(description="The version that it changes.")] = None
    only: list[str] | None = None
    attempt: Attempt = 1


@tool("Change with an operation", Toolset.API, shows=ANSWER, effect=Effect.WRITE)
async def write_operation(api: Calls, asked: WriteOperation) -> Result:
    """Send an operation that proposes or changes something, within the mandate. Find it with search_operations."""
    operation = _find(api, asked.operation_id)
    if operation.effect is Effect.READ:
        other = NextAction("Send it with the tool that reads.", "read_operation")
        raise Refused("operation_reads", "This operation only reads.", other)
    answer = await api.send(
        operation.method,
        operation.path,
        path=asked.path,
        query=asked.query,
        body=asked.body,
        headers=None if asked.if_match is None else {"if-match": asked.if_match},
    )
    return _show(answer.status, answer.body, asked.only)


def _show(status: int, body: Any, only: Sequence[str] | None) -> Result:  # JSON
    if only is not None and isinstance(body, dict):
        listed = next((name for name, value in body.items() if isinstance(value, list)), None)
        kept = {name: each for name, each in body.items() if name in {*only, "next_cursor"}}
        if listed is not None and not kept.keys() & set(only):
            rows = [
                {name: row.get(name) for name in only} if isinstance(row, dict) else row for row in body[listed]
            ]
            kept[listed] = rows
        body = kept
    data = visible(body)
    if len(json.dumps(data)) > MAX_ANSWER:
        shorter = NextAction("Send `only` with the members that you need, or a `limit`.")
        raise Refused("answer_too_large", f"The answer has over {MAX_ANSWER} characters.", shorter)
    return {"status": status, "untrusted_data": data}
