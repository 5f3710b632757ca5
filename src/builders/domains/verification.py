"""Verification of domains: read DNS without a transaction, record the result in one, schedule the next check."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.aliases import account_aliases
from builders.domains import account_domains
from builders.domains.dns import health
from builders.domains.dns.client import Dns
from builders.domains.dns.health import Expected
from builders.domains.errors import DomainReleased, DomainTaken
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
    DnsCheck,
    DomainProof,
    ProofFinding,
    ProofSeen,
    VerificationResult,
)
from builders.domains.store import domains as store
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.process.settings import Settings
from builders.kit.values import clock

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """The domain after a recorded check."""

    domain: AccountDomain
    is_taken: bool = False  # it is proved, but another account holds it


async def verify(
    database: Database, *, settings: Settings, account_id: UUID, domain_id: UUID
) -> VerificationResult:
    """Read the proof and the mail records from DNS now, and record the result.

    A sandbox domain is live at once, without DNS. Raise DomainNotFound, DomainReleased, DomainTaken.
    """
    async with database.connection() as conn:
        domain = await account_domains.get(conn, account_id=account_id, domain_id=domain_id)
    if domain.status is AccountDomainStatus.RELEASED:
        raise DomainReleased(f"{domain.domain} was released.")
    check = await _check_dns(Dns(settings), domain, settings=settings)
    async with database.transaction() as conn:
        outcome = await record_check(conn, account_id=account_id, domain_id=domain.id, check=check)
        details = await account_domains.with_details(conn, domain=outcome.domain)
    if outcome.is_taken:
        raise DomainTaken(f"Another account has verified {domain.domain}.")
    proof = check.proof or ProofFinding(seen=ProofSeen.FOUND)
    return VerificationResult(domain=details.domain, alias_count=details.alias_count, proof=proof)


async def _check_dns(dns: Dns, domain: AccountDomain, *, settings: Settings) -> DnsCheck:
    if domain.is_sandbox:
        return DnsCheck(proof=None, health=domain.health)
    return await health.check(dns, domain, expected=Expected.of(settings), now=clock.now())


async def check_due(database: Database, *, settings: Settings, batch_size: int = BATCH) -> int:
    """Check all domains that are due, `batch_size` concurrently; return their number.

    The domains of a killed worker are due again when its lease ends.
    """
    dns, count, ends_at = Dns(settings), 0, clock.now() + MAX_RUN
    failed: list[BaseException] = []
    for _ in range(MAX_BATCHES):
        now = clock.now()
        async with database.transaction() as conn:
            due = await store.claim_due(conn, now=now, leased_until=now + LEASE, limit=batch_size)
        done = await asyncio.gather(
            *(_check(database, dns, each, settings=settings) for each in due), return_exceptions=True
        )
        failed += [each for each in done if isinstance(each, BaseException)]
        count += len(due)
        if len(due) < batch_size or clock.now() >= ends_at:
            break
    if failed:
        raise failed[0]  # after all others: the failure of one domain delays no other account
    return count


async def _check(database: Database, dns: Dns, domain: AccountDomain, *, settings: Settings) -> None:
    check = await _check_dns(dns, domain, settings=settings)
    async with database.transaction() as conn:
        await record_check(conn, account_id=domain.account_id, domain_id=domain.id, check=check)


async def record_check(conn: Conn, *, account_id: UUID, domain_id: UUID, check: DnsCheck) -> CheckOutcome:
    """Record a check and change the status of the domain accordingly; publish the changes.

    A domain that was released during the check stays released.
    """
    before = await account_domains.get(conn, account_id=account_id, domain_id=domain_id, lock=True)
    if before.status is AccountDomainStatus.RELEASED:
        return CheckOutcome(domain=before)
    # The operator can assign the domain during the check: then it needs no proof.
    proof = check.proof if before.proof is DomainProof.DNS else None
    now, seen = clock.now(), proof.seen if proof else None
    after = await store.record_check(
        conn,
        account_id=account_id,
        domain_id=domain_id,
        health=check.health,
        asked_at=None if seen in {None, ProofSeen.UNKNOWN} else now,
        lost_at=_lost_at(before, seen, now),
        next_check_at=next_check(before, seen, now=now),
    )
    await _publish_health(conn, before, after)
    is_proved = seen is ProofSeen.FOUND or before.is_sandbox
    if after.status in {AccountDomainStatus.PENDING, AccountDomainStatus.SUSPENDED} and is_proved:
        return await _activate(conn, after, now)
    if after.status is AccountDomainStatus.LIVE and after.lost_at and now - after.lost_at >= GRACE:
        return CheckOutcome(domain=await _suspend(conn, after, now))
    return CheckOutcome(domain=after)


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


def _lost_at(domain: AccountDomain, seen: ProofSeen | None, now: datetime) -> datetime | None:
    """Return since when the proof of a verified domain is missing; without a DNS response, the stored time."""
    if seen in {None, ProofSeen.FOUND} or domain.status is AccountDomainStatus.PENDING:
        return None
    return domain.lost_at if seen is ProofSeen.UNKNOWN else domain.lost_at or now


async def _publish_health(conn: Conn, before: AccountDomain, after: AccountDomain) -> None:
    was, present = before.health.statuses, after.health.statuses
    if was != present:
        data = DomainHealthData(id=after.id, domain=after.domain, dns=dict(present), before=dict(was))
        await outbox.publish(conn, DOMAIN_HEALTH_CHANGED, account_id=after.account_id, data=data)


async def _activate(conn: Conn, domain: AccountDomain, now: datetime) -> CheckOutcome:
    """Make a proved domain live, unless another account holds it: the unique key of the holders decides."""
    if not (await _is_free(conn, domain) and await _reserve(conn, domain)):
        return CheckOutcome(domain=domain, is_taken=True)
    next_check_at = None if domain.is_sandbox else now + DAILY
    changed = replace(domain, status=AccountDomainStatus.LIVE, lost_at=None, next_check_at=next_check_at)
    live = await store.set_status(conn, changed=changed, now=now)
    await outbox.publish(conn, DOMAIN_VERIFIED, account_id=domain.account_id, data=event_data(live))
    return CheckOutcome(domain=live)


async def _reserve(conn: Conn, domain: AccountDomain) -> bool:
    return await store.set_holder(
        conn, realm=domain.realm, domain=domain.domain, account_id=domain.account_id, domain_id=domain.id
    )


async def _is_free(conn: Conn, domain: AccountDomain) -> bool:
    """Return whether no other account holds the domain; release it from a suspended holder without names on it.

    A holder with names keeps it: no account takes over the mail of another. The holder's domain is locked before
    the key of the holders, as in every release, so that the two cannot deadlock.
    """
    found = await store.find_holder(conn, realm=domain.realm, domain=domain.domain)
    if found is None or found[0] == domain.account_id:
        return True
    holder = await store.find(conn, account_id=found[0], domain_id=found[1], lock=True)
    if holder is None or holder.status is AccountDomainStatus.RELEASED:
        return True  # released while this transaction waited for the lock
    counts = await account_aliases.count_by_domain(conn, account_id=holder.account_id, domains=[holder.domain])
    if holder.status is not AccountDomainStatus.SUSPENDED or counts[holder.domain]:
        return False
    await account_domains.release_locked(conn, domain=holder, reason="proved_by_another")
    return True


async def _suspend(conn: Conn, domain: AccountDomain, now: datetime) -> AccountDomain:
    changed = replace(
        domain,
        status=AccountDomainStatus.SUSPENDED,
        proof=DomainProof.DNS,
        next_check_at=now + MISSING_PROOF_DELAY,
    )
    suspended = await store.set_status(conn, changed=changed, now=now)
    await outbox.publish(
        conn, DOMAIN_SUSPENDED, account_id=domain.account_id, data=loss_data(suspended, "proof_gone")
    )
    return suspended
