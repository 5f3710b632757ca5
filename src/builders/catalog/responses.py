"""Cacheable responses: ETags, 304, and images with byte ranges (RFC 9110, 9111)."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from fastapi import Request, Response

from builders.catalog.catalog_file.images import MEDIA_TYPES, stored
from builders.catalog.errors import AssetNotFound, RangeNotSatisfiable

_ONE_MINUTE = "public, max-age=60"
_IMMUTABLE = "public, max-age=31536000, immutable"  # the name is the hash of the content
_RANGE = re.compile(r"bytes=([0-9]{0,12})-([0-9]{0,12})")


def of_version(request: Request, version: int, body: Callable[[], bytes]) -> Response:
    """Return JSON that depends on the URL and a version of the catalog; it is not built when the client has it."""
    return _unless_current(request, f'W/"v{version}"', body)


def of_content(request: Request, body: bytes) -> Response:
    """Return JSON that depends on more than the catalog."""
    return _unless_current(request, f'W/"{hashlib.sha256(body).hexdigest()[:32]}"', lambda: body)


def _unless_current(request: Request, etag: str, body: Callable[[], bytes]) -> Response:
    headers = {"ETag": etag, "Cache-Control": _ONE_MINUTE}
    if _is_current(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(body(), headers=headers, media_type="application/json")


def _is_current(request: Request, etag: str) -> bool:
    """Return whether If-None-Match has the tag, by weak comparison (RFC 9110, 13.1.2); our tags have no comma."""
    given = request.headers.get("if-none-match")
    if given is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in given.split(",")]
    return "*" in tags or etag.removeprefix("W/") in tags


def image(request: Request, folder: Path, filename: str) -> Response:
    """Return an image of the assets folder, or the requested range of its bytes.

    Blocks to read at most 2 MB. Raise AssetNotFound and RangeNotSatisfiable.
    """
    path = stored(folder, filename)
    if path is None:
        raise AssetNotFound("There is no such image.")
    etag = f'"{path.stem}"'
    headers = {
        "ETag": etag,
        "Cache-Control": _IMMUTABLE,
        "Accept-Ranges": "bytes",
        # A browser that opens the image alone must not treat it as a page of our origin.
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "cross-origin",  # pages of resellers embed the images
    }
    if _is_current(request, etag):
        return Response(status_code=304, headers=headers)
    content = path.read_bytes()
    part = _range(request, etag, len(content))
    if part is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{len(content)}"
        content = content[part.start : part.stop]
    headers["Content-Length"] = str(len(content))
    return Response(content, 206 if part else 200, headers, media_type=MEDIA_TYPES[path.suffix[1:]])


def _range(request: Request, etag: str, size: int) -> range | None:
    """Return the requested range; None for the whole, also for a malformed range or several (RFC 9110, 14.2)."""
    wanted = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if wanted is None or request.headers.get("if-range", etag) != etag:
        return None
    first, last = wanted.groups()
    if first:
        part = range(int(first), min(int(last or size), size - 1) + 1)
        if last and int(last) < int(first):
            return None
    elif last:
        part = range(max(0, size - int(last)), size)
    else:
        return None
    if not part:
        raise RangeNotSatisfiable(f"The image has {size} bytes.", headers={"Content-Range": f"bytes */{size}"})
    return part
