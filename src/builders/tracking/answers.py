"""What the tracked links answer: an image of one pixel, or the way to the target."""

import json
from functools import lru_cache
from urllib.parse import quote

from fastapi import Request, Response

from builders.kit.http import html
from builders.kit.http.bodies import RawResponse
from builders.kit.http.visitors import Machine, Visitor

# 43 bytes, transparent.
GIF = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
_NEVER_KEPT = "no-store, no-cache, must-revalidate, private, max-age=0"
_PIXEL_HEADERS = {
    "Content-Type": "image/gif",
    "Content-Length": str(len(GIF)),
    "Cache-Control": _NEVER_KEPT,
    "Expires": "0",
    "Pragma": "no-cache",
    "Cross-Origin-Resource-Policy": "cross-origin",  # it is there for other people's mail programs
    "X-Robots-Tag": "noindex",
}
_PIXEL, _PIXEL_HEAD = RawResponse(GIF, 200, _PIXEL_HEADERS), RawResponse(b"", 200, _PIXEL_HEADERS)
_WAY = {**html.NEGOTIATED, "X-Robots-Tag": "noindex"}
_SAFE = ":/%#?=@[]!$&'()*+,;~"  # of an address, as a browser writes it
_ASKS_ONLY = {Machine.SCANNER, Machine.PREFETCH}  # wants to know where it leads, and not to go there


def pixel(request: Request) -> Response:
    """The image; nothing but its headers for HEAD."""
    return _PIXEL_HEAD if request.scope["method"] == "HEAD" else _PIXEL


def way(request: Request, target: str, visitor: Visitor) -> Response:
    """A redirect for browsers, and the target in JSON for everything else."""
    if visitor.machine not in _ASKS_ONLY and html.wants_html(request):
        return _redirect(target)
    return Response(json.dumps({"target": target}), 200, _WAY, "application/json")


@lru_cache(maxsize=1024)
def _redirect(target: str) -> RawResponse:
    return RawResponse(b"", 302, {**_WAY, "Content-Length": "0", "Location": quote(target, safe=_SAFE)})
