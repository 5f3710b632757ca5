"""Versions of single records: `ETag`, `If-None-Match` and `If-Match` (RFC 9110, 8.8.3 and 13.1).

A tag contains the record's id and its version number. The version alone is not unique for a path without an id,
such as /v1/me: two accounts can have one version, and a browser keeps its cache when another account signs in.
A read is answered with 304 if the client has the current version. A write is refused if it expects another version
than the record's, so no client overwrites a change that it has not read.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Header, Request
from starlette.responses import Response

from builders.kit.errors import Invalid, Problem, refuses
from builders.kit.http.bodies import ReplyWithHeaders

_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
# Elements of the list may be empty (RFC 9110, 5.6.1), and a tag may hold a comma.
_LIST = re.compile(rf"[ \t,]*(?:{_TAG.pattern}[ \t]*(?:,[ \t,]*|\Z))+")
# Only the client stores it, and it revalidates each time.
_CACHING = "private, no-cache"
_ETAG: Mapping[str, Any] = {  # OpenAPI's form
    "ETag": {
        "description": "The record and its version, quoted, for If-None-Match and If-Match.",
        "schema": {"type": "string"},
    }
}


class VersionMismatch(Problem):
    """The version of the record differs from the version in the request."""

    status, code = 412, "version_mismatch"
    remedy = "Read the record again, and send If-Match with its ETag."


@dataclass(frozen=True, slots=True)
class ReadCondition:
    """The versions that the client has, by If-None-Match."""

    tags: Collection[str] | None = None  # with their quotes; `*` is any version

    def answer(self, reply: object, *, of: UUID, version: int) -> ReplyWithHeaders | Response:
        """Return the reply with its ETag, or 304 when the client has this version.

        Weak tags match too (RFC 9110, 13.1.2): a compressing proxy weakens tags.
        """
        tag = _tag(of, version)
        if self.tags is not None and not {"*", tag, f"W/{tag}"}.isdisjoint(self.tags):
            return Response(status_code=304, headers=_headers(of, version))
        return with_etag(reply, of=of, version=version)


@dataclass(frozen=True, slots=True)
class WriteCondition:
    """The versions that the client expects, by If-Match and by `version` of the body."""

    tags: Collection[str] | None = None
    version: int | None = None

    def check(self, *, of: UUID, version: int) -> None:
        """Check a locked record. Weak tags never match (RFC 9110, 13.1.1). Raise VersionMismatch."""
        if self.tags is not None and {"*", _tag(of, version)}.isdisjoint(self.tags):
            raise VersionMismatch(
                f"The record has version {version}, which does not match If-Match.",
                version=version,
            )
        if self.version not in {None, version}:
            raise VersionMismatch(
                f"The record has version {version}, but the body has version {self.version}.",
                next_action="Read the record again, and send its version.",
                version=version,
            )


def with_etag(reply: object, *, of: UUID, version: int) -> ReplyWithHeaders:
    """Return the reply with the ETag of its record; `of` is the id of the record."""
    return ReplyWithHeaders(reply, _headers(of, version))


_NONE_MATCH = Header(
    alias="If-None-Match", description="`ETag` of your version: the response is 304 while it is current."
)
_MATCH = Header(alias="If-Match", description="`ETag` of the version to change; 412 if another one is current.")
# The `responses` of a route that replies with an ETag and reads no condition.
WITH_ETAG: dict[int | str, dict[str, Any]] = {200: {"headers": _ETAG}}
_NOT_MODIFIED: Mapping[int | str, dict[str, Any]] = {
    304: {"description": "The record has the version that If-None-Match names.", "headers": _ETAG},
}


@refuses(responses={**WITH_ETAG, **_NOT_MODIFIED})
def read_condition(request: Request, if_none_match: Annotated[str | None, _NONE_MATCH] = None) -> ReadCondition:
    """Return the tags of If-None-Match; the parameter documents the header. Raise Invalid."""
    del if_none_match
    return ReadCondition(_read(request, "If-None-Match"))


@refuses(VersionMismatch, responses=WITH_ETAG)
def write_condition(request: Request, if_match: Annotated[str | None, _MATCH] = None) -> WriteCondition:
    """Return the tags of If-Match; the parameter documents the header. Raise Invalid."""
    del if_match
    return WriteCondition(_read(request, "If-Match"))


IfNoneMatch = Annotated[ReadCondition, Depends(read_condition)]
IfMatch = Annotated[WriteCondition, Depends(write_condition)]


def _tag(of: UUID, version: int) -> str:
    return f'"{of}.{version}"'


def _headers(of: UUID, version: int) -> dict[str, str]:
    return {"ETag": _tag(of, version), "Cache-Control": _CACHING}


def _read(request: Request, header: str) -> Collection[str] | None:
    lines = request.headers.getlist(header)
    if not lines:
        return None
    value = ",".join(lines)
    if value.strip(" \t,") == "*":
        return {"*"}
    if _LIST.fullmatch(value) is None:
        raise Invalid(("header", header), "Send entity tags unchanged, with their quotes, or *.", "entity_tag")
    return set(_TAG.findall(value))
