"""Requested restrictions: an unknown name that requests a limit on the effect is refused, not ignored.

A client that sends `dry_run`, `scopes` or `expires_at` to an operation without such a member relies on a limit
that does not exist. A warning would come after the effect. Names are compared in snake case, and the value does
not matter: `dry_run: false` is refused like `dry_run: true`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from itertools import islice
from typing import Any, NamedTuple, get_args

from fastapi import Request
from pydantic import BaseModel
from pydantic_core import from_json

from builders.kit.errors import MAX_ERRORS
from builders.kit.http.bodies import Body
from builders.kit.http.json_bodies import Json
from builders.kit.http.parameters import find_closest, query_parameters

Field = Any  # FastAPI's ModelField, which has no public type
Error = Mapping[str, Any]  # in pydantic's form
Loc = tuple[str | int, ...]

ERROR_TYPE = "restriction_unsupported"
UNKNOWN_PARAMETER, REPEATED_PARAMETER = "parameter_unknown", "parameter_repeated"
_MOST_VALUES = 10_000  # JSON values of one unknown member that are searched
MAX_UNKNOWN = 200  # query parameters
MAX_UNREAD = 16 * 1024  # bytes of the body of an operation that has none
_LONGEST = 80  # characters of a name that are compared
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[^a-z0-9*?]+")


class Restriction(NamedTuple):
    """Names that request one kind of limit; `*` matches any characters."""

    reason: str  # the requested limit, as the message names it
    names: Sequence[str]


RESTRICTIONS: Sequence[Restriction] = (
    Restriction(
        "a dry run or a test",
        (
            *("dry", "dry_run*", "dryrun*", "simulat*", "rehears*", "preview*", "sandbox*", "draft*", "mock*"),
            *("test", "test_*", "testing", "testmode", "noop", "no_op", "what_if", "whatif", "validate_only"),
        ),
    ),
    Restriction(
        "fewer rights",
        ("scope*", "permission*", "privilege*", "restrict*", "read_only*", "readonly*", "least_privilege*"),
    ),
    Restriction(
        "a time limit",
        (
            *("expir*", "ttl", "ttl_*", "*_ttl", "until", "until_*", "*_until", "valid_*", "not_after"),
            *(
                "not_before",
                "lifetime*",
                "since",
                "since_*",
                "before",
                "before_*",
                "*_before",
                "after",
                "after_*",
                "*_after",
            ),
            *("start_date", "starts_at", "end_date", "ends_at", "from_date", "to_date", "schedule*", "send_at"),
            *("delay*", "defer*"),
        ),
    ),
    Restriction(
        "a smaller amount",
        (
            *("limit*", "*_limit", "*_limits", "max", "max_*", "*_max", "maximum*", "min_*", "minimum*"),
            *("cap", "cap_*", "*_cap", "quota*", "*_quota", "at_most*", "up_to*", "page_size", "per_page"),
        ),
    ),
    Restriction(
        "a condition",
        (
            *("if", "if_*", "unless*", "when", "when_*", "condition*", "precondition*", "expect*", "match*"),
            *("etag", "require*", "must_*"),
        ),
    ),
    Restriction(
        "a smaller set",
        (
            *("only", "only_*", "*_only", "exclude*", "excluding*", "except*", "without*", "skip*", "ignore*"),
            *("omit*", "filter*", "*_filter", "where", "allow", "allow_*", "allowed*", "allowlist*", "whitelist*"),
            *("deny*", "denied*", "disallow*", "block", "blocked*", "blocklist*", "blacklist*", "forbid*"),
            *("prevent*", "suppress*", "disable*", "enabled", "pause*", "silent", "quiet", "do_not_*", "dont_*"),
            *("no_charge*", "no_delete*", "no_email*", "no_notif*", "no_send*", "no_write*"),
        ),
    ),
)


# Names of query parameters that ask for a part of a list, and the parameter that a list has instead.
_PAGING: Mapping[str, str] = {
    **dict.fromkeys(("page", "page_number", "page_token", "next_cursor", "next_page", "offset", "skip"), "cursor"),
    **dict.fromkeys(("per_page", "page_size", "page_limit"), "limit"),
}
_NAMES = re.compile(
    "|".join(f"(?P<r{n}>{'|'.join(map(translate, each.names))})" for n, each in enumerate(RESTRICTIONS))
)


def find_restriction(name: str) -> Restriction | None:
    """Return the kind of limit that an unknown name requests; None if it requests none."""
    found = _NAMES.match(_in_snake_case(name))
    return None if found is None or found.lastgroup is None else RESTRICTIONS[int(found.lastgroup[1:])]


def _in_snake_case(name: str) -> str:
    return _BETWEEN.sub("_", _HUMP.sub("_", name[:_LONGEST]).lower()).strip("_")


def _errors(loc: Loc, own: Mapping[str, str]) -> Iterator[Error]:
    """Yield the error of an unknown name that requests a limit; `own` maps names of the body to their messages."""
    name = str(loc[-1])
    restriction = find_restriction(name)
    message = own.get(_in_snake_case(name))
    if message is None and restriction is not None:
        message = (
            f"Requests {restriction.reason}, which is not supported. The request had no effect: omit the member."
        )
    if message is not None:
        yield {"loc": loc, "msg": message, "type": ERROR_TYPE}


def paging_error(name: str, known: Collection[str]) -> Error | None:
    """Return the error of an unknown query parameter that asks for a page, of a list with these parameters."""
    meant = _PAGING.get(_in_snake_case(name))
    if meant is None or "limit" not in known:
        return None
    if "cursor" in known:
        message = (
            "Pages have no numbers: `limit` is the number of items of a page, and `cursor` is `next_cursor` of "
            "the page before. The last page has the `next_cursor` null."
        )
    else:
        meant, message = "limit", "The list is one page: `limit` is the number of its items."
    return {"loc": ("query", name), "msg": message, "type": ERROR_TYPE, "did_you_mean": meant}


def query_errors(names: Collection[str], known: Collection[str]) -> Iterator[Error]:
    """Yield the first errors of the unknown parameters of a query string; `known` are those of the operation."""
    if len(names) > MAX_UNKNOWN:
        message = f"More than {MAX_UNKNOWN} unknown query parameters."
        return iter(({"loc": ("query",), "msg": message, "type": "too_many_parameters"},))
    return islice((error for name in names for error in _query_errors(name, known)), MAX_ERRORS)


def strict_errors(request: Request, known: Collection[str], repeatable: Collection[str]) -> Iterator[Error]:
    """Yield the first errors of query parameters that are unknown, or sent twice and not `repeatable`."""
    return islice(_strict_errors(request, known, repeatable), MAX_ERRORS)


def _strict_errors(request: Request, known: Collection[str], repeatable: Collection[str]) -> Iterator[Error]:
    for name in query_parameters(request):
        if name not in known:
            yield paging_error(name, known) or _unknown_error(name, known)
        elif name not in repeatable and len(request.query_params.getlist(name)) > 1:
            said = "The parameter takes one value: send it once."
            yield {"loc": ("query", name), "msg": said, "type": REPEATED_PARAMETER}


def _unknown_error(name: str, known: Collection[str]) -> Error:
    meant = find_closest(name, known)
    hint = f" Did you mean {meant!r}?" if meant else f" Known: {', '.join(sorted(known)) or 'none'}."
    error = {"loc": ("query", name), "msg": f"Unknown query parameter.{hint}", "type": UNKNOWN_PARAMETER}
    return error | ({"did_you_mean": meant} if meant else {})


def _query_errors(name: str, known: Collection[str]) -> Iterator[Error]:
    paging = paging_error(name, known)
    return _errors(("query", name), {}) if paging is None else iter((paging,))


def body_errors(sent: Iterable[object], shown: Collection[str] = ()) -> list[Error]:
    """Return the first errors of the validated bodies of a request; ignore members that are `shown`."""
    return list(islice((error for body in sent for error in member_errors(body, shown=shown)), MAX_ERRORS))


def reply_members(methods: Collection[str], reply: object) -> Collection[str]:
    """Return the members of a patch that its reply shows: a client may send the whole object back.

    Other methods do not accept a representation of their reply, so such a member there requests a restriction.
    """
    if "PATCH" in methods and isinstance(reply, type) and issubclass(reply, BaseModel):
        return frozenset(reply.model_fields)
    return ()


def member_errors(body: object, loc: Loc = ("body",), *, shown: Collection[str] = ()) -> Iterator[Error]:
    """Yield the errors of the unknown members of a validated body, and of the bodies in it."""
    if isinstance(body, (list, tuple)):
        for at, each in enumerate(body):
            yield from member_errors(each, (*loc, at))
    if not isinstance(body, BaseModel):
        return
    own = body.not_offered if isinstance(body, Body) else {}
    for name, value in (body.model_extra or {}).items():
        if name in shown:
            continue
        found = [*_errors((*loc, name), own)]
        yield from found or _in_value(value, (*loc, name))
    for name, inner in vars(body).items():
        if isinstance(inner, (BaseModel, list, tuple)):
            yield from member_errors(inner, (*loc, name))


def _in_value(value: Json, loc: Loc) -> Iterator[Error]:
    """Yield the errors of names anywhere inside JSON that no model describes."""
    waiting: list[tuple[Loc, Json]] = [(loc, value)]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        at, each = waiting.pop()
        if isinstance(each, Mapping):
            for name, inner in each.items():
                found = [*_errors((*at, name), {})]
                yield from found
                if not found:
                    waiting.append(((*at, name), inner))
        elif isinstance(each, list):
            waiting += [((*at, n), inner) for n, inner in enumerate(each)]


async def unread_body_errors(request: Request) -> Iterable[Error]:
    """Return the errors of a body of an operation that has none; only JSON can request a restriction."""
    length = request.headers.get("content-length", "")
    if length == "0" or not (length or "transfer-encoding" in request.headers):
        return ()
    body = await request.body()
    if len(body) > MAX_UNREAD:
        message = f"The operation has no body, and ignores one of up to {MAX_UNREAD} bytes: omit it."
        return ({"loc": ("body",), "msg": message, "type": "body_unexpected"},)
    try:
        value = from_json(body)
    except ValueError:
        return ()
    return _in_value(value, ("body",))


def may_hold_unknown(field: Field) -> bool:
    """Return whether a body of this declaration can contain a member that no model describes."""
    waiting, seen = [field.field_info.annotation], set[object]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, type) and issubclass(each, BaseModel) and each not in seen:
            if issubclass(each, Body):
                return True
            seen.add(each)
            waiting += [field.annotation for field in each.model_fields.values()]
        waiting += get_args(each)
    return False
