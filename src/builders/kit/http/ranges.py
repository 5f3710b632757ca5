"""Parts of a content: the bytes that the header `Range` requests (RFC 9110, 14)."""

import re

from fastapi import Request

from builders.kit.errors import Problem

_RANGE = re.compile(r"bytes=([0-9]{0,12})-([0-9]{0,12})")


class RangeNotSatisfiable(Problem):
    """The requested range of bytes is outside the content."""

    status, code = 416, "range_not_satisfiable"
    remedy = "Begin within the size that `detail` names, or omit Range."


def find_range(request: Request, *, size: int, etag: str | None = None) -> range | None:
    """Return the requested range; None for the whole, also for a malformed range or several (RFC 9110, 14.2).

    Raise RangeNotSatisfiable.
    """
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
        raise RangeNotSatisfiable(f"The content has {size} bytes.", headers={"Content-Range": f"bytes */{size}"})
    return part


def range_headers(part: range | None, *, size: int) -> dict[str, str]:
    """Return the headers of a response with this part of a content, or with the whole."""
    headers = {"Accept-Ranges": "bytes"}
    if part is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    return headers
