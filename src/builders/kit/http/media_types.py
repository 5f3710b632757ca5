"""The media type of a request body, the refusal of an unsupported one (RFC 9110, 15.5.16), and preferences."""

import re
from collections.abc import Iterable, Mapping

from starlette.requests import Request

from builders.kit.errors import Problem

JSON = "application/json"
NDJSON = "application/x-ndjson"  # a JSON value on each line
MAX_CONTENT_TYPE = 200  # bytes; a parser of parameters can take time that grows with the square of the length


class MediaTypeUnsupported(Problem):
    """The media type or coding of the body is not supported."""

    status, code = 415, "media_type_unsupported"
    remedy = "Send JSON with Content-Type: application/json, or a media type that the header Accept lists."


def read_content_type(request: Request) -> str:
    """Return the header Content-Type; empty without one.

    Raise MediaTypeUnsupported for a compressed body, and for a header of more than MAX_CONTENT_TYPE bytes.
    """
    # Of duplicates the first counts, as in Starlette.
    sent: dict[bytes, bytes] = dict(reversed(request.scope["headers"]))
    coding = sent.get(b"content-encoding", b"identity").strip().lower()
    if coding not in {b"identity", b""}:
        raise MediaTypeUnsupported(
            f"The body has the Content-Encoding {coding[:40].decode('latin-1')!r}.",
            headers={"Accept-Encoding": "identity"},
            next_action="Send the body uncompressed, without Content-Encoding.",
        )
    content_type = sent.get(b"content-type", b"")
    if len(content_type) > MAX_CONTENT_TYPE:
        raise MediaTypeUnsupported(
            f"The Content-Type of the body has {len(content_type)} bytes; at most {MAX_CONTENT_TYPE} are read.",
            next_action="Send a shorter Content-Type, such as application/json.",
        )
    return content_type.decode("latin-1")


def media_type_of(content_type: str) -> str:
    """Return the media type without its parameters; `text/plain` without one (RFC 2045, 5.2)."""
    return content_type.partition(";")[0].strip().lower() or "text/plain"


def is_json(content_type: str) -> bool:
    """Return whether a body of this type is JSON: `application/json`, or `application/…+json`."""
    kind, _, subtype = media_type_of(content_type).partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


def unsupported(content_type: str, accepted: Iterable[str]) -> MediaTypeUnsupported:
    """Return the refusal of a body of this type, which names the accepted types."""
    listed = ", ".join(accepted)
    sent = f"is {media_type_of(content_type)[:80]!r}" if content_type else "is missing"
    return MediaTypeUnsupported(
        f"The Content-Type of the body {sent}; this operation accepts {listed}.",
        headers={"Accept": listed},
        next_action=f"Send the body with its Content-Type: {listed.replace(', ', ' or ')}.",
    )


def weights(value: bytes) -> Mapping[str, tuple[float, int]]:
    """Return the weight of each item of `Accept` or `Accept-Encoding`, and its position as a negative number."""
    found: dict[str, tuple[float, int]] = {}
    for at, part in enumerate(value.decode("latin-1").split(",")):
        name, _, rest = part.strip().lower().partition(";")
        weight = re.search(r"(?:^|;)\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)", rest)
        found.setdefault(name.strip(), (float(weight[1]) if weight else 1.0, -at))
    return found


def accepts_gzip(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request accepts gzip: its weight, or that of `*`, is above 0 (RFC 9110, 12.5.3)."""
    found = weights(b",".join(value for name, value in headers if name == b"accept-encoding"))
    return next((found[each][0] for each in ("gzip", "x-gzip", "*") if each in found), 0.0) > 0
