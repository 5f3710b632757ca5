"""Strict reading of JSON request bodies (RFC 8259): no NaN, no infinite number, no NUL, no repeated member."""

import codecs
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from jiter import from_json
from pydantic_core import PydanticUndefined

from builders.kit.errors import MEMBER_REPEATED, NOT_JSON, Invalid
from builders.kit.http import forms
from builders.kit.http.media_types import (
    JSON,
    is_json,
    media_type_of,
    read_content_type,
    unsupported,
)

Json = Any  # a value of a JSON text
_REPEATED = "Detected duplicate key"  # the beginning of what jiter says of a repeated member
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")  # how they begin: a ZIP archive, a compound file
SIGNATURES = (*WORKBOOKS, b"%PDF-")  # of files that programs send with any media type

# Numbers that can be larger than a float: only a body that has one is searched. A regular expression would hold
# the interpreter for 20 ms for each MB, and a search for bytes takes a tenth of that.
_DIGITS_AS_ZERO = bytes.maketrans(b"123456789E", b"000000000e")
_LARGE = (b"0e000", b"0e+000", b"0" * 210)  # with two digits of an exponent 210 may be 1e309


async def read_json(request: Request, *, also: Collection[str] = (), raw: Collection[str] = ()) -> Json:
    """Return the JSON of the request; PydanticUndefined without a body.

    `also` names further media types that are read as JSON, or as a form; a body of a `raw` type is returned as
    bytes, and so is a file with one of SIGNATURES, whatever its type says.

    A byte order mark before JSON is ignored, as RFC 8259 (8.1) allows.

    Raise MediaTypeUnsupported for another type. Raise Invalid for a body that is not JSON (RFC 8259: no NaN), for
    a member that an object has twice, for a NUL, which no column can hold, and for a number that would be read as
    infinite.
    """
    body = await request.body()
    if not body:
        return PydanticUndefined
    content_type = read_content_type(request)
    if raw and body.startswith(SIGNATURES):
        return body
    if content_type != JSON and not is_json(content_type):
        essence = media_type_of(content_type)
        if essence in raw:
            return body
        if essence not in also:
            raise unsupported(content_type, [JSON, *raw, *also])
        if essence == forms.MEDIA_TYPE:
            return forms.read_fields(request, body)
    body = body.removeprefix(codecs.BOM_UTF8)
    try:
        # A cache of texts would keep what people send, and takes half of the time for 60,000 different ones.
        value = from_json(body, allow_inf_nan=False, cache_mode="none", catch_duplicate_keys=True)
    except ValueError as error:
        raise _not_json(body, str(error)) from None
    digits = body.translate(_DIGITS_AS_ZERO)  # a text in the body may look like a large number
    if b"\\u0000" in body or any(each in digits for each in _LARGE):
        _refuse_unstorable(value)
    return value


def _not_json(raw: bytes, why: str) -> Invalid:
    if why.startswith(_REPEATED):
        message = "An object has the member twice, and only one would count: send it once."
        return Invalid.many([{"loc": ("body", *_repeated_at(raw)), "msg": message, "type": MEMBER_REPEATED}])
    at: tuple[int, ...] = ()
    try:
        json.loads(raw)
    except json.JSONDecodeError as error:
        at = (error.pos,)
    except (ValueError, RecursionError):  # not UTF-8, an endless integer, or too deep: no position
        pass
    return Invalid(("body", *at), f"JSON decode error: {why}", NOT_JSON)


@dataclass(frozen=True, slots=True)
class _Repeated:
    """In the place of an object: the path from it to a member that is there twice."""

    path: tuple[str | int, ...]


def _repeated_at(raw: bytes) -> tuple[str | int, ...]:
    """Return the path of a member that is there twice; an empty one for a text that is no JSON beside that."""
    try:
        found = _below(json.loads(raw, object_pairs_hook=_read_object))
    except (ValueError, RecursionError):
        return ()
    return () if found is None else found.path


def _read_object(pairs: list[tuple[str, Json]]) -> Json:
    read: dict[str, Json] = {}
    for name, value in pairs:
        if name in read:
            return _Repeated((name,))
        read[name] = value
    inner = ((name, _below(value)) for name, value in pairs)
    return next((_Repeated((name, *found.path)) for name, found in inner if found is not None), read)


def _below(value: Json) -> _Repeated | None:
    if isinstance(value, list):
        inner = ((at, _below(each)) for at, each in enumerate(value))
        return next((_Repeated((at, *found.path)) for at, found in inner if found is not None), None)
    return value if isinstance(value, _Repeated) else None


def _refuse_unstorable(value: Json) -> None:
    if isinstance(value, str) and "\0" in value:
        raise Invalid(("body",), "Text must not contain the character NUL (\\u0000).", "nul_character")
    if isinstance(value, float) and math.isinf(value):
        raise Invalid(("body",), "A number is too large.", "number_too_large")
    if isinstance(value, Mapping):
        for key, each in value.items():
            _refuse_unstorable(key)
            _refuse_unstorable(each)
    if isinstance(value, list):
        for each in value:
            _refuse_unstorable(each)


ALSO_JSON = "x-also-reads"  # OpenAPI extension: media types that are read as JSON too, or as a form
RAW_MEMBERS = "x-reads-raw"  # OpenAPI extension: by media type the member of the body whose value it is, as bytes


def as_member(request: Request, body: Any, members: Mapping[str, str]) -> Any:  # a JSON value or bytes
    """Return the bytes of a body as the member that `members` names for its media type, else as the first one.

    Another body is returned unchanged.
    """
    if not isinstance(body, bytes):
        return body
    essence = media_type_of(request.headers.get("content-type", ""))
    member = members.get(essence) or next(iter(members.values()), None)
    return body if member is None else {member: body}
