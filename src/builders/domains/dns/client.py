"""DNS queries. A response has values, or no values for certain; without a reliable response the result is None.

A name server that does not respond, or responds with SERVFAIL or garbage, gives no information on a domain: an
unknown record must never count as a missing one. dnspython implements the protocol: random ids and ports, the
match of response and query, TCP for truncated responses, chains of up to 16 CNAMEs.
"""

import asyncio
from typing import TypeVar

import dns.asyncresolver
import dns.exception
import dns.flags
import dns.name
import dns.nameserver
import dns.resolver
from dns.rdata import Rdata
from dns.rdtypes.ANY.MX import MX
from dns.rdtypes.ANY.TXT import TXT

from builders.kit.db import connections
from builders.kit.process.setting_formats import read_resolver
from builders.kit.process.settings import Settings

TRY_S, TIMEOUT_S = 2.0, 5.0
MAX_CONCURRENT = 16  # queries of one client
_PAYLOAD = 1232  # bytes of a UDP response that no network fragments
R = TypeVar("R", bound=Rdata)


class Dns:
    """A client of the name servers of the settings, or of the system.

    A query waits `try_s` for one packet, and `timeout_s` for all tries and servers together.
    """

    def __init__(self, settings: Settings, *, try_s: float = TRY_S, timeout_s: float = TIMEOUT_S) -> None:
        self._try_s, self._timeout_s = try_s, timeout_s
        self._servers = tuple(map(read_resolver, settings.dns_resolvers))
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def texts(self, name: str) -> tuple[str, ...] | None:
        """Return the TXT records at a name, each with its strings joined and bytes beyond ASCII escaped."""
        found = await self._query(name, "TXT", TXT)
        if found is None:
            return None
        return tuple(b"".join(each.strings).decode("ascii", "backslashreplace") for each in found)

    async def exchanges(self, name: str) -> tuple[tuple[int, str], ...] | None:
        """Return the MX records of a domain in order: preference and host, `.` for a domain without mail."""
        found = await self._query(name, "MX", MX)
        if found is None:
            return None
        return tuple(sorted((each.preference, _text(each.exchange)) for each in found))

    async def _query(self, name: str, kind: str, form: type[R]) -> tuple[R, ...] | None:
        if connections.in_transaction():
            raise RuntimeError("A transaction is open: read, query, then write in a second one (decision 0010).")
        async with self._slots:
            try:
                answer = await self._resolver().resolve(
                    dns.name.from_text(name), kind, search=False, raise_on_no_answer=False
                )
            except dns.resolver.NXDOMAIN:
                return ()
            except (dns.exception.DNSException, OSError, ValueError):
                return None
        if answer.response.flags & dns.flags.TC:  # truncated over TCP too, which dnspython accepts
            return None
        return tuple(each for each in answer.rrset or () if isinstance(each, form))

    def _resolver(self) -> dns.asyncresolver.Resolver:
        """Return a new resolver: it has no cache, and the servers of the system may have changed."""
        resolver = dns.asyncresolver.Resolver(configure=not self._servers)
        if self._servers:
            resolver.nameservers = [dns.nameserver.Do53Nameserver(*each) for each in self._servers]
        resolver.use_edns(0, 0, _PAYLOAD)
        resolver.timeout, resolver.lifetime = self._try_s, self._timeout_s
        return resolver


def _text(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True).lower() or "."
