"""Pages on other sites: where the vendor named their origins, browsers may read what public forms answer there.

The Fetch Standard's CORS, for a few paths that are asked without credentials. Refusals can be read too: a page can
then say what is wrong.
"""

from collections.abc import Collection, Mapping

from fastapi import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALLOW = b"access-control-allow-origin"
# What a page may read of a response besides its body; the rest of the headers it does not need.
_EXPOSED = "Ignored-Parameters, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
_KNOWN_FOR_S = "86400"  # what a browser was told of a path


class Cors:
    """Wraps the application: answers what browsers ask beforehand, and marks what they may show to a page."""

    def __init__(self, app: ASGIApp, *, paths: Mapping[str, str], origins: Collection[str]) -> None:
        self.app = app
        self.paths = paths  # each with its methods, as a header lists them
        self.origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers, or passes on."""
        if scope["type"] != "http" or scope["path"] not in self.paths:
            await self.app(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await self._preflight(scope["path"], _origin(scope))(scope, receive, send)
        else:
            await self.app(scope, receive, self._marking(_origin(scope), send))

    def _readable(self, origin: str | None) -> Mapping[str, str]:
        """A beacon is sent with credentials, which are not looked at; no cookie is ever set."""
        vary = {"Vary": "Origin"}
        if origin not in self.origins:
            return vary
        return {**vary, "Access-Control-Allow-Origin": str(origin), "Access-Control-Allow-Credentials": "true"}

    def _preflight(self, path: str, origin: str | None) -> Response:
        headers = dict(self._readable(origin))
        if origin in self.origins:
            headers["Access-Control-Allow-Methods"] = self.paths[path]
            headers["Access-Control-Allow-Headers"] = "Content-Type"
            headers["Access-Control-Max-Age"] = _KNOWN_FOR_S
        return Response(status_code=204, headers={**headers, "Allow": f"OPTIONS, {self.paths[path]}"})

    def _marking(self, origin: str | None, send: Send) -> Send:
        readable = dict(self._readable(origin))
        if origin in self.origins:
            readable["Access-Control-Expose-Headers"] = _EXPOSED
        added = [(name.lower().encode(), value.encode("latin-1")) for name, value in readable.items()]

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                if not any(name == _ALLOW for name, _ in own):
                    message = {**message, "headers": own + added}
            await send(message)

        return marked


def _origin(scope: Scope) -> str | None:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), None)
