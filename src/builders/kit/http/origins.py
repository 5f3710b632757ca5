"""Requests from web pages: protection against other sites (CSRF), and paths that some sites may call (CORS)."""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from builders.kit.errors import Problem

_PORTS = {"http": 80, "https": 443}


class OriginForbidden(Problem):
    """The request does not come from the service's own pages."""

    status, code = 403, "origin_forbidden"
    remedy = "Open the address of the service directly."


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
            "A browser can send this request only from the service's own pages.",
            next_action="Open the address of the service directly. From a program, send no Origin"
            + ("." if allow_missing_origin else ", and the token in Authorization: Bearer, or an API key."),
        )


_ALLOW = b"access-control-allow-origin"
# Response headers that a page may read.
_EXPOSED = "Ignored-Parameters, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
_MAX_AGE_S = "86400"  # how long a browser may cache a preflight response


class Cors:
    """ASGI middleware: responds to preflight requests and adds CORS headers to responses.

    Starlette's CORSMiddleware has no rules by path, responds to a preflight request of another site with 400 and
    the methods of the path, and omits `Vary: Origin` if a request has no origin (decision 0006).
    """

    def __init__(self, app: ASGIApp, *, paths: Mapping[str, str], origins: Collection[str]) -> None:
        self.app = app
        self.paths = paths  # each with its methods, as a header lists them
        self.origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a preflight request; pass others on, and add CORS headers to their responses."""
        if scope["type"] != "http" or scope["path"] not in self.paths:
            await self.app(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await self._preflight(scope["path"], _origin(scope))(scope, receive, send)
        else:
            await self.app(scope, receive, self._add_headers(_origin(scope), send))

    def _allow_headers(self, origin: str | None) -> Mapping[str, str]:
        """Return the headers that allow the origin. A beacon sends credentials, which these paths ignore."""
        vary = {"Vary": "Origin"}
        if origin not in self.origins:
            return vary
        return {**vary, "Access-Control-Allow-Origin": str(origin), "Access-Control-Allow-Credentials": "true"}

    def _preflight(self, path: str, origin: str | None) -> Response:
        headers = dict(self._allow_headers(origin))
        if origin in self.origins:
            headers["Access-Control-Allow-Methods"] = self.paths[path]
            headers["Access-Control-Allow-Headers"] = "Content-Type"
            headers["Access-Control-Max-Age"] = _MAX_AGE_S
        return Response(status_code=204, headers={**headers, "Allow": f"OPTIONS, {self.paths[path]}"})

    def _add_headers(self, origin: str | None, send: Send) -> Send:
        allowed = dict(self._allow_headers(origin))
        if origin in self.origins:
            allowed["Access-Control-Expose-Headers"] = _EXPOSED
        added = [(name.lower().encode(), value.encode("latin-1")) for name, value in allowed.items()]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                if not any(name == _ALLOW for name, _ in own):
                    message = {**message, "headers": own + added}
            await send(message)

        return send_with_headers


def _origin(scope: Scope) -> str | None:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), None)
