"""Errors of the API: a class for each, with its status and code; RFC 9457 bodies for all but 422.

422 keeps the shape of FastAPI's HTTPValidationError, also for rules beyond the schema, with additional members.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar
from urllib.parse import quote
from uuid import UUID

from starlette.responses import Response
from structlog.contextvars import get_contextvars

PROBLEM_JSON = "application/problem+json"
MAX_NAME_LENGTH = 80  # characters of a member's name in an error
MAX_LOC_PARTS = 16  # parts of a `loc`; no valid body is nested as deeply
CODES_KEY = "x-codes"  # key of a response in `responses`; docs/document.py writes an example for each code
MAX_ERRORS = 100  # in one 422; a hostile body can cause a hundred thousand
NOT_JSON = "json_invalid"  # the type of the error of text that is no JSON; its `loc` ends with a position
UNKNOWN_FIELD = "unknown_field"  # ... of a member of the body that the operation does not have
MEMBER_REPEATED = "member_repeated"  # ... of a member that is there twice, or by two names
MIXED_CODE = "validation_failed"  # the code of a 422 whose errors are of several types
_OBJECT, _DATE = "Input should be a JSON object.", "Input should be a date, such as 2027-12-31."
_TIME = "Input should be a time with its zone, such as 2027-12-31T23:59:59Z."
# The messages that name the expected form, instead of pydantic's own.
EXPECTED: Mapping[str, str] = {
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _OBJECT),
    "list_type": "Input should be a JSON array.",
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"), _DATE
    ),
    **dict.fromkeys(("bool_type", "bool_parsing"), "Input should be true or false."),
    **dict.fromkeys(("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "timezone_aware"), _TIME),
}
CURRENCY_PATTERN = "^([A-Z]{3}|USD[CT])$"  # a code of ISO 4217 in its form, or a stablecoin
_CODE_PATTERNS = {CURRENCY_PATTERN, "^[A-Z]{3}$"}
_CODE = "Input should be a currency code in capital letters, such as USD."
_LONGEST_NAME = 320  # characters of a name that a list is searched for
_NAMED = 3  # errors that the `next_action` of a 422 names


class Problem(Exception):
    """The request was refused.

    A subclass sets `status` and `code` (stable, snake_case, never reused); the first line of its docstring
    is the title. Keyword arguments become members of the body (RFC 9457, 3.2).
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    # The default of `next_action`. Each documented problem has one.
    remedy: ClassVar[str | None] = None
    # The default of `detail`; None: the title.
    default_detail: ClassVar[str | None] = None
    # The kind of the caller is refused: the request counts only on the limit of its own key or session.
    is_of_kind: ClassVar[bool] = False
    # The audit list of the caller's real account gets an entry about the refusal, as with `audited_for`.
    audits_caller: ClassVar[bool] = False
    # Of a 404 for an id: the path prefix of `GET /{id}`; see kit/http/error_pages.py.
    collection: ClassVar[str | None] = None
    # Of such a 404: the query parameter of the list at that path that finds a resource by its name.
    search: ClassVar[str | None] = None

    def __init__(
        self,
        detail: str | None = None,
        *,
        next_action: str | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        audited_for: UUID | None = None,  # the account whose audit list gets an entry about the refusal
        **members: Any,  # JSON values
    ) -> None:
        self.detail = (self.default_detail or f"{self.title()}.") if detail is None else detail
        super().__init__(self.detail)
        self.headers = dict(headers or {})
        self.members = members
        self.audited_for = audited_for
        if next_action or self.remedy:
            self.members["next_action"] = next_action or self.remedy
        if retry_after is not None:
            self.members["retry_after"] = retry_after
            self.headers["Retry-After"] = str(retry_after)

    @classmethod
    def for_malformed(cls, text: str) -> Self:
        """Return the 404 for a text that is no id; it says how to find the id by a name."""
        if cls.collection is None or cls.search is None or len(text) > _LONGEST_NAME:
            return cls()
        return cls(next_action=f"Send the `id`. Find it: GET {cls.collection}?{cls.search}={quote(text)}")

    @classmethod
    def title(cls) -> str:
        """Return the title, the same for each occurrence (RFC 9457, 3.1.3)."""
        return (cls.__doc__ or cls.__name__).splitlines()[0].rstrip(".")

    @classmethod
    def type_uri(cls) -> str:
        """Return the identifier of the problem type (RFC 9457, 3.1.1)."""
        return f"urn:builders:problem:{cls.code}"

    def response(self) -> Response:
        """Return the problem+json response."""
        body = {
            "type": self.type_uri(),
            "title": self.title(),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "request_id": get_contextvars().get("request_id"),
            **self.members,
        }
        return Response(json.dumps(body, separators=(",", ":")), self.status, self.headers, PROBLEM_JSON)


