"""DNS resolution for outbound requests: uncached, with a timeout.

Each lookup queries the name servers of the system. A name server that does not respond delays no other host.
"""

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import ip_address

import dns.asyncresolver
import dns.exception

from builders.kit.outbound.addresses import Address
from builders.kit.outbound.failures import Failure, OutboundFailed
from builders.kit.outbound.targets import Target

LOOKUP_TIMEOUT_S = 3.0
TRY_TIMEOUT_S = 1.0  # for one response of one name server
RECORD_TYPES = ("A", "AAAA")


async def query_dns(host: str, *, timeout_s: float) -> Sequence[str]:
    """Return the addresses of a host by its DNS records, without search domains and /etc/hosts; maybe none."""
    try:
        resolver = dns.asyncresolver.Resolver()  # reads the name servers of the system, which can change
    except dns.exception.DNSException:  # the system has none
        return ()
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


async def resolve_target(target: Target, *, timeout_s: float = LOOKUP_TIMEOUT_S) -> Sequence[Address]:
    """Return all addresses of the target's host, at least one. Raise OutboundFailed."""
    if target.literal:
        return (target.literal,)
    host = target.host
    try:
        async with asyncio.timeout(timeout_s):
            found = await (query_system(host) if target.is_allowed else query_dns(host, timeout_s=timeout_s))
        addresses = tuple(dict.fromkeys(map(ip_address, found)))
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise OutboundFailed(Failure.DNS) from error
    if not addresses:
        raise OutboundFailed(Failure.DNS)
    return addresses
