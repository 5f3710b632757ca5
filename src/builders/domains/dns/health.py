"""The DNS health of a domain: the proof of ownership, and the records that mail needs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parseaddr
from typing import Self

from builders.domains.dns import txt_records
from builders.domains.dns.client import Dns
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
from builders.kit.process.settings import Settings

MAX_PARENTS = 3  # queried for a DMARC record: the highest ones, where organizations have their policy
_MIN_LABELS = 2  # of a domain
NO_MAIL = "."  # the host of an MX record that refuses all mail (RFC 7505)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected records of every account domain."""

    mail_hosts: tuple[str, ...] = ()
    spf_include: str | None = None
    dkim_selector: str | None = None
    dkim_domain: str | None = None  # with our own key

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the records that the settings define."""
        sender = parseaddr(settings.mail_from or "")[1].rpartition("@")[2]
        return cls(
            mail_hosts=settings.mail_hosts,
            spf_include=settings.spf_include,
            dkim_selector=settings.dkim_selector,
            dkim_domain=settings.dkim_domain or sender or None,
        )


async def check(dns: Dns, domain: AccountDomain, *, expected: Expected, now: datetime) -> DnsCheck:
    """Query all records concurrently; without a response, the health of a record stays the same."""
    name, before = domain.domain, domain.health
    proof, mx, policy, key, report = await asyncio.gather(
        _proof(dns, domain),
        _mx(dns, name, expected, before.mx, now),
        _spf(dns, name, expected, before.spf, now),
        _dkim(dns, name, expected, before.dkim, now),
        _dmarc(dns, name, before.dmarc, now),
    )
    return DnsCheck(proof=proof, health=DnsHealth(mx=mx, spf=policy, dkim=key, dmarc=report))


async def _proof(dns: Dns, domain: AccountDomain) -> ProofFinding | None:
    if domain.proof is not DomainProof.DNS:
        return None
    texts = await dns.texts(domain.challenge_name)
    if texts is None:
        return ProofFinding(seen=ProofSeen.UNKNOWN)
    # Some DNS panels keep quotes that were typed.
    if domain.challenge_value in {each.strip().strip('"').strip() for each in texts}:
        return ProofFinding(seen=ProofSeen.FOUND, found=(domain.challenge_value,))
    return ProofFinding(seen=ProofSeen.WRONG if texts else ProofSeen.MISSING, found=txt_records.shorten(texts))


def _finding(status: RecordHealth, next_action: str | None, found: Sequence[str], now: datetime) -> Finding:
    return Finding(status=status, next_action=next_action, found=txt_records.shorten(found), checked_at=now)


async def _mx(dns: Dns, name: str, expected: Expected, before: Finding, now: datetime) -> Finding:
    exchanges = await dns.exchanges(name)
    if exchanges is None:
        return before
    status, next_action = validate_mx(name, exchanges, wanted=expected.mail_hosts)
    return _finding(status, next_action, [f"{preference} {host}" for preference, host in exchanges], now)


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


async def _spf(dns: Dns, name: str, expected: Expected, before: Finding, now: datetime) -> Finding:
    texts = await dns.texts(name)
    if texts is None:
        return before
    status, next_action = txt_records.validate_spf(name, texts, include=expected.spf_include)
    return _finding(status, next_action, [each for each in texts if txt_records.is_spf(each)], now)


async def _dkim(dns: Dns, name: str, expected: Expected, before: Finding, now: datetime) -> Finding:
    if expected.dkim_selector is None or expected.dkim_domain is None:
        return Finding()
    place = f"{expected.dkim_selector}._domainkey"
    own, target = f"{place}.{name}", f"{place}.{expected.dkim_domain}"
    texts, ours = await asyncio.gather(dns.texts(own), dns.texts(target))
    if texts is None:
        return before
    key = txt_records.dkim_key(ours[0]) if ours and len(ours) == 1 else None
    status, next_action = txt_records.validate_dkim(own, texts, target=target, ours=key)
    return _finding(status, next_action, texts, now)


async def _dmarc(dns: Dns, name: str, before: Finding, now: datetime) -> Finding:
    """Return the finding; a domain without a record inherits that of its nearest parent (RFC 9091, DMARCbis)."""
    texts = await dns.texts(f"_dmarc.{name}")
    if texts is None:
        return before
    found = [each for each in texts if txt_records.is_dmarc(each)]
    above: Sequence[str] = ()
    if not found:
        asked = await asyncio.gather(*(dns.texts(f"_dmarc.{each}") for each in _parents(name)))
        if None in asked:
            return before
        policies = ([each for each in texts or () if txt_records.is_dmarc(each)] for texts in asked)
        above = next(
            (each for each in policies if len(each) == 1 and not txt_records.find_dmarc_error(each[0])), ()
        )
    status, next_action = txt_records.validate_dmarc(name, texts, inherited=bool(above))
    return _finding(status, next_action, found or above, now)


def _parents(name: str) -> list[str]:
    labels = name.split(".")
    return [".".join(labels[at:]) for at in range(1, len(labels) - _MIN_LABELS + 1)][-MAX_PARENTS:]
