"""Proofs: asked for without a transaction, and what follows from the answer, in one."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from builders.aliases import service as aliases
from builders.domains import account_domains, schedule
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
    AccountDomain,
    AccountDomainStatus,
    DnsCheck,
    DomainProof,
    ProofFinding,
    ProofSeen,
    VerificationResult,
)
from builders.domains.store import checks, domains as store, holders
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.process.settings import Settings
from builders.kit.values import clock

BATCH = 50  # domains that are asked about at once
MAX_BATCHES = 40  # of one run; the next minute has another one
MAX_RUN = timedelta(
    seconds=50
)  # after which it takes no more: name servers that keep silent hold up one run, not all


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """What followed from an answer."""

    domain: AccountDomain
    is_taken: bool = False  # it is proved, but another account's


async def verify(
    database: Database, *, settings: Settings, account_id: UUID, domain_id: UUID
) -> VerificationResult:
    """Asks DNS for the proof and the records of mail, now, and does what follows from it.

    A sandbox domain is live at once; DNS is not asked. Raises DomainNotFound, DomainReleased, DomainTaken.
    """
    async with database.connection() as conn:
        domain = await account_domains.get(conn, account_id=account_id, domain_id=domain_id)
    if domain.status is AccountDomainStatus.RELEASED:
        raise DomainReleased(f"{domain.domain} was released.", next_action="Add it again: POST /v1/domains")
    checked = await _ask(Dns(settings), domain, settings=settings)
    async with database.transaction() as conn:
        settled = await record_check(conn, account_id=account_id, domain_id=domain.id, checked=checked)
        listed = await account_domains.with_details(conn, settled.domain)
    if settled.is_taken:
        raise DomainTaken(
            f"Another account has proved {domain.domain}.",
            next_action="When it is yours now, have its former holder release it, or write to support.",
        )
    proof = checked.proof or ProofFinding(seen=ProofSeen.FOUND)
    return VerificationResult(domain=listed.domain, alias_count=listed.alias_count, proof=proof)


async def _ask(dns: Dns, domain: AccountDomain, *, settings: Settings) -> DnsCheck:
    if domain.is_sandbox:
        return DnsCheck(proof=None, health=domain.health)
    return await health.check(dns, domain, expected=Expected.of(settings), now=clock.now())


async def check_due(database: Database, *, settings: Settings) -> int:
    """Looks at all domains that are due; their number.

    What a killed worker held is due again when its lease ends.
    """
    dns, count, ends_at = Dns(settings), 0, clock.now() + MAX_RUN
    failed: list[BaseException] = []
    for _ in range(MAX_BATCHES):
        now = clock.now()
        async with database.transaction() as conn:
            due = await checks.claim_due(conn, now=now, leased_until=now + schedule.LEASE, limit=BATCH)
        done = await asyncio.gather(
            *(_check(database, dns, each, settings=settings) for each in due), return_exceptions=True
        )
        failed += [each for each in done if isinstance(each, BaseException)]
        count += len(due)
        if len(due) < BATCH or clock.now() >= ends_at:
            break
    if failed:
        raise failed[0]  # after all others are done: nobody waits for a domain of somebody else
    return count


async def _check(database: Database, dns: Dns, domain: AccountDomain, *, settings: Settings) -> None:
    checked = await _ask(dns, domain, settings=settings)
    async with database.transaction() as conn:
        await record_check(conn, account_id=domain.account_id, domain_id=domain.id, checked=checked)


async def record_check(conn: Conn, *, account_id: UUID, domain_id: UUID, checked: DnsCheck) -> CheckOutcome:
    """Notes what was seen, and brings the domain into the state that follows; publishes what changes.

    One that was released meanwhile stays so.
    """
    before = await account_domains.get(conn, account_id=account_id, domain_id=domain_id, lock=True)
    if before.status is AccountDomainStatus.RELEASED:
        return CheckOutcome(domain=before)
    # No more than that counts of one that the operator assigned while DNS was being asked.
    proof = checked.proof if before.proof is DomainProof.DNS else None
    now, seen = clock.now(), proof.seen if proof else None
    noted = await checks.record_check(
        conn,
        account_id=account_id,
        domain_id=domain_id,
        health=checked.health,
        asked_at=None if seen in {None, ProofSeen.UNKNOWN} else now,
        lost_at=_lost_at(before, seen, now),
        next_check_at=schedule.next_check(before, seen, now=now),
    )
    await _publish_health(conn, before, noted)
    is_proved = seen is ProofSeen.FOUND or before.is_sandbox
    if noted.status in {AccountDomainStatus.PENDING, AccountDomainStatus.SUSPENDED} and is_proved:
        return await _activate(conn, noted, now)
    if noted.status is AccountDomainStatus.LIVE and noted.lost_at and now - noted.lost_at >= schedule.GRACE:
        return CheckOutcome(domain=await _suspend(conn, noted, now))
    return CheckOutcome(domain=noted)


def _lost_at(domain: AccountDomain, seen: ProofSeen | None, now: datetime) -> datetime | None:
    """Since when the proof of a domain that had one is gone; no answer is none."""
    if seen in {None, ProofSeen.FOUND} or domain.status is AccountDomainStatus.PENDING:
        return None
    return domain.lost_at if seen is ProofSeen.UNKNOWN else domain.lost_at or now


async def _publish_health(conn: Conn, before: AccountDomain, after: AccountDomain) -> None:
    was, present = before.health.statuses, after.health.statuses
    if was != present:
        data = DomainHealthData(id=after.id, domain=after.domain, dns=dict(present), before=dict(was))
        await outbox.publish(conn, DOMAIN_HEALTH_CHANGED, account_id=after.account_id, data=data)


async def _activate(conn: Conn, domain: AccountDomain, now: datetime) -> CheckOutcome:
    """The proved domain as the account's, unless it is another's: the unique key of the holders decides."""
    if not (await _is_free(conn, domain) and await _reserve(conn, domain)):
        return CheckOutcome(domain=domain, is_taken=True)
    live = await store.set_status(
        conn,
        account_id=domain.account_id,
        domain_id=domain.id,
        status=AccountDomainStatus.LIVE,
        source=domain.source,
        proof=domain.proof,
        lost_at=None,
        next_check_at=None if domain.is_sandbox else now + schedule.DAILY,
        now=now,
    )
    await outbox.publish(conn, DOMAIN_VERIFIED, account_id=domain.account_id, data=event_data(live))
    return CheckOutcome(domain=live)


async def _reserve(conn: Conn, domain: AccountDomain) -> bool:
    return await holders.reserve(
        conn, realm=domain.realm, domain=domain.domain, account_id=domain.account_id, domain_id=domain.id
    )


async def _is_free(conn: Conn, domain: AccountDomain) -> bool:
    """Whether no other account holds it; one whose own proof has been gone for days loses it here.

    But not while that one has names on it: nobody's mail is taken over in silence. Locks the other's domain before
    the key, as all do who let a domain go.
    """
    found = await holders.find_holder(conn, realm=domain.realm, domain=domain.domain)
    if found is None or found[0] == domain.account_id:
        return True
    holder = await store.find(conn, account_id=found[0], domain_id=found[1], lock=True)
    if holder is None or holder.status is AccountDomainStatus.RELEASED:
        return True  # it let go while we waited for the lock
    counts = await aliases.count_by_domain(conn, account_id=holder.account_id, domains=[holder.domain])
    if holder.status is not AccountDomainStatus.SUSPENDED or counts[holder.domain]:
        return False
    await account_domains.release_locked(conn, holder, reason="proved_by_another")
    return True


async def _suspend(conn: Conn, domain: AccountDomain, now: datetime) -> AccountDomain:
    suspended = await store.set_status(
        conn,
        account_id=domain.account_id,
        domain_id=domain.id,
        status=AccountDomainStatus.SUSPENDED,
        source=domain.source,
        proof=DomainProof.DNS,
        lost_at=domain.lost_at,
        next_check_at=now + schedule.WHILE_LOST,
        now=now,
    )
    await outbox.publish(
        conn, DOMAIN_SUSPENDED, account_id=domain.account_id, data=loss_data(suspended, "proof_gone")
    )
    return suspended
