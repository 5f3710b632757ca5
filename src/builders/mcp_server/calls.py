"""Requests of a tool to the API, within the process, as the caller of its message."""

import hashlib
import json
import re
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel
from starlette.types import Scope

from builders.kit.callers import Caller
from builders.kit.effects import Effect
from builders.kit.errors import Problem
from builders.kit.http import internal_calls
from builders.kit.http.callers import ScopeRequirement
from builders.kit.http.compiled_routes import CompiledRoute
from builders.kit.http.deadline import unless_disconnected
from builders.kit.http.idempotency import HEADER as IDEMPOTENCY_KEY
from builders.kit.http.internal_calls import Answer
from builders.kit.http.media_types import JSON
from builders.kit.http.path_table import PathTable
from builders.kit.mandates import MandateExceeded, Toolset, toolset_of
from builders.mcp_server.endpoint import Exchange

MAX_ERRORS = 10  # of one refusal
_OTHERWISE = "Read the reason; the same call is refused again."
_PASSED_ON = ("scope", "toolset", "review_url", "plan_id", "retry_after", "exists_in_mode", "did_you_mean")
T = TypeVar("T")
Result = Mapping[str, Any]  # of a tool: JSON of the API with what the tool adds; a selection of it is shown


class NextAction(NamedTuple):
    """What to do next: a tool with arguments, or something that a person does."""

    why: str
    tool: str | None = None
    arguments: Mapping[str, Any] = {}
    url: str | None = None  # for a person

    def shown(self) -> dict[str, Any]:
        """Return the members that it has."""
        return {name: value for name, value in self._asdict().items() if value}


class Link(NamedTuple):
    """A page or a resource that a result is about."""

    uri: str
    name: str
    media_type: str


class Refused(Exception):
    """The tool does not do what it was asked for: a result with code, reason and next actions."""

    def __init__(self, code: str, reason: str, action: NextAction, **members: Any) -> None:  # JSON values
        super().__init__(reason)
        self.code, self.reason, self.action, self.members = code, reason, action, members

    def find_missing_scope(self, caller: Caller) -> str | None:
        """Return the toolset that the token of a connection lacks; None for another reason or a key."""
        found: str | None = self.members.get("toolset") or toolset_of(self.members.get("scope", ""))
        mandate = caller.mandate if caller.method == "oauth" else None
        return found if mandate is not None and found not in mandate.toolsets else None

    def shown(self) -> dict[str, Any]:
        """Return the refusal as JSON."""
        return {"code": self.code, "reason": self.reason, **self.members, "next_actions": [self.action.shown()]}


def refuse_arguments(reason: str, **members: Any) -> Refused:  # JSON values
    """Return the refusal of arguments: a misspelt or missing one is corrected by the agent itself."""
    return Refused(
        "arguments_invalid", reason, NextAction("Correct the arguments and call the tool again."), **members
    )


