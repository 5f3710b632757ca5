"""The client behind trusted proxies, from `X-Forwarded-For` and `X-Forwarded-Proto`, as uvicorn reads them.

Clients can send any header, so only those of trusted peers are read, from the right: the peer wrote the last
entry, the proxy that it names wrote the one before, and so on. The first untrusted address is the client.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network
from typing import cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from builders.kit.process.setting_formats import UNIX, read_networks


class Proxies:
    """ASGI middleware: sets the client and the scheme of a request that a trusted proxy passes on."""

    def __init__(self, app: ASGIApp, trusted: Sequence[str]) -> None:
        networks = read_networks(trusted)
        # The form of an IPv4 peer on a socket of IPv6.
        mapped = [
            f"::ffff:{each.network_address}/{96 + each.prefixlen}"
            for each in networks
            if isinstance(each, IPv4Network)
        ]
        hosts = [*map(str, networks), *mapped, *(each for each in trusted if each == UNIX)]
        self._app = cast("ASGIApp", ProxyHeadersMiddleware(app, hosts))  # type: ignore[arg-type] # own ASGI types

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a peer on a Unix socket has no address."""
        client = scope.get("client")
        if scope["type"] == "http" and not (client and client[0]):
            scope["client"] = (UNIX, 0)
        await self._app(scope, receive, send)
