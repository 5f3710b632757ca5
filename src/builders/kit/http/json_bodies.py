"""Strict reading of JSON request bodies (RFC 8259): no NaN, no infinite number, no NUL."""

import email.message
import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from fastapi import Request
from pydantic_core import PydanticUndefined, from_json

from builders.kit.errors import Invalid
from builders.kit.http import forms

Json = Any  # a value of a JSON text

JSON_HINT = "; send JSON, and with it Content-Type: application/json"  # curl -d sends a form
# Numbers that can be larger than a float: only a body that has one is searched.
_EXPONENT = re.compile(rb"[eE]\+?\d{3}")  # can be part of a text, such as a hexadecimal id
_LARGE = re.compile(rb"(?:^|[\s:,\[])-?\d[\d.]*+[eE]\+?\d{3}")
_LONG, _LONGEST_PLAIN = re.compile(rb"(?<!\d)\d{210}"), 209  # with two digits of an exponent it may be 1e309


async def read_json(request: Request, *, also: Collection[str] = ()) -> Json:
    """Return the JSON of the request; PydanticUndefined without a body, bytes for another media type.

    `also` names further media types that are read as JSON, or as a form.

    Raise Invalid for a body that is not JSON (RFC 8259: no NaN), for a NUL, which no column can hold, and for a
    number that would be read as infinite.
    """
    raw = await request.body()
    if not raw:
        return PydanticUndefined
    sent = dict(reversed(request.scope["headers"]))  # of duplicates the first counts, as in Starlette
    content_type = sent.get(b"content-type", b"").decode("latin-1")
    if not _is_json(content_type):
        essence = media_type_of(content_type)
        if essence not in also:
            return raw
        if essence == forms.MEDIA_TYPE:
            return forms.read_fields(request, raw)
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise _not_json(raw, str(error)) from None
    if b"\\u0000" in raw or _has_large_number(raw):
        _refuse_unstorable(value)
    return value


def _has_large_number(raw: bytes) -> bool:
    """Return whether the text can have a number that is larger than a float."""
    if _EXPONENT.search(raw) and _LARGE.search(raw):
        return True
    return len(raw) > _LONGEST_PLAIN and _LONG.search(raw) is not None


def _is_json(content_type: str) -> bool:
    if content_type == "application/json":
        return True
    message = email.message.Message()
    message["content-type"] = content_type
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


def _not_json(raw: bytes, why: str) -> Invalid:
    at: tuple[int, ...] = ()
    try:
        json.loads(raw)
    except json.JSONDecodeError as error:
        at = (error.pos,)
    except (ValueError, RecursionError):  # not UTF-8, an endless integer, or too deep: no position
        pass
    return Invalid(("body", *at), f"JSON decode error: {why}", "json_invalid")


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


def media_type_of(content_type: str) -> str:
    """Return the media type without its parameters; `text/plain` without one (RFC 2045, 5.2)."""
    return content_type.partition(";")[0].strip().lower() or "text/plain"


def as_member(request: Request, body: Any, members: Mapping[str, str]) -> Any:  # a JSON value or bytes
    """Return the bytes of a body as the member that `members` names for its media type; another body unchanged."""
    if not isinstance(body, bytes):
        return body
    member = members.get(media_type_of(request.headers.get("content-type", "")))
    return body if member is None else {member: body}
