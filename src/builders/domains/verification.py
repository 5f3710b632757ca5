"""Verification of domains: read DNS without a transaction, record the result in one, schedule the next check.

A response of DNS has values, or no values for certain; without a reliable response the result is None. A name
server that does not respond, or responds with SERVFAIL or garbage, gives no information on a domain: an unknown
record must never count as a missing one. dnspython implements the protocol: random ids and ports, the match of
response and query, TCP for truncated responses, chains of up to 16 CNAMEs.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import dns.asyncresolver
import dns.exception
import dns.flags
import dns.name
import dns.nameserver
import dns.resolver
import dns.reversename
from dns.rdata import Rdata
from dns.rdtypes.ANY.MX import MX
from dns.rdtypes.ANY.PTR import PTR
from dns.rdtypes.ANY.TXT import TXT
from dns.rdtypes.IN.A import A
from dns.rdtypes.IN.AAAA import AAAA

from builders.domains import account_domains, store, txt_records
from builders.domains.errors import DomainInUse, DomainReleased, DomainTaken
from builders.domains.events import (
    DOMAIN_HEALTH_CHANGED,
    DOMAIN_SUSPENDED,
    DOMAIN_VERIFIED,
    DomainHealthData,
    event_data,
    loss_data,
)
from builders.domains.records import (
    FIRST_CHECK,
    AccountDomain,
    AccountDomainStatus,
    DkimKey,
    DnsCheck,
    DnsHealth,
    DomainProof,
    Finding,
    ProofFinding,
    ProofSeen,
    RecordHealth,
)
from builders.kit.db import connections
from builders.kit.db.batches import by_account
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.process.hosts import read_resolver
from builders.kit.process.settings import Settings
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

    async def addresses(self, name: str) -> tuple[str, ...] | None:
        """Return the addresses of a host, of both kinds."""
        four, six = await asyncio.gather(self._query(name, "A", A), self._query(name, "AAAA", AAAA))
        return None if four is None or six is None else tuple(each.to_text() for each in (*four, *six))

    async def names_of(self, address: str) -> tuple[str, ...] | None:
        """Return the names that an address leads back to."""
        found = await self._query(dns.reversename.from_address(address).to_text(), "PTR", PTR)
        return None if found is None else tuple(each.target.to_text(omit_final_dot=True).lower() for each in found)

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


async def check_dns(client: Dns, domain: AccountDomain, *, keys: Sequence[DkimKey]) -> DnsCheck:
    """Query all records concurrently; without a response, the health of a record stays the same.

    A sandbox domain has no records.
    """
    if domain.is_sandbox:
        return DnsCheck(proof=None, health=domain.health)
    proof, health = await asyncio.gather(
        _check_proof(client, domain), check_records(client, domain.domain, keys=keys, before=domain.health)
    )
    return DnsCheck(proof=proof, health=health)


async def check_records(client: Dns, name: str, *, keys: Sequence[DkimKey], before: DnsHealth) -> DnsHealth:
    """Query the records that mail of a domain needs; `keys` are those of the domain, the newest first."""
    mx, spf, dkim, dmarc = await asyncio.gather(
        _mx(client, name, before.mx),
        _spf(client, name, before.spf),
        _dkim(client, keys, before.dkim),
        _dmarc(client, name, before.dmarc),
    )
    return DnsHealth(mx=mx, spf=spf, dkim=dkim, dmarc=dmarc)


async def load_keys(conn: Conn, *, domains: Collection[AccountDomain]) -> Mapping[UUID, Sequence[DkimKey]]:
    """Return the keys of domains by id, the newest first; none of a domain that its account does not hold."""
    held = {each.id: each.domain for each in domains if not each.is_sandbox and each.status in _HELD}
    keys = await store.list_keys(conn, domains=held.values()) if held else ()
    return {each.id: [key for key in keys if key.domain == held.get(each.id)] for each in domains}


async def _check_proof(client: Dns, domain: AccountDomain) -> ProofFinding | None:
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


async def _dkim(client: Dns, keys: Sequence[DkimKey], before: Finding) -> Finding:
    """Return the finding about the newest key. While DNS lacks it, the earlier one can sign."""
    if not keys:
        return Finding()
    newest, *others = keys
    earlier = next((each for each in others if each.published_at), None)
    needed = [newest] if earlier is None else [newest, earlier]
    found = await asyncio.gather(*(client.texts(each.name) for each in needed))
    texts = [each for each in found if each is not None]
    if len(texts) < len(needed):
        return before
    results = [
        txt_records.validate_dkim(key.name, shown, value=key.value)
        for key, shown in zip(needed, texts, strict=True)
    ]
    status, next_action = results[0]
    if RecordHealth.OK in (each for each, _ in results):
        status = RecordHealth.OK
    return _finding((status, next_action), [text for shown in texts for text in shown])


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


BATCH = 50  # domains checked concurrently
MAX_BATCHES = 40  # of one run; there is a run every minute
MAX_RUN = timedelta(seconds=50)  # after which a run claims no more: silent name servers delay one run, not all
MAX_PENDING_DELAY = timedelta(hours=6)  # between the checks of a pending domain
PENDING_PERIOD = timedelta(days=14)  # of checks of a pending domain; later only its account starts one
DAILY = timedelta(days=1)
NO_RESPONSE_DELAY = timedelta(hours=1)
MISSING_PROOF_DELAY = timedelta(hours=6)  # between the checks while the proof is missing
LEASE = timedelta(minutes=10)  # of a worker that checks a domain
GRACE = timedelta(days=3)  # from the loss of the proof to the suspension
_MAX_DOUBLINGS = 20


_UNPROVED = {AccountDomainStatus.PENDING, AccountDomainStatus.SUSPENDED}
_HELD = {AccountDomainStatus.LIVE, AccountDomainStatus.SUSPENDED}


async def verify(
    database: Database, *, settings: Settings, account_id: UUID, domain_id: UUID
) -> tuple[AccountDomain, ProofFinding]:
    """Read the proof and the mail records from DNS now, and record the result; return the domain and the proof.

    A sandbox domain is live at once, without DNS. Raise DomainNotFound, DomainReleased, DomainTaken.
    """
    async with database.connection() as conn:
        domain = await account_domains.get(conn, account_id=account_id, domain_id=domain_id)
        keys = await load_keys(conn, domains=[domain])
    if domain.status is AccountDomainStatus.RELEASED:
        raise DomainReleased(f"{domain.domain} was released.")
    check = await check_dns(Dns(settings), domain, keys=keys[domain.id])
    proof = check.proof or ProofFinding(seen=ProofSeen.FOUND)
    async with database.transaction() as conn:
        domain = await record_check(conn, account_id=account_id, domain_id=domain.id, check=check)
        domain = await account_domains.with_details(conn, domain=domain)
    if proof.seen is ProofSeen.FOUND and domain.status in _UNPROVED:
        raise DomainTaken(f"Another account has verified {domain.domain}.")
    return domain, proof


async def _claim_due(conn: Conn, *, now: datetime, limit: int) -> Sequence[AccountDomain]:
    due: list[AccountDomain] = []
    for account_id, found in by_account(await store.list_due(conn, now=now, limit=limit)):
        due += await store.claim_due(conn, account_id=account_id, ids=found, now=now, leased_until=now + LEASE)
    return due


async def check_due(database: Database, *, settings: Settings, batch_size: int = BATCH) -> int:
    """Check all domains that are due, `batch_size` concurrently; return their number.

    The domains of a killed worker are due again when its lease ends.
    """
    dns, count, ends_at = Dns(settings), 0, clock.now() + MAX_RUN
    failed: list[BaseException] = []
    for _ in range(MAX_BATCHES):
        now = clock.now()
        async with database.transaction() as conn:
            due = await _claim_due(conn, now=now, limit=batch_size)
            keys = await load_keys(conn, domains=due)
        checks = (_check(database, dns, each, keys[each.id]) for each in due)
        done = await asyncio.gather(*checks, return_exceptions=True)
        failed += [each for each in done if isinstance(each, BaseException)]
        count += len(due)
        if len(due) < batch_size or clock.now() >= ends_at:
            break
    if failed:
        raise failed[0]  # after all others: the failure of one domain delays no other account
    return count


async def _check(database: Database, dns: Dns, domain: AccountDomain, keys: Sequence[DkimKey]) -> None:
    check = await check_dns(dns, domain, keys=keys)
    async with database.transaction() as conn:
        await record_check(conn, account_id=domain.account_id, domain_id=domain.id, check=check)


async def record_check(conn: Conn, *, account_id: UUID, domain_id: UUID, check: DnsCheck) -> AccountDomain:
    """Record a check and change the status of the domain accordingly; publish the changes.

    A domain that was released during the check stays released. One that another account holds stays unproved.
    """
    before = await account_domains.get(conn, account_id=account_id, domain_id=domain_id, lock=True)
    if before.status is AccountDomainStatus.RELEASED:
        return before
    # The operator can assign the domain during the check: then it needs no proof.
    proof = check.proof if before.proof is DomainProof.DNS else None
    now, seen = clock.now(), proof.seen if proof else None
    lost_at = before.lost_at if seen is ProofSeen.UNKNOWN else before.lost_at or now
    if seen in {None, ProofSeen.FOUND} or before.status is AccountDomainStatus.PENDING:
        lost_at = None
    after = replace(
        before,
        health=check.health,
        asked_at=before.asked_at if seen in {None, ProofSeen.UNKNOWN} else now,
        lost_at=lost_at,
        checks=before.checks + 1,
        next_check_at=next_check(before, seen, now=now),
    )
    await store.update(conn, account_id=account_id, domains=[after])
    was, present = dict(before.health.statuses), dict(after.health.statuses)
    if was != present:
        data = DomainHealthData(id=after.id, domain=after.domain, dns=present, before=was)
        await outbox.publish(conn, DOMAIN_HEALTH_CHANGED, account_id=account_id, data=data)
    if after.status in _UNPROVED and (seen is ProofSeen.FOUND or before.is_sandbox):
        return await _activate(conn, after, now)
    if after.status is AccountDomainStatus.LIVE and lost_at and now - lost_at >= GRACE:
        after = await account_domains.set_status(
            conn,
            domain=after,
            status=AccountDomainStatus.SUSPENDED,
            proof=DomainProof.DNS,
            next_check_at=now + MISSING_PROOF_DELAY,
        )
        await outbox.publish(conn, DOMAIN_SUSPENDED, account_id=account_id, data=loss_data(after, "proof_gone"))
    return after


def next_check(domain: AccountDomain, seen: ProofSeen | None, *, now: datetime) -> datetime | None:
    """Return when to check again, after `domain.checks` checks; None for never.

    `seen` is None when the domain requires no proof.
    """
    if domain.is_sandbox or domain.status is AccountDomainStatus.RELEASED:
        return None
    if domain.status is AccountDomainStatus.PENDING:
        at = now + min(FIRST_CHECK * 2 ** min(domain.checks, _MAX_DOUBLINGS), MAX_PENDING_DELAY)
        return at if at < domain.added_at + PENDING_PERIOD else None
    if domain.proof is not DomainProof.DNS or seen is ProofSeen.FOUND:
        return now + DAILY
    return now + (NO_RESPONSE_DELAY if seen is ProofSeen.UNKNOWN else MISSING_PROOF_DELAY)


async def _activate(conn: Conn, domain: AccountDomain, now: datetime) -> AccountDomain:
    """Make a proved domain live, unless another account holds it: the unique key of the holders decides."""
    name, account_id = domain.domain, domain.account_id
    if not await _is_free(conn, domain) or not await account_domains.set_holder(
        conn, realm=domain.realm, domain=name, account_id=account_id, domain_id=domain.id
    ):
        return domain
    live = await account_domains.set_status(
        conn,
        domain=domain,
        status=AccountDomainStatus.LIVE,
        lost_at=None,
        next_check_at=None if domain.is_sandbox else now + DAILY,
    )
    await outbox.publish(conn, DOMAIN_VERIFIED, account_id=account_id, data=event_data(live))
    return live


async def _is_free(conn: Conn, domain: AccountDomain) -> bool:
    """Return whether no other account holds the domain; release it from a suspended holder without names on it.

    A holder with names keeps it: no account takes over the mail of another. The holder's domain is locked before
    the key of the holders, as in every release, so that the two cannot deadlock.
    """
    found = await store.find_holder(conn, realm=domain.realm, domain=domain.domain)
    if found is None or found[0] == domain.account_id:
        return True
    holder = await store.lock(conn, account_id=found[0], domain_id=found[1])
    if holder is None or holder.status is AccountDomainStatus.RELEASED:
        return True  # released while this transaction waited for the lock
    if holder.status is not AccountDomainStatus.SUSPENDED:
        return False
    try:
        await account_domains.release_unused(conn, domain=holder, reason="proved_by_another")
    except DomainInUse:
        return False
    return True
