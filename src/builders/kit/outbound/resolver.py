"""DNS resolution for outbound requests: uncached, with a timeout.

Each lookup queries the name servers of the system. Concurrent lookups of a host share one query. A name server
that does not respond delays no other host.
"""

import asyncio
import socket
from collections.abc import Sequence

import dns.asyncresolver
import dns.exception

from builders.kit.outbound.addresses import Address, parse_address
from builders.kit.outbound.failures import Failure, OutboundFailed
from builders.kit.outbound.targets import Target

LOOKUP_TIMEOUT_S = 3.0
TRY_TIMEOUT_S = 1.0  # for one response of one name server
RECORD_TYPES = ("A", "AAAA")

Addresses = tuple[Address, ...]


class LookupFailed(Exception):
    """The host has no address, or the lookup timed out."""


async def query_dns(host: str, *, timeout_s: float = LOOKUP_TIMEOUT_S) -> Sequence[str]:
    """Return the addresses of a host by its DNS records, without search domains and /etc/hosts."""
    try:
        resolver = dns.asyncresolver.Resolver()  # reads the name servers of the system, which can change
    except dns.exception.DNSException as error:  # the system has none
        raise LookupFailed from error
    resolver.timeout, resolver.lifetime = TRY_TIMEOUT_S, timeout_s
    answers = await asyncio.gather(*(_query(resolver, host, each) for each in RECORD_TYPES))
    return [each for answer in answers for each in answer]


async def _query(resolver: dns.asyncresolver.Resolver, host: str, record_type: str) -> Sequence[str]:
    try:
        return [each.to_text() for each in await resolver.resolve(host, record_type, search=False)]
    except dns.exception.DNSException:  # the other record type may exist
        return ()


async def query_system(host: str) -> Sequence[str]:
    """Return the addresses of a host that the operator allowed; it may be in /etc/hosts. Raise OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


async def _find(host: str, *, is_allowed: bool, timeout_s: float) -> Addresses:
    try:
        async with asyncio.timeout(timeout_s):
            found = await (query_system(host) if is_allowed else query_dns(host, timeout_s=timeout_s))
        addresses = tuple(dict.fromkeys(map(parse_address, found)))
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise LookupFailed from error
    if not addresses:
        raise LookupFailed
    return addresses


class DnsResolver:
    """The DNS resolver of one event loop."""

    def __init__(self, *, timeout_s: float = LOOKUP_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._running: dict[tuple[str, bool], asyncio.Task[Addresses]] = {}

    async def find(self, host: str, *, is_allowed: bool = False) -> Addresses:
        """Return all addresses of the host. Raise LookupFailed."""
        key = host, is_allowed
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.create_task(
                _find(host, is_allowed=is_allowed, timeout_s=self._timeout_s)
            )
            running.add_done_callback(lambda task: self._end(key, task))
        return await asyncio.shield(running)  # other requests may share the task

    async def close(self) -> None:
        """Cancel all lookups."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _end(self, key: tuple[str, bool], task: asyncio.Task[Addresses]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # mark the exception as retrieved, since no caller may be waiting


async def resolve_target(resolver: DnsResolver, target: Target) -> Addresses:
    """Return all addresses of the target's host. Raise OutboundFailed."""
    if target.literal:
        return (target.literal,)
    try:
        return await resolver.find(target.host, is_allowed=target.is_allowed)
    except LookupFailed as error:
        raise OutboundFailed(Failure.DNS) from error
