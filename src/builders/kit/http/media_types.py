"""Media types of request bodies besides JSON, which an operation names in its OpenAPI extensions."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request

ALSO_JSON = "x-also-reads"  # OpenAPI extension: media types that are read as JSON too, or as a form
RAW_MEMBERS = "x-reads-raw"  # OpenAPI extension: by media type the member of the body whose value it is, as bytes


def media_type_of(content_type: str) -> str:
    """Return the media type without its parameters; `text/plain` without one (RFC 2045, 5.2)."""
    return content_type.partition(";")[0].strip().lower() or "text/plain"


def as_member(request: Request, body: Any, members: Mapping[str, str]) -> Any:  # a JSON value or bytes
    """Return the bytes of a body as the member that `members` names for its media type; another body as it is."""
    if not isinstance(body, bytes):
        return body
    member = members.get(media_type_of(request.headers.get("content-type", "")))
    return body if member is None else {member: body}
