"""Compressed responses (gzip): large JSON, and the OpenAPI document.

A response that shows a secret is never compressed: its length would show how the secret resembles text that an
attacker chose (BREACH). Compression runs in a thread; zlib releases the interpreter's lock.
"""

import asyncio
import gzip
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import Scope

from builders.kit.http.bodies import RawJsonResponse
from builders.kit.http.media_types import weights

MIN_BYTES = 64 * 1024  # smaller responses are sent as they are
_LEVEL = 4
VARY = (b"vary", b"Accept-Encoding")
GZIP = (b"content-encoding", b"gzip")


def accepts_gzip(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request accepts gzip: its weight, or that of `*`, is above 0 (RFC 9110, 12.5.3)."""
    found = weights(b",".join(value for name, value in headers if name == b"accept-encoding"))
    return next((found[each][0] for each in ("gzip", "x-gzip", "*") if each in found), 0.0) > 0


async def compressed(scope: Scope, response: Response) -> Response:
    """Return the response, compressed if it is large JSON without a secret and the client accepts that."""
    if not isinstance(response, RawJsonResponse) or response.has_secret or len(response.body) < MIN_BYTES:
        return response
    if not accepts_gzip(scope["headers"]):
        response.raw_headers.append(VARY)
        return response
    body = await asyncio.to_thread(gzip.compress, bytes(response.body), _LEVEL)
    smaller = RawJsonResponse(body, response.status_code)
    own = [
        (name, value) for name, value in response.raw_headers if name not in {b"content-length", b"content-type"}
    ]
    # The bytes differ from those of the other form, so a tag is only weak (RFC 9110, 8.8.1).
    smaller.raw_headers += [(name, _weak(value) if name == b"etag" else value) for name, value in own] + [
        GZIP,
        VARY,
    ]
    return smaller


def _weak(tag: bytes) -> bytes:
    return tag if tag.startswith(b"W/") else b"W/" + tag