class Calls:
    """The API for one call of a tool."""

    def __init__(self, exchange: Exchange, *, tool: str, arguments: Mapping[str, Any]) -> None:
        self._exchange = exchange
        self._table: PathTable[CompiledRoute] = exchange.app.state.table
        self._asked = [tool, arguments]
        self.app = exchange.app
        self.caller: Caller = exchange.caller
        self.url: str = exchange.app.state.settings.url
        self.links: list[Link] = []
        self.is_replayed = False  # whether the API repeated the answer to an earlier call

    async def get(self, path: str, /, **query: Any) -> Any:  # the JSON of the answer
        """Read a path. Raise Refused."""
        return (await self.send("GET", path, query=query)).body

    async def read(self, path: str, asked: BaseModel, /, **changed: Any) -> Result:
        """Read a path with the arguments of the tool as parameters, but for what is changed. Raise Refused."""
        found: Result = await self.get(path, **asked.model_dump() | changed)
        return found

    async def unless_disconnected(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work that waits, and end it when the client disconnects (ClientDisconnect)."""
        return await unless_disconnected(self._exchange.request, work)

    async def send(
        self,
        method: str,
        template: str,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request to a path with these parameters. Raise Refused for what is not a success."""
        endpoint, names = self._table.find(template)[0][method]
        filled = "/".join(_fill(each, path or {}) for each in template.split("/"))
        content = b"" if body is None else json.dumps(body).encode()
        sent = {"accept": JSON, **(headers or {}), **self._headers(endpoint, method, filled, body)}
        scope: Scope = {
            **self._exchange.scope,
            "method": method,
            "path": filled,
            "raw_path": quote(filled).encode(),
            "query_string": _encode(query or {}),
            "headers": [
                *self._exchange.scope["headers"],
                *((name.encode(), value.encode()) for name, value in sent.items()),
            ],
            "path_params": {name: (path or {})[name] for name in names},
        }
        answer = await internal_calls.call(endpoint, scope, content, after=self._exchange.receive)
        if not answer.is_ok:
            raise refusal_of(answer)
        self.is_replayed |= b"idempotent-replayed" in answer.headers
        return answer

    def _headers(self, endpoint: CompiledRoute, method: str, path: str, body: Any) -> dict[str, str]:
        headers = {} if body is None else {"content-type": JSON}
        if endpoint.repeatable:
            asked = [str(self.caller.key_id), *self._asked, method, path]
            digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
            headers[IDEMPOTENCY_KEY.lower()] = f"mcp-{digest}"
        return headers

    def require(self, toolset: Toolset, effect: Effect) -> None:
        """Raise Refused unless the mandate has a toolset, and allows what changes something."""
        if self.caller.mandate is not None:
            try:
                self.caller.mandate.require(effect, toolset=toolset, checks_target=True)
            except MandateExceeded as refusal:
                raise refusal_of_problem(refusal) from None

    def allows(self, *uses: tuple[str, str]) -> bool:
        """Return whether the caller may send one of these operations, as far as that needs no request."""
        return any(self._allows(self._table.find(path)[0][method][0].needs) for method, path in uses)

    def _allows(self, needs: ScopeRequirement | None) -> bool:
        try:
            if needs is not None:
                needs.require_allowed(self.caller)
        except Problem:
            return False
        return True


def refusal_of(answer: Answer) -> Refused:
    """Return the refusal of the API with what a program can do about it."""
    body: Mapping[str, Any] = answer.body if isinstance(answer.body, dict) else {}
    action = NextAction(body.get("next_action") or _OTHERWISE, url=body.get("review_url"))
    if isinstance(body.get("detail"), list):
        errors = [
            {"member": ".".join(map(str, each["loc"][1:])), "reason": each["msg"], "code": each["type"]}
            for each in body["detail"][:MAX_ERRORS]
        ]
        return Refused("invalid", "The API refused the arguments.", action, status=answer.status, errors=errors)
    members = {name: body[name] for name in _PASSED_ON if body.get(name) is not None}
    members |= {"kind": body["reason"]} if "reason" in body else {}
    code, reason = str(body.get("code", "request_failed")), str(body.get("detail", "The API refused it."))
    return Refused(code, reason, action, status=answer.status, **members)


def refusal_of_problem(problem: Problem) -> Refused:
    """Return the refusal of a check that a tool makes itself."""
    return refusal_of(Answer(problem.status, json.loads(bytes(problem.response().body))))


def named(text: str) -> str:
    """Return a text as a key of a manifest."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _fill(segment: str, values: Mapping[str, str]) -> str:
    if not segment.startswith("{"):
        return segment
    value = values.get(segment[1:-1], "")
    if not value or "/" in value or value in {".", ".."}:
        raise refuse_arguments(f"The operation needs a value of {segment} in `path`.")
    return value


def _encode(query: Mapping[str, Any]) -> bytes:
    shown = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
    return urlencode(shown, doseq=True).encode()
