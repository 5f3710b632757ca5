"""An MCP server of the official SDK: streamable HTTP without sessions, answers in JSON, both eras of the protocol.

The low-level server of the SDK, not `MCPServer`: that one drops unknown arguments, turns refusals into text, and
configures the logs of the process.
"""

import base64
import binascii
import json
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from mcp.server import Server, ServerRequestContext
from mcp.server.request_state import InvalidRequestState, RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from builders.kit.http.origins import origin_of
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.process.version import REVISION
from builders.mcp_server.endpoint import IN_CALL, Exchange

PURPOSE = "mcp.request_state"
STATE_TTL_S = 600
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ANY = frozenset(("0.0.0.0", "::", "127.0.0.1", "localhost", "::1"))  # noqa: S104 - compared, not listened on


class Transport:
    """An MCP server as an ASGI application; it runs between `__aenter__` and `__aexit__`, which one task calls.

    An answer is JSON; with `has_streams` an answer is a stream of events, which begins with the progress.
    """

    def __init__(
        self, name: str, *, url: str, keyring: Keyring, body_limit: int, has_streams: bool = False, **handlers: Any
    ) -> None:
        self.server: Server[Any] = Server(name, version=REVISION, **handlers)  # the SDK's own options
        state = RequestStateSecurity(codec=_Codec(keyring), ttl=STATE_TTL_S, bind_principal=_principal)
        # Without the SDK's tracing, which nothing here reads.
        self.server.middleware[:] = [RequestStateBoundary(state, default_audience=url)]
        self._sessions = StreamableHTTPSessionManager(
            self.server,
            json_response=not has_streams,
            stateless=True,
            security_settings=_security(url),
            max_request_body_size=body_limit,
        )
        self.app = StreamableHTTPASGIApp(self._sessions)
        self._running = self._sessions.run()

    async def __aenter__(self) -> Self:
        """Start what the SDK runs beside requests."""
        await self._running.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        await self._running.__aexit__(kind, error, trace)


class _Codec:
    """Seals the state of a request that the client sends back, with a key of the keyring."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def seal(self, payload: bytes) -> str:
        """Return the sealed state as text."""
        return base64.urlsafe_b64encode(self._keyring.seal(PURPOSE, payload, context=b"")).decode()

    def unseal(self, token: str) -> bytes:
        """Return the state. Raise InvalidRequestState."""
        try:
            return self._keyring.unseal(PURPOSE, base64.b64decode(token, b"-_", validate=True), context=b"")
        except (binascii.Error, ValueError, Unsealable):
            raise InvalidRequestState("not sealed by this service") from None


def exchange_of(context: ServerRequestContext[Any, Any]) -> Exchange:
    """Return the message that a handler of the SDK responds to."""
    if context.request is None:
        raise TypeError("a message of no request")
    found: Exchange = context.request.scope[IN_CALL]
    return found


def _principal(context: ServerRequestContext[Any, Any]) -> str | None:
    """Return whose state it is: the account and the key or connection."""
    caller = exchange_of(context).caller
    return json.dumps([str(caller.account_id), str(caller.key_id)])


def _security(url: str) -> TransportSecuritySettings:
    """Return the hosts and origins that a request may name: those of the public URL.

    For a URL of this computer, all of its names.
    """
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port is not None else ""
    names = [f"{each}{port}" for each in _LOOPBACK] if parts.hostname in _ANY else []
    hosts = [parts.netloc, *names]
    return TransportSecuritySettings(
        allowed_hosts=[*hosts, *(f"{each}:{_PORTS[parts.scheme]}" for each in hosts if not port)],
        allowed_origins=[origin_of(f"{parts.scheme}://{each}") for each in hosts],
    )


_PORTS = {"http": 80, "https": 443}
