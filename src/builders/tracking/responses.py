"""Responses of tracked links: an image of one pixel, or a redirect to the target."""

import json
from functools import lru_cache
from urllib.parse import quote

from fastapi import Request, Response

from builders.kit.http import html
from builders.kit.http.bodies import RawResponse
from builders.kit.http.visitors import Machine, Visitor

# 43 bytes, transparent.
GIF = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
_NO_CACHE = "no-store, no-cache, must-revalidate, private, max-age=0"
_PIXEL_HEADERS = {
    "Content-Type": "image/gif",
    "Content-Length": str(len(GIF)),
    "Cache-Control": _NO_CACHE,
    "Expires": "0",
    "Pragma": "no-cache",
    "Cross-Origin-Resource-Policy": "cross-origin",  # webmail embeds it
    "X-Robots-Tag": "noindex",
}
_PIXEL, _PIXEL_HEAD = RawResponse(GIF, 200, _PIXEL_HEADERS), RawResponse(b"", 200, _PIXEL_HEADERS)
_TARGET_HEADERS = {**html.NEGOTIATED, "X-Robots-Tag": "noindex"}
_SAFE = ":/%#?=@[]!$&'()*+,;~"  # characters that a browser leaves unescaped
_PREVIEWS = {Machine.SCANNER, Machine.PREFETCH}  # they read the target without following it


def pixel(request: Request) -> Response:
    """Return the image; its headers alone for HEAD."""
    return _PIXEL_HEAD if request.scope["method"] == "HEAD" else _PIXEL


def target_response(request: Request, target: str, visitor: Visitor) -> Response:
    """Return a redirect for browsers, and the target as JSON for other clients."""
    if visitor.machine not in _PREVIEWS and html.wants_html(request):
        return _redirect(target)
    return Response(json.dumps({"target": target}), 200, _TARGET_HEADERS, "application/json")


@lru_cache(maxsize=1024)
def _redirect(target: str) -> RawResponse:
    return RawResponse(b"", 302, {**_TARGET_HEADERS, "Content-Length": "0", "Location": quote(target, safe=_SAFE)})
