"""Requests as they are sent, and replies as they are read: the part without waiting."""

import json
import os
import platform
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import UnionType
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from builders_client import errors
from builders_client.operation import JSON, Operation
from builders_client.problems import ApiError, ConnectionFailed, NoCredentials, NotModified, ReplyInvalid, TimedOut
from builders_client.retries import Retries, retry_after
from builders_client.transport import Lost, Request, Response
from builders_client.values import File, Model, Upload, plain
from builders_client.version import VERSION

R = TypeVar("R")
Key = str | Callable[[Operation], str | None] | None
AGENT = f"builders-client/{VERSION} python/{platform.python_version()}"
_REPEATABLE = frozenset({"GET", "PUT", "PATCH", "DELETE"})
_NOT_MODIFIED, _REFUSED, _FAILED, _UNKNOWN = 304, 400, 500, 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a client sends with each request."""

    base_url: str
    api_key: Key = field(repr=False)
    live_key: str | None = field(repr=False)
    portfolio: str | None = None
    idempotency_key: str | None = None
    retries: Retries = field(default_factory=Retries)


def options(
    api_key: Key, live_key: str | None, base_url: str | None, portfolio: str | None, retries: Retries | None
) -> Options:
    """Return the options; the environment has the key and the address that are not given. Raise ValueError."""
    address = base_url or os.environ.get("BUILDERS_API_URL", "")
    if not address.startswith(("http://", "https://")):
        raise ValueError(
            "give base_url, or set BUILDERS_API_URL: the address of the service, such as https://api.example"
        )
    return Options(
        base_url=address.rstrip("/").removesuffix("/v1"),
        api_key=api_key or os.environ.get("BUILDERS_API_KEY", "").strip() or None,
        live_key=live_key,
        portfolio=portfolio,
        retries=retries or Retries(),
    )


def is_repeatable(operation: Operation, headers: Mapping[str, str | None]) -> bool:
    """Return whether a second execution has no effect. A repeated conditional change would be refused."""
    return operation.keyed or (operation.method in _REPEATABLE and not headers.get("If-Match"))


def build(
    operation: Operation,
    given: Options,
    *,
    path: Mapping[str, str | int],
    query: Mapping[str, Any],
    headers: Mapping[str, str | None],
    body: Mapping[str, Any] | Upload | None,
) -> Request:
    """Return the request. Raise TypeError if the body lacks a member, NoCredentials without a key."""
    missing = [name for name in operation.required if name not in (body or {})]
    if missing and not isinstance(body, Upload):
        raise TypeError(f"{operation.tag}.{operation.name}() needs {', '.join(missing)}")
    sent = {"User-Agent": AGENT, "Accept": _accept(operation), **_credentials(operation, given)}
    sent |= {name: value for name, value in headers.items() if value is not None}
    if given.portfolio is not None and operation.portfolio:
        sent["X-Portfolio-Account"] = given.portfolio
    if operation.keyed:
        sent["Idempotency-Key"] = given.idempotency_key or str(uuid.uuid4())
    content = None
    if isinstance(body, Upload):
        content, sent["Content-Type"] = body
    elif body is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded" if operation.form else "application/json"
        written = plain(body)
        text = urlencode(written, doseq=True) if operation.form else json.dumps(written, allow_nan=False)
        content = text.encode()
    where = operation.path.format(**{name: _segment(name, value) for name, value in path.items()})
    asked = urlencode([(name, each) for name, value in query.items() for each in _texts(value)])
    return Request(operation.method, f"{given.base_url}{where}{'?' * bool(asked)}{asked}", sent, content)


def _accept(operation: Operation) -> str:
    """Return the documented media types: some operations show a page to whoever takes anything."""
    return ", ".join(dict.fromkeys(each for kinds in operation.replies.values() for each in kinds)) or JSON


def _credentials(operation: Operation, given: Options) -> Mapping[str, str]:
    """Return the header with the key: the live key only where the service refuses a test key."""
    key = given.api_key(operation) if callable(given.api_key) else given.api_key
    if operation.live and given.live_key is not None:
        key = given.live_key
    if operation.public:
        return {}
    if key is None:
        raise NoCredentials(f"{operation.tag}.{operation.name}() needs an API key")
    return {"X-API-Key": key}


def _segment(name: str, value: str | int) -> str:
    """Return a value as one part of a path. Raise ValueError for one that would name another path."""
    if value in {"", ".", ".."}:
        raise ValueError(f"{name} is {value!r}")
    return quote(str(value), safe="")


def _texts(value: Any) -> Sequence[str]:
    """Return the values of a parameter of the query."""
    written = plain(value)
    match written:
        case None:
            return ()
        case bool():
            return ("true" if written else "false",)
        case list():
            return tuple(map(str, written))
    return (str(written),)


def read(outcome: Response | Lost, operation: Operation, reply: Any) -> Any:
    """Return the reply. Raise the error of a refusal, ReplyInvalid, or ConnectionFailed."""
    if isinstance(outcome, Lost):
        raise TimedOut(outcome.reason) if outcome.timed_out else ConnectionFailed(outcome.reason)
    if outcome.status == _NOT_MODIFIED:
        raise NotModified("The resource has not changed.")
    if _REFUSED <= outcome.status < _UNKNOWN:
        raise refusal(outcome)
    kind = outcome.headers.get("content-type", "").partition(";")[0].strip().lower()
    _require_documented(outcome, operation, kind)
    if reply is None or reply is type(None):
        return None
    if reply is File:
        return File(content=outcome.content, content_type=kind, headers=outcome.headers)
    try:
        if isinstance(reply, UnionType):
            from pydantic import TypeAdapter  # noqa: PLC0415 - slow to import, and rarely used

            return TypeAdapter[Any](reply).validate_json(outcome.content)
        found = cast("type[Model]", reply).model_validate_json(outcome.content)
    except ValidationError as error:
        raise ReplyInvalid(str(error)) from error
    found._etag = outcome.headers.get("etag")  # noqa: SLF001 - members of replies have all other names
    return found


def _require_documented(response: Response, operation: Operation, kind: str) -> None:
    """Raise ReplyInvalid unless the document has the status and media type: a proxy can answer, too."""
    kinds = operation.replies.get(response.status)
    if kinds is None and (place := response.headers.get("location")) is not None:
        # Not followed: another host would get the key.
        raise ReplyInvalid(f"The answer {response.status} sends the request on to {place}.")
    if kinds is None:
        raise ReplyInvalid(f"The answer has the status {response.status}, which the document does not have.")
    if kinds and not any(fnmatchcase(kind, each) for each in kinds):
        raise ReplyInvalid(f"The answer has the media type {kind or 'none'} instead of {' or '.join(kinds)}.")


def refusal(response: Response) -> ApiError:
    """Return the error with the class of its code, else of its status."""
    try:
        members = json.loads(response.content)
    except (ValueError, RecursionError):  # a page of a proxy, or hostile
        members = {}
    if not isinstance(members, Mapping):
        members = {}
    kind = errors.BY_CODE.get(str(members.get("code"))) or errors.BY_STATUS.get(response.status)
    if kind is None:
        kind = errors.ServerError if response.status >= _FAILED else ApiError
    return kind(
        status=response.status,
        members=members,
        request_id=response.headers.get("x-request-id"),
        retry_after=retry_after(response),
    )
