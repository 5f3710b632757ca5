"""When a domain is looked at next. Pure."""

from datetime import datetime, timedelta

from builders.domains.records import AccountDomain, AccountDomainStatus, DomainProof, ProofSeen

FIRST_CHECK = timedelta(minutes=1)  # after it was added; doubled each time
MAX_PENDING_DELAY = timedelta(hours=6)
PENDING_PERIOD = timedelta(days=14)  # by a pending domain; then its owner has to ask
DAILY = timedelta(days=1)
AFTER_NO_ANSWER = timedelta(hours=1)
WHILE_LOST = timedelta(hours=6)  # while a proof that was there is gone
LEASE = timedelta(minutes=10)  # of who is asking
GRACE = timedelta(days=3)  # that it may be gone before the domain is suspended
_DOUBLINGS = 20


def next_check(domain: AccountDomain, seen: ProofSeen | None, *, now: datetime) -> datetime | None:
    """When to ask again, after `domain.checks` times; None for no more.

    `seen` is None where no proof is needed.
    """
    if domain.is_sandbox or domain.status is AccountDomainStatus.RELEASED:
        return None
    if domain.status is AccountDomainStatus.PENDING:
        at = now + min(FIRST_CHECK * 2 ** min(domain.checks, _DOUBLINGS), MAX_PENDING_DELAY)
        return at if at < domain.added_at + PENDING_PERIOD else None
    if domain.proof is not DomainProof.DNS or seen is ProofSeen.FOUND:
        return now + DAILY
    return now + (AFTER_NO_ANSWER if seen is ProofSeen.UNKNOWN else WHILE_LOST)
