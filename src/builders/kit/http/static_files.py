"""A file in memory, plain and compressed, with its headers: the guide, the OpenAPI document and its page."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from fastapi import Request, Response

from builders.kit.http.media_types import accepts_gzip


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file, and the tag of its content."""

    plain: bytes
    smaller: bytes
    headers: Mapping[str, str]

    @classmethod
    def of(cls, content: bytes, headers: Mapping[str, str]) -> Self:
        """Return the file; a client revalidates it each time unless the headers say otherwise."""
        tag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
        own = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding", **headers}
        return cls(content, gzip.compress(content, mtime=0), own)

    def respond(self, request: Request) -> Response:
        """Return the file in the form that the client accepts, or 304 when it has this one."""
        sent = request.headers.get("if-none-match", "").split(",")
        if {"*", self.headers["ETag"].removeprefix("W/")} & {each.strip().removeprefix("W/") for each in sent}:
            return Response(status_code=304, headers=self.headers)
        if accepts_gzip(request.scope["headers"]):
            return Response(self.smaller, headers={**self.headers, "Content-Encoding": "gzip"})
        return Response(self.plain, headers=self.headers)
