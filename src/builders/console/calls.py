"""Requests of a page to the API, within the process, with the credentials of the page's own request.

So a page needs the same scopes and permissions as a program, counts on the same rate limits, and shows the same
refusals. Nothing else in this package reads or writes data.
"""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from fastapi import Request
from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode
from starlette.types import Scope

from builders.console.spaces import Space
from builders.kit.errors import NotFound
from builders.kit.http import internal_calls
from builders.kit.http.callers import IN_SANDBOX
from builders.kit.http.compiled_routes import CompiledRoute
from builders.kit.http.idempotency import HEADER as IDEMPOTENCY_KEY
from builders.kit.http.internal_calls import Answer
from builders.kit.http.media_types import JSON
from builders.kit.http.path_table import PathTable
from builders.kit.values import ids
from builders.portfolio.team.access import HEADER as ACCOUNT_HEADER

# Headers of the page's request that a call repeats: the session, and what proves the origin of a form.
_PASSED_ON = frozenset((b"cookie", b"host", b"origin", b"sec-fetch-site", b"x-request-id", b"traceparent"))

CSV = "text/csv"
MAX_GROUPS = 2  # of a member in a member of a form


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make: a method, a path with its query, a body."""

    method: str
    target: str  # path and query, percent-encoded
    body: Any = None
    content: bytes | None = None  # a CSV file instead of the body
    key: str | None = None  # the Idempotency-Key
    etag: str | None = None  # the version that the call changes
    after: str | None = None  # the cursor of the rows that follow those of the call


class Api:
    """The API as the person of one request of the console uses it."""

    def __init__(self, request: Request, space: Space) -> None:
        self._request = request
        self.space = space
        self._table: PathTable[CompiledRoute] = request.app.state.table

    async def send(self, call: Call) -> Answer:
        """Send one call; a refusal is an answer too. Raise NotFound in a team for what is the person's own."""
        endpoint, scope = self._prepare(call)
        content = b"" if call.body is None else json.dumps(call.body).encode()
        return await internal_calls.call(endpoint, scope, content if call.content is None else call.content)

    def _prepare(self, call: Call) -> tuple[CompiledRoute, Scope]:
        path, _, query = call.target.partition("?")
        endpoint, names, values = self._find(call.method, path)
        if self.space.owner is not None and not self.is_for_teams(call):
            raise NotFound("A team has no such page.")  # the operation would act in the person's own account
        scope: Scope = {
            **self._request.scope,
            "method": call.method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": list(self._headers(call)),
            "path_params": dict(zip(names, values, strict=True)),
            IN_SANDBOX: self.space.is_test,
        }
        return endpoint, scope

    def _headers(self, call: Call) -> Iterator[tuple[bytes, bytes]]:
        yield from (each for each in self._request.scope["headers"] if each[0] in _PASSED_ON)
        yield b"accept", JSON.encode()
        if call.body is not None or call.content is not None:
            yield b"content-type", (JSON if call.content is None else CSV).encode()
        if call.key is not None and self.is_repeatable(call.method, call.target):
            yield IDEMPOTENCY_KEY.lower().encode(), call.key.encode()
        if call.etag is not None:
            yield b"if-match", call.etag.encode()
        if self.space.owner is not None:
            yield ACCOUNT_HEADER.lower().encode(), self.space.owner.encode()

    def is_for_teams(self, call: Call) -> bool:
        """Return whether a member of a team can make the call."""
        needs = self._find(call.method, call.target)[0].needs
        return needs is not None and needs.permission is not None

    def is_repeatable(self, method: str, target: str) -> bool:
        """Return whether the operation accepts an Idempotency-Key."""
        return self._find(method, target)[0].repeatable

    def properties(self, method: str, path: str) -> Mapping[str, Any]:
        """Return the JSON schema of each member of the operation's body, also of `group.member`."""
        model = self._find(method, path)[0].body_model
        return {} if model is None else _properties(cast("Hashable", model.field_info.annotation), "validation")

    def shown(self, path: str) -> Mapping[str, Any]:
        """Return the JSON schema of each member that GET shows of a path; none if it has no GET."""
        if not self.is_readable(path):
            return {}
        return _properties(cast("Hashable", self._find("GET", path)[0].responses.model), "serialization")

    def is_readable(self, target: str) -> bool:
        """Return whether a path has a GET."""
        return "GET" in self._table.find(target.partition("?")[0])[0]

    def _find(self, method: str, target: str) -> tuple[CompiledRoute, Sequence[str], Sequence[str]]:
        endpoints, values = self._table.find(target.partition("?")[0])
        endpoint, names = endpoints[method]
        return endpoint, names, values


def is_money(schema: Mapping[str, Any]) -> bool:
    """Return whether a member is an amount with its currency, which a form has in one field."""
    return set(schema.get("properties", ())) == {"amount", "currency"}


@lru_cache(maxsize=256)
def _properties(model: Any, mode: JsonSchemaMode) -> Mapping[str, Any]:  # what an annotation holds
    schema = TypeAdapter(model).json_schema(mode=mode)
    definitions = schema.get("$defs", {})

    def resolve(part: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in part:
            part = {
                **definitions[part["$ref"].rpartition("/")[2]],
                **{k: v for k, v in part.items() if k != "$ref"},
            }
        return part

    def alternatives(part: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the schema of the value that is not null, with `nullable`."""
        part = resolve(part)
        several = [resolve(each) for each in part.get("anyOf", ())]
        others = [each for each in several if each.get("type") != "null"]
        if not others:
            return part
        return {**part, **alternatives(others[0]), "nullable": len(others) < len(several)}

    def members(part: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, each in part.get("properties", {}).items():
            found = alternatives(each)
            if "properties" in found and not is_money(found) and prefix.count(".") < MAX_GROUPS:
                yield from members(found, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}", found

    return dict(members(resolve(schema), ""))


def fill(path: str, values: Mapping[str, str]) -> str:
    """Return the path with its parameters filled in.

    Raise NotFound without one of them, and for a value that is not an identifier: it could be another path.
    """
    parts = path.split("/")
    for at, part in enumerate(parts):
        if part.startswith("{"):
            found = ids.find(values.get(part[1:-1], ""))
            if found is None:
                raise NotFound("There is no such page.")
            parts[at] = str(found)
    return "/".join(parts)
