"""Verification of domains: read DNS without a transaction, record the result in one, schedule the next check."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.domains import account_domains, health, store
from builders.domains.errors import DomainInUse, DomainReleased, DomainTaken
from builders.domains.events import (
    DOMAIN_HEALTH_CHANGED,
    DOMAIN_SUSPENDED,
    DOMAIN_VERIFIED,
    DomainHealthData,
    event_data,
    loss_data,
)
from builders.domains.health import Dns
from builders.domains.records import (
    FIRST_CHECK,
    AccountDomain,
    AccountDomainStatus,
    DnsCheck,
    DomainProof,
    ProofFinding,
    ProofSeen,
)
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


_UNPROVED = {AccountDomainStatus.PENDING, AccountDomainStatus.SUSPENDED}


async def verify(
    database: Database, *, settings: Settings, account_id: UUID, domain_id: UUID
) -> tuple[AccountDomain, ProofFinding]:
    """Read the proof and the mail records from DNS now, and record the result; return the domain and the proof.

    A sandbox domain is live at once, without DNS. Raise DomainNotFound, DomainReleased, DomainTaken.
    """
    async with database.connection() as conn:
        domain = await account_domains.get(conn, account_id=account_id, domain_id=domain_id)
    if domain.status is AccountDomainStatus.RELEASED:
        raise DomainReleased(f"{domain.domain} was released.")
    check = await health.check(Dns(settings), domain)
    proof = check.proof or ProofFinding(seen=ProofSeen.FOUND)
    async with database.transaction() as conn:
        domain = await record_check(conn, account_id=account_id, domain_id=domain.id, check=check)
        domain = await account_domains.with_details(conn, domain=domain)
    if proof.seen is ProofSeen.FOUND and domain.status in _UNPROVED:
        raise DomainTaken(f"Another account has verified {domain.domain}.")
    return domain, proof


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
        done = await asyncio.gather(*(_check(database, dns, each) for each in due), return_exceptions=True)
        failed += [each for each in done if isinstance(each, BaseException)]
        count += len(due)
        if len(due) < batch_size or clock.now() >= ends_at:
            break
    if failed:
        raise failed[0]  # after all others: the failure of one domain delays no other account
    return count


async def _check(database: Database, dns: Dns, domain: AccountDomain) -> None:
    check = await health.check(dns, domain)
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
    if not await _is_free(conn, domain) or not await store.set_holder(
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
    holder = await store.find(conn, account_id=found[0], domain_id=found[1], lock=True)
    if holder is None or holder.status is AccountDomainStatus.RELEASED:
        return True  # released while this transaction waited for the lock
    if holder.status is not AccountDomainStatus.SUSPENDED:
        return False
    try:
        await account_domains.release_unused(conn, domain=holder, reason="proved_by_another")
    except DomainInUse:
        return False
    return True