class InternalError(Problem):
    """An internal error occurred."""

    status, code = 500, "internal_error"


class NotFound(Problem):
    """Not found."""

    status, code = 404, "not_found"
    remedy = "See /docs or /openapi.json."


class MethodNotAllowed(Problem):
    """The path does not support this method."""

    status, code = 405, "method_not_allowed"
    remedy = "Use one of the methods in the header Allow; see /docs."


class BodyTooLarge(Problem):
    """The request body is too large."""

    status, code = 413, "body_too_large"
    remedy = "Send it in parts."


class HeadTooLarge(Problem):
    """The request line and headers are too large."""

    status, code = 431, "head_too_large"


class BodyStalled(Problem):
    """The request body did not arrive in time."""

    status, code = 408, "body_stalled"


class BadRequest(Problem):
    """The request could not be read."""

    status, code = 400, "bad_request"
    remedy = "Correct the request as `detail` says. An HTTP library sends well-formed requests."


class TokenInvalid(Problem):
    """The token is unknown, used or expired."""

    status, code = 400, "token_invalid"
    remedy = "Copy the whole link from the message, or request a new one."


class RotationInProgress(Problem):
    """The previous rotation of the key or secret has not ended."""

    status, code = 409, "rotation_in_progress"
    remedy = "Use the new key or secret of the previous rotation, or wait for its end."


class DatabaseUnavailable(Problem):
    """The database is unavailable."""

    status, code = 503, "database_unavailable"
    remedy = "Repeat the request after the seconds of Retry-After; a POST with the same Idempotency-Key."


class DatabaseBusy(Problem):
    """The database is too busy."""

    status, code = 503, "database_busy"
    remedy = "Repeat the request after the seconds of Retry-After; a POST with the same Idempotency-Key."


class RequestTimeout(Problem):
    """The request took too long."""

    status, code = 503, "request_timeout"
    remedy = "Repeat the request after the seconds of Retry-After; a POST with the same Idempotency-Key."


class Invalid(Exception):
    """One or more values of the request break a rule: 422, with `loc` pointing at each."""

    def __init__(self, loc: Sequence[str | int], msg: str, kind: str) -> None:
        super().__init__(msg)
        self.errors: list[dict[str, Any]] = [{"loc": list(loc), "msg": msg, "type": kind}]

    @classmethod
    def many(cls, errors: Sequence[Mapping[str, Any]]) -> "Invalid":
        """Return the exception for pydantic's errors, at most MAX_ERRORS of them.

        The input is omitted, because it may contain a secret. Of additional members only `did_you_mean` remains.
        """
        invalid = cls((), "The request is not valid.", "value_error")
        invalid.errors = []
        for error in errors[:MAX_ERRORS]:
            context = error.get("ctx", {})
            expected = (
                _CODE if context.get("pattern") in _CODE_PATTERNS else EXPECTED.get(error["type"], error["msg"])
            )
            line = {"loc": _shown_loc(error["loc"]), "msg": expected, "type": error["type"]}
            # Which a pydantic validator puts into the context of its error.
            meant = error.get("did_you_mean", context.get("did_you_mean"))
            invalid.errors.append(line if meant is None else {**line, "did_you_mean": meant})
        return invalid

    @property
    def code(self) -> str:
        """Return the type of the errors; `validation_failed` when they differ."""
        kinds = {error["type"] for error in self.errors}
        return kinds.pop() if len(kinds) == 1 else MIXED_CODE

    @property
    def next_action(self) -> str:
        """Return what to change: the locations of the first errors."""
        named = ", ".join(map(_place, self.errors[:_NAMED]))
        return f"Correct {named} as `detail` says, and send the request again."

    def response(self) -> Response:
        """Return the HTTPValidationError response with `code`, `request_id` and `next_action`."""
        own = {
            "code": self.code,
            "request_id": get_contextvars().get("request_id"),
            "next_action": self.next_action,
        }
        return Response(json.dumps({"detail": self.errors, **own}), 422, None, "application/json")


