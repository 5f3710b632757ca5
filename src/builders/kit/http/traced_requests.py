"""A span for each request, around the whole service; only if a collector is configured."""

from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from builders.kit.http import request_metrics
from builders.kit.process import traces
from builders.kit.process.hosts import UNIX, contains_address, read_networks

_HEADER = traces.TRACEPARENT.encode()
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_FAILED = 500


class TracedRequests:
    """ASGI middleware: names a span after the operation that responds.

    The span of a client is linked and not followed, and does not decide whether ours is sampled, unless a trusted
    proxy sends it. The request goes on with our span in its place.
    """

    def __init__(self, app: ASGIApp, trusted: Sequence[str]) -> None:
        self._app, self._networks, self._trusts_unix = app, read_networks(trusted), UNIX in trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Trace one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(_HEADER, b"").decode("latin-1")
        remote = given if traces.VALID.fullmatch(given) else None
        follows = remote if remote and self._is_trusted(scope) else None
        status = 0

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with traces.span("other", "server", follows=follows, caused_by=None if follows else remote) as span:
            others = [each for each in scope["headers"] if each[0] != _HEADER]
            scope["headers"] = [*others, (_HEADER, (traces.current() or "").encode())]
            try:
                await self._app(scope, receive, observe)
            finally:
                span.rename(scope.get(request_metrics.OPERATION, request_metrics.OTHER))
                method = scope["method"]
                span.set(method=method if method in _METHODS else "_OTHER", status=status)
                if status >= _FAILED:
                    span.set(error=str(status))

    def _is_trusted(self, scope: Scope) -> bool:
        client = scope.get("client")
        return contains_address(self._networks, client[0]) if client and client[0] else self._trusts_unix
