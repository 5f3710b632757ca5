"""Questions to DNS. The answer is values, or none for sure; where neither can be relied on it is None.

A name server that is silent, away, or says SERVFAIL or nonsense tells nothing about a domain: what is not known
must never look like a record that is missing. dnspython sees to what goes over the wire: random ids and ports,
answers that belong to the question, TCP for what is cut off, chains of CNAME up to 16.
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
from builders.kit.process.settings import Settings
from builders.kit.values import hosts

TRY_S = 2.0  # for one packet
TIMEOUT_S = 5.0  # for one answer, all tries and servers together
MAX_CONCURRENT = 16  # questions of one client
_PAYLOAD = 1232  # bytes of a UDP answer that no network breaks up
R = TypeVar("R", bound=Rdata)


class Dns:
    """Asks the name servers of the settings, or the system's."""

    def __init__(self, settings: Settings) -> None:
        self._servers = tuple(map(hosts.read_resolver, settings.dns_resolvers))
        self._turns = asyncio.Semaphore(MAX_CONCURRENT)

    async def texts(self, name: str) -> tuple[str, ...] | None:
        """The TXT records at a name; parts of one are joined, and what is not ASCII is escaped."""
        found = await self._ask(name, "TXT", TXT)
        if found is None:
            return None
        return tuple(b"".join(each.strings).decode("ascii", "backslashreplace") for each in found)

    async def exchanges(self, name: str) -> tuple[tuple[int, str], ...] | None:
        """The MX records of a domain: preference and host, in order; `.` where it says that it takes no mail."""
        found = await self._ask(name, "MX", MX)
        if found is None:
            return None
        return tuple(sorted((each.preference, _written(each.exchange)) for each in found))

    async def _ask(self, name: str, kind: str, form: type[R]) -> tuple[R, ...] | None:
        if connections.in_transaction():
            raise RuntimeError("A transaction is open: read, ask, then write in a second one (decision 0010).")
        async with self._turns:
            try:
                answer = await self._resolver().resolve(
                    dns.name.from_text(name), kind, search=False, raise_on_no_answer=False
                )
            except dns.resolver.NXDOMAIN:
                return ()
            except (dns.exception.DNSException, OSError, ValueError):
                return None
        if answer.response.flags & dns.flags.TC:  # cut off by TCP too, which dnspython lets pass
            return None
        return tuple(each for each in answer.rrset or () if isinstance(each, form))

    def _resolver(self) -> dns.asyncresolver.Resolver:
        """One for each question: it keeps no answers, and the system's servers may have changed."""
        resolver = dns.asyncresolver.Resolver(configure=not self._servers)
        if self._servers:
            resolver.nameservers = [dns.nameserver.Do53Nameserver(*each) for each in self._servers]
        resolver.use_edns(0, 0, _PAYLOAD)
        resolver.timeout, resolver.lifetime = TRY_S, TIMEOUT_S
        return resolver


def _written(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True).lower() or "."
