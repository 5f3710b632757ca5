"""The DNS health of a domain: the proof of ownership, and the records that mail needs.

A response of DNS has values, or no values for certain; without a reliable response the result is None. A name
server that does not respond, or responds with SERVFAIL or garbage, gives no information on a domain: an unknown
record must never count as a missing one. dnspython implements the protocol: random ids and ports, the match of
response and query, TCP for truncated responses, chains of up to 16 CNAMEs.
"""

import asyncio
from collections.abc import Sequence
from email.utils import parseaddr
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

from builders.domains import txt_records
from builders.domains.records import (
    AccountDomain,
    DnsCheck,
    DnsHealth,
    DomainProof,
    Finding,
    ProofFinding,
    ProofSeen,
    RecordHealth,
)
from builders.kit.db import connections
from builders.kit.process.settings import Settings, read_resolver
from builders.kit.values import clock

TRY_S, TIMEOUT_S = 2.0, 5.0
MAX_CONCURRENT = 16  # queries of one client
_PAYLOAD = 1232  # bytes of a UDP response that no network fragments
MAX_PARENTS = 3  # queried for a DMARC record: the highest ones, where organizations have their policy
_MIN_LABELS = 2  # of a domain
NO_MAIL = "."  # the host of an MX record that refuses all mail (RFC 7505)
R = TypeVar("R", bound=Rdata)


class Dns:
    """A client of the name servers of the settings, or of the system.

    A query waits `try_s` for one packet, and `timeout_s` for all tries and servers together.
    """

    def __init__(self, settings: Settings, *, try_s: float = TRY_S, timeout_s: float = TIMEOUT_S) -> None:
        self.settings = settings  # with the expected records
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
        hosts = ((each.preference, each.exchange.to_text(omit_final_dot=True).lower() or ".") for each in found)
        return tuple(sorted(hosts))

    async def _query(self, name: str, kind: str, form: type[R]) -> tuple[R, ...] | None:
        if connections.in_transaction():
            raise RuntimeError("A transaction is open: read, query, then write in a second one (decision 0010).")
        # A new resolver: it has no cache, and the servers of the system may have changed.
        resolver = dns.asyncresolver.Resolver(configure=not self._servers)
        if self._servers:
            resolver.nameservers = [dns.nameserver.Do53Nameserver(*each) for each in self._servers]
        resolver.use_edns(0, 0, _PAYLOAD)
        resolver.timeout, resolver.lifetime = self._try_s, self._timeout_s
        async with self._slots:
            try:
                answer = await resolver.resolve(
                    dns.name.from_text(name), kind, search=False, raise_on_no_answer=False
                )
            except dns.resolver.NXDOMAIN:
                return ()
            except (dns.exception.DNSException, OSError, ValueError):
                return None
        if answer.response.flags & dns.flags.TC:  # truncated over TCP too, which dnspython accepts
            return None
        return tuple(each for each in answer.rrset or () if isinstance(each, form))


async def check(client: Dns, domain: AccountDomain) -> DnsCheck:
    """Query all records concurrently; without a response, the health of a record stays the same.

    A sandbox domain has no records.
    """
    before = domain.health
    if domain.is_sandbox:
        return DnsCheck(proof=None, health=before)
    proof, mx, spf, dkim, dmarc = await asyncio.gather(
        _proof(client, domain),
        _mx(client, domain.domain, before.mx),
        _spf(client, domain.domain, before.spf),
        _dkim(client, domain.domain, before.dkim),
        _dmarc(client, domain.domain, before.dmarc),
    )
    return DnsCheck(proof=proof, health=DnsHealth(mx=mx, spf=spf, dkim=dkim, dmarc=dmarc))