def _place(error: Mapping[str, Any]) -> str:
    """Return the `loc` of an error as a path: `body.items.3.name`; in text that is no JSON, the character."""
    loc = error["loc"]
    if error["type"] == NOT_JSON and len(loc) > 1:
        return f"the JSON of the body at character {loc[1]}"
    meant = f" (did you mean {error['did_you_mean']}?)" if "did_you_mean" in error else ""
    return (".".join(map(str, loc)) or "the request") + meant


def _shown_loc(loc: Sequence[str | int]) -> list[str | int]:
    """Return a `loc`, shortened: a hostile body can be nested deeply, and an unknown name can be as long as it."""
    if len(loc) > MAX_LOC_PARTS:
        loc = (*loc[: MAX_LOC_PARTS // 2], "...", *loc[-MAX_LOC_PARTS // 2 + 1 :])
    is_long = [isinstance(each, str) and len(each) > MAX_NAME_LENGTH for each in loc]
    return [f"{str(each)[:MAX_NAME_LENGTH]}..." if long else each for each, long in zip(loc, is_long, strict=True)]


def problems(*refusals: type[Problem]) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route for these problems, for the OpenAPI document."""
    by_status: dict[int | str, list[type[Problem]]] = {}
    for refusal in refusals:
        by_status.setdefault(refusal.status, []).append(refusal)
    return {
        status: {
            "description": "; ".join(f"`{each.code}`: {each.title()}" for each in each_status),
            "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            CODES_KEY: [each.code for each in each_status],
        }
        for status, each_status in by_status.items()
    }


# The refusals of every operation that uses the database.
DATABASE_REFUSALS = (DatabaseUnavailable, DatabaseBusy, RequestTimeout)

# The 422 of routes whose validation FastAPI does not see.
INVALID: Mapping[int | str, dict[str, Any]] = {
    422: {
        "description": "Validation Error",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HTTPValidationError"}}},
    }
}


def list_problem_types(root: type[Problem] = Problem) -> Iterator[type[Problem]]:
    """Yield every problem type that the imported packages declare, without those of tests."""
    for each in root.__subclasses__():
        if each.__module__.startswith("builders."):
            yield each
        yield from list_problem_types(each)


Responses = Mapping[int | str, Mapping[str, Any]]  # OpenAPI's form
T = TypeVar("T", bound=Callable[..., Any])


class Declared(NamedTuple):
    """The responses that a dependency adds."""

    refusals: tuple[type[Problem], ...] = ()
    responses: Responses = MappingProxyType({})  # other than refusals


_declared: dict[Callable[..., Any], Declared] = {}


def refuses(*refusals: type[Problem], responses: Responses = MappingProxyType({})) -> Callable[[T], T]:
    """Declare the refusals of a dependency, and other responses of the routes that use it."""

    def declare(dependency: T) -> T:
        _declared[dependency] = Declared(refusals, responses)
        return dependency

    return declare


def declared_by(dependency: Callable[..., Any]) -> Declared:
    """Return the responses that a dependency adds."""
    return _declared.get(dependency, Declared())


@dataclass(frozen=True, slots=True)
class Refuses:
    """Mark a parameter whose value can cause a refusal: `Annotated[str, Path(...), Refuses(DomainNotFound)]`."""

    refusal: type[Problem]


def join(first: Responses, second: Responses) -> dict[int | str, dict[str, Any]]:
    """Return the responses of both; where both have a status, the descriptions and codes of both."""
    joined = {status: dict(each) for status, each in (*first.items(), *second.items())}
    for status in first.keys() & second.keys():
        both = (first[status], second[status])
        joined[status] = {name: each for name, each in both[0].items() if name != "content"} | dict(both[1])
        if all("description" in each for each in both):
            joined[status]["description"] = "; ".join(each["description"] for each in both)
        codes = [code for each in both for code in each.get(CODES_KEY, ())]
        if codes:
            joined[status][CODES_KEY] = codes
    return joined


def join_refusals(
    refusals: Iterable[type[Problem]], responses: Responses, *, last: Iterable[type[Problem]] = ()
) -> dict[int | str, dict[str, Any]]:
    """Return the responses between those of the refusals before and after them, each of which is listed once."""
    listed = {code for each in responses.values() for code in each.get(CODES_KEY, ())}
    first, after = (
        problems(*dict.fromkeys(each for each in some if each.code not in listed)) for some in (refusals, last)
    )
    return join(join(first, responses), after)
