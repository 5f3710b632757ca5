"""Protection against cross-site requests (CSRF), by `Sec-Fetch-Site` and `Origin`."""

from urllib.parse import urlsplit

from fastapi import Request

from builders.kit.errors import Problem

_PORTS = {"http": 80, "https": 443}


class OriginForbidden(Problem):
    """The request does not come from the service's own pages."""

    status, code = 403, "origin_forbidden"


def origin_of(url: str) -> str:
    """Return the origin of a URL as a browser writes it (RFC 6454, 6.2)."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in {None, _PORTS.get(parts.scheme)} else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def require_own_origin(request: Request, *, allow_missing_origin: bool) -> None:
    """Refuse a request that another site made a browser send. Raise OriginForbidden.

    After CrossOriginProtection of Go 1.25. Browsers send one of the headers and programs send none:
    `allow_missing_origin` accepts requests without both.
    """
    site, origin = request.headers.getlist("sec-fetch-site"), request.headers.getlist("origin")
    if site:  # a page cannot set this header
        is_ours = site in (["same-origin"], ["none"])
    elif origin:
        is_ours = origin == [origin_of(request.app.state.settings.url)]
    else:
        is_ours = allow_missing_origin
    if not is_ours:
        raise OriginForbidden(
            "A browser may send this only from the service's own pages.",
            next_action="Open the service's address itself. From a program, send no Origin"
            + ("." if allow_missing_origin else ", and the token in Authorization: Bearer, or an API key."),
        )