async def _proof(client: Dns, domain: AccountDomain) -> ProofFinding | None:
    if domain.proof is not DomainProof.DNS:
        return None
    texts = await client.texts(domain.challenge_name)
    if texts is None:
        return ProofFinding(seen=ProofSeen.UNKNOWN)
    # Some DNS panels keep quotes that were typed.
    if domain.challenge_value in {each.strip().strip('"').strip() for each in texts}:
        return ProofFinding(seen=ProofSeen.FOUND, found=(domain.challenge_value,))
    return ProofFinding(seen=ProofSeen.WRONG if texts else ProofSeen.MISSING, found=txt_records.shorten(texts))


def _finding(result: tuple[RecordHealth, str | None], found: Sequence[str]) -> Finding:
    status, next_action = result
    found = txt_records.shorten(found)
    return Finding(status=status, next_action=next_action, found=found, checked_at=clock.now())


async def _mx(client: Dns, name: str, before: Finding) -> Finding:
    exchanges = await client.exchanges(name)
    if exchanges is None:
        return before
    result = validate_mx(name, exchanges, wanted=client.settings.mail_hosts)
    return _finding(result, [f"{preference} {host}" for preference, host in exchanges])


def validate_mx(
    domain: str, exchanges: Sequence[tuple[int, str]], *, wanted: Sequence[str]
) -> tuple[RecordHealth, str | None]:
    """Return the health of the MX records of a domain, and an instruction: all mail must go to our hosts."""
    if not wanted:
        return RecordHealth.UNCHECKED, None
    records = ", ".join(f"{10 * place} {host}" for place, host in enumerate(wanted, 1))
    others = txt_records.shorten(host for _, host in exchanges if host not in wanted)
    if not exchanges:
        return RecordHealth.MISSING, f"Set the MX records of {domain}: {records}."
    if others:
        unwanted = "the one that refuses all mail" if others[0] == NO_MAIL else ", ".join(others)
        return RecordHealth.WRONG, f"Set the MX records of {domain}: {records}; and remove {unwanted}."
    return RecordHealth.OK, None


async def _spf(client: Dns, name: str, before: Finding) -> Finding:
    texts = await client.texts(name)
    if texts is None:
        return before
    result = txt_records.validate_spf(name, texts, include=client.settings.spf_include)
    return _finding(result, [each for each in texts if txt_records.is_spf(each)])


async def _dkim(client: Dns, name: str, before: Finding) -> Finding:
    expected = client.settings
    sender = parseaddr(expected.mail_from or "")[1].rpartition("@")[2]
    signer = expected.dkim_domain or sender  # with our own key
    if expected.dkim_selector is None or not signer:
        return Finding()
    place = f"{expected.dkim_selector}._domainkey"
    own, target = f"{place}.{name}", f"{place}.{signer}"
    texts, ours = await asyncio.gather(client.texts(own), client.texts(target))
    if texts is None:
        return before
    key = txt_records.dkim_key(ours[0]) if ours and len(ours) == 1 else None
    return _finding(txt_records.validate_dkim(own, texts, target=target, ours=key), texts)


async def _dmarc(client: Dns, name: str, before: Finding) -> Finding:
    """Return the finding; a domain without a record inherits that of its nearest parent (RFC 9091, DMARCbis)."""
    texts = await client.texts(f"_dmarc.{name}")
    if texts is None:
        return before
    found = [each for each in texts if txt_records.is_dmarc(each)]
    above: Sequence[str] = ()
    if not found:
        labels = name.split(".")
        parents = [".".join(labels[at:]) for at in range(1, len(labels) - _MIN_LABELS + 1)][-MAX_PARENTS:]
        asked = await asyncio.gather(*(client.texts(f"_dmarc.{each}") for each in parents))
        if None in asked:
            return before
        policies = ([each for each in texts or () if txt_records.is_dmarc(each)] for texts in asked)
        above = next(
            (each for each in policies if len(each) == 1 and not txt_records.find_dmarc_error(each[0])), ()
        )
    result = txt_records.validate_dmarc(name, texts, inherited=bool(above))
    return _finding(result, found or above)
