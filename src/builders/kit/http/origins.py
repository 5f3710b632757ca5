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
_EXPOSED = "ETag, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
_ALLOWED = "Content-Type"  # request headers of a page
_ALLOWED_ANYWHERE = f"{_ALLOWED}, MCP-Protocol-Version"  # clients of MCP send the second one
_READ = "GET, HEAD"
_PREFLIGHT = (b"access-control-request-method", b"GET")  # browsers ask for no HEAD
_MAX_AGE_S = "86400"  # how long a browser may cache a preflight response


class Cors:
    """ASGI middleware: responds to preflight requests and adds CORS headers to responses.

    Starlette's CORSMiddleware has no rules by path, responds to a preflight request of another site with 400 and
    the methods of the path, and omits `Vary: Origin` if a request has no origin (decision 0006).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        paths: Mapping[str, str],
        origins: Collection[str],
        public: str,
        anywhere: Mapping[str, str],
    ) -> None:
        self.app = app
        self.anywhere = anywhere  # paths that any page may call, without credentials, each with its methods
        self.paths = paths if origins else {}  # each with its methods, as a header lists them
        self.origins = frozenset(origins)
        self.public = public  # prefix of the paths that any page may read, without credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a preflight request; pass others on, and add CORS headers to their responses."""
        methods: str | None = None  # those of a path that other sites may call
        if scope["type"] == "http":
            methods = self.paths.get(scope["path"]) or self.anywhere.get(scope["path"])
            if methods is None and scope["path"].startswith(self.public):
                is_preflight = scope["method"] == "OPTIONS" and _PREFLIGHT in scope["headers"]
                methods = _READ if is_preflight or scope["method"] in {"GET", "HEAD"} else None
        if methods is None:
            await self.app(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            headers = self._allow_headers(scope)
            if "Access-Control-Allow-Origin" in headers:
                headers["Access-Control-Allow-Methods"] = methods
                headers["Access-Control-Allow-Headers"] = (
                    _ALLOWED_ANYWHERE if scope["path"] in self.anywhere else _ALLOWED
                )
                headers["Access-Control-Max-Age"] = _MAX_AGE_S
            response = Response(status_code=204, headers={**headers, "Allow": f"OPTIONS, {methods}"})
            await response(scope, receive, send)
        else:
            await self.app(scope, receive, self._add_headers(scope, send))

    def _allow_headers(self, scope: Scope) -> dict[str, str]:
        """Return the headers that allow the origin. A beacon sends credentials, which these paths ignore."""
        path = scope["path"]
        origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), None)
        vary = {"Vary": "Origin"} if path in self.paths else {}
        if path in self.paths and origin in self.origins:
            return {**vary, "Access-Control-Allow-Origin": str(origin), "Access-Control-Allow-Credentials": "true"}
        if path in self.anywhere or (path.startswith(self.public) and self.paths.get(path, _READ) == _READ):
            return {**vary, "Access-Control-Allow-Origin": "*"}
        return vary

    def _add_headers(self, scope: Scope, send: Send) -> Send:
        allowed = self._allow_headers(scope)
        if "Access-Control-Allow-Origin" in allowed:
            allowed["Access-Control-Expose-Headers"] = _EXPOSED
        added = [(name.lower().encode(), value.encode("latin-1")) for name, value in allowed.items()]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                if not any(name == _ALLOW for name, _ in own):
                    message = {**message, "headers": own + added}
            await send(message)

        return send_with_headers
