"""Refusals: a class for each, which knows its status and its code; RFC 9457 bodies for all but 422.

422 keeps the shape that FastAPI calls HTTPValidationError, also for rules beyond the schema, with members added.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from starlette.responses import Response
from structlog.contextvars import get_contextvars

PROBLEM_JSON = "application/problem+json"
MAX_NAME_LENGTH = 80  # characters of a member's name that are shown
MAX_LOC_PARTS = 16  # parts of a place that are shown; no body of ours has as many
CODES_KEY = "x-codes"  # of a response in `responses`; kit/http/openapi.py makes examples of them
MAX_ERRORS = 100  # of one 422; a hostile body can hold a hundred thousand
MIXED_CODE = "validation_failed"  # the code of a 422 whose errors are of several types
_NAMED = 3  # places that the next action of a 422 names


class Problem(Exception):
    """The request was refused.

    A subclass sets `status` and `code` (stable, snake_case, never reused); the first line of its docstring
    is the title. Keyword arguments become members of the body (RFC 9457, 3.2).
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    # What to do about it, where a refusal itself says nothing else. Each 404, 405 and 410 has one.
    remedy: ClassVar[str | None] = None
    # What it says where the raiser says nothing; None: its title.
    default_detail: ClassVar[str | None] = None
    # Of a 404 for an id: the path below which `GET /{id}` reads one; see kit/http/mode_hints.py.
    collection: ClassVar[str | None] = None

    def __init__(
        self,
        detail: str | None = None,
        *,
        next_action: str | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        **members: Any,  # JSON values of the refusal's own making
    ) -> None:
        self.detail = (self.default_detail or f"{self.title()}.") if detail is None else detail
        super().__init__(self.detail)
        self.headers = dict(headers or {})
        self.members = members
        if next_action or self.remedy:
            self.members["next_action"] = next_action or self.remedy
        if retry_after is not None:
            self.members["retry_after"] = retry_after
            self.headers["Retry-After"] = str(retry_after)

    @classmethod
    def title(cls) -> str:
        """The refusal in a few words, the same for each occurrence."""
        return (cls.__doc__ or cls.__name__).splitlines()[0].rstrip(".")

    @classmethod
    def type_uri(cls) -> str:
        """Return the identifier of the kind of refusal (RFC 9457, 3.1.1)."""
        return f"urn:builders:problem:{cls.code}"

    def response(self) -> Response:
        """The problem+json answer (seconds in `retry_after`)."""
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
    """Something went wrong on our side."""

    status, code = 500, "internal_error"


class NotFound(Problem):
    """Nothing is here."""

    status, code = 404, "not_found"
    remedy = "Look for it at /docs, or in /openapi.json."


class MethodNotAllowed(Problem):
    """This path has other methods."""

    status, code = 405, "method_not_allowed"
    remedy = "Use one of the methods in the header Allow; /docs shows what each does."


class BodyTooLarge(Problem):
    """The request body is too large."""

    status, code = 413, "body_too_large"


class HeadTooLarge(Problem):
    """The head of the request is too large."""

    status, code = 431, "head_too_large"


class BodyStalled(Problem):
    """The request body did not arrive in time."""

    status, code = 408, "body_stalled"


class BadRequest(Problem):
    """The request could not be read."""

    status, code = 400, "bad_request"


class TokenInvalid(Problem):
    """The token is unknown, used or expired."""

    status, code = 400, "token_invalid"


class DatabaseUnavailable(Problem):
    """The database is away."""

    status, code = 503, "database_away"


class DatabaseBusy(Problem):
    """The database is too busy."""

    status, code = 503, "database_busy"


class RequestTimeout(Problem):
    """The request took too long."""

    status, code = 503, "request_timeout"


class Invalid(Exception):
    """One or more values of the request break a rule: 422, with `loc` pointing at each."""

    def __init__(self, loc: Sequence[str | int], msg: str, kind: str = "value_error") -> None:
        super().__init__(msg)
        self.errors: list[dict[str, Any]] = [{"loc": list(loc), "msg": msg, "type": kind}]

    @classmethod
    def many(cls, errors: Sequence[Mapping[str, Any]]) -> "Invalid":
        """From the first of pydantic's errors; what was sent is not echoed: it may hold a secret.

        Of further members `did_you_mean` alone is shown.
        """
        invalid = cls((), "The request is not valid.")
        invalid.errors = [
            {"loc": _shown_loc(error["loc"]), "msg": error["msg"], "type": error["type"]} | _hint(error)
            for error in errors[:MAX_ERRORS]
        ]
        return invalid

    @property
    def code(self) -> str:
        """The type of the errors when all have the same."""
        kinds = {error["type"] for error in self.errors}
        return kinds.pop() if len(kinds) == 1 else MIXED_CODE

    @property
    def next_action(self) -> str:
        """What to change, by the places of the first errors."""
        named = [
            f"{_place(error['loc'])} (did you mean {error['did_you_mean']}?)"
            if "did_you_mean" in error
            else _place(error["loc"])
            for error in self.errors[:_NAMED]
        ]
        return f"Correct {', '.join(named)} as `detail` says, and send the request again."

    def response(self) -> Response:
        """Return the HTTPValidationError answer, with what every refusal has besides."""
        own = {
            "code": self.code,
            "request_id": get_contextvars().get("request_id"),
            "next_action": self.next_action,
        }
        return Response(json.dumps({"detail": self.errors, **own}), 422, None, "application/json")


def _hint(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return `did_you_mean`, which a validator of pydantic's gives in the context of its error."""
    meant = error.get("did_you_mean", error.get("ctx", {}).get("did_you_mean"))
    return {} if meant is None else {"did_you_mean": meant}


def _place(loc: Sequence[str | int]) -> str:
    """Write a place as a path: `body.items.3.name`."""
    return ".".join(map(str, loc)) or "the request"


def _shown_loc(loc: Sequence[str | int]) -> list[str | int]:
    """Return a place, shortened in the middle: unknown members can be nested deeply, and errors repeat it."""
    if len(loc) > MAX_LOC_PARTS:
        loc = (*loc[: MAX_LOC_PARTS // 2], "...", *loc[-MAX_LOC_PARTS // 2 + 1 :])
    return [_shown(each) for each in loc]


def _shown(name: str | int) -> str | int:
    """A member's name, shortened: an unknown one can be as long as a body."""
    return f"{name[:MAX_NAME_LENGTH]}..." if isinstance(name, str) and len(name) > MAX_NAME_LENGTH else name


def problems(*refusals: type[Problem]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that can be refused so, for the OpenAPI document."""
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


# What may be answered by whatever asks the database.
UNAVAILABLE = problems(DatabaseUnavailable, DatabaseBusy, RequestTimeout)

# The 422, for what FastAPI does not see can be invalid.
INVALID: Mapping[int | str, dict[str, Any]] = {
    422: {
        "description": "Validation Error",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HTTPValidationError"}}},
    }
}


def list_problem_types(root: type[Problem] = Problem) -> Iterator[type[Problem]]:
    """Every refusal that the imported rooms declare."""
    for each in root.__subclasses__():
        yield each
        yield from list_problem_types(each)
